// One query's view of a batch: which rows it wants, their key words, hash and values, as Rows.
// Stateless column loops, one call per operation and batch (core.md section 4); where no row is
// left out, time, stamp, values and plain key words stay where they are and nothing is copied.
#pragma once

#include <array>
#include <cstdint>

#include "event/event_batch.h"
#include "event/rows.h"
#include "query/plan.h"

namespace tidewire {

// What select() writes to; lives in the worker's arena. The returned Rows point into it and into
// the batch, so they hold until either is used again.
struct SelectScratch {
  alignas(64) std::array<std::array<uint8_t, kBatchMax>, kPredicateDepthMax> mask;  // 0 or 1
  alignas(64) std::array<uint8_t, kBatchMax> at;
  alignas(64) std::array<EventTime, kBatchMax> time;
  alignas(64) std::array<EventTime, kBatchMax> stamp;
  alignas(64) std::array<uint64_t, kBatchMax> hash;
  alignas(64) std::array<std::array<int64_t, kBatchMax>, kMaxKeyWords> key;
  alignas(64) std::array<std::array<int64_t, kBatchMax>, kValueMax> value;
  alignas(64) std::array<std::array<int64_t, kBatchMax>, 2> address;
};

// Of the events that no guard has ended (kLate), or of those that `guard` has: which the predicate
// accepts.
Rows select(const Plan& plan, const EventBatch& batch, SelectScratch& scratch,
            LateReason guard = LateReason::kLate);
// 1 for each event that the predicate, which is not empty, accepts. Holds until scratch is used
// again.
const uint8_t* matches(const Predicate& predicate, const EventBatch& batch, SelectScratch& scratch);

}  // namespace tidewire
