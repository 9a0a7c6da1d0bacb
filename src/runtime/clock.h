// The clock: the only one below app. Two readings of different types: `now` for silence, pace and
// latency; `wall` for packets that came without an arrival stamp. Tests put a virtual one in its
// place (tests/support/virtual_clock.h), so nothing that depends on time needs time to pass.
#pragma once

#include "base/time.h"

namespace tidewire {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime now() = 0;
  virtual EventTime wall() = 0;
};

// CLOCK_MONOTONIC and CLOCK_REALTIME, both without a system call (vDSO). Any thread.
Clock& system_clock();

constexpr Duration between(MonotonicTime from, MonotonicTime to) { return {to.ns - from.ns}; }

}  // namespace tidewire
