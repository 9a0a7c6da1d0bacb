// Aligned windows as arithmetic: tumbling, sliding, windows with gaps between them, cumulating and
// calendar windows differ only in the numbers here. All times are nanoseconds.
//
//   window k   [k * slide + offset, k * slide + offset + size), or a span of the calendar
//   point      when a window shows what it holds (core.md rule 6):
//
//                start          early        2 early    end     + gather   + lateness
//                  |--------------|------------|---------|----------|----------|
//                             steps: events before them  |   only what changed    clean-up
//
//   pane       the piece between two neighbouring edges or steps of any window, gcd(size, slide,
//              early) wide: rows are combined in panes, and a window is the sum of its panes
//
// Division rounds to minus infinity (Flink TimeWindow.getWindowStartWithOffset is wrong before 1970
// without it, FLINK-26334). Any int64 is a time here; what would pass an edge stays there, where
// INT64_MAX is the end of the input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/time.h"
#include "query/plan.h"
#include "window/calendar.h"

namespace tidewire {

constexpr int64_t add_to_edge(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}
constexpr int64_t subtract_to_edge(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return b < 0 ? INT64_MAX : INT64_MIN;
  return difference;
}

class Geometry {
 public:
  explicit Geometry(const WindowShape& shape)
      : size_(shape.size.ns),
        slide_(shape.slide.ns),
        step_(shape.early.ns),
        lateness_(shape.lateness.ns),
        gather_(shape.gather.ns) {
    CHECK(step_ >= 0 && lateness_ >= 0 && gather_ >= 0);
    if (shape.kind == WindowKind::kCalendar) {
      calendar_.emplace(shape.unit, shape.zone);
      return;
    }
    CHECK(size_ > 0 && size_ <= kWindowLengthMax);
    CHECK(slide_ > 0 && slide_ <= kWindowLengthMax);
    CHECK(shape.offset.ns > -slide_ && shape.offset.ns < slide_);
    width_ = std::gcd(std::gcd(size_, slide_), step_);
    start_phase_ = mod(shape.offset.ns, slide_);
    end_phase_ = mod(start_phase_ + mod(size_, slide_), slide_);
    pane_phase_ = mod(shape.offset.ns, width_);
  }

  bool has_steps() const { return step_ > 0; }
  int64_t lateness() const { return lateness_; }
  // How long nothing happens before a store forgets its keys.
  int64_t pause() const { return calendar_ ? 2 * calendar_->longest() : size_ + slide_; }

  // ---- windows
  // The first window end after t, whether or not that window holds t.
  int64_t first_end(int64_t t) const {
    if (t == INT64_MAX) return t;
    if (calendar_) return calendar_->window_of(t).end;
    return add_to_edge(t, slide_ - mod(mod(t, slide_) - end_phase_, slide_));
  }
  // The end of the last window that starts at or before t.
  int64_t last_end(int64_t t) const {
    if (calendar_) return calendar_->window_of(t).end;
    return add_to_edge(t, size_ - mod(mod(t, slide_) - start_phase_, slide_));
  }
  // Of the window with this end.
  int64_t start_of(int64_t end) const {
    return calendar_ ? calendar_->window_of(end - 1).start : subtract_to_edge(end, size_);
  }
  int64_t next_end(int64_t end) const {
    return calendar_ ? calendar_->window_of(end).end : add_to_edge(end, slide_);
  }
  // From there on no row joins a window with this end.
  int64_t gone_at(int64_t end) const { return add_to_edge(end, lateness_); }

  // ---- panes
  // The pane that holds t. No row between windows has one.
  Span pane_of(int64_t t) const {
    if (!calendar_) {
      const int64_t into = mod(mod(t, width_) - pane_phase_, width_);
      return {subtract_to_edge(t, into), add_to_edge(t, width_ - into)};
    }
    const Span window = calendar_->window_of(t);
    if (step_ == 0) return window;
    const int64_t start = t - (t - window.start) % step_;
    return {start, std::min(start + step_, window.end)};
  }
  // The first point after `t` of all windows that hold the pane which starts there; INT64_MAX:
  // none. Nothing is due before its own start.
  int64_t pane_point_after(int64_t pane, int64_t t) const {
    const int64_t after = std::max(pane, t), last = last_end(pane);
    int64_t first = INT64_MAX;
    for (int64_t end = first_end(after); end <= last; end = next_end(end)) {
      first = std::min(first, point_after({start_of(end), end}, after));
      if (step_ == 0 || end == INT64_MAX) break;
    }
    return first;
  }

  // ---- points of one window
  // The first step or end after t, which lies before the end.
  int64_t point_after(Span window, int64_t t) const {
    if (step_ == 0) return window.end;
    const auto gone =
        t < window.start ? 0 : static_cast<uint64_t>(t) - static_cast<uint64_t>(window.start);
    const auto steps = static_cast<int64_t>(gone / static_cast<uint64_t>(step_)) + 1;
    return std::min(window.end, add_to_edge(window.start, steps * step_));
  }
  bool is_point(Span window, int64_t t) const {
    return t > window.start && t <= window.end && point_after(window, t - 1) == t;
  }
  // The last step or end at or before t; the window's start: there was none.
  int64_t last_point(Span window, int64_t t) const {
    if (t >= window.end) return window.end;
    if (step_ == 0 || t < window.start) return window.start;
    return t - (t - window.start) % step_;
  }
  // Behind the end: the first gathered point after t, which is no clean-up yet.
  int64_t gathered_after(int64_t end, int64_t t) const {
    const auto gone = static_cast<uint64_t>(t) - static_cast<uint64_t>(end);
    const uint64_t past = gone % static_cast<uint64_t>(gather_);
    return std::min(gone_at(end), add_to_edge(t, gather_ - static_cast<int64_t>(past)));
  }
  // The number of a point on the window's own grid.
  uint32_t index_of(Span window, int64_t point) const {
    const auto length = [](int64_t from, int64_t to) {
      return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    };
    const auto step = static_cast<uint64_t>(step_), gather = static_cast<uint64_t>(gather_);
    uint64_t index = 0;
    if (point < window.end) return at_most(length(window.start, point) / step - 1);
    if (step_ > 0) index = (length(window.start, window.end) - 1) / step;
    if (gather_ > 0) index += (length(window.end, point) + gather - 1) / gather;
    return at_most(index);
  }

 private:
  static int64_t mod(int64_t a, int64_t m) {
    const int64_t r = a % m;
    return r < 0 ? r + m : r;
  }
  static uint32_t at_most(uint64_t index) {
    return static_cast<uint32_t>(std::min<uint64_t>(index, UINT32_MAX));
  }

  int64_t size_, slide_, step_, lateness_, gather_;
  int64_t width_ = 0;
  int64_t start_phase_ = 0, end_phase_ = 0, pane_phase_ = 0;  // remainders by slide, slide, width
  std::optional<Calendar> calendar_;
};

}  // namespace tidewire
