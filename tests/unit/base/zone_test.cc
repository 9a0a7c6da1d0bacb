// Zone tables against rules that can be said in a sentence.

#include "base/zone.h"

#include <gtest/gtest.h>

namespace tidewire {
namespace {

constexpr int64_t kHour = 3600 * kSecond;

// Second Sunday of March 02:00 EST = 07:00Z, first Sunday of November 02:00 EDT = 06:00Z (since
// 2007, 15 U.S.C. 260a). 2023: 12 March = day 19428, 5 November = day 19666.
TEST(Zone, NewYorkChangesToTheNanosecond) {
  const auto zone = Zone::load("America/New_York");
  ASSERT_TRUE(zone.ok()) << zone.status();
  const int64_t spring = 19428 * kDayLength + 7 * kHour, autumn = 19666 * kDayLength + 6 * kHour;
  EXPECT_EQ(zone->offset_at(EventTime{spring - 1}).ns, -5 * kHour);
  EXPECT_EQ(zone->offset_at(EventTime{spring}).ns, -4 * kHour);
  EXPECT_EQ(zone->offset_at(EventTime{autumn - 1}).ns, -4 * kHour);
  EXPECT_EQ(zone->offset_at(EventTime{autumn}).ns, -5 * kHour);
  EXPECT_EQ(zone->start_of(19428).ns, 19428 * kDayLength + 5 * kHour);
  EXPECT_EQ(zone->start_of(19429).ns, 19429 * kDayLength + 4 * kHour);
  EXPECT_EQ(zone->start_of(19666).ns, 19666 * kDayLength + 4 * kHour);
  EXPECT_EQ(zone->start_of(19667).ns, 19667 * kDayLength + 5 * kHour);
  EXPECT_EQ(zone->day_at(EventTime{19428 * kDayLength + 5 * kHour - 1}), 19427);
  EXPECT_EQ(zone->day_at(EventTime{19428 * kDayLength + 5 * kHour}), 19428);
}

// The rule goes on beyond the years that the database lists: 2261-07-01 is day 106467.
TEST(Zone, RulesGoOnToTheEndOfTime) {
  const auto zone = Zone::load("America/New_York");
  ASSERT_TRUE(zone.ok()) << zone.status();
  EXPECT_EQ(zone->offset_at(EventTime{106467 * kDayLength}).ns, -4 * kHour);
  EXPECT_EQ(zone->offset_at(EventTime::end_of_time()).ns, -4 * kHour);  // 11 April 2262
  EXPECT_EQ(zone->offset_at(EventTime{-kDayLength}).ns, -5 * kHour);
  // Before the railways' time of 18 November 1883 the sun's: UTC - 4:56:02.
  EXPECT_EQ(zone->offset_at(EventTime{-36'525 * kDayLength}).ns,
            -(4 * 3600 + 56 * 60 + 2) * kSecond);
  EXPECT_EQ(zone->offset_at(EventTime::before_all()),
            zone->offset_at(EventTime{-36'525 * kDayLength}));
}

TEST(Zone, FixedZonesHaveOneRule) {
  const auto zone = Zone::load("UTC");
  ASSERT_TRUE(zone.ok()) << zone.status();
  EXPECT_EQ(zone->start_of(-3).ns, -3 * kDayLength);
  EXPECT_EQ(zone->day_at(EventTime{-1}), -1);
}

// Clocks in Santiago jump from 00:00 to 01:00 on a Sunday in September: 2023-09-03, day 19603, at
// 04:00Z (UTC - 4 before). That day has no midnight and begins with the jump.
TEST(Zone, DayWithoutMidnightBeginsWithTheJump) {
  const auto zone = Zone::load("America/Santiago");
  ASSERT_TRUE(zone.ok()) << zone.status();
  EXPECT_EQ(zone->start_of(19603).ns, 19603 * kDayLength + 4 * kHour);
  EXPECT_EQ(zone->day_at(EventTime{19603 * kDayLength + 4 * kHour}), 19603);
  EXPECT_EQ(zone->day_at(EventTime{19603 * kDayLength + 4 * kHour - 1}), 19602);
}

}  // namespace
}  // namespace tidewire
