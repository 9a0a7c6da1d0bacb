#include "egress/lower.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "egress/wide_integer.h"
#include "query/sketch.h"

namespace tidewire {
namespace {

constexpr uint64_t kAverageScale = 1'000'000;
constexpr int128 kNumberMax = ~kAbsentValue;

int128 read128(const int64_t* word) {
  const uint128 high = static_cast<uint128>(static_cast<uint64_t>(word[1]));
  return static_cast<int128>(high << 64 | static_cast<uint64_t>(word[0]));
}

int128 sum_at(const Output& output, uint16_t word, const int64_t* cell) {
  return output.sum128 ? read128(cell + word) : cell[word];
}

uint128 magnitude_of(int128 number) {
  return number < 0 ? -static_cast<uint128>(number) : static_cast<uint128>(number);
}

// A sum of products, 192 bits in two's complement, as sign and magnitude.
Wide products_at(const int64_t* word, bool& negative) {
  const auto high = static_cast<uint128>(static_cast<int128>(word[2]));
  const Wide number{high, static_cast<uint128>(read128(word))};
  negative = word[2] < 0;
  return negative ? Wide{} - number : number;
}

// numerator * scale / denominator, rounded down, and what remains of the numerator * scale.
Quotient divide_scaled(const Wide& numerator, uint128 denominator, uint64_t scale) {
  const Quotient whole = divide(numerator, denominator);
  const Quotient part = divide(multiply(whole.remainder, scale), denominator);
  return {multiply(whole.quotient, scale) + part.quotient, part.remainder};
}

void set_number(Value& value, const Wide& magnitude, bool negative) {
  const auto most = static_cast<uint128>(kNumberMax);
  value.saturated = Wide{0, most} < magnitude;
  const auto number = static_cast<int128>(value.saturated ? most : magnitude.low);
  value.number = negative ? -number : number;
}

void set_quotient(Value& value, const Wide& numerator, uint128 denominator, bool negative) {
  Quotient q = divide_scaled(numerator, denominator, kAverageScale);
  const uint128 other_half = denominator - q.remainder;
  if (q.remainder > other_half || (q.remainder == other_half && (q.quotient.low & 1) != 0))
    q.quotient = q.quotient + Wide{0, 1};
  set_number(value, q.quotient, negative);
}

// The root's nearest integer: `root` or the next, which is nearer where the exact square lies above
// (root + 1/2)^2 = root^2 + root + 1/4.
void set_root(Value& value, const Wide& numerator, uint128 denominator) {
  const Quotient q = divide_scaled(numerator, denominator, kAverageScale * kAverageScale);
  uint128 root = square_root(q.quotient);
  const Wide half = multiply(root, root) + Wide{0, root};
  const Wide four_rests = multiply(q.remainder, 4), one{0, denominator};
  if (half < q.quotient ||
      (half == q.quotient && (one < four_rests || (one == four_rests && (root & 1) != 0))))
    ++root;
  set_number(value, {0, root}, false);
}

// False: too few rows.
bool spread_of(const Output& output, const int64_t* cell, bool sample, Wide& numerator,
               uint128& denominator) {
  const auto rows = static_cast<uint64_t>(cell[0]);
  if (rows <= (sample ? 1 : 0)) return false;
  bool negative = false;
  const Wide squares = products_at(cell + output.word, negative);
  const uint128 sum = magnitude_of(sum_at(output, output.sum_word, cell));
  DCHECK(!negative);
  numerator = multiply(squares, rows) - multiply(sum, sum);
  denominator = static_cast<uint128>(rows) * (sample ? rows - 1 : rows);
  return true;
}

void set_spread(Value& value, const Output& output, const int64_t* cell, bool sample, bool root) {
  Wide numerator;
  uint128 denominator = 0;
  if (!spread_of(output, cell, sample, numerator, denominator))
    value.number = kAbsentValue;
  else if (root)
    set_root(value, numerator, denominator);
  else
    set_quotient(value, numerator, denominator, false);
}

void set_vwap(Value& value, const Output& output, const int64_t* cell) {
  const int128 volume = sum_at(output, output.sum_word, cell);
  if (volume == 0) {
    value.number = kAbsentValue;
    return;
  }
  bool negative = false;
  const Wide products = products_at(cell + output.word, negative);
  set_quotient(value, products, magnitude_of(volume), negative != (volume < 0));
}

void set_quantile(Value& value, const Output& output, const int64_t* cell) {
  const HistogramBuckets buckets(output.range);
  const auto counter = [&](uint32_t bucket) {
    const auto pair = static_cast<uint64_t>(cell[output.word + bucket / 2]);
    return static_cast<uint32_t>(pair >> (bucket % 2 * 32));
  };
  uint64_t rows = 0;
  for (uint32_t b = 0; b < buckets.count(); ++b) {
    rows += counter(b);
    value.saturated |= counter(b) == UINT32_MAX;
  }
  constexpr uint32_t kWhole = 1'000'000;
  uint64_t rank = (rows * output.parameter + kWhole - 1) / kWhole;
  if (rank == 0) rank = 1;
  uint32_t bucket = 0;
  for (uint64_t below = counter(0); below < rank;) below += counter(++bucket);
  value.number = buckets.middle(bucket);
}

// Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017), section 4: with
// C[k] registers at k, m in all,
//   n = m^2 / (2 ln 2) / (m * sigma(C[0] / m) + sum over k >= 1 of C[k] / 2^k)
//   sigma(x) = x + sum over k >= 1 of x^(2^k) * 2^(k - 1)
// which needs no table for few values. Fixed-point of 56 bits; the registers' own error is 2^-5.
uint64_t estimate_distinct(const int64_t* word) {
  constexpr uint32_t kFraction = 56;
  constexpr uint128 kOne = uint128{1} << kFraction;
  // floor(2^60 / (2 ln 2))
  constexpr uint128 kHalfOverLn2 = 831'657'068'615'270'155;
  std::array<unsigned char, kRegisters> rank;
  std::memcpy(rank.data(), word, sizeof rank);
  uint128 sum = 0;
  uint32_t zeros = 0;
  for (const unsigned char k : rank) {
    if (k == 0)
      ++zeros;
    else
      sum += kOne >> k;
  }
  if (zeros == kRegisters) return 0;
  uint128 power = zeros * (kOne >> kRegisterBits), weight = 1, sigma = power;
  while (power != 0) {
    power = power * power >> kFraction;
    sigma += power * weight;
    weight *= 2;
  }
  sum += sigma << kRegisterBits;
  DCHECK(sum > 0);
  const uint128 numerator = kHalfOverLn2 << (2 * kRegisterBits + kFraction - 60);
  return static_cast<uint64_t>((numerator + sum / 2) / sum);
}

}  // namespace

int128 divide_half_even(int128 numerator, int64_t denominator, uint32_t decimals) {
  DCHECK(denominator > 0);
  uint128 scale = 1;
  for (uint32_t i = 0; i < decimals; ++i) scale *= 10;
  const bool negative = numerator < 0;
  const uint128 magnitude = magnitude_of(numerator);
  const auto divisor = static_cast<uint128>(denominator);
  // In two parts, so that no product passes 128 bits.
  const uint128 scaled = magnitude % divisor * scale;
  uint128 quotient = magnitude / divisor * scale + scaled / divisor;
  const uint128 twice = scaled % divisor * 2;
  if (twice > divisor || (twice == divisor && (quotient & 1) != 0)) ++quotient;
  return negative ? -static_cast<int128>(quotient) : static_cast<int128>(quotient);
}

Value lower_shape(const Output& output) { return {0, shown_type(output), shown_decimals(output)}; }

bool may_saturate(const Output& output) {
  switch (output.op) {
    case OutputOp::kVariance:
    case OutputOp::kVarianceSample:
    case OutputOp::kVwap:
    case OutputOp::kQuantile:
      return true;
    case OutputOp::kCount:
    case OutputOp::kSum:
    case OutputOp::kAverage:
    case OutputOp::kDelta:
    case OutputOp::kRate:
    case OutputOp::kMin:
    case OutputOp::kMax:
    case OutputOp::kFirst:
    case OutputOp::kLast:
    case OutputOp::kDeviation:
    case OutputOp::kDeviationSample:
    case OutputOp::kAny:
    case OutputOp::kAll:
    case OutputOp::kTop:
    case OutputOp::kBottom:
    case OutputOp::kDistinct:
      return false;
  }
  return false;
}

void lower(const Output& output, const int64_t* cell, Value& value) {
  value.saturated = false;
  const int64_t rows = cell[0];
  const auto number_if = [&](bool has_value, auto number) {
    value.number = has_value ? int128{number()} : kAbsentValue;
  };
  switch (output.op) {
    case OutputOp::kCount:
      value.number = rows;
      break;
    case OutputOp::kSum:
      value.number = sum_at(output, output.word, cell);
      break;
    case OutputOp::kAverage:
      number_if(rows > 0, [&] {
        return divide_half_even(sum_at(output, output.word, cell), rows, kAverageDecimals);
      });
      break;
    case OutputOp::kMin:
    case OutputOp::kMax:
      number_if(rows > 0, [&] { return cell[output.word]; });
      break;
    case OutputOp::kFirst:
    case OutputOp::kLast:
      number_if(rows > 0, [&] { return cell[output.word + 2]; });
      break;
    case OutputOp::kVariance:
    case OutputOp::kVarianceSample:
      set_spread(value, output, cell, output.op == OutputOp::kVarianceSample, false);
      break;
    case OutputOp::kDeviation:
    case OutputOp::kDeviationSample:
      set_spread(value, output, cell, output.op == OutputOp::kDeviationSample, true);
      break;
    case OutputOp::kVwap:
      set_vwap(value, output, cell);
      break;
    case OutputOp::kAny:
      number_if(rows > 0, [&] { return static_cast<int>(cell[output.word] > 0); });
      break;
    case OutputOp::kAll:
      number_if(rows > 0, [&] { return static_cast<int>(cell[output.word] == rows); });
      break;
    case OutputOp::kTop:
    case OutputOp::kBottom:
      number_if(rows >= static_cast<int64_t>(output.parameter), [&] {
        const CellOp op = output.op == OutputOp::kTop ? CellOp::kTop : CellOp::kBottom;
        const auto word = static_cast<uint64_t>(cell[output.word + output.parameter - 1]);
        return static_cast<int64_t>(word ^ top_flip(op));
      });
      break;
    case OutputOp::kQuantile:
      if (rows > 0)
        set_quantile(value, output, cell);
      else
        value.number = kAbsentValue;
      break;
    case OutputOp::kDistinct:
      value.number = estimate_distinct(cell + output.word);
      break;
    case OutputOp::kDelta:
    case OutputOp::kRate:
      value.number = kAbsentValue;
      break;
  }
}

}  // namespace tidewire
