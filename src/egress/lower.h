// From a cell to the values that people asked for (lower, of lift-combine-lower). Exact: no float.
//
//   count, sum          128-bit integers, the sum with its field's decimals
//   average             sum / count at 6 more decimals than the field, rounded half to even
//   min, max            the field's word
//   first, last         the word beside (time, lane and ordinal)
//   delta, rate         absent: they need the window before (egress/shape.h)
#pragma once

#include <cstdint>

#include "base/int128.h"
#include "query/plan.h"

namespace tidewire {

// Stands for a value that is not there. No sum reaches it: that would take 2^64 rows.
inline constexpr int128 kAbsentNumber = static_cast<int128>(static_cast<uint128>(1) << 127);

struct Value {
  int128 number = 0;
  // How it reads: kInteger with these decimals, else one word of that type.
  FieldType type = FieldType::kInteger;
  uint8_t decimals = 0;
  bool is_absent() const { return number == kAbsentNumber; }
};

Value lower(const Output& output, const int64_t* cell);
// The type and decimals that lower() gives, without a number.
Value lower_shape(const Output& output);

// numerator * 10^decimals / denominator, rounded half to even. denominator > 0; the quotient itself
// must fit 64 bits, as the average of int64 values does.
int128 divide_half_even(int128 numerator, int64_t denominator, uint32_t decimals);

}  // namespace tidewire
