// The floor: hand-made kernels for the work of a window store, with no format, no watermark rules,
// no late rows, no exchange and a fixed number of keys. Speed goals are ratios to them in the same
// run (the machine's ns move by a factor of 1.5 within minutes, ratios do not). Layout: one-line
// buckets of five keys with dense ids, one 32-byte cell per id and slice, 256 events a batch in
// three stages so that the cache misses overlap.
//
//   tumbling   slices of 1 s, written out and reset when the watermark passes them
//   sliding    10 slices of 1 s, recombined per key at each slide
//   no key     one cell a slice of 1 s, the batch reduced before it reaches it
//   session    newest session in the key's line, older ones in a list, lazy timing wheel
//
// Compiled twice, for x86-64-v3 and v4: the faster one that the CPU can run is the floor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tidewire::floor_kernel {

struct Event {
  uint64_t key;
  int64_t time;
  int64_t value;
};

struct Sums {  // equal for every correct kernel on the same events
  uint64_t results = 0;
  int64_t count = 0, sum = 0;
  bool operator==(const Sums&) const = default;
};

enum class Work : uint8_t { kTumbling, kSliding, kSession, kNoKey };

// Tables for at most `keys` keys, reused between runs (warm).
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Sums run(std::span<const Event> events, int64_t out_of_orderness_ns) = 0;
};

// The kernel for this CPU. `gap_ns` for sessions only.
Kernel* make_kernel(Work work, uint64_t keys, int64_t gap_ns);
// "x86-64-v4" or "x86-64-v3".
const char* kernel_isa();

}  // namespace tidewire::floor_kernel
