// What the data path runs to fill derived columns (query/derive.h): steps over registers of 256
// words, each one loop over the rows of a batch; pipeline/derive.cc runs it, once a batch and
// before any query looks. Numbers in registers are absent as kAbsentNumber; texts and addresses as
// the columns have them.
#pragma once

#include <cstdint>
#include <vector>

#include "query/plan.h"

namespace tidewire {

inline constexpr uint32_t kRegisterMax = 12;

struct ColumnStep {
  enum class Op : uint8_t {
    kLoad,      // to := column; the word `constant` there is kAbsentNumber
    kConstant,  // to := constant
    kAdd,       // to := a + b, and so on; what passes 64 bits is the largest number of its sign
    kSubtract,
    kMultiply,
    kDivide,   // (a * constant) / b, half to even; by zero: absent
    kBucket,   // the multiple of `constant` at or below a
    kWiden,    // to, a text's next word: zero, or absent where a is
    kCut,      // to, to + 1 := the address a, a + 1, cut by `cut`
    kSelect,   // to ... := a ... where condition `first` holds, else b ...
    kForward,  // to := 1 where end (a, a + 1; port a + 2) <= end (a + 3, a + 4; port a + 5), else 0
    kLookup,   // to ... := what table `first` says of a ...; absent where that is
    kStore,    // column ... := a ...
  } op = Op::kConstant;
  uint8_t to = 0, a = 0, b = 0;
  uint8_t words = 1;        // kSelect, kStore, kLookup: of the value
  uint8_t key_words = 1;    // kLookup
  uint8_t column = 0;       // kLoad, kStore
  bool may_pass = false;    // a result may pass 64 bits
  bool wide = false;        // kDivide: the numerator may
  bool counted = false;     // of a column in which some step may pass: rows are marked
  bool number_key = false;  // kLookup: a is a number, absent as one
  int64_t constant = 0;
  uint32_t first = 0;
  int64_t cut_ipv4[2] = {-1, -1}, cut_ipv6[2] = {-1, -1};  // masks of the high and the low word
};

struct ColumnProgram {
  std::vector<ColumnStep> steps;
  std::vector<Predicate> conditions;
};

}  // namespace tidewire
