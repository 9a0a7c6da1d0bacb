#include "drivers/uring/ring.h"

#include <liburing.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace tidewire::uring {
namespace {

// Disabled at first, so that the ring belongs to the thread that enables it. Kernels before 6.1
// know no deferred task work; they get the plain kind.
int set_up(io_uring& ring, uint32_t entries) {
  io_uring_params params{};
  params.flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_TASKRUN_FLAG;
  int result = io_uring_queue_init_params(entries, &ring, &params);
  if (result == -EINVAL) {
    params = {};
    params.flags = IORING_SETUP_R_DISABLED;
    result = io_uring_queue_init_params(entries, &ring, &params);
  }
  return -result;
}

std::string refusal(int error) {
  std::string cause = std::string("io_uring is refused here (") + std::strerror(error) + ")";
  if (error == ENOSYS) return cause + ": the kernel has none, or a container filter hides it";
  if (error == EPERM || error == EACCES)
    return cause + ": a container filter or sysctl kernel.io_uring_disabled forbids it";
  if (error == ENOMEM) return cause + ": not enough locked memory (ulimit -l)";
  return cause;
}

// A failing registration first pins pages for a long time, so the limit is looked at before.
bool may_lock(size_t bytes) {
  rlimit limit{};
  return geteuid() == 0 ||
         (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur >= bytes + bytes / 8);
}

}  // namespace

absl::Status probe() { return Ring::open(4).status(); }

Ring::Ring() : ring_(std::make_unique<io_uring>()) {}

absl::StatusOr<std::unique_ptr<Ring>> Ring::open(uint32_t entries) {
  std::unique_ptr<Ring> ring(new Ring());
  if (const int error = set_up(*ring->ring_, entries); error != 0) {
    ring->ring_.reset();
    return absl::UnavailableError(refusal(error));
  }
  return ring;
}

Ring::~Ring() {
  if (!ring_) return;
  Completion ignored{};
  while (await(ignored)) {
  }
  io_uring_queue_exit(ring_.get());
}

bool Ring::register_memory(std::span<std::byte> memory) {
  constexpr size_t kMost = size_t{1} << 30;  // of one registered buffer
  if (memory.size() > kMost || !may_lock(memory.size())) return false;
  const iovec buffer{.iov_base = memory.data(), .iov_len = memory.size()};
  if (io_uring_register_buffers(ring_.get(), &buffer, 1) != 0) return false;
  registered_ = memory;
  return true;
}

int Ring::start() {
  if (started_) return 0;
  // Debian's liburing 2.3 declares io_uring_enable_rings but does not export it.
  if (syscall(__NR_io_uring_register, ring_->ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) < 0)
    return errno;
  started_ = true;
  return 0;
}

bool Ring::read(int fd, std::span<std::byte> to, uint64_t offset, uint64_t tag) {
  io_uring_sqe* const sqe = io_uring_get_sqe(ring_.get());
  if (!sqe) return false;
  const auto bytes = static_cast<unsigned>(to.size());
  if (registered_.empty()) {
    io_uring_prep_read(sqe, fd, to.data(), bytes, offset);
  } else {
    io_uring_prep_read_fixed(sqe, fd, to.data(), bytes, offset, 0);
  }
  io_uring_sqe_set_data64(sqe, tag);
  ++in_flight_;
  return true;
}

bool Ring::write(int fd, std::span<const std::byte> from, uint64_t offset, uint64_t tag) {
  io_uring_sqe* const sqe = io_uring_get_sqe(ring_.get());
  if (!sqe) return false;
  io_uring_prep_write(sqe, fd, from.data(), static_cast<unsigned>(from.size()), offset);
  io_uring_sqe_set_data64(sqe, tag);
  ++in_flight_;
  return true;
}

int Ring::submit() {
  const int result = io_uring_submit(ring_.get());
  return result < 0 ? -result : 0;
}

bool Ring::take(Completion& out) {
  io_uring_cqe* cqe = nullptr;
  if (io_uring_peek_cqe(ring_.get(), &cqe) != 0) return false;
  out = {.tag = io_uring_cqe_get_data64(cqe), .result = cqe->res};
  io_uring_cqe_seen(ring_.get(), cqe);
  --in_flight_;
  return true;
}

bool Ring::next(Completion& out) { return in_flight_ > 0 && take(out); }

bool Ring::await(Completion& out) {
  while (in_flight_ > 0) {
    if (take(out)) return true;
    const int result = io_uring_submit_and_wait(ring_.get(), 1);
    if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY) return false;
  }
  return false;
}

}  // namespace tidewire::uring
