// Events of ONE lane in lane order: the unit of work of one turn. Every value is one or more int64
// words: integers, fixed-point decimals, packed text (8 bytes a word), addresses. No pointer into a
// packet, no float, no string; so no buffer outlives its parsing.
//
// Which field stands in which column is decided once, by the config's queries (query/schema.h,
// ColumnMap): a parser writes only those.
#pragma once

#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/ids.h"
#include "base/time.h"
#include "event/drop_reason.h"

namespace tidewire {

inline constexpr uint32_t kBatchMax = 256;
inline constexpr uint32_t kColumnMax = 24;
// Written where a packet lacks the field (ports of a later fragment, VLAN of an untagged frame,
// ...). Never a legal value of a field that may be absent.
inline constexpr int64_t kAbsent = -1;

// A packet without an event that says how far its feed is (a heartbeat that finds nothing missing,
// the end of a session): what was sent before `time`, its arrival, has come. It stands before event
// `at` (count: behind the last), and is input like an event: a replay has it at the same place.
struct Mark {
  uint32_t at = 0;
  EventTime time;
};

struct EventBatch {
  LaneId lane{};
  uint32_t count = 0;
  uint32_t marks = 0;    // ascending `at`; a batch may hold marks and no event
  uint32_t outside = 0;  // events that a guard has ended; Lane::stamp
  Position first{};      // position of the packet of event 0
  Ordinal ordinal{};     // of event 0; counts on over batches
  // Written by Lane::stamp: what the pane test of every query needs.
  EventTime min_time, max_time, max_stamp;
  alignas(64) std::array<EventTime, kBatchMax> time;
  alignas(64) std::array<EventTime, kBatchMax> arrival;
  alignas(64)
      std::array<EventTime, kBatchMax> stamp;  // the watermark in force just before; Lane::stamp
  alignas(64) std::array<PartitionId, kBatchMax> partition;
  // Where `outside` is not 0: the guard that ended the event, kLate: none. Lane::stamp.
  alignas(64) std::array<LateReason, kBatchMax> guard;
  std::array<Mark, kBatchMax> mark;
  alignas(64) std::array<std::array<int64_t, kBatchMax>, kColumnMax> column;
};

// Appends a mark behind the events so far. Of those at one place the latest says it all.
inline void mark_progress(EventBatch& batch, EventTime time) {
  if (batch.marks > 0 && batch.mark[batch.marks - 1].at == batch.count) {
    Mark& last = batch.mark[batch.marks - 1];
    if (last.time < time) last.time = time;
    return;
  }
  CHECK(batch.marks < batch.mark.size());  // a batch is of one burst, a mark of one packet
  batch.mark[batch.marks++] = {batch.count, time};
}

}  // namespace tidewire
