// A row between the merge and the sinks: where it stands, and its key and cell words in place.
// Valid until the merge goes on.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "query/plan.h"
#include "window/result_block.h"

namespace tidewire {

struct Result {
  const Plan* plan = nullptr;
  uint16_t query = 0;  // index_of(plan->id)
  RunKind kind = RunKind::kPoint;
  uint16_t flags = 0;     // ResultFlags, those of the window on all workers together
  uint64_t sequence = 0;  // 1, 2, 3, ... over all queries of the appliance
  EventTime place, start, end;
  uint64_t hash = 0;
  const int64_t* key = nullptr;   // plan->key_words of them
  const int64_t* cell = nullptr;  // plan->cell_words

  bool is_overflow_row() const { return (flags & kFlagOverflowRow) != 0; }
};

}  // namespace tidewire
