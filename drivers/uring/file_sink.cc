#include "drivers/uring/file_sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tidewire::uring {
namespace {

constexpr uint32_t kLeastRecord = 16;  // bytes, on average: bounds the records of a block
constexpr int kMostNames = 9'999;

// out.jsonl -> out.3.jsonl
std::string numbered(const std::string& path, int number) {
  const size_t slash = path.find_last_of('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = path.find_last_of('.');
  const size_t at = dot == std::string::npos || dot <= name ? path.size() : dot;
  return path.substr(0, at) + "." + std::to_string(number) + path.substr(at);
}

absl::Status cannot(const std::string& path, int error) {
  const std::string message = "cannot write " + path + ": " + std::strerror(error);
  if (error == ENOENT) return absl::NotFoundError(message + " (create the directory first)");
  if (error == EACCES || error == EPERM || error == EROFS)
    return absl::PermissionDeniedError(message + " (choose a directory this user may write to)");
  return absl::InvalidArgumentError(message);
}

}  // namespace

FileSink::FileSink(std::string path, int fd, uint64_t offset, const FileSinkOptions& options)
    : path_(std::move(path)), fd_(fd), offset_(offset) {
  for (Block& block : blocks_) {
    block.bytes.resize(options.block_bytes);
    block.ends.resize(options.block_bytes / kLeastRecord + 1);
  }
}

absl::StatusOr<std::unique_ptr<FileSink>> FileSink::open(const std::string& path,
                                                         const FileSinkOptions& options) {
  constexpr mode_t kMode = 0644;
  const auto irregular = [&path] {
    return absl::InvalidArgumentError("cannot write " + path +
                                      ": it is no regular file (use stdout and a pipe)");
  };
  // Asked before opening: a named pipe would wait for its reader, and beside a device or a
  // directory nobody wants a file with a number.
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return irregular();
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (options.append ? 0 : O_EXCL);
  std::string name = path;
  int fd = ::open(name.c_str(), flags, kMode);
  for (int number = 1; fd < 0 && errno == EEXIST && number <= kMostNames; ++number) {
    name = numbered(path, number);
    fd = ::open(name.c_str(), flags, kMode);
  }
  if (fd < 0) return cannot(name, errno);
  absl::Status status;
  if (fstat(fd, &about) != 0) {
    status = cannot(name, errno);
  } else if (!S_ISREG(about.st_mode)) {
    status = irregular();
  } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    status = absl::FailedPreconditionError(
        "cannot write " + name + ": another process is writing it (give it another name)");
  }
  if (!status.ok()) {
    close(fd);
    return status;
  }
  std::unique_ptr<FileSink> sink(
      new FileSink(name, fd, static_cast<uint64_t>(about.st_size), options));
  std::string how = "pwrite";
  if (options.writer == Writer::kUring) {
    if (absl::StatusOr<std::unique_ptr<Ring>> ring = Ring::open(2); ring.ok()) {
      sink->ring_ = std::move(*ring);
      how = "io_uring";
    } else {
      how += " (" + std::string(ring.status().message()) + ")";
    }
  }
  sink->description_ = name + (about.st_size > 0 ? ", appended by " : ", written by ") + how;
  return sink;
}

FileSink::~FileSink() {
  flush();
  ring_.reset();
  close(fd_);
}

bool FileSink::fits(size_t bytes) const {
  return filling_->used + bytes <= filling_->bytes.size() &&
         filling_->count < filling_->ends.size();
}

void FileSink::send(const Records& records) {
  uint32_t begin = 0;
  for (const uint32_t end : records.ends) {
    const std::span<const std::byte> record = records.bytes.subspan(begin, end - begin);
    begin = end;
    if (!fits(record.size())) write_filled();
    if (!fits(record.size())) {
      write_long(record);
      continue;
    }
    Block& block = *filling_;
    std::copy(record.begin(), record.end(), block.bytes.begin() + block.used);
    block.used += static_cast<uint32_t>(record.size());
    block.ends[block.count++] = block.used;
  }
}

void FileSink::flush() {
  write_filled();
  finish_writing();
}

void FileSink::write_filled() {
  finish_writing();
  if (filling_->count == 0) return;
  std::swap(filling_, writing_);
  filling_->used = filling_->written = filling_->count = 0;
  if (ring_ && ring_->start() == 0) {
    submit_writing();
    return;
  }
  const std::span<const std::byte> bytes(writing_->bytes.data(), writing_->used);
  const int error = write_here(bytes, writing_->written);
  settle(writing_->record_ends(), writing_->written, error);
}

void FileSink::submit_writing() {
  const std::span<const std::byte> rest =
      std::span<const std::byte>(writing_->bytes).first(writing_->used).subspan(writing_->written);
  ring_->write(fd_, rest, offset_ + writing_->written, 0);
  ring_->submit();
  in_flight_ = true;
}

// Waits for the block that is being written, and accounts for it.
void FileSink::finish_writing() {
  while (in_flight_) {
    in_flight_ = false;
    Completion completion{};
    const bool back = ring_->await(completion);
    int error = 0;
    if (!back) {
      error = EIO;
    } else if (completion.result == -EINTR || completion.result == -EAGAIN) {
      submit_writing();
      continue;
    } else if (completion.result <= 0) {
      error = completion.result == 0 ? ENOSPC : -completion.result;
    } else {
      writing_->written += static_cast<uint32_t>(completion.result);
      if (writing_->written < writing_->used) {
        submit_writing();
        continue;
      }
    }
    settle(writing_->record_ends(), writing_->written, error);
  }
}

// 0 or an errno; `written` is how far it came either way.
int FileSink::write_here(std::span<const std::byte> bytes, uint32_t& written) {
  written = 0;
  while (written < bytes.size()) {
    const ssize_t got = pwrite(fd_, bytes.data() + written, bytes.size() - written,
                               static_cast<off_t>(offset_ + written));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : ENOSPC;
    written += static_cast<uint32_t>(got);
  }
  return 0;
}

// A record longer than a block: written from where it stands, behind all others.
void FileSink::write_long(std::span<const std::byte> record) {
  finish_writing();
  uint32_t written = 0;
  const uint32_t end = static_cast<uint32_t>(record.size());
  const int error = write_here(record, written);
  settle({&end, 1}, written, error);
}

void FileSink::settle(std::span<const uint32_t> ends, uint32_t written, int error) {
  const auto whole =
      static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), written) - ends.begin());
  const uint32_t good = whole == 0 ? 0 : ends[whole - 1];
  offset_ += good;
  if (whole > 0) account_.written(whole, good);
  if (error == 0) return;
  // Should this fail, too, the next block is written over the torn record.
  if (written > good) static_cast<void>(!ftruncate(fd_, static_cast<off_t>(offset_)));
  account_.lost(ends.size() - whole, strerrordesc_np(error));
}

}  // namespace tidewire::uring
