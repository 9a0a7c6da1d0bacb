// From found items (a packet's headers, a message) to columns. A format describes each field once:
// its name and type, and the loop that writes it. One call per wanted column and batch; a field
// that no query names costs nothing.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "format/parser.h"
#include "format/partitions.h"
#include "query/schema.h"

namespace tidewire {

using Column = std::array<int64_t, kBatchMax>;

template <class Item>
struct ItemField {
  Field field;
  void (*fill)(const Item* item, uint32_t count, Column* column);
};

// A column loop around a function of one item; a field of two words has two columns.
template <auto Read, class Item>
void fill(const Item* item, uint32_t count, Column* column) {
  for (uint32_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<decltype(Read(*item)), TwoWords>) {
      const TwoWords words = Read(item[i]);
      column[0][i] = words.high;
      column[1][i] = words.low;
    } else {
      column[0][i] = Read(item[i]);
    }
  }
}

template <class Item>
Schema schema_of(std::string_view format, std::span<const ItemField<Item>> fields) {
  Schema schema{format, {}};
  for (const ItemField<Item>& f : fields) {
    schema.fields.push_back(f.field);
    schema.fields.back().non_negative = true;  // none of our formats has a signed field
  }
  return schema;
}

template <class Item>
class ColumnWriter {
 public:
  ColumnWriter(std::span<const ItemField<Item>> fields, const ParserOptions& options,
               const ColumnMap& columns)
      : partitions_(options.max_partitions, options.declared) {
    for (uint32_t f = 0; f < fields.size(); ++f)
      if (columns.wants(f)) wanted_.push_back({fields[f].fill, columns.column[f]});
    if (options.partition_field >= 0)
      partition_by_ = &fields[static_cast<size_t>(options.partition_field)];
  }

  // The wanted columns and the partition of batch.count items.
  void write(const Item* item, EventBatch& batch, LaneCounts& counts) {
    for (const Wanted& w : wanted_) w.fill(item, batch.count, &batch.column[w.column]);
    if (partition_by_ == nullptr) {
      std::fill_n(batch.partition.begin(), batch.count, PartitionId{0});
      return;
    }
    partition_by_->fill(item, batch.count, partition_value_.data());
    partitions_.assign(partition_value_.data(), partition_by_->field.words, batch, counts);
  }

  bool partition_value(PartitionId id, std::array<int64_t, 2>& words) const {
    return partition_by_ != nullptr && partitions_.value_of(id, words);
  }

 private:
  struct Wanted {
    decltype(ItemField<Item>::fill) fill;
    uint8_t column;
  };
  std::vector<Wanted> wanted_;
  const ItemField<Item>* partition_by_ = nullptr;
  PartitionTable partitions_;
  std::array<Column, 2> partition_value_{};
};

}  // namespace tidewire
