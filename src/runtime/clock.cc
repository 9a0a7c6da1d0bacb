#include "runtime/clock.h"

#include <ctime>

namespace tidewire {
namespace {

int64_t read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return int64_t{t.tv_sec} * kSecond + t.tv_nsec;
}

class SystemClock final : public Clock {
 public:
  MonotonicTime now() override { return {read_clock(CLOCK_MONOTONIC)}; }
  EventTime wall() override { return {read_clock(CLOCK_REALTIME)}; }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace tidewire
