// Packets of capture files as a lane: one file, or several in order as if they were one. Plain
// files are read by io_uring into blocks that are parsed in place, or by pread where that is asked
// for; gzip and zstd files through a decompressing reader.
//
//   open()      any thread: looks at every file, takes all memory, sets the ring up
//   receive()   the lane's worker, from the first call on always the same thread, as with
//   release().
//               With io_uring it never waits for the disk; pread and decompression do, a block
//               each.
//   destructor  on that thread, or after it has ended
//
// A file that is damaged ends the lane (kFailed) where it is damaged; a last record that is cut off
// is counted and the next file is read. Packets without a time are no errors; see capture_counts().
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/uring/decompress.h"
#include "drivers/uring/feed.h"
#include "drivers/uring/ring.h"
#include "framing/capture_framer.h"
#include "io/source.h"
#include "memory/arena.h"

namespace tidewire::uring {

enum class Reader : uint8_t { kUring, kPread };

struct FileSourceOptions {
  Reader reader = Reader::kUring;
  uint32_t block_bytes = 256 << 10;
  uint32_t depth = 8;   // reads in flight; two blocks more are in memory
  bool direct = true;   // O_DIRECT where the file system has it
  bool follow = false;  // the last file grows: wait at its end, for ever
  FileRecords records = FileRecords::kCaptures;
  Arena* arena = nullptr;  // where blocks come from; null: the source's own
};

// Regular files of a directory whose names match a shell pattern, in name order. None: an error.
absl::StatusOr<std::vector<std::string>> list_files(const std::string& directory,
                                                    const std::string& pattern);

class FileSource final : public Source {
 public:
  // The message of an error names the file, the cause and what may be done.
  static absl::StatusOr<std::unique_ptr<FileSource>> open(const std::vector<std::string>& paths,
                                                          const FileSourceOptions& options);
  // Bytes that open() takes from the arena.
  static uint64_t memory(const FileSourceOptions& options);
  ~FileSource() override;

  Received receive(Burst& burst) override;
  void release(Burst& burst) override;
  void sample(SourceCounters& out) const override;

  // How the files are read, for `explain`: "2 files, 3.1 MiB, io_uring 8 x 256 KiB, O_DIRECT, ...".
  const std::string& describe() const { return description_; }
  // What was odd about the records. The worker's; others when it is at rest.
  const CaptureCounts& capture_counts() const { return framer_.counts(); }

 private:
  struct File {
    std::string path;
    uint64_t bytes;
    FileKind kind;
  };
  // What the reader behind has for us.
  enum class Pull : uint8_t { kBlock, kNothing, kEnded, kFailed };

  FileSource(const FileSourceOptions& options, std::span<std::byte> blocks,
             std::span<std::byte> spill);
  absl::StatusOr<File> look_at(const std::string& path, bool follow);
  bool is_readable(FileKind kind) const;
  absl::Status take_files(const std::vector<std::string>& paths);
  void describe_files(std::string_view pages);
  bool compressed() const {
    return files_[at_].kind == FileKind::kGzip || files_[at_].kind == FileKind::kZstd;
  }
  bool open_file();
  void try_direct();
  Pull pull(std::span<std::byte>& block);
  Pull pull_decompressed(std::span<std::byte>& block);
  bool read_ahead();
  bool drop_direct();
  Pull wait_for_more();
  Received next_file();
  Received fail(const char* cause);

  FileSourceOptions options_;
  std::unique_ptr<Arena> own_memory_;
  std::span<std::byte> blocks_;
  std::vector<File> files_;
  size_t at_ = 0;  // in files_
  int fd_ = -1;
  uint32_t align_ = 1;    // of the file's direct reads; 1: through the page cache
  bool holding_ = false;  // the framer reads the feed's front block
  bool ended_ = false;
  bool registered_ = false;
  Feed feed_;
  std::unique_ptr<Decompressor> decompressor_;
  CaptureFramer framer_;
  std::string description_;
  uint64_t bytes_total_ = 0;
  std::array<char, 512> failure_text_{};
  std::atomic<const char*> failure_{nullptr};
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<uint64_t> bytes_grown_{0};
  std::atomic<uint64_t> errors_{0};
  std::unique_ptr<Ring> ring_;  // last: gone before the memory that it reads into
};

}  // namespace tidewire::uring
