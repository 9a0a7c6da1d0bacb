// Datagrams of numbered messages that came before one that is still missing: copied, since a burst
// is gone after its turn, and kept by their numbers until the missing one comes or is given up.
// Everything is made at the start. What was taken out stays readable until kBurstMax others have
// been put in, so for the rest of the batch that points into it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "event/burst.h"

namespace tidewire {

class HeldDatagrams {
 public:
  static constexpr uint32_t kMost = 256;    // at once, of all sessions
  static constexpr uint32_t kBytes = 2048;  // of one; more than an Ethernet frame carries

  struct Datagram {
    uint64_t first = 0;  // number of its first message
    uint32_t count = 0;  // as it says
    bool cut = false;    // the capture ends before the datagram does
    EventTime arrival;
    uint32_t length = 0;
    std::array<uint8_t, kBytes> bytes{};
    const uint8_t* end() const { return bytes.data() + length; }
  };

  explicit HeldDatagrams(uint32_t sessions) : slots_(kMost + kBurstMax), order_(sessions) {
    for (uint16_t i = 0; i < slots_.size(); ++i) free_[i] = i;
  }

  bool empty() const { return held_ == 0; }
  bool full() const { return held_ == kMost; }
  bool any(uint32_t session) const { return order_[session].count > 0; }
  const Datagram& lowest(uint32_t session) const { return slots_[order_[session].slot[0]]; }
  // Whether the same messages are there already.
  bool has(uint32_t session, uint64_t first, uint32_t count) const {
    const auto held = of(session);
    return std::any_of(held.begin(), held.end(), [&](uint16_t i) {
      return slots_[i].first == first && slots_[i].count == count && !slots_[i].cut;
    });
  }
  // The earliest arrival; before_all(): none has one.
  EventTime since(uint32_t session) const {
    EventTime least = EventTime::end_of_time();
    for (const uint16_t i : of(session))
      if (slots_[i].arrival.is_point()) least = std::min(least, slots_[i].arrival);
    return least.is_point() ? least : EventTime::before_all();
  }

  // Not while it is full; `bytes` are kBytes at most. All but them is the caller's to say.
  Datagram& put(uint32_t session, uint64_t first, std::span<const uint8_t> bytes) {
    CHECK(!full() && bytes.size() <= kBytes);
    const uint16_t i = free_[take_];
    take_ = (take_ + 1) % free_.size();
    ++held_;
    Datagram& datagram = slots_[i];
    datagram.first = first;
    datagram.length = static_cast<uint32_t>(bytes.size());
    std::memcpy(datagram.bytes.data(), bytes.data(), bytes.size());
    Order& order = order_[session];
    uint32_t at = order.count++;
    for (; at > 0 && is_before(first, slots_[order.slot[at - 1]].first); --at)
      order.slot[at] = order.slot[at - 1];
    order.slot[at] = i;
    return datagram;
  }
  const Datagram& take_lowest(uint32_t session) {
    Order& order = order_[session];
    CHECK(order.count > 0);
    const uint16_t i = order.slot[0];
    std::copy(order.slot.begin() + 1, order.slot.begin() + order.count, order.slot.begin());
    --order.count;
    free_[(take_ + free_.size() - held_) % free_.size()] = i;  // behind all that are free
    --held_;
    return slots_[i];
  }

 private:
  struct Order {  // slots by number
    std::array<uint16_t, kMost> slot{};
    uint32_t count = 0;
  };
  static bool is_before(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b) < 0; }
  std::span<const uint16_t> of(uint32_t session) const {
    return {order_[session].slot.data(), order_[session].count};
  }

  std::vector<Datagram> slots_;
  std::vector<Order> order_;                        // by session
  std::array<uint16_t, kMost + kBurstMax> free_{};  // a ring of free slots
  size_t take_ = 0;                                 // the next one of it
  uint32_t held_ = 0;                               // slots that are not in it
};

}  // namespace tidewire
