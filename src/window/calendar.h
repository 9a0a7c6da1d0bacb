// Windows of a zone's wall clock: hours, days, weeks from Monday, months. They follow one another
// without gaps, and their lengths differ: a day has 23 to 25 hours, mostly 24.
//
//   day, week, month   begin at local midnight. Where the clock skips midnight they begin at the
//                      change, where midnight comes twice, at the first
//   hour               begins at the full hour and whenever the clock is changed: the hour that
//                      comes twice is two windows
//
// Times are nanoseconds, boundaries whole seconds; what lies beyond the usable times (base/time.h)
// on either side is one window. The rules are those of the system's zone database (base/zone.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/zone.h"
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
  Span window_within(int64_t t) const;
  Span hour_of(int64_t t) const;
  int64_t first_day(int64_t day) const;
  int64_t next_first_day(int64_t day) const;

  CalendarUnit unit_;
  Zone zone_;
};

}  // namespace tidewire
