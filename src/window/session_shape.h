// Session windows as arithmetic: the window of a row, the cell that it may not leave, how long a
// session is kept and where late rows are answered. All times are nanoseconds; what would pass
// int64's edge stops there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/int128.h"
#include "base/time.h"
#include "event/rows.h"
#include "query/plan.h"

namespace tidewire {

class SessionShape {
 public:
  explicit SessionShape(const Plan& plan)
      : gap_(plan.window.gap.ns),
        gap_value_(plan.gap_value),
        gap_unit_(plan.gap_unit.ns),
        cell_(plan.window.max_duration.ns),
        lateness_(plan.window.lateness.ns),
        gather_(plan.window.gather.ns) {
    CHECK(gap_value_ >= 0 || (gap_ > 0 && gap_ <= kWindowLengthMax));
    CHECK(gap_value_ < static_cast<int>(plan.values.size()));
    CHECK(cell_ >= 0 && cell_ <= kWindowLengthMax && lateness_ >= 0 && gather_ >= 0);
  }
  // Nothing but a fixed gap.
  bool is_plain() const { return gap_value_ < 0 && cell_ == 0 && lateness_ == 0; }
  // What sizes a tick; rows may bring any other.
  int64_t usual_gap() const { return gap_value_ < 0 ? gap_ : kSecond; }
  bool has_cells() const { return cell_ > 0; }
  bool gathers() const { return gather_ > 0; }

  int64_t gap(const Rows& rows, uint32_t row) const {
    if (gap_value_ < 0) [[likely]]
      return gap_;
    int64_t own = rows.value[static_cast<uint32_t>(gap_value_)][row];
    if (__builtin_mul_overflow(std::max<int64_t>(own, 0), gap_unit_, &own)) return kWindowLengthMax;
    return std::min(own, kWindowLengthMax);
  }
  // Of a row's window.
  int64_t end(int64_t time, int64_t gap) const {
    int64_t end = 0;
    if (__builtin_add_overflow(time, gap, &end)) end = INT64_MAX;
    return cell_ == 0 ? end : std::min(end, cell_end(time));
  }
  int64_t cell_end(int64_t time) const {
    const int128 end = (static_cast<int128>(floor_div(time, cell_)) + 1) * cell_;
    return static_cast<int64_t>(std::min<int128>(end, INT64_MAX));
  }
  bool same_cell(int64_t a, int64_t b) const {
    return cell_ == 0 || floor_div(a, cell_) == floor_div(b, cell_);
  }

  // Where a session with this end is done with; a row is late that only makes such a one.
  int64_t leaves(int64_t end) const {
    int64_t at = 0;
    return __builtin_add_overflow(end, lateness_, &at) ? INT64_MAX : at;
  }
  // Sessions that end by then are done with at `place`.
  int64_t lived_before(int64_t place) const {
    int64_t at = 0;
    return __builtin_sub_overflow(place, lateness_, &at) ? INT64_MIN : at;
  }
  // The first of end + gather, end + 2 gather, ... below end + lateness, and end + lateness, that
  // lies after `place`, which is end <= place < end + lateness.
  int64_t point_after(int64_t end, int64_t place) const {
    const uint64_t passed = apart(end, place) / static_cast<uint64_t>(gather_);
    const auto ahead = (static_cast<int128>(passed) + 1) * gather_;
    if (ahead >= lateness_) return leaves(end);
    int64_t at = 0;
    return __builtin_add_overflow(end, static_cast<int64_t>(ahead), &at) ? INT64_MAX : at;
  }
  // Its number: 0 is the end.
  uint32_t number_of(int64_t end, int64_t point) const {
    const auto gather = static_cast<uint64_t>(gather_);
    return static_cast<uint32_t>((apart(end, point) + gather - 1) / gather);
  }

 private:
  static uint64_t apart(int64_t from, int64_t to) {
    return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  }

  int64_t gap_;
  int gap_value_;
  int64_t gap_unit_, cell_, lateness_, gather_;
};

}  // namespace tidewire
