#include "window/calendar.h"

#include <algorithm>

#include "base/check.h"
#include "base/time.h"

namespace tidewire {
namespace {

constexpr int64_t kHourLength = 3600 * kSecond;

// When the clock goes from one civil time to the other.
absl::Time time_of(const absl::TimeZone& zone, const absl::TimeZone::CivilTransition& change) {
  return zone.At(change.to).trans;  // `to` is reached by the change itself, or comes twice
}

}  // namespace

Calendar::Calendar(CalendarUnit unit, const std::string& zone) : unit_(unit) {
  CHECK(absl::LoadTimeZone(absl::string_view(zone.data(), zone.size()), &zone_));
}

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
  const absl::Time at = absl::FromUnixNanos(t);
  if (unit_ == CalendarUnit::kHour) return hour_of(at);
  absl::CivilDay day = first_day(absl::CivilDay(zone_.At(at).cs));
  absl::Time start = start_of(day), end = start_of(next_first_day(day));
  while (at >= end) {  // a clock set back over midnight shows yesterday once more
    day = next_first_day(day);
    start = end;
    end = start_of(next_first_day(day));
  }
  return {absl::ToUnixNanos(start), absl::ToUnixNanos(end)};
}

Span Calendar::hour_of(absl::Time t) const {
  const absl::TimeZone::CivilInfo info = zone_.At(t);
  const absl::CivilHour hour(info.cs);
  const int64_t into = info.cs - absl::CivilSecond(hour);
  absl::Time start = t - info.subsecond - absl::Seconds(into);
  absl::Time end = start + absl::Hours(1);
  absl::TimeZone::CivilTransition change;
  if (zone_.NextTransition(start, &change)) {
    absl::Time when = time_of(zone_, change);
    if (when <= t) {
      start = when;
      if (!zone_.NextTransition(start, &change))
        return {absl::ToUnixNanos(start), absl::ToUnixNanos(end)};
      when = time_of(zone_, change);
    }
    end = std::min(end, when);
  }
  return {absl::ToUnixNanos(start), absl::ToUnixNanos(end)};
}

absl::Time Calendar::start_of(absl::CivilDay day) const {
  const absl::TimeZone::TimeInfo info = zone_.At(absl::CivilSecond(day));
  return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
}

absl::CivilDay Calendar::first_day(absl::CivilDay day) const {
  if (unit_ == CalendarUnit::kMonth) return absl::CivilDay(absl::CivilMonth(day));
  if (unit_ == CalendarUnit::kWeek) return absl::PrevWeekday(day + 1, absl::Weekday::monday);
  return day;
}

absl::CivilDay Calendar::next_first_day(absl::CivilDay day) const {
  if (unit_ == CalendarUnit::kMonth) return absl::CivilDay(absl::CivilMonth(day) + 1);
  return day + (unit_ == CalendarUnit::kWeek ? 7 : 1);
}

}  // namespace tidewire
