// Calendar windows against dates worked out by hand; times in UTC.
#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <chrono>

#include "memory/seal.h"
#include "store_harness.h"
#include "window/calendar.h"

namespace tidewire {
namespace {

constexpr int64_t kMinute = 60 * kSecond, kHour = 60 * kMinute;

int64_t utc(int year, unsigned month, unsigned day, int64_t hour = 0, int64_t minute = 0) {
  const std::chrono::sys_days date{std::chrono::year{year} / static_cast<int>(month) /
                                   static_cast<int>(day)};
  return date.time_since_epoch().count() * 24 * kHour + hour * kHour + minute * kMinute;
}
// The window from one time to the other, asked for by its first and its last nanosecond.
void expect_window(const Calendar& calendar, int64_t start, int64_t end) {
  for (const int64_t t : {start, start + (end - start) / 2, end - 1}) {
    EXPECT_EQ(calendar.window_of(t).start, start) << t;
    EXPECT_EQ(calendar.window_of(t).end, end) << t;
  }
}

TEST(Calendar, DaysInNewYorkHave23To25Hours) {
  const Calendar days(CalendarUnit::kDay, "America/New_York");
  // EST is UTC - 5, EDT UTC - 4. The clock goes from 2 to 3 on March 14, from 2 to 1 on November 7.
  expect_window(days, utc(2021, 3, 13, 5), utc(2021, 3, 14, 5));
  expect_window(days, utc(2021, 3, 14, 5), utc(2021, 3, 15, 4));
  EXPECT_EQ(utc(2021, 3, 15, 4) - utc(2021, 3, 14, 5), 23 * kHour);
  expect_window(days, utc(2021, 11, 7, 4), utc(2021, 11, 8, 5));
  EXPECT_EQ(utc(2021, 11, 8, 5) - utc(2021, 11, 7, 4), 25 * kHour);
  // By the rule that holds on: second Sunday of March 2100 is the 14th.
  expect_window(days, utc(2100, 3, 14, 5), utc(2100, 3, 15, 4));
}

TEST(Calendar, ADayWhoseMidnightIsSkippedBeginsAtTheChange) {
  // Brazil went from UTC - 3 to UTC - 2 at midnight.
  const Calendar days(CalendarUnit::kDay, "America/Sao_Paulo");
  expect_window(days, utc(2018, 11, 3, 3), utc(2018, 11, 4, 3));
  expect_window(days, utc(2018, 11, 4, 3), utc(2018, 11, 5, 2));
}

TEST(Calendar, ADayWhoseMidnightComesTwiceBeginsAtTheFirst) {
  // Cuba goes from UTC - 4 to UTC - 5 at 1 o'clock, which becomes 0 o'clock.
  const Calendar havana(CalendarUnit::kDay, "America/Havana");
  expect_window(havana, utc(2021, 11, 7, 4), utc(2021, 11, 8, 5));
  // Newfoundland went from UTC - 2:30 to UTC - 3:30 at 0:01, which became 23:01 of the day before.
  const Calendar st_johns(CalendarUnit::kDay, "America/St_Johns");
  expect_window(st_johns, utc(2006, 10, 28, 2, 30), utc(2006, 10, 29, 2, 30));
  expect_window(st_johns, utc(2006, 10, 29, 2, 30), utc(2006, 10, 30, 3, 30));
  EXPECT_EQ(st_johns.window_of(utc(2006, 10, 29, 2, 45)).start, utc(2006, 10, 29, 2, 30));
}

TEST(Calendar, WeeksBeginOnMonday) {
  // 2021-03-22 is a Monday; the clock goes from UTC + 1 to UTC + 2 on the 28th: 7 * 24 - 1 hours.
  const Calendar weeks(CalendarUnit::kWeek, "Europe/Berlin");
  expect_window(weeks, utc(2021, 3, 21, 23), utc(2021, 3, 28, 22));
  // 1970-01-01 was a Thursday.
  const Calendar in_utc(CalendarUnit::kWeek, "UTC");
  expect_window(in_utc, utc(1969, 12, 29), utc(1970, 1, 5));
}

TEST(Calendar, MonthsAreOfTheZone) {
  const Calendar months(CalendarUnit::kMonth, "America/New_York");
  expect_window(months, utc(2021, 3, 1, 5), utc(2021, 4, 1, 4));  // 31 * 24 - 1 hours
  expect_window(months, utc(2024, 2, 1, 5), utc(2024, 3, 1, 5));  // 29 days
  expect_window(months, utc(2021, 12, 1, 5), utc(2022, 1, 1, 5));
}

TEST(Calendar, AnHourEndsAtTheFullHourOrWhenTheClockIsChanged) {
  const Calendar new_york(CalendarUnit::kHour, "America/New_York");
  expect_window(new_york, utc(2021, 11, 7, 5), utc(2021, 11, 7, 6));  // the first 1 o'clock
  expect_window(new_york, utc(2021, 11, 7, 6), utc(2021, 11, 7, 7));  // the second
  expect_window(new_york, utc(2021, 3, 14, 6), utc(2021, 3, 14, 7));  // 1 to 2, that is 3
  expect_window(new_york, utc(2021, 3, 14, 7), utc(2021, 3, 14, 8));
  // Lord Howe changes by half an hour, between UTC + 11 and UTC + 10:30: at 2 o'clock to 1:30,
  const Calendar lord_howe(CalendarUnit::kHour, "Australia/Lord_Howe");
  expect_window(lord_howe, utc(2021, 4, 3, 14), utc(2021, 4, 3, 15));
  expect_window(lord_howe, utc(2021, 4, 3, 15), utc(2021, 4, 3, 15, 30));
  expect_window(lord_howe, utc(2021, 4, 3, 15, 30), utc(2021, 4, 3, 16, 30));
  // and at 2 o'clock to 2:30.
  expect_window(lord_howe, utc(2021, 10, 2, 14, 30), utc(2021, 10, 2, 15, 30));
  expect_window(lord_howe, utc(2021, 10, 2, 15, 30), utc(2021, 10, 2, 16));
  // India is half an hour off.
  const Calendar india(CalendarUnit::kHour, "Asia/Kolkata");
  expect_window(india, utc(2021, 1, 1, 0, 30), utc(2021, 1, 1, 1, 30));
}

TEST(Calendar, WindowsOfAYearFollowOneAnother) {
  for (const CalendarUnit unit :
       {CalendarUnit::kHour, CalendarUnit::kDay, CalendarUnit::kWeek, CalendarUnit::kMonth})
    for (const char* zone : {"America/New_York", "America/St_Johns", "Australia/Lord_Howe",
                             "America/Havana", "Africa/Casablanca"}) {
      const Calendar calendar(unit, zone);
      Span window = calendar.window_of(utc(2006, 6, 1));
      while (window.end < utc(2007, 6, 1)) {
        EXPECT_LE(window.end - window.start, calendar.longest());
        const Span next = calendar.window_of(window.end);
        ASSERT_EQ(next.start, window.end);
        ASSERT_EQ(calendar.window_of(window.end - 1).start, window.start);
        window = next;
      }
    }
}

// A day begins with its first second on the zone's clock, as Abseil reads the same database.
TEST(Calendar, DaysAreThoseOfAnotherReader) {
  for (const char* name : {"America/New_York", "Europe/Berlin", "Asia/Kolkata", "America/Sao_Paulo",
                           "Africa/Casablanca", "Pacific/Auckland", "America/St_Johns", "UTC"}) {
    SCOPED_TRACE(name);
    absl::TimeZone zone;
    ASSERT_TRUE(absl::LoadTimeZone(name, &zone));
    const Calendar days(CalendarUnit::kDay, name);
    for (absl::CivilDay day(1900, 1, 1); day < absl::CivilDay(2101, 1, 1); ++day) {
      const absl::TimeZone::TimeInfo midnight = zone.At(absl::CivilSecond(day));
      const absl::Time start =
          midnight.kind == absl::TimeZone::TimeInfo::SKIPPED ? midnight.trans : midnight.pre;
      ASSERT_EQ(days.window_of(absl::ToUnixNanos(start)).start, absl::ToUnixNanos(start)) << day;
    }
  }
}

TEST(Calendar, BeyondAllUsableTimesIsOneWindow) {
  for (const CalendarUnit unit :
       {CalendarUnit::kHour, CalendarUnit::kDay, CalendarUnit::kWeek, CalendarUnit::kMonth}) {
    const Calendar calendar(unit, "America/New_York");
    EXPECT_EQ(calendar.window_of(INT64_MIN).start, INT64_MIN);
    EXPECT_EQ(calendar.window_of(INT64_MAX).end, INT64_MAX);
    for (const int64_t edge : {INT64_MIN, INT64_MAX}) {
      const Span last = calendar.window_of(edge);
      const int64_t inside = edge < 0 ? last.end : last.start - 1;
      const Span next = calendar.window_of(inside);
      EXPECT_EQ(edge < 0 ? next.start : next.end, edge < 0 ? last.end : last.start);
      EXPECT_LE(next.end - next.start, calendar.longest());
      EXPECT_FALSE(is_usable({inside}));
    }
  }
}

TEST(PaneStore, ADayOf23HoursShowsItsStepsAndItsEnd) {
  Plan plan = tumbling(1);
  plan.window.kind = WindowKind::kCalendar;
  plan.window.size = plan.window.slide = {};
  plan.window.zone = "America/New_York";
  plan.window.early = {8 * kHour};
  StoreHarness h(plan);
  const int64_t start = utc(2021, 3, 14, 5), end = utc(2021, 3, 15, 4);
  h.add({{start, INT64_MIN, 1, 1},
         {start + 9 * kHour, INT64_MIN, 1, 2},
         {end - 1, INT64_MIN, 1, 4},
         {end, INT64_MIN, 1, 8}});
  h.fire(end);
  const std::vector<Told> told = {{start + 8 * kHour, start, end, 1, 1, 1, FireKind::kEarly, 0},
                                  {start + 16 * kHour, start, end, 1, 2, 3, FireKind::kEarly, 1},
                                  {end, start, end, 1, 3, 7, FireKind::kOnTime, 2}};
  EXPECT_EQ(h.take_told(), told);
  h.finish();
  EXPECT_EQ(h.take_results().back(), (Result{end, end + 24 * kHour, 1, 1, 8, 8, 8}));
  EXPECT_EQ(h.store().use().panes, 0u);
}

// On the data path: in the zone's table, behind its end, and at the edges of time.
TEST(Calendar, LooksUpWithoutAllocating) {
  ASSERT_TRUE(AllocGuard::enabled());
  for (const CalendarUnit unit :
       {CalendarUnit::kHour, CalendarUnit::kDay, CalendarUnit::kWeek, CalendarUnit::kMonth}) {
    const Calendar calendar(unit, "America/New_York");
    const AllocGuard guard;
    int64_t length = 0;
    for (const int year : {1750, 1883, 1970, 2021, 2037, 2100, 2188})
      for (const unsigned month : {1u, 3u, 11u}) {
        const Span window = calendar.window_of(utc(year, month, 14, 5));
        length += window.end - window.start;
      }
    EXPECT_EQ(guard.count(), 0u);
    EXPECT_GT(length, 0);
  }
}

}  // namespace
}  // namespace tidewire
