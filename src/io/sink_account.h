// What a sink has to say in sample(): counted by the thread that sends, read by any. Every record
// that was taken ends in exactly one of written and lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "io/sink.h"

namespace tidewire {

class SinkAccount {
 public:
  void written(uint64_t records, uint64_t bytes) {
    add(records_, records);
    add(bytes_, bytes);
    degraded_.store(false, std::memory_order_relaxed);
  }
  // why: static text.
  void lost(uint64_t records, const char* why) {
    add(lost_, records);
    failure_.store(why, std::memory_order_relaxed);
    degraded_.store(true, std::memory_order_relaxed);
  }
  // The reason of the last loss stays when writing works again.
  void sample(SinkCounters& out) const {
    out = {.records = records_.load(std::memory_order_relaxed),
           .bytes = bytes_.load(std::memory_order_relaxed),
           .lost = lost_.load(std::memory_order_relaxed),
           .degraded = degraded_.load(std::memory_order_relaxed),
           .failure = failure_.load(std::memory_order_relaxed)};
  }

 private:
  // One thread writes, so a plain load and store will do.
  static void add(std::atomic<uint64_t>& counter, uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> records_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> lost_{0};
  std::atomic<bool> degraded_{false};
  std::atomic<const char*> failure_{nullptr};
};

}  // namespace tidewire
