// A row between the merge and the sinks: where it stands, its key and cell words in place, and the
// values that people asked for. Valid until the stage that gave it goes on.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "egress/lower.h"
#include "event/drop_reason.h"
#include "query/plan.h"
#include "window/result_block.h"

namespace tidewire {

struct Result {
  const Plan* plan = nullptr;
  uint16_t query = 0;  // index_of(plan->id)
  RunKind kind = RunKind::kPoint;
  FireKind fire = FireKind::kOnTime;
  uint16_t flags = 0;     // ResultFlags, those of the window on all workers together
  uint32_t index = 0;     // Run::index: firing index; kLate: LateReason
  uint64_t position = 0;  // Run::position
  uint64_t sequence = 0;  // 1, 2, 3, ... over all queries of the appliance; 0: outside the order
  EventTime place;        // kLate: the watermark that met the row
  EventTime start, end;   // of the window; kLate: both the row's time
  uint64_t hash = 0;
  const int64_t* key = nullptr;   // plan->key_words of them
  const int64_t* cell = nullptr;  // plan->cell_words; kLate: plan->values.size() values
  const Value* values = nullptr;  // plan->outputs.size() of them, from the shaper on

  bool is_overflow_row() const { return (flags & kFlagOverflowRow) != 0; }
  LateReason reason() const { return static_cast<LateReason>(index); }
};

// What people filter on. "partial" takes the place of "on_time" only: what a drain fired before its
// time is no complete window; an early result or an update is what it is, drained or not.
inline std::string_view kind_name(const Result& row) {
  switch (row.fire) {
    case FireKind::kOnTime:
      return (row.flags & kFlagPartial) != 0 ? "partial" : "on_time";
    case FireKind::kEarly:
      return "early";
    case FireKind::kUpdate:
      return "update";
    case FireKind::kRetraction:
      return "retraction";
    case FireKind::kProvisional:
      return "provisional";
  }
  return {};
}

}  // namespace tidewire
