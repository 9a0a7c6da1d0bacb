#include "egress/lower.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "egress/combine.h"
#include "fixture.h"

namespace tidewire {
namespace {

TEST(Lower, AverageRoundsHalfToEven) {
  // 1/8 = 0.125, 3/8 = 0.375: halves at two decimals.
  EXPECT_EQ(divide_half_even(1, 8, 2), 12);
  EXPECT_EQ(divide_half_even(3, 8, 2), 38);
  EXPECT_EQ(divide_half_even(-1, 8, 2), -12);
  EXPECT_EQ(divide_half_even(-3, 8, 2), -38);
  EXPECT_EQ(divide_half_even(1, 2, 0), 0);
  EXPECT_EQ(divide_half_even(3, 2, 0), 2);
  EXPECT_EQ(divide_half_even(2, 3, 6), 666667);
  EXPECT_EQ(divide_half_even(1, 3, 6), 333333);
  EXPECT_EQ(divide_half_even(0, 7, 6), 0);
  // 999999.9999995 and a bit: carries through every nine.
  EXPECT_EQ(divide_half_even(19'999'999, 20'000'000, 6), 1'000'000);
}

TEST(Lower, AverageOfTheLargestSums) {
  // 2^44 rows of INT64_MIN: the average is INT64_MIN, and nothing passes 128 bits on the way.
  const int64_t rows = int64_t{1} << 44;
  const int128 sum = static_cast<int128>(INT64_MIN) * rows;
  EXPECT_EQ(divide_half_even(sum, rows, 6), static_cast<int128>(INT64_MIN) * 1'000'000);
  // INT64_MAX rows, all 1 but one: (2^63 - 2) / (2^63 - 1) rounds to 1.
  EXPECT_EQ(divide_half_even(INT64_MAX - 1, INT64_MAX, 6), 1'000'000);
}

TEST(Lower, EveryOperation) {
  //                                count sum    min max  first: time, place, value
  const std::array<int64_t, 7> cell{4, -10, -7, 9, 1000, 5, 42};
  EXPECT_EQ(lower(make_output("", OutputOp::kCount), cell.data()).number, 4);
  EXPECT_EQ(lower(make_output("", OutputOp::kSum, 1), cell.data()).number, -10);
  EXPECT_EQ(lower(make_output("", OutputOp::kMin, 2), cell.data()).number, -7);
  EXPECT_EQ(lower(make_output("", OutputOp::kMax, 3), cell.data()).number, 9);
  EXPECT_EQ(lower(make_output("", OutputOp::kFirst, 4), cell.data()).number, 42);
  EXPECT_EQ(lower(make_output("", OutputOp::kLast, 4), cell.data()).number, 42);
  const Value average =
      lower(make_output("", OutputOp::kAverage, 1, FieldType::kInteger, 2), cell.data());
  EXPECT_EQ(average.number, -2'500'000);  // -10 hundredths / 4 rows = -0.02500000
  EXPECT_EQ(average.decimals, 8);
}

TEST(Lower, SumsOf128Bits) {
  // 3 * (2^63 - 1) = 27670116110564327421 = 2^64 + 9223372036854775805
  const std::array<int64_t, 3> cell{3, 9223372036854775805, 1};
  const Value sum =
      lower(make_output("", OutputOp::kSum, 1, FieldType::kInteger, 0, true), cell.data());
  EXPECT_EQ(sum.number, static_cast<int128>(INT64_MAX) * 3);
  const std::array<int64_t, 3> negative{1, -1, -1};
  EXPECT_EQ(lower(make_output("", OutputOp::kSum, 1, FieldType::kInteger, 0, true), negative.data())
                .number,
            -1);
}

TEST(Combine, Stats) {
  const Plan plan = stats_plan(0, "q", 1);
  std::array<int64_t, 4> a{2, 10, 3, 7}, b{3, -4, -9, 5};
  combine_cells(plan, a.data(), b.data());
  EXPECT_EQ(a, (std::array<int64_t, 4>{5, 6, -9, 7}));
}

TEST(Combine, WideInEitherOrder) {
  Plan plan;
  plan.cell = CellKind::kWide;
  plan.cell_words = 12;
  plan.parts = {{CellOp::kSum128, 0, 1}, {CellOp::kMin, 0, 3},  {CellOp::kMax, 0, 4},
                {CellOp::kFirst, 0, 5},  {CellOp::kLast, 0, 8}, {CellOp::kSum64, 0, 11}};
  // Equal times: lane 0x8000 counts as later than lane 1, so the word is unsigned.
  const auto far_lane = static_cast<int64_t>(uint64_t{0x8000} << 48);
  const auto near_lane = static_cast<int64_t>(uint64_t{1} << 48);
  const std::array<int64_t, 12> a{1, -1, 0, 5, 5, 100, near_lane, 11, 100, near_lane, 11, 6};
  const std::array<int64_t, 12> b{2, 1, 0, 4, 9, 100, far_lane, 22, 100, far_lane, 22, -1};
  // The low words 2^64 - 1 and 1 carry into the high word.
  const std::array<int64_t, 12> both{3, 0, 1, 4, 9, 100, near_lane, 11, 100, far_lane, 22, 5};
  auto ab = a;
  combine_cells(plan, ab.data(), b.data());
  EXPECT_EQ(ab, both);
  auto ba = b;
  combine_cells(plan, ba.data(), a.data());
  EXPECT_EQ(ba, both);
}

}  // namespace
}  // namespace tidewire
