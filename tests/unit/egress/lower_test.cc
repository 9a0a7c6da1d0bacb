#include "egress/lower.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

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

}  // namespace
}  // namespace tidewire
