#include "pipeline/select.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace tidewire {
namespace {

using Mask = std::array<uint8_t, kBatchMax>;

// Up to here a set is compared value by value, which vectorises; beyond, each row is searched.
constexpr int64_t kSmallSet = 16;

void mark_set(const int64_t* column, uint32_t count, const int64_t* set, int64_t size, Mask& mask) {
  if (size <= kSmallSet) {
    std::fill_n(mask.begin(), count, uint8_t{0});
    for (int64_t k = 0; k < size; ++k)
      for (uint32_t i = 0; i < count; ++i)
        mask[i] = static_cast<uint8_t>(mask[i] | static_cast<uint8_t>(column[i] == set[k]));
    return;
  }
  for (uint32_t i = 0; i < count; ++i)
    mask[i] = static_cast<uint8_t>(std::binary_search(set, set + size, column[i]));
}

// Leaves 1 for each row that the program accepts in scratch.mask[0].
void evaluate(std::span<const PredicateStep> steps, std::span<const int64_t> set,
              const EventBatch& batch, SelectScratch& scratch) {
  const uint32_t count = batch.count;
  uint32_t depth = 0;
  for (const PredicateStep& step : steps) {
    const int64_t* column = batch.column[step.column].data();
    switch (step.op) {
      case PredicateStep::Op::kRange: {
        DCHECK(depth < kPredicateDepthMax);
        Mask& mask = scratch.mask[depth++];
        for (uint32_t i = 0; i < count; ++i)
          mask[i] = static_cast<uint8_t>(static_cast<uint8_t>(column[i] >= step.low) &
                                         static_cast<uint8_t>(column[i] <= step.high));
        break;
      }
      case PredicateStep::Op::kMasked: {
        DCHECK(depth < kPredicateDepthMax);
        Mask& mask = scratch.mask[depth++];
        for (uint32_t i = 0; i < count; ++i)
          mask[i] = static_cast<uint8_t>((column[i] & step.low) == step.high);
        break;
      }
      case PredicateStep::Op::kIn: {
        DCHECK(depth < kPredicateDepthMax);
        mark_set(column, count, set.data() + step.low, step.high, scratch.mask[depth++]);
        break;
      }
      case PredicateStep::Op::kPrefix: {
        DCHECK(depth < kPredicateDepthMax);
        const int64_t* low = batch.column[step.column + 1].data();
        Mask& mask = scratch.mask[depth++];
        for (uint32_t i = 0; i < count; ++i)
          mask[i] = static_cast<uint8_t>((((column[i] ^ step.high) & step.mask_high) |
                                          ((low[i] ^ step.low) & step.mask_low)) == 0);
        break;
      }
      case PredicateStep::Op::kAnd: {
        DCHECK(depth >= 2);
        --depth;
        const Mask& right = scratch.mask[depth];
        Mask& left = scratch.mask[depth - 1];
        for (uint32_t i = 0; i < count; ++i) left[i] = static_cast<uint8_t>(left[i] & right[i]);
        break;
      }
      case PredicateStep::Op::kOr: {
        DCHECK(depth >= 2);
        --depth;
        const Mask& right = scratch.mask[depth];
        Mask& left = scratch.mask[depth - 1];
        for (uint32_t i = 0; i < count; ++i) left[i] = static_cast<uint8_t>(left[i] | right[i]);
        break;
      }
      case PredicateStep::Op::kNot: {
        DCHECK(depth >= 1);
        Mask& mask = scratch.mask[depth - 1];
        for (uint32_t i = 0; i < count; ++i) mask[i] = static_cast<uint8_t>(mask[i] ^ 1);
        break;
      }
    }
  }
  DCHECK(depth == 1);
}

// Reads columns of the batch either in place or with the left-out rows squeezed out.
class Columns {
 public:
  Columns(const uint8_t* at, uint32_t count) : at_(at), count_(count) {}

  template <class T>
  const T* take(const std::array<T, kBatchMax>& from, std::array<T, kBatchMax>& to) const {
    if (!at_) return from.data();
    for (uint32_t i = 0; i < count_; ++i) to[i] = from[at_[i]];
    return to.data();
  }

 private:
  const uint8_t* at_;
  uint32_t count_;
};

void cut(const KeyWord& word, const int64_t* high, const int64_t* low, uint32_t count,
         int64_t* out) {
  const int64_t* from = word.cut == KeyWord::Cut::kHighWord ? high : low;
  for (uint32_t i = 0; i < count; ++i) {
    const bool ipv4 = high[i] == 0 && (static_cast<uint64_t>(low[i]) >> 32) == 0xFFFF;
    const bool absent = (high[i] & low[i]) == kAbsent;  // in both words: stays so
    out[i] = from[i] & (absent ? kAbsent : ipv4 ? word.mask_ipv4 : word.mask_ipv6);
  }
}

template <uint32_t W>
void hash_rows(const Rows& rows, const HashSeed& seed, uint64_t* hash) {
  for (uint32_t i = 0; i < rows.count; ++i) {
    std::array<int64_t, kMaxKeyWords> word;
    for (uint32_t w = 0; w < W; ++w) word[w] = rows.key[w][i];
    hash[i] = hash_words<W>(word.data(), seed);
  }
}

void pack_keys(const Plan& plan, const EventBatch& batch, const Columns& columns,
               SelectScratch& scratch, Rows& rows) {
  for (uint32_t w = 0; w < plan.key_words; ++w) {
    std::array<int64_t, kBatchMax>& out = scratch.key[w];
    rows.key[w] = out.data();
    if (w >= plan.key.size()) {
      std::fill_n(out.begin(), rows.count, int64_t{0});
      continue;
    }
    const KeyWord& word = plan.key[w];
    if (word.cut == KeyWord::Cut::kNone)
      rows.key[w] = columns.take(batch.column[word.column], out);
    else
      cut(word, columns.take(batch.column[word.address], scratch.address[0]),
          columns.take(batch.column[word.address + 1], scratch.address[1]), rows.count, out.data());
  }
  switch (plan.key_words) {
    case 0:
      hash_rows<0>(rows, plan.seed, scratch.hash.data());
      break;
    case 1:
      hash_rows<1>(rows, plan.seed, scratch.hash.data());
      break;
    case 2:
      hash_rows<2>(rows, plan.seed, scratch.hash.data());
      break;
    default:
      hash_rows<4>(rows, plan.seed, scratch.hash.data());
      break;
  }
  rows.hash = scratch.hash.data();
}

}  // namespace

const uint8_t* matches(const Predicate& predicate, const EventBatch& batch,
                       SelectScratch& scratch) {
  evaluate(predicate.steps, predicate.set, batch, scratch);
  return scratch.mask[0].data();
}

Rows select(const Plan& plan, const EventBatch& batch, SelectScratch& scratch, LateReason guard) {
  Rows rows;
  rows.count = batch.count;
  rows.lane = batch.lane;
  rows.first = batch.ordinal;
  rows.min_time = batch.min_time;
  rows.max_time = batch.max_time;
  rows.max_stamp = batch.max_stamp;
  if (!plan.where.empty() || batch.outside > 0) {
    Mask& mask = scratch.mask[0];
    if (plan.where.empty())
      std::fill_n(mask.begin(), batch.count, uint8_t{1});
    else
      evaluate(plan.where, plan.set, batch, scratch);
    for (uint32_t i = 0; batch.outside > 0 && i < batch.count; ++i)
      mask[i] = static_cast<uint8_t>(mask[i] & static_cast<uint8_t>(batch.guard[i] == guard));
    uint32_t kept = 0;  // the index is written for each row and kept only where the mask is 1
    for (uint32_t i = 0; i < batch.count; ++i) {
      scratch.at[kept] = static_cast<uint8_t>(i);
      kept += mask[i];
    }
    if (kept < batch.count) {
      rows.count = kept;
      rows.at = scratch.at.data();
    }
    if (kept == 0) return rows;
  }
  const Columns columns(rows.at, rows.count);
  rows.time = columns.take(batch.time, scratch.time);
  rows.stamp = columns.take(batch.stamp, scratch.stamp);
  pack_keys(plan, batch, columns, scratch, rows);
  for (size_t v = 0; v < plan.values.size(); ++v)
    rows.value[v] = columns.take(batch.column[plan.values[v]], scratch.value[v]);
  return rows;
}

}  // namespace tidewire
