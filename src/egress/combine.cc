#include "egress/combine.h"

#include <algorithm>
#include <utility>

namespace tidewire {
namespace {

int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Where a first or last value stands: (time, lane and ordinal). The ordinal's word is unsigned.
std::pair<int64_t, uint64_t> standing(const int64_t* word) {
  return {word[0], static_cast<uint64_t>(word[1])};
}

void combine_part(CellOp op, int64_t* into, const int64_t* from) {
  switch (op) {
    case CellOp::kSum64:
      into[0] = wrapping_sum(into[0], from[0]);
      return;
    case CellOp::kSum128: {
      const uint64_t low = static_cast<uint64_t>(into[0]) + static_cast<uint64_t>(from[0]);
      const int64_t carry = low < static_cast<uint64_t>(from[0]) ? 1 : 0;
      into[0] = static_cast<int64_t>(low);
      into[1] = wrapping_sum(wrapping_sum(into[1], from[1]), carry);
      return;
    }
    case CellOp::kMin:
      into[0] = std::min(into[0], from[0]);
      return;
    case CellOp::kMax:
      into[0] = std::max(into[0], from[0]);
      return;
    case CellOp::kFirst:
      if (standing(from) < standing(into)) std::copy_n(from, 3, into);
      return;
    case CellOp::kLast:
      if (standing(into) < standing(from)) std::copy_n(from, 3, into);
      return;
  }
}

}  // namespace

void combine_cells(const Plan& plan, int64_t* into, const int64_t* from) {
  into[0] += from[0];
  switch (plan.cell) {
    case CellKind::kStats:
      combine_part(CellOp::kSum64, into + 1, from + 1);
      combine_part(CellOp::kMin, into + 2, from + 2);
      combine_part(CellOp::kMax, into + 3, from + 3);
      return;
    case CellKind::kWide:
      for (const CellPart& part : plan.parts)
        combine_part(part.op, into + part.word, from + part.word);
      return;
  }
}

}  // namespace tidewire
