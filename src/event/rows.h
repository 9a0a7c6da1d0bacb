// The one shape in which rows reach a window store: from the local batch (pointers into its
// columns, or into scratch where a predicate left some out), or from another worker's ring. Arrays
// are compact: row i of every array is the same row.
#pragma once

#include <array>
#include <cstdint>

#include "base/hash.h"
#include "base/ids.h"
#include "base/time.h"
#include "event/event_batch.h"

namespace tidewire {

inline constexpr uint32_t kValueMax = 8;  // value columns of one query

struct Rows {
  uint32_t count = 0;
  LaneId lane{};
  Ordinal first{};              // of the batch's event 0
  const uint8_t* at = nullptr;  // row's index in its batch; null: 0, 1, 2, ...
  // Null, as `at` and the key of one word (it is in the hash): rows from another worker that all
  // are natural in the one pane of their bounds, and of which only key and values count
  // (WindowStore::bounds_suffice).
  const EventTime* time = nullptr;
  const EventTime* stamp = nullptr;
  const uint64_t* hash = nullptr;
  std::array<const int64_t*, kMaxKeyWords> key{};  // [word][row]
  std::array<const int64_t*, kValueMax> value{};   // [value column][row]
  // Not null: a row stands for the cell[0] rows of its key that were folded into its cell, [row]
  // after [row], in the place of values. Of narrow rows only.
  const int64_t* cell = nullptr;
  EventTime min_time, max_time, max_stamp;  // bounds; exact for a whole batch only

  Ordinal ordinal(uint32_t i) const { return Ordinal{index_of(first) + (at ? at[i] : i)}; }
};

}  // namespace tidewire
