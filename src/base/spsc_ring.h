// A bounded ring between one producer and one consumer thread. Slots are filled and read in place;
// the memory is the caller's (an arena). Nothing blocks: no free slot and nothing to read are null.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace tidewire {

template <class Slot>
class SpscRing {
 public:
  SpscRing() = default;
  explicit SpscRing(std::span<Slot> slots) : slots_(slots.data()), mask_(slots.size() - 1) {
    CHECK(std::has_single_bit(slots.size()));
  }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;
  void adopt(std::span<Slot> slots) {  // before any thread uses the ring
    CHECK(std::has_single_bit(slots.size()));
    slots_ = slots.data();
    mask_ = slots.size() - 1;
  }

  // Producer. `ahead`: the slot after that many others which are claimed but not pushed yet.
  Slot* free_slot(uint64_t ahead = 0) {
    const uint64_t at = tail_.load(std::memory_order_relaxed) + ahead;
    if (at - seen_head_ > mask_ &&
        at - (seen_head_ = head_.load(std::memory_order_acquire)) > mask_)
      return nullptr;
    return &slots_[at & mask_];
  }
  void push(uint64_t count = 1) {
    tail_.store(tail_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  // Consumer.
  Slot* front() {
    const uint64_t at = head_.load(std::memory_order_relaxed);
    if (at == seen_tail_ && at == (seen_tail_ = tail_.load(std::memory_order_acquire)))
      return nullptr;
    return &slots_[at & mask_];
  }
  // `count` slots that were pushed together: all of them are there once front() shows the first.
  void pop(uint64_t count = 1) {
    head_.store(head_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  // Either side, and control threads: a moment's count.
  uint64_t size() const {
    const uint64_t head = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_acquire) - head;
  }
  uint64_t capacity() const { return mask_ + 1; }

 private:
  Slot* slots_ = nullptr;
  uint64_t mask_ = 0;
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) uint64_t seen_head_ =
      0;  // the producer's copy: the shared line is read only when it looks full
  alignas(64) uint64_t seen_tail_ = 0;  // the consumer's
};

}  // namespace tidewire
