// Events of ONE lane in lane order: the unit of work of one turn. Every value is one or more int64
// words: integers, fixed-point decimals, packed text (8 bytes a word), addresses. No pointer into a
// packet, no float, no string; so no buffer outlives its parsing.
//
// Which field stands in which column is decided once, by the config's queries (query/schema.h,
// ColumnMap): a parser writes only those.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/time.h"

namespace tidewire {

inline constexpr uint32_t kBatchMax = 256;
inline constexpr uint32_t kColumnMax = 24;
// Written where a packet lacks the field (ports of a later fragment, VLAN of an untagged frame,
// ...). Never a legal value of a field that may be absent.
inline constexpr int64_t kAbsent = -1;

struct EventBatch {
  LaneId lane{};
  uint32_t count = 0;
  Position first{};   // position of the packet of event 0
  Ordinal ordinal{};  // of event 0; counts on over batches
  // Written by Lane::stamp: what the pane test of every query needs.
  EventTime min_time, max_time, max_stamp;
  alignas(64) std::array<EventTime, kBatchMax> time;
  alignas(64) std::array<EventTime, kBatchMax> arrival;
  alignas(64)
      std::array<EventTime, kBatchMax> stamp;  // the watermark in force just before; Lane::stamp
  alignas(64) std::array<PartitionId, kBatchMax> partition;
  alignas(64) std::array<std::array<int64_t, kBatchMax>, kColumnMax> column;
};

}  // namespace tidewire
