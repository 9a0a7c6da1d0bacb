// Runs a whole file through the framer in blocks of a given size and keeps what came out.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "capture_builder.h"
#include "framing/capture_framer.h"

namespace tidewire::test {

struct Packet {
  Bytes data;
  uint32_t wire_length = 0;
  int64_t arrival = 0;
  uint16_t interface = 0;
  uint16_t link = 0;
  bool operator==(const Packet&) const = default;
};

struct Framing {
  std::vector<Packet> packets;
  CaptureCounts counts;
  uint64_t unstamped = 0;
  std::string failure;
};

// Each block is a separate allocation that is freed when the framer says it is hungry, and packets
// are overwritten when their burst is over: a pointer that is kept shows.
inline Framing frame_all(std::span<const std::byte> file, size_t block_bytes) {
  std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  CaptureFramer framer(spill);
  framer.begin();
  Framing result;
  Burst burst;
  const auto run = [&] {
    for (;;) {
      const Framed framed = framer.frame(burst);
      if (framed != Framed::kPackets) return framed;
      result.unstamped += burst.unstamped;
      for (uint32_t i = 0; i < burst.count; ++i) {
        result.packets.push_back({.data = Bytes(burst.data[i], burst.data[i] + burst.length[i]),
                                  .wire_length = burst.wire_length[i],
                                  .arrival = burst.arrival[i].ns,
                                  .interface = burst.interface[i],
                                  .link = static_cast<uint16_t>(burst.link[i])});
      }
      for (uint32_t i = 0; i < burst.count; ++i)
        std::fill_n(const_cast<std::byte*>(burst.data[i]), burst.length[i], std::byte{0xDB});
    }
  };
  Framed last = Framed::kHungry;
  for (size_t at = 0; at < file.size() && last == Framed::kHungry; at += block_bytes) {
    const auto part = file.subspan(at, std::min(block_bytes, file.size() - at));
    const Bytes block(part.begin(), part.end());
    framer.feed(block);
    last = run();
  }
  if (last == Framed::kHungry) last = framer.finish();
  if (last == Framed::kFailed) result.failure = framer.failure();
  result.counts = framer.counts();
  return result;
}

}  // namespace tidewire::test
