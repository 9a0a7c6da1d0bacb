// Two cells of one key and window into one, word by word: the operations that both the stores and
// egress apply. Commutative, associative and exact (core.md rule 7): sums wrap at 64 bits or are
// carried at 128 and 192; counters saturate; first and last are ordered by (time, lane and
// ordinal), the second unsigned.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "base/int128.h"
#include "query/plan.h"
#include "query/sketch.h"

namespace tidewire {

inline void wrapping_add(int64_t& to, int64_t value) {
  to = static_cast<int64_t>(static_cast<uint64_t>(to) + static_cast<uint64_t>(value));
}
inline uint128 load128(const int64_t* word) {
  return static_cast<uint128>(static_cast<uint64_t>(word[1])) << 64 |
         static_cast<uint64_t>(word[0]);
}
inline void store128(int64_t* word, uint128 value) {
  word[0] = static_cast<int64_t>(static_cast<uint64_t>(value));
  word[1] = static_cast<int64_t>(static_cast<uint64_t>(value >> 64));
}

inline void add192(int64_t* word, uint128 low, int64_t high) {
  const uint128 sum = load128(word) + low;
  store128(word, sum);
  wrapping_add(word[2], high);
  wrapping_add(word[2], static_cast<int64_t>(sum < low));
}

// Of { time, lane << 48 | ordinal, value }.
inline bool stands_before(const int64_t* a, const int64_t* b) {
  return a[0] != b[0] ? a[0] < b[0] : static_cast<uint64_t>(a[1]) < static_cast<uint64_t>(b[1]);
}

// Into a list with its largest word first. False: there are enough that are larger or equal.
inline bool insert_top(int64_t* best, uint32_t size, uint64_t word) {
  const auto at = [best](uint32_t i) { return static_cast<uint64_t>(best[i]); };
  uint32_t i = size - 1;
  if (word <= at(i)) return false;
  for (; i > 0 && at(i - 1) < word; --i) best[i] = best[i - 1];
  best[i] = static_cast<int64_t>(word);
  return true;
}

// Parts of many small numbers, 32 B at a time.
template <class Combine>
void merge_vectors(int64_t* into, const int64_t* from, uint32_t words, Combine combine) {
  const auto load = [](const int64_t* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  };
  for (uint32_t w = 0; w < words; w += 4)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + w),
                        combine(load(into + w), load(from + w)));
}
inline __m256i add_saturating(__m256i a, __m256i b) {  // 32-bit, unsigned
  const __m256i room = _mm256_xor_si256(b, _mm256_set1_epi32(-1));
  return _mm256_add_epi32(_mm256_min_epu32(a, room), b);
}

inline void merge_part(const CellPart& part, int64_t* into, const int64_t* from) {
  switch (part.op) {
    case CellOp::kSum64:
    case CellOp::kNonZero:
      return wrapping_add(into[0], from[0]);
    case CellOp::kSum128:
      return store128(into, load128(into) + load128(from));
    case CellOp::kSumProducts:
      return add192(into, load128(from), from[2]);
    case CellOp::kMin:
      into[0] = std::min(into[0], from[0]);
      return;
    case CellOp::kMax:
      into[0] = std::max(into[0], from[0]);
      return;
    case CellOp::kFirst:
      if (stands_before(from, into)) std::copy(from, from + 3, into);
      return;
    case CellOp::kLast:
      if (stands_before(into, from)) std::copy(from, from + 3, into);
      return;
    case CellOp::kTop:
    case CellOp::kBottom:
      for (uint32_t i = 0; i < part.size; ++i)
        if (!insert_top(into, part.size, static_cast<uint64_t>(from[i]))) return;
      return;
    case CellOp::kHistogram:
      return merge_vectors(into, from, words_of(part), add_saturating);
    case CellOp::kDistinct:
      return merge_vectors(into, from, words_of(part),
                           [](__m256i a, __m256i b) { return _mm256_max_epu8(a, b); });
  }
}

// A part that no row has reached.
inline void clear_part(const CellPart& part, int64_t* word) {
  std::fill_n(word, words_of(part), 0);
  switch (part.op) {
    case CellOp::kMin:
      word[0] = INT64_MAX;
      return;
    case CellOp::kMax:
    case CellOp::kLast:
      word[0] = INT64_MIN;
      return;
    case CellOp::kFirst:
      word[0] = INT64_MAX;
      word[1] = -1;
      return;
    case CellOp::kSum64:
    case CellOp::kSum128:
    case CellOp::kSumProducts:
    case CellOp::kNonZero:
    case CellOp::kTop:
    case CellOp::kBottom:
    case CellOp::kHistogram:
    case CellOp::kDistinct:
      return;
  }
}

// Cells as they stand in a result row: aligned to words only.
inline void merge_cells(const Plan& plan, int64_t* into, const int64_t* from) {
  into[0] += from[0];
  switch (plan.cell) {
    case CellKind::kStats:
      wrapping_add(into[1], from[1]);
      into[2] = std::min(into[2], from[2]);
      into[3] = std::max(into[3], from[3]);
      return;
    case CellKind::kWide:
      for (const CellPart& part : plan.parts) merge_part(part, into + part.word, from + part.word);
      return;
  }
}

}  // namespace tidewire
