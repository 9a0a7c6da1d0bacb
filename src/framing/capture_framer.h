// Cuts the blocks of a capture file into packets, in place. Pure: no IO, no clock, no allocation.
//
//   block 7                          block 8
//   | rec | rec | rec | rec.. |      |..rest | rec | rec | rec |
//                       tail --copy--> [tail|rest] <--copy        everything else is read where it
//                       is
//                                        spill
//
// The tail of a block waits in `spill` until its record is whole: one record is copied per block,
// never the rest, blocks need no room before them, and a record may span any number of blocks. What
// nobody reads (unknown pcapng blocks) is stepped over without being copied.
//
//   framer.feed(block);
//   while ((step = framer.frame(burst)) == kPackets) { ...use burst, give it back... }
//   kHungry: nothing points into the block any more; the next one may be fed.
//
// A burst holds packets of one block and at most one spilled one, which is overwritten by the next
// call. Errors are final for the file and name the byte: failure().
//
// Files that are no captures are cut into the records that their format has (event/burst.h,
// FileRecords), without an arrival stamp; blank lines are none. Behind the last block of a file
// feed_end() ends the line that may be open.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "framing/framing.h"
#include "framing/pcap.h"
#include "framing/pcapng.h"

namespace tidewire {

enum class Framed : uint8_t {
  kPackets,  // burst.count > 0
  kHungry,   // the block is read through
  kFailed,   // what comes from here on cannot be read; why is in failure()
};

class CaptureFramer {
 public:
  // `spill`: kSpillBytes; the caller's memory.
  explicit CaptureFramer(std::span<std::byte> spill, FileRecords records = FileRecords::kCaptures);
  static constexpr size_t kSpillBytes = kMaxUnit;

  void begin();  // a new file; counts go on
  void feed(std::span<const std::byte> block);
  // True: a line was open, and is to be framed before finish().
  bool feed_end();
  Framed frame(Burst& burst);
  // No more bytes: an incomplete record is counted. kFailed where there was no whole file header.
  Framed finish();

  const CaptureCounts& counts() const { return counts_; }
  const char* failure() const { return failure_.data(); }  // lives as long as the framer

 private:
  enum class Format : uint8_t { kUnknown, kPcapHeader, kPcap, kPcapng, kLines, kMessages, kEnded };

  void find_format(const std::byte* at, const std::byte* end);
  Stop read(const std::byte* at, const std::byte* end, Burst& burst);
  Stop read_messages(const std::byte* at, const std::byte* end, Burst& burst);
  Framed frame_lines(Burst& burst);
  void keep_line(const std::byte* end);
  void append_record(const std::byte* data, size_t bytes, Burst& burst);
  Framed fail(uint64_t offset, std::string_view what);

  std::span<std::byte> spill_;
  FileRecords records_;
  uint32_t spilled_ = 0;    // bytes of the waiting record
  uint32_t need_ = 0;       // bytes that it takes to go on with it
  uint64_t skip_ = 0;       // bytes to step over before the next record
  bool long_line_ = false;  // its rest is left out
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  uint64_t end_offset_ = 0;  // of the file, at end_
  Format format_ = Format::kUnknown;
  bool failed_ = false;
  PcapReader pcap_;
  PcapngReader pcapng_;
  CaptureCounts counts_;
  std::array<char, 160> failure_{};
};

}  // namespace tidewire
