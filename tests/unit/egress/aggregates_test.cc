// From rows through a Wide cell to values: the aggregates that are more than a word of the cell.
// Numbers of fixed cases come from Python's fractions (exact), quoted beside them; random ones are
// checked by what makes a number the right one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "egress/lower.h"
#include "egress/wide_integer.h"
#include "fixture.h"
#include "query/sketch.h"
#include "window/cell.h"
#include "window/deferred.h"

namespace tidewire {
namespace {

// One part over values 0 and 1 at word 1, and one sum behind it.
struct Aggregate {
  Aggregate(OutputOp op, CellPart part, uint8_t decimals = 0) {
    plan.values = {0, 1};
    plan.cell = CellKind::kWide;
    part.word = 1;
    const auto sum_word = static_cast<uint16_t>(1 + words_of(part));
    plan.parts = {part, {CellOp::kSum128, part.second, sum_word}};
    plan.cell_words = (sum_word + 2u + 3) / 4 * 4;
    output = make_output("", op, 1, FieldType::kInteger, decimals, true);
    output.sum_word = sum_word;
    output.range = part.range;
  }
  Value of(const std::vector<int64_t>& first, const std::vector<int64_t>& second = {}) {
    const WideCells cells(plan);
    cell.resize(plan.cell_words);
    cells.clear(cell.data(), 1);
    SingleRow row;
    for (size_t i = 0; i < first.size(); ++i) {
      row.value[0] = first[i];
      row.value[1] = second.empty() ? 0 : second[i];
      cells.add(cell.data(), row.rows(), 0);
    }
    return lower(output, cell.data());
  }
  Plan plan;
  Output output;
  std::vector<int64_t> cell;
};

Aggregate spread(OutputOp op, uint8_t decimals = 0) {
  return {op, {CellOp::kSumProducts, 0, 0, 0}, decimals};
}
Aggregate vwap(uint8_t decimals = 0) {
  return {OutputOp::kVwap, {CellOp::kSumProducts, 0, 0, 1}, decimals};
}
Aggregate quantile(uint32_t millionths, ValueRange range) {
  Aggregate a(OutputOp::kQuantile, {CellOp::kHistogram, 0, 0, 0, 0, range});
  a.output.parameter = millionths;
  return a;
}

int128 number(std::string_view digits) {
  int128 n = 0;
  for (const char c : digits) n = n * 10 + (c - '0');
  return n;
}

// ---- wide integers

TEST(WideInteger, DivisionUndoesMultiplication) {
  Rng rng(test_seed(31));
  const auto any = [&](uint32_t bits) {
    const uint128 a = static_cast<uint128>(rng.next()) << 64 | rng.next();
    return a >> (128 - bits);
  };
  for (int i = 0; i < 20'000; ++i) {
    const uint128 a = any(1 + static_cast<uint32_t>(rng.below(128)));
    const uint128 b = any(1 + static_cast<uint32_t>(rng.below(126))) + 1;
    const uint128 rest = any(126) % b;
    const Quotient q = divide(multiply(a, b) + Wide{0, rest}, b);
    ASSERT_EQ(q.quotient, (Wide{0, a}));
    ASSERT_TRUE(q.remainder == rest);
    // By 64-bit halves of b: a * (high * 2^64 + low).
    const Wide high = multiply(a, b >> 64);
    const Wide shifted{high.high << 64 | high.low >> 64, high.low << 64};
    ASSERT_EQ(multiply(a, b) - shifted, multiply(a, b & UINT64_MAX));
    // Between its square and the next one there are 2 * root + 1 numbers.
    const uint128 root = a >> 1;
    const Wide square = multiply(root, root);
    ASSERT_TRUE(square_root(square) == root);
    ASSERT_TRUE(square_root(square + Wide{0, root} + Wide{0, root}) == root);
    ASSERT_TRUE(square_root(square + Wide{0, root} + Wide{0, root} + Wide{0, 1}) == root + 1);
  }
}

// ---- variance and deviation

// def var(xs, sample):
//   n = len(xs); m = Fraction(sum(xs), n)
//   return sum((x - m)**2 for x in xs) / (n - sample)
// variance: round(var * 10**6); deviation: the integer nearest to sqrt(var * 10**12)
TEST(Spread, AgreesWithPython) {
  struct Case {
    std::vector<int64_t> values;
    const char *population, *sample, *deviation, *deviation_sample;
  };
  const Case cases[] = {{{2, 4, 4, 4, 5, 5, 7, 9}, "4000000", "4571429", "2000000", "2138090"},
                        {{-7, 3, 11}, "54222222", "81333333", "7363574", "9018500"},
                        {{1, 2}, "250000", "500000", "500000", "707107"},
                        {{1'000'000'000'001, 1'000'000'000'002, 1'000'000'000'004},
                         "1555556",
                         "2333333",
                         "1247219",
                         "1527525"},
                        {{5, 5, 5}, "0", "0", "0", "0"}};
  for (const Case& c : cases) {
    EXPECT_EQ(spread(OutputOp::kVariance).of(c.values).number, number(c.population));
    EXPECT_EQ(spread(OutputOp::kVarianceSample).of(c.values).number, number(c.sample));
    EXPECT_EQ(spread(OutputOp::kDeviation).of(c.values).number, number(c.deviation));
    EXPECT_EQ(spread(OutputOp::kDeviationSample).of(c.values).number, number(c.deviation_sample));
  }
}

TEST(Spread, DecimalsAreThoseOfTheFieldTwiceAndSixMore) {
  EXPECT_EQ(spread(OutputOp::kVariance, 4).of({1, 2}).decimals, 14);
  EXPECT_EQ(spread(OutputOp::kDeviation, 4).of({1, 2}).decimals, 10);
}

TEST(Spread, TheWidestValues) {
  // sqrt(((2^64 - 1) / 2)^2), and 13043817825332782211642465 from Python; their variances pass 127
  // bits: 8.5e43 and 1.7e44.
  const std::vector<int64_t> edges{INT64_MIN, INT64_MAX};
  EXPECT_EQ(spread(OutputOp::kDeviation).of(edges).number, number("9223372036854775807500000"));
  EXPECT_EQ(spread(OutputOp::kDeviationSample).of(edges).number,
            number("13043817825332782211642465"));
  EXPECT_FALSE(spread(OutputOp::kDeviation).of(edges).saturated);
  for (const OutputOp op : {OutputOp::kVariance, OutputOp::kVarianceSample}) {
    const Value value = spread(op).of(edges);
    EXPECT_TRUE(value.saturated);
    EXPECT_EQ(value.number, number("170141183460469231731687303715884105727"));  // 2^127 - 1
  }
}

TEST(Spread, ASampleOfOneHasNone) {
  EXPECT_TRUE(spread(OutputOp::kVariance).of({}).is_absent());
  EXPECT_TRUE(spread(OutputOp::kDeviation).of({}).is_absent());
  EXPECT_EQ(spread(OutputOp::kVariance).of({7}).number, 0);
  EXPECT_EQ(spread(OutputOp::kDeviation).of({7}).number, 0);
  EXPECT_TRUE(spread(OutputOp::kVarianceSample).of({7}).is_absent());
  EXPECT_TRUE(spread(OutputOp::kDeviationSample).of({7}).is_absent());
  EXPECT_EQ(spread(OutputOp::kVarianceSample).of({7, 7}).number, 0);
}

// With e the sum of squared distances from the mean, times n: (2 d - 1)^2 <= 4 e 10^12 / n^2 <=
// (2 d + 1)^2 for the nearest d; the variance is within a half of e 10^6 / n^2.
TEST(Spread, IsTheNearest) {
  Rng rng(test_seed(32));
  for (int round = 0; round < 2'000; ++round) {
    std::vector<int64_t> values(2 + rng.below(30));
    const uint64_t most = uint64_t{1} << (1 + rng.below(16));
    for (int64_t& v : values)
      v = static_cast<int64_t>(rng.below(2 * most)) - static_cast<int64_t>(most);
    const auto n = static_cast<int128>(values.size());
    int128 sum = 0, around = 0;
    for (const int64_t v : values) sum += v;
    for (const int64_t v : values) around += (n * v - sum) * (n * v - sum);  // n^2 * sum (v - m)^2
    for (const bool sample : {false, true}) {
      const int128 below = n * n * (sample ? n - 1 : n);
      const int128 variance =
          spread(sample ? OutputOp::kVarianceSample : OutputOp::kVariance).of(values).number;
      const int128 off = 2 * (variance * below - around * 1'000'000);
      ASSERT_LE(off < 0 ? -off : off, below);
      const int128 d =
          spread(sample ? OutputOp::kDeviationSample : OutputOp::kDeviation).of(values).number;
      const auto twice_squared = [&](int128 x) { return multiply(x * x, below); };
      const Wide exact = multiply(around * 4, int128{1'000'000'000'000});
      ASSERT_FALSE(exact < twice_squared(d == 0 ? 0 : 2 * d - 1));
      ASSERT_FALSE(twice_squared(2 * d + 1) < exact);
    }
  }
}

// ---- vwap

TEST(Vwap, WeighsByVolume) {
  // (1234500 * 100 + 1234600 * 250 + 1233900 * 7) / 357 = 1234558.263305...
  const Value value = vwap(4).of({1'234'500, 1'234'600, 1'233'900}, {100, 250, 7});
  EXPECT_EQ(value.number, 1'234'558'263'305);
  EXPECT_EQ(value.decimals, 10);
  // Halves go to even: 1 and 3 by 2,000,000.
  EXPECT_EQ(vwap().of({1, 0}, {1, 1'999'999}).number, 0);
  EXPECT_EQ(vwap().of({3, 0}, {1, 1'999'999}).number, 2);
  EXPECT_EQ(vwap().of({-3, 0}, {1, 1'999'999}).number, -2);
  EXPECT_EQ(vwap().of({-10, -20}, {1, 1}).number, -15'000'000);
  EXPECT_EQ(vwap().of({10, 20}, {-1, -1}).number, 15'000'000);
}

TEST(Vwap, WithoutVolumeThereIsNone) {
  EXPECT_TRUE(vwap().of({}).is_absent());
  EXPECT_TRUE(vwap().of({5, 6}, {0, 0}).is_absent());
  EXPECT_TRUE(vwap().of({5, 6}, {3, -3}).is_absent());
  EXPECT_EQ(vwap().of({0, 0}, {3, 4}).number, 0);
}

TEST(Vwap, Saturates) {
  // (2^126 - 2^63 + 1) / 1 has 126 bits, times 10^6 more than 127.
  const std::vector<int64_t> price{INT64_MAX, 0}, volume{INT64_MAX, -INT64_MAX + 1};
  const Value value = vwap().of(price, volume);
  EXPECT_TRUE(value.saturated);
  EXPECT_EQ(value.number, number("170141183460469231731687303715884105727"));
  const Value negative = vwap().of({-INT64_MAX, 0}, volume);
  EXPECT_TRUE(negative.saturated);
  EXPECT_EQ(negative.number, -number("170141183460469231731687303715884105727"));
  EXPECT_FALSE(negative.is_absent());
}

// ---- any, all, top

TEST(AnyAll, AskWhetherValuesAreZero) {
  const auto any = [](std::vector<int64_t> v) {
    return Aggregate(OutputOp::kAny, {CellOp::kNonZero, 0}).of(v);
  };
  const auto all = [](std::vector<int64_t> v) {
    return Aggregate(OutputOp::kAll, {CellOp::kNonZero, 0}).of(v);
  };
  EXPECT_EQ(any({0, 0}).number, 0);
  EXPECT_EQ(any({0, -1}).number, 1);
  EXPECT_EQ(all({0, -1}).number, 0);
  EXPECT_EQ(all({5, -1}).number, 1);
  EXPECT_TRUE(any({}).is_absent());
  EXPECT_TRUE(all({}).is_absent());
}

TEST(Top, GivesTheNthBest) {
  const auto best = [](OutputOp op, CellOp part, uint32_t rank) {
    Aggregate a(op, {part, 0, 0, 0, 3}, 2);
    a.output.parameter = rank;
    return a.of({5, -7, INT64_MIN, 5});
  };
  EXPECT_EQ(best(OutputOp::kTop, CellOp::kTop, 1).number, 5);
  EXPECT_EQ(best(OutputOp::kTop, CellOp::kTop, 2).number, 5);  // each row counts
  EXPECT_EQ(best(OutputOp::kTop, CellOp::kTop, 3).number, -7);
  EXPECT_EQ(best(OutputOp::kBottom, CellOp::kBottom, 1).number, INT64_MIN);
  EXPECT_EQ(best(OutputOp::kBottom, CellOp::kBottom, 2).number, -7);
  EXPECT_EQ(best(OutputOp::kTop, CellOp::kTop, 1).decimals, 2);
  Aggregate third(OutputOp::kTop, {CellOp::kTop, 0, 0, 0, 3});
  third.output.parameter = 3;
  EXPECT_TRUE(third.of({1, 2}).is_absent());
  EXPECT_EQ(third.of({1, 2, INT64_MIN}).number, INT64_MIN);
}

TEST(Lower, AWindowWithoutRows) {
  const std::vector<int64_t> none(8);
  for (const OutputOp op :
       {OutputOp::kAverage, OutputOp::kMin, OutputOp::kMax, OutputOp::kFirst, OutputOp::kLast})
    EXPECT_TRUE(lower(make_output("", op, 1), none.data()).is_absent());
  EXPECT_EQ(lower(make_output("", OutputOp::kSum, 1), none.data()).number, 0);
  EXPECT_EQ(lower(make_output("", OutputOp::kCount), none.data()).number, 0);
  EXPECT_TRUE(quantile(500'000, {16, true}).of({}).is_absent());
  EXPECT_EQ(Aggregate(OutputOp::kDistinct, {CellOp::kDistinct, 0, 0, 0}).of({}).number, 0);
}

// ---- quantiles

TEST(Quantile, IsExactForSmallValues) {
  // Ranks ceil(0.5 * 5) = 3 and ceil(0.5 * 4) = 2; ceil(0.75 * 4) = 3; ceil(0.751 * 4) = 4
  EXPECT_EQ(quantile(500'000, {16, true}).of({9, 1, 63, 4, 2}).number, 4);
  EXPECT_EQ(quantile(500'000, {16, true}).of({9, 1, 4, 2}).number, 2);
  EXPECT_EQ(quantile(750'000, {16, true}).of({9, 1, 4, 2}).number, 4);
  EXPECT_EQ(quantile(751'000, {16, true}).of({9, 1, 4, 2}).number, 9);
  EXPECT_EQ(quantile(0, {16, false}).of({9, -41, 4, 2}).number, -41);
  EXPECT_EQ(quantile(1'000'000, {16, false}).of({9, -41, 4, 2}).number, 9);
  EXPECT_EQ(quantile(500'000, {16, false}).of({-3, -2, -1}).number, -2);
}

TEST(Quantile, IsWithinItsError) {
  Rng rng(test_seed(33));
  for (int round = 0; round < 1'000; ++round) {
    const ValueRange range{static_cast<uint8_t>(1 + rng.below(63)), rng.one_in(2)};
    std::vector<int64_t> values(1 + rng.below(60));
    for (int64_t& v : values) {
      const uint64_t bits = rng.next() >> (64 - range.bits);
      v = static_cast<int64_t>(rng.one_in(2) ? bits >> rng.below(range.bits) : bits);
      if (!range.non_negative && rng.one_in(2)) v = -v;
    }
    const auto share = static_cast<uint32_t>(rng.below(1'000'001));
    const Value value = quantile(share, range).of(values);
    std::sort(values.begin(), values.end());
    // The least rank that holds `share` of the rows.
    size_t rank = 1;
    while (rank * uint64_t{1'000'000} < values.size() * uint64_t{share}) ++rank;
    const int128 exact = values[rank - 1], off = value.number - exact;
    ASSERT_LE((off < 0 ? -off : off) * 64, exact < 0 ? -exact : exact) << "round " << round;
    ASSERT_FALSE(value.saturated);
  }
}

TEST(Quantile, FullCountersAreTold) {
  Aggregate median = quantile(500'000, {4, true});
  median.of({3});
  median.cell[2] = static_cast<int64_t>(uint64_t{UINT32_MAX} << 32);  // bucket 3
  EXPECT_TRUE(lower(median.output, median.cell.data()).saturated);
  EXPECT_EQ(lower(median.output, median.cell.data()).number, 3);
}

// ---- distinct

// Standard error 1.04 / sqrt(1024) = 3.25 %: of 1,000 estimates none is off by more than 5 of it
// (1 in 1.7 million each), and the mean square of the some 250 large ones is at most 1.4 times its
// square (such a mean has a deviation of 9 %).
TEST(Distinct, IsWithinItsError) {
  Rng rng(test_seed(34));
  double squares = 0;
  int large = 0;
  for (int round = 0; round < 1'000; ++round) {
    Aggregate distinct(OutputOp::kDistinct, {CellOp::kDistinct, 0, 0, 0});
    const WideCells cells(distinct.plan);
    distinct.of({});
    // Runs of numbers, spread numbers, and numbers far apart, each some times.
    const uint64_t n = uint64_t{1} << rng.below(13), size = n + rng.below(n);
    const uint64_t first = rng.next(), step = rng.one_in(3) ? 1 : rng.next() | 1;
    SingleRow row;
    for (uint64_t i = 0; i < size; ++i) {
      row.value[0] = static_cast<int64_t>(first + i * step);
      cells.add(distinct.cell.data(), row.rows(), 0);
      if (rng.one_in(4)) cells.add(distinct.cell.data(), row.rows(), 0);
    }
    const auto estimate = static_cast<double>(lower(distinct.output, distinct.cell.data()).number);
    const auto exact = static_cast<double>(size);
    const double off = (estimate - exact) / exact;
    // Of few values one may be lost to a register that it shares.
    if (size >= 64) {
      ASSERT_LE(off < 0 ? -off : off, 5 * 0.0325) << size;
    } else {
      ASSERT_LE(off < 0 ? -off : off, 0.0325 * 5 + 1.0 / exact) << size;
    }
    if (size < 1'000) continue;
    squares += off * off;
    ++large;
  }
  ASSERT_GT(large, 100);
  EXPECT_LT(squares / large, 1.4 * 0.0325 * 0.0325);
}

TEST(Distinct, CountsFewExactly) {
  const auto distinct = [](const std::vector<int64_t>& values) {
    return Aggregate(OutputOp::kDistinct, {CellOp::kDistinct, 0, 0, 0}).of(values).number;
  };
  EXPECT_EQ(distinct({7}), 1);
  EXPECT_EQ(distinct({7, 7, 7}), 1);
  EXPECT_EQ(distinct({7, 8}), 2);
  EXPECT_EQ(distinct({0, -1, 1}), 3);
}

}  // namespace
}  // namespace tidewire
