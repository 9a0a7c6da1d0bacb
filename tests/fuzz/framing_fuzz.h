// For both capture formats: a file read as a whole and the same file read in small blocks must give
// the same packets, counts and message. The first byte of the input is the size of the blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "framing/capture_framer.h"
#include "framing/file_kind.h"

namespace tidewire::fuzz {

struct Seen {
  uint64_t packets = 0;
  uint64_t unstamped = 0;
  uint64_t digest = 0;
  uint64_t counted[6] = {};
  std::string failure;
  bool operator==(const Seen&) const = default;
};

inline Seen frame(std::span<const std::byte> file, size_t block_bytes) {
  static std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  static CaptureFramer framer(spill);
  const CaptureCounts before = framer.counts();
  Seen seen;
  const auto mix = [&](uint64_t v) { seen.digest = (seen.digest ^ v) * 0x9E3779B97F4A7C15u + 1; };
  Burst burst;
  framer.begin();
  Framed framed = Framed::kHungry;
  std::unique_ptr<std::byte[]> block;
  for (size_t at = 0; at < file.size() && framed == Framed::kHungry; at += block_bytes) {
    const size_t size = std::min(block_bytes, file.size() - at);
    block = std::make_unique<std::byte[]>(size);
    std::memcpy(block.get(), file.data() + at, size);
    framer.feed({block.get(), size});
    while ((framed = framer.frame(burst)) == Framed::kPackets) {
      CHECK(burst.count > 0 && burst.count <= kBurstMax);
      uint32_t unstamped = 0;
      for (uint32_t i = 0; i < burst.count; ++i) {
        CHECK(burst.length[i] <= kMaxCaptured);
        for (uint32_t k = 0; k < burst.length[i]; ++k)
          mix(std::to_integer<uint64_t>(burst.data[i][k]));
        mix(burst.wire_length[i]);
        mix(static_cast<uint64_t>(burst.arrival[i].ns));
        mix(burst.interface[i]);
        mix(static_cast<uint64_t>(burst.link[i]));
        CHECK(burst.arrival[i] != EventTime::end_of_time());
        unstamped += burst.arrival[i] == EventTime::before_all() ? 1 : 0;
      }
      CHECK(unstamped == burst.unstamped);
      seen.packets += burst.count;
      seen.unstamped += unstamped;
    }
  }
  if (framed == Framed::kHungry) framed = framer.finish();
  if (framed == Framed::kFailed) seen.failure = framer.failure();
  const CaptureCounts& after = framer.counts();
  seen.counted[0] = after.packets - before.packets;
  seen.counted[1] = after.untimed - before.untimed;
  seen.counted[2] = after.bad_time - before.bad_time;
  seen.counted[3] = after.longer_than_wire - before.longer_than_wire;
  seen.counted[4] = after.skipped_blocks - before.skipped_blocks;
  seen.counted[5] = after.cut_records - before.cut_records;
  CHECK(seen.packets == seen.counted[0]);
  CHECK(seen.unstamped == seen.counted[1] + seen.counted[2]);
  return seen;
}

inline int run(FileKind kind, const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::span<const std::byte> file = std::as_bytes(std::span(data + 1, size - 1));
  if (file_kind(file) != kind) return 0;
  const size_t block_bytes = size_t{data[0]} + 1;
  CHECK(frame(file, file.size()) == frame(file, block_bytes));
  return 0;
}

}  // namespace tidewire::fuzz
