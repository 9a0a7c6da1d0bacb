// What path benches measure with.
#pragma once

#include <time.h>

#include <algorithm>
#include <vector>

namespace tidewire::bench {

inline double seconds_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
inline double cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }  // of this thread
inline double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

}  // namespace tidewire::bench
