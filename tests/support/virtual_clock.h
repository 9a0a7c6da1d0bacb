// A clock that stands still until the test moves it.
#pragma once

#include <atomic>

#include "runtime/clock.h"

namespace tidewire {

class VirtualClock final : public Clock {
 public:
  MonotonicTime now() override { return {now_.load(std::memory_order_relaxed)}; }
  EventTime wall() override {
    ++wall_reads_;
    return {wall_.load(std::memory_order_relaxed)};
  }
  void advance(Duration d) {
    now_.fetch_add(d.ns, std::memory_order_relaxed);
    wall_.fetch_add(d.ns, std::memory_order_relaxed);
  }
  void set_wall(EventTime t) { wall_.store(t.ns, std::memory_order_relaxed); }
  uint64_t wall_reads() const { return wall_reads_; }

 private:
  std::atomic<int64_t> now_{kSecond};
  std::atomic<int64_t> wall_{1'700'000'000 * kSecond};
  std::atomic<uint64_t> wall_reads_{0};
};

}  // namespace tidewire
