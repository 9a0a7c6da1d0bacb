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

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "event/rows.h"
#include "query/plan.h"
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
  void add(int64_t* cell, const Rows& rows, uint32_t row) const {
    store(cell, combine(load(cell), lift(column(rows)[row])));
  }
  template <class At>
  void add_all(int64_t* const* cell, const Rows& rows, uint32_t count, At at) const {
    const int64_t* value = column(rows);
    for (uint32_t j = 0; j < count; ++j) store(cell[j], combine(load(cell[j]), lift(value[at(j)])));
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
  explicit WideCells(const Plan& plan) : words_(plan.cell_words) {
    CHECK(words_ >= 4 && words_ % 4 == 0 && words_ <= kWordsMax);
    CHECK(plan.parts.size() <= kPartsMax);
    for (const CellPart& part : plan.parts) {
      CHECK(part.word > 0 && part.word + width(part.op) <= words_);
      CHECK(part.value < plan.values.size());
      part_[parts_++] = part;
      int64_t* word = &none_[part.word];
      switch (part.op) {
        case CellOp::kSum64:
        case CellOp::kSum128:
          break;
        case CellOp::kMin:
          word[0] = INT64_MAX;
          break;
        case CellOp::kMax:
          word[0] = INT64_MIN;
          break;
        case CellOp::kFirst:
          word[0] = INT64_MAX;
          word[1] = -1;
          break;
        case CellOp::kLast:
          word[0] = INT64_MIN;
          break;
      }
    }
  }
  uint32_t words() const { return words_; }
  static bool empty(const int64_t* cell) { return cell[0] == 0; }
  void clear(int64_t* cell, size_t cells) const {
    for (size_t i = 0; i < cells; ++i, cell += words_) copy(cell, none_.data());
  }
  void copy(int64_t* to, const int64_t* from) const {
    for (uint32_t w = 0; w < words_; w += 4)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + w),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + w)));
  }
  void merge(int64_t* into, const int64_t* from) const {
    into[0] += from[0];
    for (uint32_t k = 0; k < parts_; ++k)
      merge_part(part_[k].op, into + part_[k].word, from + part_[k].word);
  }
  void add(int64_t* cell, const Rows& rows, uint32_t row) const {
    add_all(&cell, rows, 1, [row](uint32_t) { return row; });
  }
  template <class At>
  void add_all(int64_t* const* cell, const Rows& rows, uint32_t count, At at) const {
    for (uint32_t j = 0; j < count; ++j) ++cell[j][0];
    for (uint32_t k = 0; k < parts_; ++k) {
      const int64_t* value = rows.value[part_[k].value];
      const uint32_t w = part_[k].word;
      switch (part_[k].op) {
        case CellOp::kSum64:
          for (uint32_t j = 0; j < count; ++j) wrapping_add(cell[j][w], value[at(j)]);
          break;
        case CellOp::kSum128:
          for (uint32_t j = 0; j < count; ++j) add128(cell[j] + w, value[at(j)]);
          break;
        case CellOp::kMin:
          for (uint32_t j = 0; j < count; ++j) cell[j][w] = std::min(cell[j][w], value[at(j)]);
          break;
        case CellOp::kMax:
          for (uint32_t j = 0; j < count; ++j) cell[j][w] = std::max(cell[j][w], value[at(j)]);
          break;
        case CellOp::kFirst:
        case CellOp::kLast:
          for (uint32_t j = 0; j < count; ++j) {
            const uint32_t row = at(j);
            const int64_t seen[3] = {rows.time[row].ns,
                                     static_cast<int64_t>(position_of(rows, row)), value[row]};
            merge_part(part_[k].op, cell[j] + w, seen);
          }
          break;
      }
    }
  }

 private:
  static constexpr uint32_t kPartsMax = 32;
  static constexpr uint32_t kWordsMax = 4 + 3 * kPartsMax;

  static uint32_t width(CellOp op) {
    switch (op) {
      case CellOp::kSum64:
      case CellOp::kMin:
      case CellOp::kMax:
        return 1;
      case CellOp::kSum128:
        return 2;
      case CellOp::kFirst:
      case CellOp::kLast:
        return 3;
    }
    return 0;
  }
  static void add128(int64_t* word, int64_t value) {
    store128(word, load128(word) + static_cast<uint128>(static_cast<int128>(value)));
  }

  uint32_t words_;
  uint32_t parts_ = 0;
  std::array<CellPart, kPartsMax> part_{};
  std::array<int64_t, kWordsMax> none_{};
};

}  // namespace tidewire
