// The two kinds of time, and the arithmetic between them. Both count nanoseconds in an int64 and do
// not convert into each other; no float ever touches either.
//
//   EventTime      when it happened, from the data; UTC since 1970. Never read from a clock below
//   runtime. MonotonicTime  our own clock: idleness of a whole lane, latency, timeouts.
//
// Two values of EventTime stand for no point in time and absorb all arithmetic:
//   before_all()   nothing seen yet; as an arrival stamp: none was given
//   end_of_time()  end of input
#pragma once

#include <compare>
#include <cstdint>

namespace tidewire {

struct Duration {
  int64_t ns = 0;
  auto operator<=>(const Duration&) const = default;
};

struct EventTime {
  int64_t ns = 0;
  auto operator<=>(const EventTime&) const = default;
  static constexpr EventTime before_all() { return {INT64_MIN}; }
  static constexpr EventTime end_of_time() { return {INT64_MAX}; }
  constexpr bool is_point() const { return ns != INT64_MIN && ns != INT64_MAX; }
};

// Longest window, slide, gap or offset: 36 years. An event's time lies two of them from int64's
// edge (so within 1750 and 2189, or it is out of range at parsing): what windows add to a time, or
// take from it, is no overflow, and which events count does not depend on the queries.
inline constexpr int64_t kWindowLengthMax = int64_t{1} << 60;
inline constexpr int64_t kUsableTimeMax = INT64_MAX - 2 * kWindowLengthMax;
constexpr bool is_usable(EventTime t) { return t.ns >= -kUsableTimeMax && t.ns <= kUsableTimeMax; }

struct MonotonicTime {
  int64_t ns = 0;
  auto operator<=>(const MonotonicTime&) const = default;
};

inline constexpr int64_t kMicrosecond = 1'000;
inline constexpr int64_t kMillisecond = 1'000'000;
inline constexpr int64_t kSecond = 1'000'000'000;

// Saturating: a result past an edge is end_of_time() or before_all().
constexpr EventTime later(EventTime t, Duration d) {
  if (!t.is_point()) return t;
  int64_t r = 0;
  if (__builtin_add_overflow(t.ns, d.ns, &r))
    return d.ns < 0 ? EventTime::before_all() : EventTime::end_of_time();
  return {r};
}
constexpr EventTime earlier(EventTime t, Duration d) {
  if (!t.is_point()) return t;
  int64_t r = 0;
  if (__builtin_sub_overflow(t.ns, d.ns, &r))
    return d.ns < 0 ? EventTime::end_of_time() : EventTime::before_all();
  return {r};
}

// a / b rounded to minus infinity: Flink's window start formula for negative times as well.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - static_cast<int64_t>((a % b != 0) && ((a < 0) != (b < 0)));
}

}  // namespace tidewire
