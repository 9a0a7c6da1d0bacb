#include "format/zone.h"

#include <absl/status/status.h>
#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "query/nearest.h"

namespace tidewire {
namespace {

// "Europe/Vienna", ...: files below the database's folder, without its tables (zone.tab) and
// without its second copies (posix, right).
std::vector<std::string> zone_names() {
  const char* set = std::getenv("TZDIR");
  const std::filesystem::path folder = set != nullptr ? set : "/usr/share/zoneinfo";
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().lexically_relative(folder).string();
    if (name.starts_with("posix") || name.starts_with("right"))
      entry.disable_recursion_pending();
    else if (name.front() >= 'A' && name.front() <= 'Z' && entry->is_regular_file(error))
      names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());  // folders have no order
  return names;
}

}  // namespace

absl::StatusOr<Zone> Zone::load(const std::string& name) {
  absl::TimeZone database;
  if (!absl::LoadTimeZone(to_absl(name), &database))
    return absl::NotFoundError(to_absl("no time zone '" + name +
                                       "' in this system's database (IANA names, as "
                                       "America/New_York; package tzdata)"));
  const auto offset = [&](absl::Time at) { return Duration{database.At(at).offset * kSecond}; };
  Zone zone;
  zone.rules_.push_back({EventTime::before_all(), offset(absl::UnixEpoch())});
  // To the end of what int64 nanoseconds hold: 2262.
  const absl::Time last = absl::FromUnixNanos(INT64_MAX);
  absl::TimeZone::CivilTransition change;
  for (absl::Time at = absl::UnixEpoch(); database.NextTransition(at, &change);) {
    at = database.At(change.to).trans;  // `to` is reached by the change itself, or twice
    if (at >= last) break;
    zone.rules_.push_back({EventTime{absl::ToUnixNanos(at)}, offset(at)});
  }
  return zone;
}

Duration Zone::offset_at(EventTime utc) const {
  const auto after = std::upper_bound(rules_.begin() + 1, rules_.end(), utc,
                                      [](EventTime t, const Rule& rule) { return t < rule.from; });
  return std::prev(after)->offset;
}

EventTime Zone::start_of(int64_t day) const {
  const int64_t local = day * kDay;
  // Rules last longer than two days, so at most one change lies between these two.
  const Duration before = offset_at(EventTime{local - kDay});
  const Duration after = offset_at(EventTime{local + kDay});
  const EventTime by_old{local - before.ns}, by_new{local - after.ns};
  if (offset_at(by_old) == before) return by_old;
  if (offset_at(by_new) == after) return by_new;
  // Midnight does not exist: the change itself.
  return std::prev(std::upper_bound(rules_.begin() + 1, rules_.end(), by_old,
                                    [](EventTime t, const Rule& rule) { return t < rule.from; }))
      ->from;
}

std::string nearest_zone(std::string_view written) {
  const std::vector<std::string> names = zone_names();
  const std::vector<std::string_view> whole(names.begin(), names.end());
  if (const std::string_view near = nearest_name(written, whole); !near.empty())
    return std::string(near);
  std::vector<std::string_view> cities;
  for (const std::string& name : names) {
    const size_t slash = name.rfind('/');
    cities.push_back(slash == std::string::npos ? std::string_view()
                                                : whole[cities.size()].substr(slash + 1));
  }
  const std::string_view near = nearest_name(written, cities);
  if (near.empty()) return {};
  return names[static_cast<size_t>(std::find(cities.begin(), cities.end(), near) - cities.begin())];
}

}  // namespace tidewire
