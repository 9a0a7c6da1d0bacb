// Unsigned integers of 256 bits, as much as a variance needs before its last division: rows times a
// sum of squares (63 + 189 bits).
#pragma once

#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/int128.h"

namespace tidewire {

struct Wide {
  uint128 high = 0, low = 0;
  bool operator==(const Wide&) const = default;
};

constexpr bool operator<(const Wide& a, const Wide& b) {
  return a.high != b.high ? a.high < b.high : a.low < b.low;
}
constexpr Wide operator+(const Wide& a, const Wide& b) {
  const uint128 low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1 : 0), low};
}
constexpr Wide operator-(const Wide& a, const Wide& b) {
  return {a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low};
}

constexpr Wide multiply(uint128 a, uint128 b) {
  constexpr uint128 kHalf = UINT64_MAX;
  const uint128 low = (a & kHalf) * (b & kHalf), high = (a >> 64) * (b >> 64);
  const uint128 left = (a >> 64) * (b & kHalf), right = (a & kHalf) * (b >> 64);
  const uint128 middle = (low >> 64) + (left & kHalf) + (right & kHalf);
  return {high + (left >> 64) + (right >> 64) + (middle >> 64), middle << 64 | (low & kHalf)};
}
// The product fits.
constexpr Wide multiply(const Wide& a, uint64_t b) {
  const Wide low = multiply(a.low, b);
  DCHECK(multiply(a.high, b).high == 0);
  return {low.high + a.high * b, low.low};
}

struct Quotient {
  Wide quotient;
  uint128 remainder = 0;
};
// 0 < divisor < 2^127.
constexpr Quotient divide(const Wide& a, uint128 divisor) {
  DCHECK(divisor > 0 && divisor >> 127 == 0);
  Quotient q;
  q.quotient.high = a.high / divisor;
  uint128 rest = a.high % divisor;
  if (rest == 0) {
    q.quotient.low = a.low / divisor;
    q.remainder = a.low % divisor;
    return q;
  }
  for (int bit = 127; bit >= 0; --bit) {  // school division, a bit at a time
    rest = rest << 1 | (a.low >> bit & 1);
    q.quotient.low <<= 1;
    if (rest < divisor) continue;
    rest -= divisor;
    q.quotient.low |= 1;
  }
  q.remainder = rest;
  return q;
}

constexpr uint32_t bit_width(uint128 a) {
  const auto high = static_cast<uint64_t>(a >> 64);
  return static_cast<uint32_t>(high != 0 ? 64 + std::bit_width(high)
                                         : std::bit_width(static_cast<uint64_t>(a)));
}
// The largest integer whose square is at most `a`.
constexpr uint128 square_root(const Wide& a) {
  const uint32_t bits = a.high != 0 ? 128 + bit_width(a.high) : bit_width(a.low);
  uint128 root = 0;
  for (uint32_t bit = (bits + 1) / 2; bit-- > 0;) {
    const uint128 more = root | uint128{1} << bit;
    if (!(a < multiply(more, more))) root = more;
  }
  return root;
}

}  // namespace tidewire
