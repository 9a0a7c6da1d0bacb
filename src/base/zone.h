// A time zone's rules as a small sorted table, read once at setup from the system's database: what
// does the clock show there, and when does a day begin? Asked on the data path (formats whose times
// are local, calendar windows), so no library is called then.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "base/time.h"

namespace tidewire {

inline constexpr int64_t kDayLength = 86'400 * kSecond;

class Zone {
 public:
  // In force from `from` on (the first: before_all()) and before `until` (the last: end_of_time()).
  struct Rule {
    EventTime from, until;
    Duration offset;  // local minus UTC
  };

  // By IANA name, "America/New_York". Error: no such zone, with the remedy.
  static absl::StatusOr<Zone> load(const std::string& name);

  const Rule& rule_at(EventTime utc) const;
  Duration offset_at(EventTime utc) const { return rule_at(utc).offset; }
  // Day number (from 1970-01-01) on the zone's calendar, at a moment more than a day from int64's
  // edges.
  int64_t day_at(EventTime utc) const { return floor_div(utc.ns + offset_at(utc).ns, kDayLength); }
  // The moment at which that day begins. Where clocks jump over midnight: the jump; where midnight
  // comes twice: the first.
  EventTime start_of(int64_t day) const;

 private:
  std::vector<Rule> rules_;  // without gaps, by `from`
};

}  // namespace tidewire
