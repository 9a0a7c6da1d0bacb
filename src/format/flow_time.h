// When a flow began and ended, out of the ways in which exporters say it.
//
//   v5, v9   21, 22: milliseconds of the exporter's uptime. The header has uptime and wall clock of
//            one moment, so t = export - (int32)(uptime - x): right over the wrap of 49.7 days,
//            and for flows that end a little after the header was made.
//   IPFIX    150 to 157: wall clock in seconds to 2^-32 s; 158, 159: microseconds before the
//   export;
//            21, 22 only together with 160, the wall clock at uptime 0, which comes in each record
//            or in an option of the domain. Without it there is no absolute time.
//
// 154 to 157 are NTP times (RFC 7011, 6.1.9 and 6.1.10): seconds since 1900, era 1 from 2036, and
// 2^-32 s. Some exporters put microseconds into the low word.
//
// Source: RFC 3954, 5 and 8; RFC 7011, 6.1; IANA "IPFIX Information Elements".
#pragma once

#include <cstdint>

#include "base/time.h"
#include "event/event_batch.h"
#include "format/flow_template.h"

namespace tidewire::flow {

// What the header of a packet says.
struct Moment {
  EventTime exported;
  bool has_uptime = false;
  uint32_t uptime = 0;  // ms
};

constexpr EventTime from_ntp(uint64_t ntp, bool low_is_micros) {
  const auto seconds = static_cast<uint32_t>(ntp >> 32);
  const uint64_t low = ntp & 0xFFFFFFFF;
  // Times before 1968 are of the next era (RFC 4330, 3).
  const int64_t since_1900 = int64_t{seconds} + ((seconds >> 31) != 0 ? 0 : int64_t{1} << 32);
  const uint64_t ns = low_is_micros ? low * 1'000 : low * 1'000'000'000 >> 32;
  return {(since_1900 - 2'208'988'800) * kSecond + static_cast<int64_t>(ns)};
}

// Seconds or finer units since 1970; what nanoseconds cannot hold is no usable time.
constexpr EventTime from_units(int64_t number, int64_t unit) {
  int64_t ns = 0;
  return __builtin_mul_overflow(number, unit, &ns) ? EventTime{INT64_MAX - 1} : EventTime{ns};
}

constexpr EventTime from_uptime(const Moment& moment, uint32_t at) {
  const auto before = static_cast<int32_t>(moment.uptime - at);
  const int64_t export_ms = moment.exported.ns / kMillisecond;
  return {(export_ms - before) * kMillisecond};
}

// `first`: kEndUptime or kStartUptime. `system_init`: ms since 1970, or kAbsent. before_all(): the
// record does not say, or not absolutely.
constexpr EventTime time_of(const Values& values, uint32_t first, const Moment& moment,
                            int64_t system_init, bool low_is_micros) {
  const auto value = [&](uint32_t which) { return values[first + which - kEndUptime]; };
  if (value(kEndNanos) != kAbsent)
    return from_ntp(static_cast<uint64_t>(value(kEndNanos)), low_is_micros);
  if (value(kEndMicros) != kAbsent)
    return from_ntp(static_cast<uint64_t>(value(kEndMicros)), low_is_micros);
  if (value(kEndMillis) != kAbsent) return from_units(value(kEndMillis), kMillisecond);
  if (value(kEndSeconds) != kAbsent) return from_units(value(kEndSeconds), kSecond);
  if (value(kEndDelta) != kAbsent)
    return earlier(moment.exported, {from_units(value(kEndDelta), kMicrosecond).ns});
  const int64_t uptime = value(kEndUptime);
  if (uptime == kAbsent) return EventTime::before_all();
  if (moment.has_uptime) return from_uptime(moment, static_cast<uint32_t>(uptime));
  if (system_init != kAbsent)
    return later(from_units(system_init, kMillisecond), {from_units(uptime, kMillisecond).ns});
  return EventTime::before_all();
}

// When something was seen of which neither start nor end is said.
constexpr EventTime observed(const Values& values, bool low_is_micros) {
  if (values[kObservedNanos] != kAbsent)
    return from_ntp(static_cast<uint64_t>(values[kObservedNanos]), low_is_micros);
  if (values[kObservedMicros] != kAbsent)
    return from_ntp(static_cast<uint64_t>(values[kObservedMicros]), low_is_micros);
  if (values[kObservedMillis] != kAbsent) return from_units(values[kObservedMillis], kMillisecond);
  if (values[kObservedSeconds] != kAbsent) return from_units(values[kObservedSeconds], kSecond);
  return EventTime::before_all();
}

// Below zero: it is not said.
constexpr Duration duration_said(const Values& values) {
  if (values[kDurationMicros] != kAbsent)
    return {from_units(values[kDurationMicros], kMicrosecond).ns};
  if (values[kDurationMillis] != kAbsent)
    return {from_units(values[kDurationMillis], kMillisecond).ns};
  return {-1};
}

}  // namespace tidewire::flow
