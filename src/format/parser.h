// The door behind which a wire format stands: packets of one lane become columns. One file per
// format; one Parser per lane, since templates, sequence numbers and clock bases are the lane's
// state.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "event/burst.h"
#include "event/drop_reason.h"
#include "event/event_batch.h"

namespace tidewire {

class Parser {
 public:
  virtual ~Parser() = default;
  // A new burst. It stays valid until next() has returned false. One without packets: the lane has
  // ended, or is silent, and what was held back is given.
  virtual void begin(const Burst& burst) = 0;
  // Whether events wait for packets that are still to come.
  virtual bool holds_back() const { return false; }
  // Fills one batch: lane, count, first, ordinal, time, arrival, partition and the wanted columns.
  // A cursor: one packet may hold many events and go on in the next batch. False: the burst is used
  // up (the batch may be empty or not; count says). Total on any bytes: what cannot be read ends in
  // a name of event/drop_reason.h. Every event whose time is not usable (base/time.h) ends as
  // out_of_range. Packets and bytes received are not its to count (runtime does, at the door). No
  // allocation, no clock. A packet that says how far the feed is leaves a mark (mark_progress).
  virtual bool next(EventBatch& batch, LaneCounts& counts) = 0;
  // The words of the value that names a partition. False: it has none. Not while next() may run.
  virtual bool partition_value(PartitionId, std::array<int64_t, 2>&) const { return false; }
};

// What a parser is made with, common to all formats.
struct ParserOptions {
  LaneId lane{};
  uint32_t max_partitions = 64;  // partition 0 takes the rest
  // Field whose value (all its words) names the partition: ids from 1 in order of discovery, what
  // comes after the table is full joins 0. -1: all events are partition 0.
  int partition_field = -1;
  // Values that have their ids from the start: 1, 2, ... in this order; fewer than max_partitions.
  std::vector<std::array<int64_t, 2>> declared{};
};

}  // namespace tidewire
