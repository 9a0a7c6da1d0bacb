// The door through which results go out: records that egress has encoded already. Called by egress
// on its own thread, never by a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tidewire {

// Encoded records, one after the other. A sink that keeps boundaries (a datagram each) uses `ends`.
struct Records {
  std::span<const std::byte> bytes;
  std::span<const uint32_t> ends;  // end offset of each record in bytes
};

struct SinkCounters {
  uint64_t records = 0;  // taken and written
  uint64_t bytes = 0;
  uint64_t lost =
      0;  // records that could not be written: full disk, closed pipe, unreachable address
  bool degraded = false;          // the last write failed; it is tried again with the next records
  const char* failure = nullptr;  // why; lives as long as the sink
};

class Sink {
 public:
  virtual ~Sink() = default;
  // Takes all records: written, buffered, or counted as lost. May wait for a slow reader: the
  // pressure goes back through the result rings to the workers' cursors, and receive goes on.
  virtual void send(const Records& records) = 0;
  // Returns when all that was taken is written (or counted lost). Called when egress is idle and at
  // the end.
  virtual void flush() = 0;
  virtual void sample(SinkCounters& out) const = 0;  // any thread
};

}  // namespace tidewire
