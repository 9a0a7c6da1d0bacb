// A time zone's rules as a small sorted table, read once at setup from the system's database: when
// did a day begin there? Asked per change of day on the data path, so no library is called then.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace tidewire {

inline constexpr int64_t kDay = 86'400 * kSecond;

class Zone {
 public:
  // By IANA name, "America/New_York". Error: no such zone, with the remedy.
  static absl::StatusOr<Zone> load(const std::string& name);

  // Local minus UTC, at a moment. Moments before 1970 have the rules of 1970.
  Duration offset_at(EventTime utc) const;
  // Day number (from 1970-01-01) on the zone's calendar, at a moment.
  int64_t day_at(EventTime utc) const { return floor_div(utc.ns + offset_at(utc).ns, kDay); }
  // The moment at which that day begins. Where clocks jump over midnight: the jump.
  EventTime start_of(int64_t day) const;

 private:
  struct Rule {
    EventTime from;
    Duration offset;
  };
  std::vector<Rule> rules_;  // by `from`; the first has none before it
};

// The name of the system's database that is nearest to a mistyped one, also by its city alone;
// empty: none is near. Reads folders.
std::string nearest_zone(std::string_view written);

}  // namespace tidewire
