#include "app/clock_hints.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/int128.h"
#include "base/units.h"

namespace tidewire {
namespace {

constexpr int64_t kMinute = 60 * kSecond, kHour = 60 * kMinute, kYear = 365 * 24 * kHour;

// Whole seconds are enough for eyes; below ten, milliseconds.
std::string shown(int64_t ns) {
  const int64_t unit = std::abs(ns) < 10 * kSecond ? kMillisecond : kSecond;
  return format_duration({ns / unit * unit});
}

bool is_near(int64_t value, int64_t to, int64_t within) {
  return value >= to - within && value <= to + within;
}

}  // namespace

void ClockHints::add(EventTime event, EventTime arrival) {
  int64_t offset = 0;
  if (!event.is_point() || !arrival.is_point() || offsets_.size() == kMost ||
      __builtin_sub_overflow(arrival.ns, event.ns, &offset) || offset == INT64_MIN)
    return;
  offsets_.push_back(offset);
  last_event_ = event;
  last_arrival_ = arrival;
}

bool ClockHints::any_offset() const {
  return std::any_of(offsets_.begin(), offsets_.end(), [](int64_t offset) { return offset != 0; });
}

int64_t ClockHints::middle() const {
  std::vector<int64_t> sorted = offsets_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

std::string ClockHints::offsets() const {
  if (offsets_.empty()) return {};
  const auto [least, most] = std::minmax_element(offsets_.begin(), offsets_.end());
  return "arrival less event time: " + shown(*least) + " at least, " + shown(middle()) +
         " in the middle, " + shown(*most) + " at most";
}

std::vector<std::string> ClockHints::hints() const {
  if (offsets_.empty()) return {};
  const int64_t offset = middle();
  // In 1970: a unit that is too small, or a clock that was never set.
  if (last_event_.ns >= 0 && last_event_.ns < kYear && last_arrival_.ns > 10 * kYear) {
    static constexpr std::array<std::pair<int64_t, const char*>, 3> kFactors{
        {{1'000, "a thousand"}, {1'000'000, "a million"}, {1'000'000'000, "a billion"}}};
    for (const auto& [factor, name] : kFactors) {
      const int128 scaled = int128{last_event_.ns} * factor;
      if (scaled > int128{last_arrival_.ns} * 9 / 10 && scaled < int128{last_arrival_.ns} * 11 / 10)
        return {"the times are " + std::string(name) +
                " times too small: their unit is larger than the one that is configured"};
    }
    return {
        "the times are of 1970: the device's clock was never set (min_time leaves such events "
        "out)"};
  }
  for (const int64_t seconds : {37, 36})
    if (is_near(offset, -seconds * kSecond, kSecond / 2))
      return {"the times are " + std::to_string(seconds) +
              " s ahead: the clock shows TAI, which is " + std::to_string(seconds) +
              " s ahead of UTC" + (seconds == 36 ? " until the end of 2016" : "")};
  const int64_t halves = floor_div(offset + kHour / 4, kHour / 2);
  if (halves != 0 && std::abs(halves) <= 28 && is_near(offset, halves * (kHour / 2), kMinute))
    return {"the times are " + format_duration({std::abs(halves) * (kHour / 2)}) +
            (offset > 0 ? " behind" : " ahead") +
            ": a clock that shows local time, or stamps that do not name their zone"};
  if (offset < -kSecond)
    return {"the times are " + shown(-offset) +
            " ahead of their arrival: max_ahead decides what "
            "becomes of such events"};
  return {};
}

}  // namespace tidewire
