// Windows of a zone's wall clock: hours, days, weeks from Monday, months. They follow one another
// without gaps, and their lengths differ: a day has 23 to 25 hours, mostly 24.
//
//   day, week, month   begin at local midnight. Where the clock skips midnight they begin at the
//                      change, where midnight comes twice, at the first
//   hour               begins at the full hour and whenever the clock is changed: the hour that
//                      comes twice is two windows
//
// Times are nanoseconds, boundaries whole seconds. The rules are those of the system's zone
// database, read once when the zone is loaded; asking allocates nothing.
#pragma once

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>

#include "query/plan.h"

namespace tidewire {

struct Span {
  int64_t start, end;  // start inclusive, end exclusive
};

class Calendar {
 public:
  // A zone that the database does not know is a bug: config has asked before.
  Calendar(CalendarUnit unit, const std::string& zone);

  // The window that holds t.
  Span window_of(int64_t t) const;
  // No window is longer.
  int64_t longest() const;

 private:
  Span hour_of(absl::Time t) const;
  absl::Time start_of(absl::CivilDay day) const;
  absl::CivilDay first_day(absl::CivilDay day) const;
  absl::CivilDay next_first_day(absl::CivilDay day) const;

  CalendarUnit unit_;
  absl::TimeZone zone_;
};

}  // namespace tidewire
