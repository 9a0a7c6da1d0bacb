// Which partition an event belongs to, by the value of one field: ids 1, 2, ... in order of
// discovery, so they depend on the lane's packets only. The table is bounded; values that come
// after it is full share partition 0, counted.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "event/drop_reason.h"
#include "event/event_batch.h"

namespace tidewire {

class PartitionTable {
 public:
  explicit PartitionTable(uint32_t max_partitions,
                          std::span<const std::array<int64_t, 2>> declared = {})
      : max_(max_partitions), slots_(std::bit_ceil(uint64_t{max_partitions} * 2 + 2)) {
    for (const auto& [high, low] : declared) find(high, low);
    last_ = {};
  }

  // Writes batch.partition for `count` events; the field's words are columns of `value`.
  void assign(const std::array<int64_t, kBatchMax>* value, uint32_t words, EventBatch& batch,
              LaneCounts& counts) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      const int64_t high = value[0][i], low = words > 1 ? value[1][i] : 0;
      if (high != last_.high || low != last_.low || last_.id == 0) find(high, low);
      counts.note(Note::kPartitionOverflow, last_.id == 0);
      batch.partition[i] = PartitionId{last_.id};
    }
  }

  // The value of a partition that was found by it.
  bool value_of(PartitionId id, std::array<int64_t, 2>& words) const {
    for (const Slot& slot : slots_) {
      if (slot.id == 0 || slot.id != index_of(id)) continue;
      words = {slot.high, slot.low};
      return true;
    }
    return false;
  }

 private:
  struct Slot {
    int64_t high = 0, low = 0;
    uint32_t id = 0;  // 0: free
  };
  void find(int64_t high, int64_t low) {
    const int64_t words[2] = {high, low};
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = hash_words<2>(words, HashSeed{}) & mask;
    while (slots_[at].id != 0 && (slots_[at].high != high || slots_[at].low != low))
      at = (at + 1) & mask;
    if (slots_[at].id == 0 && used_ + 1 < max_) slots_[at] = {high, low, ++used_};
    last_ = {high, low, slots_[at].id};
  }

  uint32_t max_;
  uint32_t used_ = 0;
  Slot last_;
  std::vector<Slot> slots_;  // at most half full
};

}  // namespace tidewire
