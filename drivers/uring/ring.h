// All that this program asks of io_uring, and the only place that includes liburing: one ring with
// one user, reads and writes by tag.
//
// A ring may be opened on any thread; it is enabled by start() on the thread that uses it from then
// on (the kernel allows one submitter). Completions are run by that thread when it looks for them,
// so no interrupt disturbs a worker. Looking only at the ring's memory would never see one: next()
// asks the kernel when the ring's flag says that something waits.
//
// Buffers in flight belong to the kernel. The destructor waits for them when it runs on the using
// thread; elsewhere that thread must have ended before, and the kernel has waited already.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct io_uring;

namespace tidewire::uring {

struct Completion {
  uint64_t tag;
  int32_t result;  // bytes, or a negated errno
};

// Can this process use io_uring? If not: why, and what may be done about it.
absl::Status probe();

class Ring {
 public:
  static absl::StatusOr<std::unique_ptr<Ring>> open(uint32_t entries);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Reads and writes inside `memory` become cheaper. False: not allowed (locked memory is limited);
  // everything works without.
  bool register_memory(std::span<std::byte> memory);

  int start();  // 0 or an errno
  // False: no place in the submission queue; submit first.
  bool read(int fd, std::span<std::byte> to, uint64_t offset, uint64_t tag);
  bool write(int fd, std::span<const std::byte> from, uint64_t offset, uint64_t tag);
  int submit();                 // 0 or an errno; EAGAIN and EBUSY: call it again later
  bool next(Completion& out);   // does not wait
  bool await(Completion& out);  // waits; false: nothing is in flight, or the kernel refuses
  uint32_t in_flight() const { return in_flight_; }

 private:
  Ring();
  bool take(Completion& out);

  std::unique_ptr<io_uring> ring_;
  std::span<std::byte> registered_;
  uint32_t in_flight_ = 0;
  bool started_ = false;
};

}  // namespace tidewire::uring
