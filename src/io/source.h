// The door through which packets come in. One Source is one lane.
#pragma once

#include <cstdint>

#include "event/burst.h"

namespace tidewire {

enum class Received : uint8_t {
  kPackets,  // burst.count > 0
  kNothing,  // none at this moment
  kEnded,    // there will be no more (a file's end, read through)
  kFailed,   // there will be no more, and why is in sample(): the lane ends, the run goes on, exit
             // code tells
};

// A moment's sample, for the control thread. What a driver cannot count stays 0.
struct SourceCounters {
  uint64_t missed = 0;            // the receive ring was full
  uint64_t no_buffer = 0;         // the pool was empty
  uint64_t errors = 0;            // bad frames; file records that had to be skipped
  uint64_t segmented = 0;         // frames over several buffers: only the first is looked at
  uint64_t bytes_read = 0;        // of the file or wire
  uint64_t bytes_total = 0;       // of the files, where known: progress
  const char* failure = nullptr;  // static text or text that lives as long as the source
};

class Source {
 public:
  virtual ~Source() = default;
  // Hot. Fills at most `limit` packets: count, unstamped, data, length, wire_length, arrival,
  // interface, link, owner; lane, limit and first are the caller's. One virtual call per burst;
  // never blocks. No burst is outstanding when it is called.
  virtual Received receive(Burst& burst) = 0;
  // Hot. Gives all buffers of the burst back; nothing points into them any more.
  virtual void release(Burst& burst) = 0;
  virtual void sample(SourceCounters& out) const = 0;  // any thread
};

}  // namespace tidewire
