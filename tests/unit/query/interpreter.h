// The predicate program on one row, step by step, from the comments of query/plan.h: the slow twin
// of select's column loops.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "query/plan.h"

namespace tidewire {

using Row = std::array<int64_t, kColumnMax>;

inline bool accepts(const Plan& plan, const Row& row) {
  using Op = PredicateStep::Op;
  std::vector<bool> stack;
  const auto pop = [&] {
    const bool top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const PredicateStep& s : plan.where) {
    switch (s.op) {
      case Op::kRange:
        stack.push_back(s.low <= row.at(s.column) && row.at(s.column) <= s.high);
        break;
      case Op::kMasked:
        stack.push_back((row.at(s.column) & s.low) == s.high);
        break;
      case Op::kIn:
        stack.push_back(std::binary_search(plan.set.begin() + s.low,
                                           plan.set.begin() + s.low + s.high, row.at(s.column)));
        break;
      case Op::kPrefix:
        stack.push_back((row.at(s.column) & s.mask_high) == s.high &&
                        (row.at(s.column + 1u) & s.mask_low) == s.low);
        break;
      case Op::kAnd: {
        const bool b = pop(), a = pop();
        stack.push_back(a && b);
        break;
      }
      case Op::kOr: {
        const bool b = pop(), a = pop();
        stack.push_back(a || b);
        break;
      }
      case Op::kNot:
        stack.back() = !stack.back();
        break;
    }
    EXPECT_LE(stack.size(), kPredicateDepthMax);
  }
  EXPECT_EQ(stack.size(), 1u);
  return stack.back();
}

}  // namespace tidewire
