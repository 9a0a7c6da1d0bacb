#include "drivers/uring/descriptor_sink.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace tidewire::uring {

DescriptorSink::DescriptorSink(int fd) : fd_(fd), terminal_(isatty(fd) != 0) {
  std::signal(SIGPIPE, SIG_IGN);
}

int DescriptorSink::write_all(std::span<const std::byte> bytes, size_t& written) {
  written = 0;
  while (written < bytes.size()) {
    const ssize_t got = ::write(fd_, bytes.data() + written, bytes.size() - written);
    if (got >= 0) {
      written += static_cast<size_t>(got);
    } else if (errno == EAGAIN) {
      pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// Takes the beginning of a record that could not be finished out of a file again.
void DescriptorSink::cut_back(size_t torn) {
  struct stat about {};
  if (torn == 0 || fstat(fd_, &about) != 0 || !S_ISREG(about.st_mode)) return;
  const off_t whole = lseek(fd_, 0, SEEK_CUR) - static_cast<off_t>(torn);
  if (whole >= 0 && ftruncate(fd_, whole) == 0) lseek(fd_, whole, SEEK_SET);
}

void DescriptorSink::send(const Records& records) {
  if (records.ends.empty()) return;
  if (closed_) {
    account_.lost(records.ends.size(), strerrordesc_np(EPIPE));
    return;
  }
  size_t written = 0;
  constexpr std::string_view kClearLine = "\r\033[K";
  if (terminal_) write_all(std::as_bytes(std::span(kClearLine)), written);
  const int error = write_all(records.bytes.first(records.ends.back()), written);
  const auto whole = static_cast<size_t>(
      std::upper_bound(records.ends.begin(), records.ends.end(), written) - records.ends.begin());
  const size_t good = whole == 0 ? 0 : records.ends[whole - 1];
  if (whole > 0) account_.written(whole, good);
  if (error == 0) return;
  closed_ = error == EPIPE;
  cut_back(written - good);
  account_.lost(records.ends.size() - whole, strerrordesc_np(error));
}

}  // namespace tidewire::uring
