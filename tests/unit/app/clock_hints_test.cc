#include "app/clock_hints.h"

#include <gtest/gtest.h>

namespace tidewire {
namespace {

constexpr int64_t kAt = 1'700'000'000 * kSecond, kHour = 3600 * kSecond;

// The one hint of events that happened so long before they came.
std::string hint(std::initializer_list<int64_t> offsets) {
  ClockHints hints;
  for (const int64_t offset : offsets) hints.add({kAt - offset}, {kAt});
  const auto said = hints.hints();
  EXPECT_LE(said.size(), 1u);
  return said.empty() ? "" : said[0];
}

TEST(ClockHints, ASoundClockSaysNothing) {
  EXPECT_EQ(hint({}), "");
  EXPECT_EQ(hint({0, kMillisecond, -kMillisecond, 20 * kSecond}), "");
  EXPECT_EQ(hint({5 * 60 * kSecond, 5 * 60 * kSecond}), "");  // flows of five minutes
}

TEST(ClockHints, ZonesOfWholeAndHalfHours) {
  EXPECT_EQ(hint({8 * kHour, 8 * kHour + 6 * kSecond, 8 * kHour + kSecond}),
            "the times are 8 h behind: a clock that shows local time, or stamps that do not name "
            "their zone");
  EXPECT_NE(hint({-kHour * 11 / 2 + kSecond}).find("ahead: a clock that shows local time"),
            std::string::npos);
  EXPECT_EQ(hint({15 * kHour}), "");  // no zone is so far away
}

TEST(ClockHints, ManyOffsetsAreSummedUp) {
  ClockHints hints;
  for (int64_t i = 0; i <= 100; ++i) hints.add({kAt - i * kSecond}, {kAt});
  EXPECT_EQ(hints.offsets(),
            "arrival less event time: 0 s at least, 50 s in the middle, 100 s at most");
  hints.add(EventTime::before_all(), {kAt});
  hints.add({kAt}, EventTime::before_all());
  EXPECT_EQ(hints.events(), 101u);
}

}  // namespace

// where: goflow2#78, influxdb#3769, #4909, questdb#1202
TEST(Report8, SecondsThatWereTakenForNanosecondsAreSeen) {
  constexpr int64_t kThen = 1'440'089'182;  // of 2015-08-20
  for (const auto& [factor, name] : std::initializer_list<std::pair<int64_t, const char*>>{
           {1, "a billion"}, {1'000, "a million"}, {1'000'000, "a thousand"}}) {
    ClockHints hints;
    hints.add({kThen * factor}, {kThen * kSecond + 3 * kSecond});
    ASSERT_EQ(hints.hints().size(), 1u);
    EXPECT_EQ(hints.hints()[0].find("the times are " + std::string(name) + " times too small"), 0u);
  }
}

// where: tcpdump#523, ouster-ros PR#53, martim01/pam#101, ptp-wallclock#9, netsniff-ng#129
TEST(Report12, AClockOfTaiIsSeenByItsDistance) {
  EXPECT_EQ(hint({-37 * kSecond, -37 * kSecond + 200 * kMillisecond, -37 * kSecond}),
            "the times are 37 s ahead: the clock shows TAI, which is 37 s ahead of UTC");
  EXPECT_NE(hint({-36 * kSecond}).find("until the end of 2016"), std::string::npos);
  EXPECT_NE(hint({-160 * kSecond}).find("the times are 160 s ahead of their arrival"),
            std::string::npos);
  EXPECT_EQ(hint({37 * kSecond}), "");  // behind: nothing but late
}

// where: omicron#5899, arduino NTPClient PR#237, phoebus PR#2421
TEST(Report20, AClockThatWasNeverSetIsSeen) {
  ClockHints hints;
  hints.add({90 * kSecond}, {kAt});
  ASSERT_EQ(hints.hints().size(), 1u);
  EXPECT_EQ(hints.hints()[0].find("the times are of 1970"), 0u);
}

}  // namespace tidewire
