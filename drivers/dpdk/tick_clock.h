// A card's free-running counter as UTC. The control thread observes pairs (ticks, UTC); a worker
// converts a packet's ticks by the last published line through them, without a call into the card:
//
//        utc = utc0 + (ticks - ticks0) x rate          rate in units of 2^-32 ns a tick
//
// The rate is taken over the whole time since the first pair, so it only gets better: a pair is
// good to about a microsecond, which is 20 ppm after 50 ms and less than 0.1 ppm after a minute.
// Each new pair starts a new line, so stamps follow UTC, and may step by what the old line was off.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/int128.h"
#include "base/time.h"

namespace tidewire::dpdk {

class TickClock {
 public:
  // Control thread. Pairs with ticks that do not advance are ignored.
  void observe(uint64_t ticks, EventTime utc) {
    if (!seen_) {
      seen_ = true;
      first_ticks_ = ticks;
      first_utc_ = utc;
      return;
    }
    if (ticks <= first_ticks_ || utc <= first_utc_) return;
    const auto ns = static_cast<uint128>(utc.ns - first_utc_.ns);
    publish(ticks, utc.ns, static_cast<uint64_t>((ns << 32) / (ticks - first_ticks_)));
  }

  bool ready() const { return version_.load(std::memory_order_acquire) != 0; }

  // Any thread. Before two pairs have been seen there is no time: before_all().
  EventTime to_utc(uint64_t ticks) const {
    for (;;) {
      const uint64_t version = version_.load(std::memory_order_acquire);
      if (version == 0) return EventTime::before_all();
      const uint64_t base = ticks_.load(std::memory_order_acquire);
      const int64_t utc = utc_.load(std::memory_order_acquire);
      const uint64_t rate = rate_.load(std::memory_order_acquire);
      if ((version & 1) != 0 || version_.load(std::memory_order_relaxed) != version) continue;
      // A packet may be older than the pair: the distance is signed.
      const auto distance = static_cast<int64_t>(ticks - base);
      return EventTime{utc + static_cast<int64_t>((static_cast<int128>(distance) * rate) >> 32)};
    }
  }

 private:
  void publish(uint64_t ticks, int64_t utc, uint64_t rate) {
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    // Who reads one of these sees the odd version after it. No fences: ThreadSanitizer knows none.
    ticks_.store(ticks, std::memory_order_release);
    utc_.store(utc, std::memory_order_release);
    rate_.store(rate, std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  bool seen_ = false;
  uint64_t first_ticks_ = 0;
  EventTime first_utc_{};
  std::atomic<uint64_t> version_{0};  // odd while the line is being changed
  std::atomic<uint64_t> ticks_{0};
  std::atomic<int64_t> utc_{0};
  std::atomic<uint64_t> rate_{0};
};

}  // namespace tidewire::dpdk
