// The fields of flow export, and how a record's values become columns: at once, since only those
// columns are written that some query uses.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/hash.h"
#include "format/catalog.h"
#include "format/flow_template.h"
#include "format/partitions.h"

namespace tidewire::flow {

struct FlowField {
  Field field;
  uint8_t slot = 0;
};

// What open_netflow_format() has made of the options. Fields name the texts of `own`.
struct NetflowOptions {
  std::vector<OwnElement> own;
  std::vector<FlowField> fields;
  std::vector<TwoWords> micros;  // exporters that put microseconds into NTP fractions
  bool micros_of_all = false;
  FlowTime time = FlowTime::kEnd;
  bool multiply = false;
  Duration spread, template_wait;

  bool has_micros(TwoWords exporter) const {
    return micros_of_all || std::find(micros.begin(), micros.end(), exporter) != micros.end();
  }
};

std::vector<FlowField> flow_fields(const std::vector<OwnElement>& own);

// Exporter and domain as one value of two words: IPv4 exact, as the address ::DOMAIN:ffff:a.b.c.d;
// of IPv6 a hash.
inline TwoWords stream_words(const StreamKey& key) {
  if (key.exporter.high == kAbsent && key.exporter.low == kAbsent) return {0, key.domain};
  if (key.exporter.high == 0) return {key.domain, key.exporter.low};
  const int64_t words[4] = {key.exporter.high, key.exporter.low, key.domain, 0};
  const int64_t others[4] = {key.exporter.low, key.exporter.high, key.domain, 1};
  return {static_cast<int64_t>(hash_words<4>(words, HashSeed{})),
          static_cast<int64_t>(hash_words<4>(others, HashSeed{}))};
}

// The rate that a record or an option says; 0: none.
inline int64_t rate_said(const Values& values) {
  if (values[kRate] > 0) return values[kRate];
  const int64_t interval = values[kRateInterval], space = values[kRateSpace];
  if (interval <= 0 || space < 0) return 0;
  return space > INT64_MAX - interval ? INT64_MAX : (interval + space) / interval;
}

class FlowColumns {
 public:
  FlowColumns(const std::vector<FlowField>& fields, const ParserOptions& options,
              const ColumnMap& columns) {
    for (uint32_t f = 0; f < fields.size(); ++f) {
      if (!columns.wants(f)) continue;
      for (uint8_t w = 0; w < fields[f].field.words; ++w)
        wanted_.push_back({static_cast<uint8_t>(fields[f].slot + w),
                           static_cast<uint8_t>(columns.column[f] + w)});
    }
    if (options.partition_field < 0) return;
    const FlowField& by = fields[static_cast<size_t>(options.partition_field)];
    partition_ = {by.slot, static_cast<uint8_t>(by.slot + by.field.words - 1)};
  }
  void write(const Values& values, EventBatch& batch, uint32_t n) const {
    for (const Wanted& w : wanted_) batch.column[w.column][n] = values[w.slot];
  }
  TwoWords partition(const Values& values) const {
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
class FlowWriter {
 public:
  FlowWriter(const std::vector<FlowField>& fields, const ParserOptions& options)
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

}  // namespace tidewire::flow
