// Two cells of one key and window into one, word by word: the operations that both the stores and
// egress apply. Commutative, associative and exact (core.md rule 7): sums wrap at 64 bits or are
// carried at 128; first and last are ordered by (time, lane and ordinal), the second unsigned.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int128.h"
#include "query/plan.h"

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

// Of { time, lane << 48 | ordinal, value }.
inline bool stands_before(const int64_t* a, const int64_t* b) {
  return a[0] != b[0] ? a[0] < b[0] : static_cast<uint64_t>(a[1]) < static_cast<uint64_t>(b[1]);
}

inline void merge_part(CellOp op, int64_t* into, const int64_t* from) {
  switch (op) {
    case CellOp::kSum64:
      return wrapping_add(into[0], from[0]);
    case CellOp::kSum128:
      return store128(into, load128(into) + load128(from));
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
  }
}

// Cells as they stand in a result row: aligned to words only.
inline void merge_cells(const Plan& plan, int64_t* into, const int64_t* from) {
  into[0] += from[0];
  switch (plan.cell) {
    case CellKind::kStats:
      merge_part(CellOp::kSum64, into + 1, from + 1);
      merge_part(CellOp::kMin, into + 2, from + 2);
      merge_part(CellOp::kMax, into + 3, from + 3);
      return;
    case CellKind::kWide:
      for (const CellPart& part : plan.parts)
        merge_part(part.op, into + part.word, from + part.word);
      return;
  }
}

}  // namespace tidewire
