#include "window/calendar.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/time.h"

namespace tidewire {
namespace {

constexpr int64_t kHourLength = 3600 * kSecond;

Zone zone_named(const std::string& name) {
  auto zone = Zone::load(name);
  CHECK(zone.ok());
  return *std::move(zone);
}

std::chrono::year_month month_of(int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  return date.year() / date.month();
}
int64_t first_of(std::chrono::year_month month) {
  return std::chrono::sys_days{month / 1}.time_since_epoch().count();
}

}  // namespace

Calendar::Calendar(CalendarUnit unit, const std::string& zone)
    : unit_(unit), zone_(zone_named(zone)) {}

int64_t Calendar::longest() const {
  switch (unit_) {
    case CalendarUnit::kHour:
      return kHourLength;
    case CalendarUnit::kDay:
      return 25 * kHourLength;
    case CalendarUnit::kWeek:
      return (7 * 24 + 1) * kHourLength;
    case CalendarUnit::kMonth:
      return (31 * 24 + 1) * kHourLength;
  }
  return 0;
}

Span Calendar::window_of(int64_t t) const {
  constexpr int64_t kEdge = kUsableTimeMax + kWindowLengthMax;
  if (t > -kEdge && t < kEdge) return window_within(t);
  const Span edge = window_within(t < 0 ? -kEdge : kEdge);
  if (t < edge.start) return {INT64_MIN, edge.start};
  return t < edge.end ? edge : Span{edge.end, INT64_MAX};
}

Span Calendar::window_within(int64_t t) const {
  if (unit_ == CalendarUnit::kHour) return hour_of(t);
  int64_t day = first_day(zone_.day_at({t}));
  int64_t start = zone_.start_of(day).ns, end = zone_.start_of(next_first_day(day)).ns;
  while (t >= end) {  // a clock set back over midnight shows yesterday once more
    day = next_first_day(day);
    start = std::exchange(end, zone_.start_of(next_first_day(day)).ns);
  }
  return {start, end};
}

Span Calendar::hour_of(int64_t t) const {
  const Zone::Rule& rule = zone_.rule_at({t});
  const int64_t start = floor_div(t + rule.offset.ns, kHourLength) * kHourLength - rule.offset.ns;
  return {std::max(start, rule.from.ns), std::min(start + kHourLength, rule.until.ns)};
}

int64_t Calendar::first_day(int64_t day) const {
  if (unit_ == CalendarUnit::kMonth) return first_of(month_of(day));
  // Day 0 was a Thursday.
  if (unit_ == CalendarUnit::kWeek) return floor_div(day + 3, 7) * 7 - 3;
  return day;
}

int64_t Calendar::next_first_day(int64_t day) const {
  if (unit_ == CalendarUnit::kMonth) return first_of(month_of(day) + std::chrono::months{1});
  return day + (unit_ == CalendarUnit::kWeek ? 7 : 1);
}

}  // namespace tidewire
