// What the loops of the capture formats share: where they stop, what they count, their limits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "event/burst.h"

namespace tidewire {

// Longest packet that is believed: libpcap's and Wireshark's own limit. A captured length above it
// means that the reader has lost its place in a damaged file.
inline constexpr uint32_t kMaxCaptured = 262'144;

// Longest piece that must lie together: a packet with its header. Also bounds an interface
// description, whose options are needed as a whole.
inline constexpr uint32_t kMaxUnit = kMaxCaptured + 64;

struct CaptureCounts {
  uint64_t packets = 0;
  uint64_t untimed = 0;   // packets without a time: simple packet blocks
  uint64_t bad_time = 0;  // packets whose time cannot be: a fraction of a second or more, or past
                          // int64; kept, without a time
  uint64_t longer_than_wire = 0;  // packets that hold more bytes than were on the wire
  uint64_t skipped_blocks = 0;    // pcapng blocks that hold no packets
  uint64_t cut_records = 0;       // the last record of a file was incomplete
  uint64_t long_lines = 0;        // above kMaxCaptured: left out
};

// Why and where a format's loop over contiguous bytes came to a halt. Everything before `at` is
// consumed. Exactly one of the others is set; none of them: the burst is full.
struct Stop {
  const std::byte* at;
  uint32_t need = 0;  // bytes from `at` on that must lie together to go on: more than there are
  uint64_t skip = 0;  // bytes from `at` on that nobody looks at; any number
  const char* error = nullptr;  // what is wrong at `at`; static text
};

inline uint32_t load32(const std::byte* p, bool swapped) {
  uint32_t v = 0;
  std::memcpy(&v, p, sizeof(v));
  return swapped ? __builtin_bswap32(v) : v;
}
inline uint16_t load16(const std::byte* p, bool swapped) {
  uint16_t v = 0;
  std::memcpy(&v, p, sizeof(v));
  return swapped ? __builtin_bswap16(v) : v;
}
inline uint64_t load64(const std::byte* p, bool swapped) {
  uint64_t v = 0;
  std::memcpy(&v, p, sizeof(v));
  return swapped ? __builtin_bswap64(v) : v;
}
static_assert(std::endian::native == std::endian::little);

struct Frame {
  const std::byte* data;
  uint32_t length;
  uint32_t wire_length;
  EventTime arrival;
  uint16_t interface;
  LinkType link;
};

inline void append(Burst& burst, const Frame& frame, CaptureCounts& counts) {
  const uint32_t i = burst.count++;
  burst.data[i] = frame.data;
  burst.length[i] = frame.length;
  burst.wire_length[i] = frame.wire_length;
  burst.arrival[i] = frame.arrival;
  burst.interface[i] = frame.interface;
  burst.link[i] = frame.link;
  burst.unstamped += frame.arrival == EventTime::before_all() ? 1 : 0;
  counts.longer_than_wire += frame.length > frame.wire_length ? 1 : 0;
  ++counts.packets;
}

}  // namespace tidewire
