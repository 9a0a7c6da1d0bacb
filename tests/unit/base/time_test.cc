#include "base/time.h"

#include <gtest/gtest.h>

namespace tidewire {
namespace {

TEST(Time, TheTwoEdgesAbsorb) {
  EXPECT_EQ(later(EventTime::before_all(), {5}), EventTime::before_all());
  EXPECT_EQ(earlier(EventTime::end_of_time(), {5}), EventTime::end_of_time());
}

TEST(Time, SaturatesInsteadOfWrapping) {
  EXPECT_EQ(later({INT64_MAX - 1}, {5}), EventTime::end_of_time());
  EXPECT_EQ(earlier({INT64_MIN + 1}, {5}), EventTime::before_all());
  EXPECT_EQ(later({INT64_MIN + 1}, {-5}), EventTime::before_all());
  EXPECT_EQ(earlier({INT64_MAX - 1}, {-5}), EventTime::end_of_time());
  EXPECT_EQ(later({-7}, {7}), EventTime{0});
}

TEST(Time, FloorDivRoundsToMinusInfinity) {  // event-time.md 2.1: -8 / 7 starts at -14
  EXPECT_EQ(floor_div(-8, 7) * 7, -14);
  EXPECT_EQ(floor_div(-7, 7) * 7, -7);
  EXPECT_EQ(floor_div(-1, 7) * 7, -7);
  EXPECT_EQ(floor_div(6, 7) * 7, 0);
  EXPECT_EQ(floor_div(7, 7) * 7, 7);
}

}  // namespace
}  // namespace tidewire
