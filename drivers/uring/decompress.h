// Reads gzip and zstd files block by block, on the caller's thread: a decompressing reader cannot
// hand out the file's own bytes. Several members or frames in one file follow each other.
//
// All memory is taken by create() and by the first read of a file; the libraries allocate nothing
// per block after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "framing/file_kind.h"

namespace tidewire::uring {

class Decompressor {
 public:
  enum class Step : uint8_t {
    kBytes,   // `filled` bytes, more than none
    kEnded,   // the file was read through
    kCut,     // the file ends in the middle; what was before has been handed out
    kFailed,  // the bytes are damaged, or cannot be read: failure()
  };

  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  void begin(int fd, FileKind kind);  // kGzip or kZstd; fd stands at the beginning and stays open
  Step read(std::span<std::byte> to, size_t& filled);
  const char* failure() const { return failure_; }  // static text
  uint64_t consumed() const { return consumed_; }   // compressed bytes, of all files

 private:
  struct State;
  bool refill();
  Step inflate_some(std::span<std::byte> to, size_t& filled);
  Step unzstd_some(std::span<std::byte> to, size_t& filled);

  std::unique_ptr<State> state_;
  const char* failure_ = nullptr;
  uint64_t consumed_ = 0;
};

}  // namespace tidewire::uring
