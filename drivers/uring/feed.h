// Which block of a file to read next, and which one to hand on. Pure: the shell around it submits
// what next() says, by io_uring or pread, and reports what came back in any order.
//
//   file    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | ...
//             ^       ^           ^
//             front   completed   next to be read          at most `depth` reads are out,
//             (held)  (waits)                              at most `slots` blocks are in memory
//
// Blocks are handed on in file order. The one at the front belongs to the reader until recycle().
// Short reads are completed, EINTR and EAGAIN tried again, O_DIRECT that a file refuses dropped.
// What was read before a fault is handed on before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tidewire::uring {

struct ReadOrder {
  uint32_t slot;
  std::span<std::byte> to;
  uint64_t offset;
};

class Feed {
 public:
  enum class Front : uint8_t {
    kReady,    // block() is there
    kWaiting,  // its read is not back yet
    kEnded,    // all known bytes are handed on
    kFailed,   // it cannot be read: error()
  };
  static constexpr int kShrank = -1;  // as error(): the file is shorter than it was

  // memory: a whole number of blocks, at least one.
  Feed(std::span<std::byte> memory, uint32_t block_bytes, uint32_t depth);

  // A file with so many bytes. align > 1: offsets and lengths of reads are multiples of it
  // (O_DIRECT) and block_bytes is one. No read may be out.
  void begin(uint64_t bytes, uint32_t align);
  void grow(uint64_t bytes);  // the file has so many now; not with align > 1

  bool next(ReadOrder& out);  // false: nothing to submit now
  // True: the file refuses O_DIRECT; take it off before the next order.
  bool complete(uint32_t slot, int32_t result);

  Front front() const;
  std::span<std::byte> block() const;  // front() is kReady
  void recycle();                      // the front block is free again
  int error() const { return error_; }
  uint64_t known_bytes() const { return bytes_; }

 private:
  enum class State : uint8_t {
    kFree,
    kDue,      // to be submitted, again
    kReading,  // out
    kReady,
    kFailed,
  };
  struct Slot {
    State state = State::kFree;
    bool direct = false;
    uint32_t wanted = 0;
    uint32_t filled = 0;
    uint32_t from = 0;   // where in the block the read that is out begins
    uint32_t tries = 0;  // refusals in a row
    uint64_t offset = 0;
  };
  Slot& slot_of(uint64_t block) { return slots_[block % slots_.size()]; }
  const Slot& slot_of(uint64_t block) const { return slots_[block % slots_.size()]; }
  bool order(Slot& slot, ReadOrder& out);
  void fail(Slot& slot, int error);

  std::span<std::byte> memory_;
  uint32_t block_bytes_;
  uint32_t depth_;
  std::vector<Slot> slots_;
  uint64_t front_ = 0;  // number of the block at the front
  uint64_t next_ = 0;   // number of the block to be read next
  uint64_t next_offset_ = 0;
  uint64_t bytes_ = 0;
  uint32_t align_ = 1;
  uint32_t out_ = 0;  // reads that are out
  uint32_t due_ = 0;  // slots in kDue
  int error_ = 0;
};

}  // namespace tidewire::uring
