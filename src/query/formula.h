// The language of derived columns (query/derive.h), from text to tree.
//
//   bits      = "wire_length * 8"
//   per_share = "round(turnover, 6) / shares"
//   service   = "case(dst_port < 1024, dst_port, src_port)"
//   site      = "lookup(prefix(src, 24), 'config/sites.csv', 'elsewhere')"
//
//   + - * / ( )            numbers and fixed-point numbers, exact. Decimals: + and - keep the
//   larger
//                          count, * adds the two, / keeps the left side's, rounded half to even
//   round(x, D)            D decimals: more, or fewer by rounding half to even
//   bucket(x, WIDTH)       the multiple of WIDTH at or below x
//   case(CONDITION, a, b)  a where the condition holds (query/expression.h), else b; nests
//   prefix(ADDRESS, BITS)  the address cut to BITS, IPv6 to 64; prefix(ADDRESS, BITS, BITS6)
//   forward(ADDRESS, PORT, ADDRESS, PORT)
//                          1 where the first end is end A of the direction-free flow key, which is
//                          the smaller one (query/flow_key.h), else 0. A port that is absent is 0
//   lookup(x, FILE, DEFAULT)
//                          what the file calls x (query/lookup.h): a text, or a number where
//                          DEFAULT is one. Without DEFAULT an x that it does not name gives nothing
//
// Absent: a formula of an absent field is absent, and so is a division by zero; `case(x present, x,
// 0)` is not. A number that passes 64 bits becomes the largest one of its sign and the row is
// counted (Note::kSaturated).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/expression.h"
#include "query/lookup.h"
#include "query/schema.h"

namespace tidewire {

// A formula as a tree.
struct Formula {
  enum class Kind : uint8_t {
    kField,     // `field`
    kConstant,  // `words`
    kText,      // a quoted text whose type is not known yet
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kBucket,  // words[0]: the width, at the result's decimals
    kPrefix,  // lengths in `shape`
    kCase,    // `condition`
    kForward,
    kLookup,  // `field`: index of the table
  } kind = Kind::kConstant;
  Field shape;  // what it gives; its name is not used
  uint32_t field = 0;
  std::array<int64_t, kLookupWords> words{};
  std::string text;
  std::vector<Formula> parts;
  Condition condition;
};

// `schema`: what may be read. `below`: names that come later, for the message. The files that are
// looked into are appended to `lookups`.
std::optional<Formula> parse_formula(std::string_view text, const Schema& schema,
                                     std::span<const std::string> below,
                                     std::vector<LookupSpec>& lookups, ExpressionError& error);

// Registers in use at once while the value is worked out.
uint32_t registers(const Formula& formula);

// |value| < 2^bits
constexpr uint8_t bits_of(int64_t value) {
  const uint64_t word = static_cast<uint64_t>(value);
  return static_cast<uint8_t>(std::bit_width(value < 0 ? -word : word));
}
constexpr int64_t power_of_ten(uint32_t exponent) {
  int64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

}  // namespace tidewire
