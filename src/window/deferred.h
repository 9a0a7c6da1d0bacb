// Rows that may not be combined yet (core.md rule 4), in the order in which they will be: by
// (stamp, lane, ordinal). A heap of small keys over a table of rows; a row holds its key's words,
// never an id, so that keys may be recycled under it. Full: push() says so and the caller counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "event/drop_reason.h"
#include "event/rows.h"
#include "query/plan.h"
#include "window/cell.h"
#include "window/reserve.h"

namespace tidewire {

// One row on its own, in the shape of Rows.
struct SingleRow {
  EventTime time, stamp;
  uint64_t hash = 0;
  std::array<int64_t, kMaxKeyWords> key{};
  std::array<int64_t, kValueMax> value{};
  LaneId lane{};
  Ordinal ordinal{};
  bool outside = false;  // of all windows, for `reason`: only to be shown
  LateReason reason = LateReason::kLate;

  Rows rows() const {
    Rows r;
    r.count = 1;
    r.lane = lane;
    r.first = ordinal;
    r.time = &time;
    r.stamp = &stamp;
    r.hash = &hash;
    for (uint32_t w = 0; w < kMaxKeyWords; ++w) r.key[w] = &key[w];
    for (uint32_t v = 0; v < kValueMax; ++v) r.value[v] = &value[v];
    r.min_time = r.max_time = time;
    r.max_stamp = stamp;
    return r;
  }
};

class Deferred {
 public:
  Deferred(const Plan& plan, Reserve& reserve)
      : key_words_(plan.key_words),
        values_(static_cast<uint32_t>(plan.values.size())),
        words_(2 + key_words_ + values_),
        one_lane_(plan.one_lane()),
        heap_(reserve.take<Entry>(plan.max_deferred, "deferred")),
        rows_(reserve.take<int64_t>(plan.max_deferred * words_, "deferred")) {
    uint32_t slot = 0;
    for (Entry& entry : heap_) entry.slot = slot++;
  }

  uint64_t size() const { return used_; }
  bool has_room() const {
    return heap_.size() - used_ >= std::min<size_t>(kBatchMax, heap_.size() / 2);
  }
  uint64_t capacity() const { return heap_.size(); }

  bool push(const Rows& rows, uint32_t row) { return push(rows, row, false, LateReason::kLate); }
  // A row that stands outside all windows, to be shown at its place.
  bool push_outside(const Rows& rows, uint32_t row, LateReason reason) {
    return push(rows, row, true, reason);
  }
  // Is the first row due: can no row before it still come? With one lane that is known at its own
  // stamp; after the end of input always.
  bool due(int64_t frontier) const {
    if (used_ == 0) return false;
    const int64_t stamp = heap_[0].stamp;
    return stamp < frontier ||
           (stamp == std::max(frontier, INT64_MIN + 1) && (one_lane_ || frontier == INT64_MAX));
  }
  int64_t first_stamp() const { return heap_[0].stamp; }

  SingleRow pop() {
    std::pop_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(used_), after);
    const Entry& entry = heap_[--used_];
    const int64_t* at = &rows_[static_cast<size_t>(entry.slot) * words_];
    SingleRow row;
    row.stamp = {entry.stamp};
    row.lane = LaneId{static_cast<uint16_t>(entry.position >> 48)};
    row.ordinal = Ordinal{entry.position & ((uint64_t{1} << 48) - 1)};
    row.outside = entry.outside;
    row.reason = entry.reason;
    row.time = {*at++};
    row.hash = static_cast<uint64_t>(*at++);
    for (uint32_t w = 0; w < key_words_; ++w) row.key[w] = *at++;
    for (uint32_t v = 0; v < values_; ++v) row.value[v] = *at++;
    return row;
  }

 private:
  struct Entry {
    int64_t stamp;
    uint64_t position;
    uint32_t slot;  // of rows_; entries past the heap's end hold the free ones
    bool outside;
    LateReason reason;
  };
  bool push(const Rows& rows, uint32_t row, bool outside, LateReason reason) {
    if (used_ == heap_.size()) return false;
    Entry& entry = heap_[used_++];  // its slot is the free one
    // before_all() is no place: nothing can be published as done below it.
    entry.stamp = std::max(rows.stamp[row].ns, INT64_MIN + 1);
    entry.position = position_of(rows, row);
    entry.outside = outside;
    entry.reason = reason;
    int64_t* at = &rows_[static_cast<size_t>(entry.slot) * words_];
    *at++ = rows.time[row].ns;
    *at++ = static_cast<int64_t>(rows.hash[row]);
    for (uint32_t w = 0; w < key_words_; ++w) *at++ = rows.key[w][row];
    for (uint32_t v = 0; v < values_; ++v) *at++ = rows.value[v][row];
    std::push_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(used_), after);
    return true;
  }
  static bool after(const Entry& a, const Entry& b) {
    return a.stamp != b.stamp ? a.stamp > b.stamp : a.position > b.position;
  }

  uint32_t key_words_, values_, words_;
  bool one_lane_;
  std::span<Entry> heap_;
  std::span<int64_t> rows_;
  uint64_t used_ = 0;
};

}  // namespace tidewire
