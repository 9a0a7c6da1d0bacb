// What one key holds in one pane or session: a run of int64 words, word 0 the row count. Two
// policies share one set of names, so that a store is a template over them:
//
//   StatsCells  { count, sum, min, max } of one value: 32 B, one vector operation a row
//   WideCells   count, then a list of (operation, value, word); a batch is taken part by part, one
//               pass each over cells that the first pass has brought into L1
//
// What the operations mean: cell_merge.h. A cleared cell is their neutral element.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "event/rows.h"
#include "query/plan.h"
#include "query/sketch.h"
#include "window/cell_merge.h"

namespace tidewire {

// Stands in for the value of a query that only counts.
inline constexpr std::array<int64_t, kBatchMax> kZeroColumn{};

// The order of rows with equal time: 16 bits of lane over 48 of ordinal, compared unsigned.
inline uint64_t position_of(const Rows& rows, uint32_t row) {
  return static_cast<uint64_t>(index_of(rows.lane)) << 48 | index_of(rows.ordinal(row));
}

class StatsCells {
 public:
  static constexpr uint32_t kWords = 4;
  static constexpr bool kFolds = true;  // has add_run()

  explicit StatsCells(const Plan& plan) : counts_only_(plan.values.empty()) {
    CHECK(plan.cell_words == kWords);
  }
  static constexpr uint32_t words() { return kWords; }
  static bool empty(const int64_t* cell) { return cell[0] == 0; }
  static void clear(int64_t* cell, size_t cells) {
    const __m256i none = _mm256_set_epi64x(INT64_MIN, INT64_MAX, 0, 0);
    for (size_t i = 0; i < cells; ++i) store(cell + i * kWords, none);
  }
  static void copy(int64_t* to, const int64_t* from) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), load(from));
  }
  static void merge(int64_t* into, const int64_t* from) {
    store(into, combine(load(into), load(from)));
  }
  // Of the cells at word `at` of two parts or more.
  static void sum(int64_t* to, const int64_t* const* part, uint32_t parts, size_t at) {
    __m256i all = load(part[0] + at);
    for (uint32_t p = 1; p < parts; ++p) all = combine(all, load(part[p] + at));
    store(to, all);
  }
  void add(int64_t* cell, const Rows& rows, uint32_t row) const {
    store(cell, combine(load(cell), lift(column(rows)[row])));
  }
  template <class At>
  void add_all(int64_t* const* cell, const Rows& rows, uint32_t count, At at) const {
    const int64_t* value = column(rows);
    for (uint32_t j = 0; j < count; ++j) store(cell[j], combine(load(cell[j]), lift(value[at(j)])));
  }
  // All rows that belong(i) into one cell, and how many: one by one they would wait for each
  // other's store.
  template <class Belongs>
  uint32_t add_run(int64_t* cell, const Rows& rows, Belongs belongs) const {
    const int64_t* value = column(rows);
    int64_t count = 0, sum = 0, least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < rows.count; ++i) {  // by masks, so that it vectorises
      const int64_t in = -static_cast<int64_t>(belongs(i)), v = value[i] & in;
      count -= in;
      wrapping_add(sum, v);
      least = std::min(least, v | (INT64_MAX & ~in));
      most = std::max(most, v | (INT64_MIN & ~in));
    }
    store(cell, combine(load(cell), _mm256_set_epi64x(most, least, sum, count)));
    return static_cast<uint32_t>(count);
  }

 private:
  const int64_t* column(const Rows& rows) const {
    return counts_only_ ? kZeroColumn.data() : rows.value[0];
  }
  static __m256i load(const int64_t* cell) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(cell));
  }
  static void store(int64_t* cell, __m256i v) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(cell), v);
  }
  static __m256i lift(int64_t value) {
    return _mm256_blend_epi32(_mm256_set1_epi64x(value), _mm256_set_epi64x(0, 0, 0, 1), 0x03);
  }
  // One comparison serves both: min takes b where a > b, max where not.
  static __m256i combine(__m256i a, __m256i b) {
    const __m256i flip = _mm256_set_epi64x(-1, 0, 0, 0);
    const __m256i take_b = _mm256_xor_si256(_mm256_cmpgt_epi64(a, b), flip);
    const __m256i extreme = _mm256_blendv_epi8(a, b, take_b);
    return _mm256_blend_epi32(_mm256_add_epi64(a, b), extreme, 0xF0);
  }

  bool counts_only_;
};

class WideCells {
 public:
  static constexpr bool kFolds = false;

  explicit WideCells(const Plan& plan) : words_(plan.cell_words), seed_(plan.seed) {
    CHECK(words_ >= 4 && words_ % 4 == 0 && words_ * 8 <= kResultRowBytesMax);
    CHECK(plan.parts.size() <= kCellPartsMax);
    for (const CellPart& part : plan.parts) {
      CHECK(part.word > 0 && part.word + words_of(part) <= words_);
      CHECK(part.value < plan.values.size() && part.second < plan.values.size());
      part_[parts_++] = part;
      std::array<int64_t, 3> none{};
      if (words_of(part) > none.size()) continue;
      clear_part(part, none.data());
      for (size_t w = 0; w < none.size(); ++w)
        if (none[w] != 0) none_[nones_++] = {static_cast<uint16_t>(part.word + w), none[w]};
    }
  }
  uint32_t words() const { return words_; }
  static bool empty(const int64_t* cell) { return cell[0] == 0; }
  void clear(int64_t* cell, size_t cells) const {
    std::fill_n(cell, cells * words_, 0);
    if (nones_ == 0) return;
    for (size_t i = 0; i < cells; ++i, cell += words_)
      for (uint32_t n = 0; n < nones_; ++n) cell[none_[n].word] = none_[n].value;
  }
  void copy(int64_t* to, const int64_t* from) const {
    for (uint32_t w = 0; w < words_; w += 4)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + w),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + w)));
  }
  void merge(int64_t* into, const int64_t* from) const {
    into[0] += from[0];
    for (uint32_t k = 0; k < parts_; ++k)
      merge_part(part_[k], into + part_[k].word, from + part_[k].word);
  }
  void sum(int64_t* to, const int64_t* const* part, uint32_t parts, size_t at) const {
    copy(to, part[0] + at);
    for (uint32_t p = 1; p < parts; ++p) merge(to, part[p] + at);
  }
  void add(int64_t* cell, const Rows& rows, uint32_t row) const {
    add_all(&cell, rows, 1, [row](uint32_t) { return row; });
  }
  template <class At>
  void add_all(int64_t* const* cell, const Rows& rows, uint32_t count, At at) const {
    for (uint32_t j = 0; j < count; ++j) ++cell[j][0];
    for (uint32_t k = 0; k < parts_; ++k) add_part(part_[k], cell, rows, count, at);
  }

 private:
  // One pass: the operation is chosen outside its loop.
  template <class At>
  void add_part(const CellPart& part, int64_t* const* cell, const Rows& rows, uint32_t count,
                At at) const {
    const int64_t* value = rows.value[part.value];
    const uint32_t w = part.word;
    const auto each = [&](auto combine) {
      for (uint32_t j = 0; j < count; ++j) combine(cell[j] + w, at(j));
    };
    const auto placed = [&](uint32_t row) {
      return std::array<int64_t, 3>{rows.time[row].ns, static_cast<int64_t>(position_of(rows, row)),
                                    value[row]};
    };
    switch (part.op) {
      case CellOp::kSum64:
        return each([=](int64_t* word, uint32_t row) { wrapping_add(*word, value[row]); });
      case CellOp::kSum128:
        return each([=](int64_t* word, uint32_t row) {
          store128(word, load128(word) + static_cast<uint128>(static_cast<int128>(value[row])));
        });
      case CellOp::kSumProducts: {
        const int64_t* other = rows.value[part.second];
        return each([=](int64_t* word, uint32_t row) {
          const int128 product = static_cast<int128>(value[row]) * other[row];
          add192(word, static_cast<uint128>(product), static_cast<int64_t>(product >> 127));
        });
      }
      case CellOp::kNonZero:
        return each([=](int64_t* word, uint32_t row) { *word += value[row] != 0; });
      case CellOp::kMin:
        return each([=](int64_t* word, uint32_t row) { *word = std::min(*word, value[row]); });
      case CellOp::kMax:
        return each([=](int64_t* word, uint32_t row) { *word = std::max(*word, value[row]); });
      case CellOp::kFirst:
        return each([=](int64_t* word, uint32_t row) {
          const auto seen = placed(row);
          if (stands_before(seen.data(), word)) std::copy(seen.begin(), seen.end(), word);
        });
      case CellOp::kLast:
        return each([=](int64_t* word, uint32_t row) {
          const auto seen = placed(row);
          if (stands_before(word, seen.data())) std::copy(seen.begin(), seen.end(), word);
        });
      case CellOp::kTop:
      case CellOp::kBottom: {
        const uint64_t flip = top_flip(part.op);
        const uint32_t size = part.size;
        return each([=](int64_t* word, uint32_t row) {
          insert_top(word, size, static_cast<uint64_t>(value[row]) ^ flip);
        });
      }
      case CellOp::kHistogram: {
        const HistogramBuckets buckets(part.range);
        return each([=](int64_t* word, uint32_t row) {
          auto* at_bucket = reinterpret_cast<std::byte*>(word) + buckets.of(value[row]) * 4;
          uint32_t counter;
          std::memcpy(&counter, at_bucket, 4);
          counter += counter != UINT32_MAX;
          std::memcpy(at_bucket, &counter, 4);
        });
      }
      case CellOp::kDistinct: {
        const bool one_word = part.second == part.value;
        const int64_t* second = one_word ? kZeroColumn.data() : rows.value[part.second];
        return each([this, value, second](int64_t* word, uint32_t row) {
          const uint64_t hash = distinct_hash(value[row], second[row], seed_);
          auto& seen = reinterpret_cast<unsigned char*>(word)[register_of(hash)];
          seen = std::max<unsigned char>(seen, rank_of(hash));
        });
      }
    }
  }

  struct NonZero {
    uint16_t word;
    int64_t value;
  };

  uint32_t words_;
  HashSeed seed_;
  uint32_t parts_ = 0, nones_ = 0;
  std::array<CellPart, kCellPartsMax> part_{};
  std::array<NonZero, 2 * kCellPartsMax> none_{};  // words of a cleared cell that are not 0
};

}  // namespace tidewire
