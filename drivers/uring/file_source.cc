#include "drivers/uring/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/check.h"

namespace tidewire::uring {
namespace {

// Blocks without a packet that one call steps over before it lets the worker's turn go on.
constexpr uint32_t kBlocksPerCall = 4;

std::string size_text(uint64_t bytes) {
  std::array<char, 32> text{};
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) {
    std::snprintf(text.data(), text.size(), "%.0f B", value);
  } else if (bytes < 1024 * 1024) {
    std::snprintf(text.data(), text.size(), "%.4g KiB", value / 1024);
  } else {
    std::snprintf(text.data(), text.size(), "%.4g MiB", value / (1024 * 1024));
  }
  return text.data();
}

absl::Status cannot(const std::string& path, int error) {
  const std::string message = "cannot read " + path + ": " + std::strerror(error);
  if (error == ENOENT)
    return absl::NotFoundError(message +
                               " (is the path relative to where the program was started?)");
  if (error == EACCES || error == EPERM)
    return absl::PermissionDeniedError(message + " (give this user the right to read it)");
  return absl::InvalidArgumentError(message);
}

// pread and decompression have one block, read when the last one is done with.
uint64_t block_memory(const FileSourceOptions& options) {
  const uint64_t blocks = options.reader == Reader::kUring ? options.depth + 2 : 1;
  return blocks * options.block_bytes;
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// One writer, so that a plain load and store will do.
void add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace

FileSource::FileSource(const FileSourceOptions& options, std::span<std::byte> blocks,
                       std::span<std::byte> spill)
    : options_(options),
      blocks_(blocks),
      feed_(blocks, options.block_bytes, options.depth),
      framer_(spill, options.records) {}

uint64_t FileSource::memory(const FileSourceOptions& options) {
  return block_memory(options) + CaptureFramer::kSpillBytes;
}

FileSource::~FileSource() {
  ring_.reset();
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::open(const std::vector<std::string>& paths,
                                                             const FileSourceOptions& options) {
  constexpr uint32_t kLeastBlock = 64;
  constexpr uint32_t kMostBlock = 64 << 20;
  constexpr uint32_t kMostDepth = 256;
  if (paths.empty()) return absl::InvalidArgumentError("a file source needs at least one file");
  if (options.block_bytes < kLeastBlock || options.block_bytes > kMostBlock)
    return absl::InvalidArgumentError("block size of a file source must be 64 B to 64 MiB");
  if (options.depth < 1 || options.depth > kMostDepth)
    return absl::InvalidArgumentError("depth of a file source must be 1 to 256");
  std::unique_ptr<Ring> ring;
  if (options.reader == Reader::kUring) {
    absl::StatusOr<std::unique_ptr<Ring>> opened = Ring::open(options.depth);
    if (!opened.ok()) {
      return absl::UnavailableError(std::string(opened.status().message()) +
                                    "; reader = \"pread\" reads files without it");
    }
    ring = std::move(*opened);
  }
  std::unique_ptr<Arena> own;
  if (!options.arena) own = std::make_unique<Arena>(ArenaOptions{.fault_in = false});
  Arena& arena = options.arena ? *options.arena : *own;
  std::unique_ptr<FileSource> source;
  try {
    const auto memory = arena.take_bytes(block_memory(options), 4096, "file blocks");
    const auto spill = arena.take_bytes(CaptureFramer::kSpillBytes, 64, "straddling record");
    source.reset(new FileSource(options, memory, spill));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(arena.error() +
                                        " (a smaller block size or depth takes less)");
  }
  source->own_memory_ = std::move(own);
  source->ring_ = std::move(ring);
  if (absl::Status status = source->take_files(paths); !status.ok()) return status;
  source->registered_ = source->ring_ && source->ring_->register_memory(source->blocks_);
  if (!source->open_file()) return absl::InvalidArgumentError(source->failure_text_.data());
  source->describe_files(to_string(arena.weakest()));
  return source;
}

// What kind of file, and is it one that can be read? Compressed ones are looked into.
// Whether the framer reads it as it is: a capture, or where the format has records of its own, all
// that is not compressed.
bool FileSource::is_readable(FileKind kind) const {
  if (kind == FileKind::kPcap || kind == FileKind::kPcapng) return true;
  return kind == FileKind::kOther && options_.records != FileRecords::kCaptures;
}

absl::StatusOr<FileSource::File> FileSource::look_at(const std::string& path, bool follow) {
  // O_NONBLOCK: else a named pipe is not refused but waited for, until somebody writes it.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return cannot(path, errno);
  struct stat about {};
  if (fstat(fd.get(), &about) != 0) return cannot(path, errno);
  if (!S_ISREG(about.st_mode)) {
    return absl::InvalidArgumentError(
        "cannot read " + path + ": " +
        (S_ISDIR(about.st_mode) ? "it is a directory (a config names it as directory = ...)"
                                : "it is no regular file (captures are read at offsets)"));
  }
  std::array<std::byte, kFileKindBytes> head{};
  const ssize_t got = pread(fd.get(), head.data(), head.size(), 0);
  if (got < 0) return cannot(path, errno);
  std::span<const std::byte> start(head.data(), static_cast<size_t>(got));
  File file{.path = path, .bytes = static_cast<uint64_t>(about.st_size), .kind = file_kind(start)};
  if (is_readable(file.kind)) return file;
  if (follow && got < 4) {  // its writer has not begun yet
    file.kind = FileKind::kPcap;
    return file;
  }
  if (start.empty()) return absl::InvalidArgumentError("cannot read " + path + ": it is empty");
  std::string inside;
  if (file.kind != FileKind::kOther) {
    if (follow)
      return absl::InvalidArgumentError("cannot follow " + path +
                                        ": it is compressed (follow a plain capture)");
    decompressor_->begin(fd.get(), file.kind);
    size_t filled = 0;
    decompressor_->read(head, filled);
    if (decompressor_->failure())
      return absl::InvalidArgumentError("cannot read " + path + ": " + decompressor_->failure());
    start = std::span(head).first(filled);
    if (is_readable(file_kind(start))) return file;
    inside = "what is compressed in it is ";
  }
  return absl::InvalidArgumentError("cannot read " + path + ": not a capture, " + inside +
                                    std::string(name_of_kind(start)) +
                                    " (pcap, pcapng and these in gzip or zstd are read)");
}

absl::Status FileSource::take_files(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!decompressor_) decompressor_ = std::make_unique<Decompressor>();
    absl::StatusOr<File> file = look_at(path, options_.follow && &path == &paths.back());
    if (!file.ok()) return file.status();
    bytes_total_ += file->bytes;
    files_.push_back(*std::move(file));
  }
  return absl::OkStatus();
}

void FileSource::describe_files(std::string_view pages) {
  const auto packed = static_cast<size_t>(std::count_if(
      files_.begin(), files_.end(), [this](const File& file) { return !is_readable(file.kind); }));
  description_ = files_.size() == 1 ? files_[0].path : std::to_string(files_.size()) + " files";
  description_ += ", " + size_text(bytes_total_);
  const std::string block = size_text(options_.block_bytes);
  if (packed < files_.size()) {
    if (ring_) {
      description_ += ", io_uring " + std::to_string(options_.depth) + " x " + block + " in " +
                      std::string(pages);
      description_ += registered_ ? ", registered" : ", not registered (locked memory is limited)";
      if (align_ > 1) {
        description_ += ", O_DIRECT";
      } else if (options_.follow) {
        description_ += ", page cache (followed)";
      } else {
        description_ += options_.direct ? ", page cache (no O_DIRECT here)" : ", page cache";
      }
    } else {
      description_ += ", pread of " + block + ", page cache";
    }
  }
  if (packed > 0) {
    description_ += packed == files_.size() ? ", " : ", " + std::to_string(packed) + " of them ";
    description_ += "decompressed by the worker, " + block + " at a time";
  }
  if (options_.follow) description_ += ", following";
}

// Begins files_[at_]. False: fail() has been called.
bool FileSource::open_file() {
  const File& file = files_[at_];
  framer_.begin();
  if (fd_ >= 0) close(fd_);
  fd_ = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (fd_ < 0 || fstat(fd_, &about) != 0) {
    fail(std::strerror(errno));
    return false;
  }
  align_ = 1;
  if (compressed()) {
    decompressor_->begin(fd_, file.kind);
    return true;
  }
  const bool followed = options_.follow && at_ + 1 == files_.size();
  if (ring_ && options_.direct && !followed) try_direct();
  feed_.begin(static_cast<uint64_t>(about.st_size), align_);
  return true;
}

// O_DIRECT where the file system says that it can, and with which alignment.
void FileSource::try_direct() {
  struct statx about {};
  if (statx(fd_, "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) != 0) return;
  if ((about.stx_mask & STATX_DIOALIGN) == 0 || about.stx_dio_offset_align == 0) return;
  if (options_.block_bytes % about.stx_dio_offset_align != 0 || about.stx_dio_mem_align > 4096)
    return;
  const int flags = fcntl(fd_, F_GETFL);
  if (flags >= 0 && fcntl(fd_, F_SETFL, flags | O_DIRECT) == 0) align_ = about.stx_dio_offset_align;
}

bool FileSource::drop_direct() {
  align_ = 1;
  const int flags = fcntl(fd_, F_GETFL);
  return flags >= 0 && fcntl(fd_, F_SETFL, flags & ~O_DIRECT) == 0;
}

// Reaps what is back and submits what is wanted. False: io_uring itself fails.
bool FileSource::read_ahead() {
  ReadOrder order{};
  if (!ring_) {
    if (feed_.front() != Feed::Front::kWaiting || !feed_.next(order)) return true;
    const ssize_t got =
        pread(fd_, order.to.data(), order.to.size(), static_cast<off_t>(order.offset));
    feed_.complete(order.slot, got < 0 ? -errno : static_cast<int32_t>(got));
    return true;
  }
  if (ring_->start() != 0) return false;
  Completion completion{};
  while (ring_->next(completion)) {
    const bool refused = feed_.complete(static_cast<uint32_t>(completion.tag), completion.result);
    if (refused && !drop_direct()) return false;
  }
  // The ring has as many places as the feed has reads out.
  while (feed_.next(order)) CHECK(ring_->read(fd_, order.to, order.offset, order.slot));
  const int error = ring_->submit();
  return error == 0 || error == EAGAIN || error == EBUSY || error == EINTR;
}

FileSource::Pull FileSource::wait_for_more() {
  struct stat about {};
  const uint64_t known = feed_.known_bytes();
  if (fstat(fd_, &about) != 0) {
    fail(std::strerror(errno));
    return Pull::kFailed;
  }
  const auto bytes = static_cast<uint64_t>(about.st_size);
  if (bytes < known) {
    fail("the file was cut below what had been read of it (start again to read it anew)");
    return Pull::kFailed;
  }
  if (bytes > known) {
    feed_.grow(bytes);
    add(bytes_grown_, bytes - known);
  }
  return Pull::kNothing;
}

FileSource::Pull FileSource::pull_decompressed(std::span<std::byte>& block) {
  size_t filled = 0;
  const uint64_t before = decompressor_->consumed();
  const std::span<std::byte> to = blocks_.first(options_.block_bytes);
  const Decompressor::Step step = decompressor_->read(to, filled);
  add(bytes_read_, decompressor_->consumed() - before);
  switch (step) {
    case Decompressor::Step::kBytes:
      block = to.first(filled);
      return Pull::kBlock;
    case Decompressor::Step::kEnded:
      return Pull::kEnded;
    case Decompressor::Step::kCut:
      add(errors_, 1);
      return Pull::kEnded;
    case Decompressor::Step::kFailed:
      break;
  }
  fail(decompressor_->failure());
  return Pull::kFailed;
}

FileSource::Pull FileSource::pull(std::span<std::byte>& block) {
  if (compressed()) return pull_decompressed(block);
  if (holding_) feed_.recycle();
  holding_ = false;
  if (!read_ahead()) {
    fail("io_uring does not take the reads (reader = \"pread\" reads without it)");
    return Pull::kFailed;
  }
  switch (feed_.front()) {
    case Feed::Front::kReady:
      holding_ = true;
      block = feed_.block();
      add(bytes_read_, block.size());
      return Pull::kBlock;
    case Feed::Front::kWaiting:
      return Pull::kNothing;
    case Feed::Front::kEnded:
      return options_.follow && at_ + 1 == files_.size() ? wait_for_more() : Pull::kEnded;
    case Feed::Front::kFailed:
      break;
  }
  fail(feed_.error() == Feed::kShrank ? "the file became shorter while it was read"
                                      : std::strerror(feed_.error()));
  return Pull::kFailed;
}

Received FileSource::fail(const char* cause) {
  std::snprintf(failure_text_.data(), failure_text_.size(), "cannot read %s: %s",
                files_[at_].path.c_str(), cause);
  failure_.store(failure_text_.data(), std::memory_order_release);
  add(errors_, 1);
  return Received::kFailed;
}

// The file at_ is read through. kNothing: another one has begun.
Received FileSource::next_file() {
  const uint64_t cut = framer_.counts().cut_records + framer_.counts().long_lines;
  if (framer_.finish() == Framed::kFailed) return fail(framer_.failure());
  add(errors_, framer_.counts().cut_records + framer_.counts().long_lines - cut);
  if (at_ + 1 == files_.size()) {
    ended_ = true;
    return Received::kEnded;
  }
  ++at_;
  return open_file() ? Received::kNothing : Received::kFailed;
}

Received FileSource::receive(Burst& burst) {
  burst.count = 0;
  burst.unstamped = 0;
  if (failure_.load(std::memory_order_relaxed)) return Received::kFailed;
  if (ended_) return Received::kEnded;
  for (uint32_t blocks = 0; blocks < kBlocksPerCall;) {
    switch (framer_.frame(burst)) {
      case Framed::kPackets:
        return Received::kPackets;
      case Framed::kFailed:
        return fail(framer_.failure());
      case Framed::kHungry:
        break;
    }
    std::span<std::byte> block;
    switch (pull(block)) {
      case Pull::kBlock:
        framer_.feed(block);
        ++blocks;
        break;
      case Pull::kNothing:
        return Received::kNothing;
      case Pull::kFailed:
        return Received::kFailed;
      case Pull::kEnded: {
        if (framer_.feed_end()) break;
        const Received received = next_file();
        if (received != Received::kNothing) return received;
        ++blocks;
        break;
      }
    }
  }
  return Received::kNothing;
}

// The blocks themselves go back when the framer is through with them, in pull().
void FileSource::release([[maybe_unused]] Burst& burst) {
#ifdef TIDEWIRE_DEBUG_CHECKS
  // A pointer that outlives its turn reads this. All packets lie in memory of ours.
  for (uint32_t i = 0; i < burst.count; ++i)
    std::memset(const_cast<std::byte*>(burst.data[i]), 0xDB, burst.length[i]);
#endif
  burst.count = 0;
}

void FileSource::sample(SourceCounters& out) const {
  out = {};
  out.errors = errors_.load(std::memory_order_relaxed);
  out.bytes_read = bytes_read_.load(std::memory_order_relaxed);
  out.bytes_total = bytes_total_ + bytes_grown_.load(std::memory_order_relaxed);
  out.failure = failure_.load(std::memory_order_acquire);
}

}  // namespace tidewire::uring
