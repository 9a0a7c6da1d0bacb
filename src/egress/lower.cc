#include "egress/lower.h"

#include "base/check.h"

namespace tidewire {
namespace {

int128 sum_of(const Output& output, const int64_t* cell) {
  if (!output.sum128) return cell[output.word];
  const uint128 high = static_cast<uint128>(static_cast<uint64_t>(cell[output.word + 1]));
  return static_cast<int128>(high << 64 | static_cast<uint64_t>(cell[output.word]));
}

}  // namespace

int128 divide_half_even(int128 numerator, int64_t denominator, uint32_t decimals) {
  DCHECK(denominator > 0);
  uint128 scale = 1;
  for (uint32_t i = 0; i < decimals; ++i) scale *= 10;
  const bool negative = numerator < 0;
  const uint128 magnitude =
      negative ? -static_cast<uint128>(numerator) : static_cast<uint128>(numerator);
  const auto divisor = static_cast<uint128>(denominator);
  // In two parts, so that no product passes 128 bits.
  const uint128 scaled = magnitude % divisor * scale;
  uint128 quotient = magnitude / divisor * scale + scaled / divisor;
  const uint128 twice = scaled % divisor * 2;
  if (twice > divisor || (twice == divisor && (quotient & 1) != 0)) ++quotient;
  return negative ? -static_cast<int128>(quotient) : static_cast<int128>(quotient);
}

Value lower_shape(const Output& output) {
  switch (output.op) {
    case OutputOp::kCount:
      return {};
    case OutputOp::kSum:
    case OutputOp::kDelta:
      return {0, FieldType::kInteger, output.decimals};
    case OutputOp::kAverage:
    case OutputOp::kRate:
      return {0, FieldType::kInteger, shown_decimals(output)};
    case OutputOp::kMin:
    case OutputOp::kMax:
    case OutputOp::kFirst:
    case OutputOp::kLast:
      return {0, output.type, output.decimals};
  }
  return {};
}

Value lower(const Output& output, const int64_t* cell) {
  Value value = lower_shape(output);
  switch (output.op) {
    case OutputOp::kCount:
      value.number = cell[0];
      break;
    case OutputOp::kSum:
      value.number = sum_of(output, cell);
      break;
    case OutputOp::kAverage:
      value.number = divide_half_even(sum_of(output, cell), cell[0], kAverageDecimals);
      break;
    case OutputOp::kMin:
    case OutputOp::kMax:
      value.number = cell[output.word];
      break;
    case OutputOp::kFirst:
    case OutputOp::kLast:
      value.number = cell[output.word + 2];
      break;
    case OutputOp::kDelta:
    case OutputOp::kRate:
      value.number = kAbsentNumber;
      break;
  }
  return value;
}

}  // namespace tidewire
