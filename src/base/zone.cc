#include "base/zone.h"

#include <absl/status/status.h>
#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>

#include "base/strings.h"

namespace tidewire {

absl::StatusOr<Zone> Zone::load(const std::string& name) {
  absl::TimeZone database;
  if (!absl::LoadTimeZone(to_absl(name), &database))
    return absl::NotFoundError(to_absl("no time zone '" + name +
                                       "' in this system's database (IANA names, as "
                                       "America/New_York; package tzdata)"));
  const auto offset = [&](absl::Time at) { return Duration{database.At(at).offset * kSecond}; };
  // All that int64 nanoseconds hold: 1677 to 2262.
  const absl::Time first = absl::FromUnixNanos(INT64_MIN), last = absl::FromUnixNanos(INT64_MAX);
  Zone zone;
  zone.rules_.push_back({EventTime::before_all(), EventTime::end_of_time(), offset(first)});
  absl::TimeZone::CivilTransition change;
  for (absl::Time at = first; database.NextTransition(at, &change);) {
    at = database.At(change.to).trans;  // `to` is reached by the change itself, or twice
    if (at >= last) break;
    const EventTime from{absl::ToUnixNanos(at)};
    zone.rules_.back().until = from;
    zone.rules_.push_back({from, EventTime::end_of_time(), offset(at)});
  }
  return zone;
}

const Zone::Rule& Zone::rule_at(EventTime utc) const {
  const auto after = std::upper_bound(rules_.begin() + 1, rules_.end(), utc,
                                      [](EventTime t, const Rule& rule) { return t < rule.from; });
  return *std::prev(after);
}

EventTime Zone::start_of(int64_t day) const {
  const int64_t local = day * kDayLength;
  // Rules last longer than two days, so at most one change lies between these two.
  const Duration before = offset_at(EventTime{local - kDayLength});
  const Duration after = offset_at(EventTime{local + kDayLength});
  const EventTime by_old{local - before.ns}, by_new{local - after.ns};
  if (offset_at(by_old) == before) return by_old;
  if (offset_at(by_new) == after) return by_new;
  return rule_at(by_old).from;  // midnight does not exist: the change itself
}

}  // namespace tidewire
