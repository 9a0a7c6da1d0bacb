// Aligned windows as arithmetic: tumbling, sliding and windows with gaps between them differ only
// in the numbers here. All times are nanoseconds.
//
//   window k   [k * slide + offset, k * slide + offset + size)
//   pane       the piece between two neighbouring edges of any window, gcd(size, slide) wide: rows
//              are combined in panes, and a window is the sum of its panes
//
// Division rounds to minus infinity (Flink TimeWindow.getWindowStartWithOffset is wrong before 1970
// without it, FLINK-26334). Times are usable and lengths at most kWindowLengthMax (base/time.h), so
// nothing here overflows; first_end() takes any frontier, edges included.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/check.h"
#include "base/time.h"
#include "query/plan.h"

namespace tidewire {

class Geometry {
 public:
  explicit Geometry(const WindowShape& shape)
      : size_(shape.size.ns), slide_(shape.slide.ns), offset_(shape.offset.ns) {
    CHECK(size_ > 0 && size_ <= kWindowLengthMax);
    CHECK(slide_ > 0 && slide_ <= kWindowLengthMax);
    CHECK(offset_ > -slide_ && offset_ < slide_);
    width_ = std::gcd(size_, slide_);
  }

  int64_t size() const { return size_; }
  int64_t slide() const { return slide_; }
  int64_t width() const { return width_; }

  int64_t pane_start(int64_t t) const { return floor_div(t - offset_, width_) * width_ + offset_; }
  // The first window end after t, whether or not that window holds t.
  int64_t first_end(int64_t t) const {
    if (t >= kEdge) return INT64_MAX;
    const int64_t at = std::max(t, -kEdge) - offset_ - size_;
    return (floor_div(at, slide_) + 1) * slide_ + offset_ + size_;
  }
  // The end of the last window that starts at or before t.
  int64_t last_end(int64_t t) const {
    return floor_div(t - offset_, slide_) * slide_ + offset_ + size_;
  }
  // False between windows (slide > size).
  bool holds(int64_t t) const { return last_end(t) > t; }

 private:
  static constexpr int64_t kEdge = kUsableTimeMax + 1;

  int64_t size_, slide_, offset_, width_;
};

}  // namespace tidewire
