// From one record's values to columns, for formats that decode a record as a whole: values stand in
// slots, a field of two words in two, and those that some query uses are copied when the record has
// become an event.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "format/parser.h"
#include "format/partitions.h"
#include "query/schema.h"

namespace tidewire {

struct ValueField {
  Field field;
  uint8_t slot = 0;
};

class ValueColumns {
 public:
  ValueColumns(const std::vector<ValueField>& fields, const ParserOptions& options,
               const ColumnMap& columns) {
    for (uint32_t f = 0; f < fields.size(); ++f) {
      if (!columns.wants(f)) continue;
      for (uint8_t w = 0; w < fields[f].field.words; ++w)
        wanted_.push_back({static_cast<uint8_t>(fields[f].slot + w),
                           static_cast<uint8_t>(columns.column[f] + w)});
    }
    if (options.partition_field < 0) return;
    const ValueField& by = fields[static_cast<size_t>(options.partition_field)];
    partition_ = {by.slot, static_cast<uint8_t>(by.slot + by.field.words - 1)};
  }
  void write(const int64_t* values, EventBatch& batch, uint32_t n) const {
    for (const Wanted& w : wanted_) batch.column[w.column][n] = values[w.slot];
  }
  bool wants(uint8_t slot) const {
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [slot](const Wanted& w) { return w.slot == slot; }) ||
           partition_[0] == slot;
  }
  TwoWords partition(const int64_t* values) const {
    return {values[partition_[0]], values[partition_[1]]};
  }

 private:
  struct Wanted {
    uint8_t slot, column;
  };
  std::vector<Wanted> wanted_;
  std::array<uint8_t, 2> partition_{};
};

// The partitions of a batch: an item is the value that names its partition.
class PartitionWriter {
 public:
  PartitionWriter(const std::vector<ValueField>& fields, const ParserOptions& options)
      : by_(options.partition_field),
        words_(by_ < 0 ? 0 : fields[static_cast<size_t>(by_)].field.words),
        partitions_(options.max_partitions, options.declared) {}

  void write(const TwoWords* item, EventBatch& batch, LaneCounts& counts) {
    if (by_ < 0) {
      std::fill_n(batch.partition.begin(), batch.count, PartitionId{0});
      return;
    }
    for (uint32_t i = 0; i < batch.count; ++i) {
      value_[0][i] = item[i].high;
      value_[1][i] = item[i].low;
    }
    partitions_.assign(value_.data(), words_, batch, counts);
  }
  bool partition_value(PartitionId id, std::array<int64_t, 2>& words) const {
    return by_ >= 0 && partitions_.value_of(id, words);
  }

 private:
  int by_;
  uint32_t words_;
  PartitionTable partitions_;
  std::array<std::array<int64_t, kBatchMax>, 2> value_{};
};

}  // namespace tidewire
