// Results into a file that is never overwritten: appended to, or begun under a new name when the
// name is taken (out.jsonl, out.1.jsonl, ...). Records are gathered in blocks; while one block is
// being written, the next is filled.
//
//   send -> | filling: rec rec rec | --full or flush--> | writing | --io_uring or pwrite--> file
//
// A block that cannot be written (full disk) is cut back to its last whole record; the rest of it
// counts as lost, the sink is degraded, and the next block is tried again at that place: a file
// holds whole records only, and goes on as soon as there is space. One lock per file (flock), so
// that two processes do not write over each other.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/uring/ring.h"
#include "io/sink.h"
#include "io/sink_account.h"

namespace tidewire::uring {

enum class Writer : uint8_t { kUring, kPwrite };

struct FileSinkOptions {
  bool append = false;
  Writer writer = Writer::kUring;  // falls back to pwrite where io_uring is refused
  uint32_t block_bytes = 128 << 10;
};

class FileSink final : public Sink {
 public:
  static absl::StatusOr<std::unique_ptr<FileSink>> open(const std::string& path,
                                                        const FileSinkOptions& options);
  ~FileSink() override;  // flushes; on the thread that sends, or after it has ended

  void send(const Records& records) override;
  void flush() override;
  void sample(SinkCounters& out) const override { account_.sample(out); }

  const std::string& path() const { return path_; }  // the name that was found free
  const std::string& describe() const { return description_; }

 private:
  struct Block {
    std::vector<std::byte> bytes;
    std::vector<uint32_t> ends;  // of its records
    uint32_t used = 0;
    uint32_t written = 0;
    uint32_t count = 0;
    std::span<const uint32_t> record_ends() const { return {ends.data(), count}; }
  };

  FileSink(std::string path, int fd, uint64_t offset, const FileSinkOptions& options);
  bool fits(size_t bytes) const;
  void write_filled();
  void finish_writing();
  void submit_writing();
  void write_long(std::span<const std::byte> record);
  int write_here(std::span<const std::byte> bytes, uint32_t& written);
  void settle(std::span<const uint32_t> ends, uint32_t written, int error);

  std::string path_;
  std::string description_;
  int fd_;
  uint64_t offset_;  // where the next record goes: everything before it is whole
  Block blocks_[2];
  Block* filling_ = &blocks_[0];
  Block* writing_ = &blocks_[1];
  bool in_flight_ = false;
  SinkAccount account_;
  std::unique_ptr<Ring> ring_;
};

}  // namespace tidewire::uring
