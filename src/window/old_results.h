// Results that have left and will be taken back (Accumulation::kRetracting): window and cell of
// each, in lists by start. Whoever holds a list holds the index of its first entry, 0 for none.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "window/reserve.h"

namespace tidewire {

class OldResults {
 public:
  struct alignas(32) Old {
    int64_t start, end;
    uint32_t next;
  };

  OldResults(uint64_t count, uint32_t cell_words, Reserve& reserve)
      : stride_(sizeof(Old) / 8 + cell_words),
        words_(reserve.take<int64_t>(count > 0 ? (count + 1) * stride_ : 0, "changes")),
        capacity_(count) {
    CHECK(count < UINT32_MAX);
    if (words_.empty()) return;
    for (auto i = static_cast<uint32_t>(count); i > 0; --i) {
      at(i).next = free_;
      free_ = i;
    }
  }
  uint64_t used() const { return used_; }
  uint64_t capacity() const { return capacity_; }
  bool has_room(uint64_t results) const { return capacity_ - used_ >= results; }

  Old& at(uint32_t i) { return *reinterpret_cast<Old*>(&words_.data()[size_t{i} * stride_]); }
  int64_t* cell(uint32_t i) { return reinterpret_cast<int64_t*>(&at(i) + 1); }

  uint32_t take() {
    const uint32_t i = free_;
    CHECK(i != 0);
    free_ = at(i).next;
    ++used_;
    return i;
  }
  // Frees the first of a list; returns the next.
  uint32_t give(uint32_t i) {
    const uint32_t next = at(i).next;
    at(i).next = free_;
    free_ = i;
    --used_;
    return next;
  }
  // Two lists as one.
  uint32_t join(uint32_t a, uint32_t b) {
    uint32_t first = 0;
    uint32_t* last = &first;
    while (a && b) {
      uint32_t& from = at(a).start <= at(b).start ? a : b;
      *last = from;
      last = &at(from).next;
      from = *last;
    }
    *last = a ? a : b;
    return first;
  }

 private:
  uint64_t stride_;
  std::span<int64_t> words_;
  uint64_t capacity_, used_ = 0;
  uint32_t free_ = 0;
};

}  // namespace tidewire
