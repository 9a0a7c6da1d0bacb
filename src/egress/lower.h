// From a cell to the values that people asked for (lower, of lift-combine-lower). Integers only: no
// float. With d the decimals of the field:
//
//   count, sum          128-bit integers, the sum with d decimals
//   average             sum / count at d + 6 decimals, rounded half to even
//   min, max            the field's word
//   first, last         the word beside (time, lane and ordinal)
//   variance            (n * sum of squares - sum^2) / n^2, of a sample / (n * (n - 1)); exact up
//                       to that division, at 2d + 6 decimals, rounded half to even
//   deviation           its square root at d + 6 decimals, the nearest there is to the exact one
//   vwap                sum(price * volume) / sum(volume), exact up to the division, at d + 6
//                       decimals, rounded half to even
//   any, all            1 or 0
//   top, bottom         the field's word
//   quantile            of n rows the value of rank ceil(share * n), at least 1; as the middle of
//                       its bucket, at most 1.6 % away (query/sketch.h), exact below 64 (as an
//                       integer, its decimals left aside)
//   distinct            estimate, standard error 3.25 %
//   delta, rate         absent: they need the window before (egress/shape.h)
//
// Absent: what has no value. No rows at all (a window that was asked for): all but count, sum and
// distinct. The variance of a sample of one. A vwap without volume. A top that fewer rows have.
// Saturated: a number beyond 127 bits, which is shown as the largest there is, or a quantile with a
// bucket that holds 2^32 - 1 rows or more.
#pragma once

#include <cstdint>

#include "base/int128.h"
#include "query/plan.h"

namespace tidewire {

// Stands for a value that is not there; no number is shown as this one.
inline constexpr int128 kAbsentValue = static_cast<int128>(static_cast<uint128>(1) << 127);

struct Value {
  int128 number = 0;
  // How it reads: kInteger with these decimals, else one word of that type.
  FieldType type = FieldType::kInteger;
  uint8_t decimals = 0;
  bool saturated = false;
  bool is_absent() const { return number == kAbsentValue; }
};

// The type and decimals of an output, without a number.
Value lower_shape(const Output& output);
// Sets the number of a value that has its shape, and whether it is saturated.
void lower(const Output& output, const int64_t* cell, Value& value);
// Whether some cell makes lower() say so.
bool may_saturate(const Output& output);

// numerator * 10^decimals / denominator, rounded half to even. denominator > 0; the quotient itself
// must fit 64 bits, as the average of int64 values does.
int128 divide_half_even(int128 numerator, int64_t denominator, uint32_t decimals);

}  // namespace tidewire
