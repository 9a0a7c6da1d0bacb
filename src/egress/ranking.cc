#include "egress/ranking.h"

#include <algorithm>

#include "base/check.h"

namespace tidewire {
namespace {

struct Sizes {
  uint64_t rows = 0;
  uint32_t key_words = 0, outputs = 0;
};

Sizes sizes_of(const std::vector<const Plan*>& plans) {
  Sizes most;
  for (const Plan* plan : plans) {
    if (plan->shaping.top == 0) continue;
    most.rows = std::max<uint64_t>(most.rows, plan->shaping.top);
    most.key_words = std::max(most.key_words, plan->key_words);
    most.outputs = std::max(most.outputs, static_cast<uint32_t>(plan->outputs.size()));
  }
  if (most.rows > 0) ++most.rows;  // the row that is weighed
  return most;
}

}  // namespace

uint64_t Ranking::bytes(const std::vector<const Plan*>& plans) {
  const Sizes s = sizes_of(plans);
  return s.rows * (sizeof(Row) + sizeof(uint32_t) + s.key_words * sizeof(int64_t) +
                   s.outputs * sizeof(Value));
}

Ranking::Ranking(const std::vector<const Plan*>& plans) {
  const Sizes s = sizes_of(plans);
  key_words_ = s.key_words;
  outputs_ = s.outputs;
  rows_.resize(s.rows);
  keys_.resize(s.rows * s.key_words);
  values_.resize(s.rows * s.outputs);
  order_.resize(s.rows);
}

// An absent value is worse than any.
bool Ranking::better(uint32_t a, uint32_t b) const {
  const Row &x = rows_[a], &y = rows_[b];
  if (x.by != y.by) {
    if (x.by == kAbsentValue || y.by == kAbsentValue) return y.by == kAbsentValue;
    return x.result.plan->shaping.top_least ? x.by < y.by : x.by > y.by;
  }
  if (x.result.hash != y.result.hash) return x.result.hash < y.result.hash;
  const uint32_t words = x.result.plan->key_words;
  return std::lexicographical_compare(x.result.key, x.result.key + words, y.result.key,
                                      y.result.key + words);
}

void Ranking::keep(uint32_t slot, const Result& row) {
  Row& to = rows_[slot];
  to.result = row;
  to.by = row.values[row.plan->shaping.top_output].number;
  int64_t* key = keys_.data() + size_t{slot} * key_words_;
  Value* values = values_.data() + size_t{slot} * outputs_;
  std::copy_n(row.key, row.plan->key_words, key);
  std::copy_n(row.values, row.plan->outputs.size(), values);
  to.result.key = key;
  to.result.values = values;
  to.result.cell = nullptr;
}

bool Ranking::add(const Result& row) {
  CHECK(!closed_);
  if (!busy_) {
    busy_ = true;
    window_ = row;
    used_ = 0;
    for (uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  }
  DCHECK(is_of_window(row));
  const auto worst_on_top = [this](uint32_t a, uint32_t b) { return better(a, b); };
  const auto end = [this] { return order_.begin() + static_cast<std::ptrdiff_t>(used_); };
  keep(order_[used_], row);
  ++used_;
  std::push_heap(order_.begin(), end(), worst_on_top);
  if (used_ <= row.plan->shaping.top) return true;
  std::pop_heap(order_.begin(), end(), worst_on_top);
  --used_;
  return false;
}

void Ranking::close() {
  std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(used_),
            [this](uint32_t a, uint32_t b) { return better(a, b); });
  closed_ = true;
  next_ = 0;
}

bool Ranking::pop(Result& out) {
  if (next_ < used_) {
    out = rows_[order_[next_++]].result;
    return true;
  }
  busy_ = closed_ = false;
  return false;
}

}  // namespace tidewire
