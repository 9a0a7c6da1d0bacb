#include "query/formula_shape.h"

#include <algorithm>

#include "base/strings.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

using Kind = Formula::Kind;

// left := left and right together, a number.
std::string join(Kind kind, Formula& left, Formula right, uint32_t decimals, uint32_t bits) {
  if (decimals > kDecimalsMax)
    return "the result has " + std::to_string(decimals) + " decimals; " +
           std::to_string(kDecimalsMax) + " is the limit: round() it first";
  Formula both;
  both.kind = kind;
  both.shape.decimals = static_cast<uint8_t>(decimals);
  both.shape.bits = static_cast<uint8_t>(std::min(bits, 63u));
  both.shape.may_be_absent = left.shape.may_be_absent || right.shape.may_be_absent;
  both.shape.absent = kAbsentNumber;
  both.shape.non_negative =
      kind != Kind::kSubtract && left.shape.non_negative && right.shape.non_negative;
  both.parts.push_back(std::move(left));
  both.parts.push_back(std::move(right));
  left = std::move(both);
  return {};
}

// The same value with as many decimals, which are not fewer.
std::string extend(Formula& value, uint32_t decimals) {
  if (decimals == value.shape.decimals) return {};
  const int64_t factor = power_of_ten(decimals - value.shape.decimals);
  if (value.kind == Kind::kConstant) {
    int64_t word = 0;
    if (__builtin_mul_overflow(value.words[0], factor, &word) || word == INT64_MIN)
      return "with " + std::to_string(decimals) + " decimals the number does not fit 64 bits";
    value = number_constant(word, decimals);
    return {};
  }
  const uint32_t bits = value.shape.bits + uint32_t{bits_of(factor)};
  return join(Kind::kMultiply, value, number_constant(factor, 0), decimals, bits);
}

std::string level(Formula& a, Formula& b) {
  const uint32_t decimals = std::max(a.shape.decimals, b.shape.decimals);
  std::string problem = extend(a, decimals);
  return problem.empty() ? extend(b, decimals) : problem;
}

std::string sum(Kind kind, Formula& left, Formula right) {
  if (std::string problem = level(left, right); !problem.empty()) return problem;
  const uint32_t bits = std::max(left.shape.bits, right.shape.bits) + 1u;
  const uint32_t decimals = left.shape.decimals;
  return join(kind, left, std::move(right), decimals, bits);
}

// A quoted text as a value of the other's type.
std::string read_as(Formula& quoted, const Field& other) {
  if (other.type == FieldType::kInteger) return "the two values of case are a number and a text";
  if (other.type == FieldType::kText) return as_text(quoted, other.words);
  Field field = other;
  field.may_be_absent = false;
  field.prefix_ipv4 = 32;
  field.prefix_ipv6 = 128;
  const auto read = parse_field(field, quoted.text);
  if (!read.ok()) return std::string(from_absl(read.status().message()));
  quoted.kind = Kind::kConstant;
  quoted.words = {read->word[0], read->word[1]};
  quoted.shape = field;
  return {};
}

}  // namespace

bool is_number(const Formula& formula) {
  return formula.kind != Kind::kText && formula.shape.type == FieldType::kInteger;
}

const char* name_of(FieldType type) {
  switch (type) {
    case FieldType::kInteger:
      return "a number";
    case FieldType::kAddress:
      return "an address";
    case FieldType::kMac:
      return "a MAC address";
    case FieldType::kText:
      return "a text";
    case FieldType::kProtocol:
      return "a protocol";
    case FieldType::kEthertype:
      return "an ethertype";
    case FieldType::kFlags:
      return "a set of flags";
    case FieldType::kFlow:
      return "a flow";
    case FieldType::kTime:
      return "a time";
  }
  return "?";
}

Formula number_constant(int64_t value, uint32_t decimals) {
  Formula formula;
  formula.kind = Kind::kConstant;
  formula.words[0] = value;
  formula.shape.bits = std::max(bits_of(value), uint8_t{1});
  formula.shape.decimals = static_cast<uint8_t>(decimals);
  formula.shape.absent = kAbsentNumber;
  formula.shape.non_negative = value >= 0;
  return formula;
}

std::string add(Formula& left, Formula right) { return sum(Kind::kAdd, left, std::move(right)); }
std::string subtract(Formula& left, Formula right) {
  return sum(Kind::kSubtract, left, std::move(right));
}

std::string multiply(Formula& left, Formula right) {
  const uint32_t decimals = left.shape.decimals + uint32_t{right.shape.decimals};
  const uint32_t bits = left.shape.bits + uint32_t{right.shape.bits};
  return join(Kind::kMultiply, left, std::move(right), decimals, bits);
}

std::string divide(Formula& left, Formula right) {
  const bool known = right.kind == Kind::kConstant;
  if (known && right.words[0] == 0) return "a division by zero";
  // The numerator is left * 10^(decimals of right).
  uint32_t bits = left.shape.bits;
  if (right.shape.decimals > 0) bits += bits_of(power_of_ten(right.shape.decimals));
  // A divisor of n bits is 2^(n-1) at least. One bit more, since 127.5 is rounded to 128.
  if (known && right.shape.bits >= 2)
    bits = std::max(bits + 2, right.shape.bits + 1u) - right.shape.bits;
  std::string problem =
      join(Kind::kDivide, left, std::move(right), uint32_t{left.shape.decimals}, bits);
  left.shape.may_be_absent |= !known;
  return problem;
}

std::string negate(Formula& value) {
  const uint32_t decimals = value.shape.decimals, bits = value.shape.bits;
  if (value.kind == Kind::kConstant) {
    value = number_constant(-value.words[0], decimals);
    return {};
  }
  Formula zero = number_constant(0, decimals);
  std::string problem = join(Kind::kSubtract, zero, std::move(value), decimals, bits);
  value = std::move(zero);
  return problem;
}

std::string round_to(Formula& value, uint32_t decimals) {
  if (decimals >= value.shape.decimals) return extend(value, decimals);
  const int64_t divisor = power_of_ten(value.shape.decimals - decimals);
  std::string problem = divide(value, number_constant(divisor, 0));
  value.shape.decimals = static_cast<uint8_t>(decimals);
  return problem;
}

std::string bucket(Formula& value, Formula width) {
  if (width.kind != Kind::kConstant || width.words[0] <= 0)
    return "the width of a bucket is a number above zero that is written out";
  if (std::string problem = level(value, width); !problem.empty()) return problem;
  Formula formula;
  formula.kind = Kind::kBucket;
  formula.words[0] = width.words[0];
  formula.shape = value.shape;
  formula.shape.absent = kAbsentNumber;
  const uint32_t bits = std::max(value.shape.bits, width.shape.bits) + 1u;
  formula.shape.bits = static_cast<uint8_t>(std::min(bits, 63u));
  formula.parts.push_back(std::move(value));
  value = std::move(formula);
  return {};
}

std::string agree(Formula& yes, Formula& no, Field& shape) {
  std::string problem;
  if (yes.kind == Kind::kText && no.kind == Kind::kText) {
    const uint32_t words = std::max(yes.text.size(), no.text.size()) > 8 ? 2 : 1;
    problem = as_text(yes, words);
    if (problem.empty()) problem = as_text(no, words);
  } else if (yes.kind == Kind::kText) {
    problem = read_as(yes, no.shape);
  } else if (no.kind == Kind::kText) {
    problem = read_as(no, yes.shape);
  }
  if (!problem.empty()) return problem;
  if (yes.shape.type != no.shape.type)
    return std::string("the two values of case are ") + name_of(yes.shape.type) + " and " +
           name_of(no.shape.type);
  if (is_number(yes)) problem = level(yes, no);
  shape = yes.shape;
  shape.words = std::max(yes.shape.words, no.shape.words);
  shape.bits = std::max(yes.shape.bits, no.shape.bits);
  shape.non_negative = yes.shape.non_negative && no.shape.non_negative;
  shape.may_be_absent = yes.shape.may_be_absent || no.shape.may_be_absent;
  if (yes.shape.prefix_ipv4 == no.shape.prefix_ipv4 &&
      yes.shape.prefix_ipv6 == no.shape.prefix_ipv6)
    return problem;
  shape.prefix_ipv4 = 32;
  shape.prefix_ipv6 = 128;
  return problem;
}

std::string as_text(Formula& quoted, uint32_t words) {
  words = std::max<uint32_t>(words, quoted.text.size() > 8 ? 2 : 1);
  const auto read = parse_packed_text(quoted.text, std::min(words, kLookupWords));
  if (!read.ok() || words > kLookupWords) return "a text of a formula has at most 16 bytes";
  quoted.kind = Kind::kConstant;
  quoted.words = {read->word[0], read->word[1]};
  quoted.shape = {};
  quoted.shape.type = FieldType::kText;
  quoted.shape.words = static_cast<uint8_t>(words);
  return {};
}

}  // namespace tidewire
