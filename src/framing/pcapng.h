// Packets of a pcapng file (draft-ietf-opsawg-pcapng): blocks of
//
//   type u32 | total length u32 | body, padded to 4 | total length again
//
// A section header says the byte order of what follows and forgets the interfaces before it; an
// interface description gives link type, snapshot length and the unit and offset of its times.
// Packets stand in enhanced blocks, in simple blocks (first interface, no time) and in the obsolete
// packet block. All other blocks are skipped by their length, however long, without being buffered.
// Interface numbers are those of the section, as in the file.
#pragma once

#include <array>

#include "base/int128.h"
#include "framing/framing.h"

namespace tidewire {

// Unit and offset of an interface's times, made exact in whole nanoseconds: 10^-n or 2^-n seconds.
class TimeUnit {
 public:
  TimeUnit() = default;
  TimeUnit(uint8_t resolution, int64_t offset_seconds);
  // before_all() where the result is not a time that int64 holds. Finer than a nanosecond is cut.
  EventTime time_of(uint64_t ticks) const {
    if (ticks < simple_below_) return {static_cast<int64_t>(ticks * multiplier_)};
    return exact_time_of(ticks);
  }

 private:
  EventTime exact_time_of(uint64_t ticks) const;

  uint64_t simple_below_ = INT64_MAX / 1'000;  // ticks that one product in 64 bits makes a time of
  uint64_t multiplier_ = 1'000;
  uint64_t divisor_ = 1;
  uint8_t shift_ = 0;
  int128 offset_ns_ = 0;
};

class PcapngReader {
 public:
  static constexpr uint32_t kMaxInterfaces = 512;

  void begin();
  Stop read(const std::byte* at, const std::byte* end, Burst& burst, CaptureCounts& counts);
  bool inside_block() const { return trailer_ != 0; }  // its end is still to come

 private:
  struct Interface {
    LinkType link = LinkType::kNull;
    uint32_t snapshot = 0;  // 0: no limit
    TimeUnit unit;
  };
  Stop section(const std::byte* at, size_t have);
  Stop interface(const std::byte* at, size_t have, uint32_t total);
  Stop packet(const std::byte* at, size_t have, uint32_t total, bool obsolete, Burst& burst,
              CaptureCounts& counts);
  Stop simple(const std::byte* at, size_t have, uint32_t total, Burst& burst,
              CaptureCounts& counts);
  Stop rest(const std::byte* at, uint32_t used, uint32_t total);
  TimeUnit time_unit(const std::byte* option, const std::byte* end) const;

  bool swapped_ = false;
  uint32_t trailer_ = 0;  // total length of the block whose end is awaited; 0: between blocks
  uint32_t count_ = 0;
  std::array<Interface, kMaxInterfaces> interfaces_;
};

}  // namespace tidewire
