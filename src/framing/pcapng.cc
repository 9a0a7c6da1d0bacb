#include "framing/pcapng.h"

#include <algorithm>

namespace tidewire {
namespace {

constexpr uint32_t kSection = 0x0A0D0D0A;
constexpr uint32_t kByteOrder = 0x1A2B3C4D;
constexpr uint32_t kInterface = 1;
constexpr uint32_t kObsoletePacket = 2;
constexpr uint32_t kSimplePacket = 3;
constexpr uint32_t kEnhancedPacket = 6;

constexpr uint32_t kBlockHead = 8;
constexpr uint32_t kLeastBlock = 12;
constexpr uint32_t kTrailer = 4;
constexpr uint32_t kPacketHead = 28;  // of enhanced and obsolete blocks, up to the bytes
constexpr uint32_t kSimpleHead = 12;

constexpr uint64_t power_of_ten(uint32_t n) {
  uint64_t v = 1;
  while (n-- > 0) v *= 10;
  return v;
}

}  // namespace

TimeUnit::TimeUnit(uint8_t resolution, int64_t offset_seconds)
    : offset_ns_(static_cast<int128>(offset_seconds) * kSecond) {
  const uint32_t n = resolution & 0x7F;
  if ((resolution & 0x80) != 0) {
    multiplier_ = kSecond;
    shift_ = static_cast<uint8_t>(n);
  } else if (n <= 9) {
    multiplier_ = power_of_ten(9 - n);
  } else {
    // 10^19 is the last power in 64 bits, and 2^64 ticks of anything finer are less than two
    // nanoseconds: with 10^20 and above always 0.
    multiplier_ = n <= 28 ? 1 : 0;
    divisor_ = n <= 28 ? power_of_ten(n - 9) : 1;
  }
  const bool simple = divisor_ == 1 && shift_ == 0 && offset_ns_ == 0 && multiplier_ > 0;
  simple_below_ = simple ? INT64_MAX / multiplier_ : 0;
}

EventTime TimeUnit::exact_time_of(uint64_t ticks) const {
  // At most 2^64 * 2^30, so 128 bits hold every step.
  const uint128 scaled = static_cast<uint128>(ticks) * multiplier_;
  const uint128 whole = divisor_ > 1
                            ? static_cast<uint128>(static_cast<uint64_t>(scaled) / divisor_)
                            : scaled >> shift_;
  const int128 ns = static_cast<int128>(whole) + offset_ns_;
  if (ns <= INT64_MIN || ns >= INT64_MAX) return EventTime::before_all();
  return {static_cast<int64_t>(ns)};
}

void PcapngReader::begin() {
  swapped_ = false;
  trailer_ = 0;
  count_ = 0;
}

Stop PcapngReader::read(const std::byte* at, const std::byte* end, Burst& burst,
                        CaptureCounts& counts) {
  while (burst.count < burst.limit) {
    const auto have = static_cast<size_t>(end - at);
    if (trailer_ != 0) {
      if (have < kTrailer) return {.at = at, .need = kTrailer};
      if (load32(at, swapped_) != trailer_)
        return {.at = at, .error = "the length at the end of a block is not that at its start"};
      trailer_ = 0;
      at += kTrailer;
      continue;
    }
    if (have < kBlockHead) return {.at = at, .need = kBlockHead};
    const uint32_t type = load32(at, swapped_);
    if (type == kSection) {
      const Stop stop = section(at, have);
      if (stop.need != 0 || stop.skip != 0 || stop.error) return stop;
      at = stop.at;
      continue;
    }
    const uint32_t total = load32(at + 4, swapped_);
    if (total < kLeastBlock || total % 4 != 0)
      return {.at = at,
              .error = "block length below 12 or no multiple of 4: the file is damaged here"};
    Stop stop{.at = at};
    switch (type) {
      case kInterface:
        stop = interface(at, have, total);
        break;
      case kEnhancedPacket:
      case kObsoletePacket:
        stop = packet(at, have, total, type == kObsoletePacket, burst, counts);
        break;
      case kSimplePacket:
        stop = simple(at, have, total, burst, counts);
        break;
      default:
        ++counts.skipped_blocks;
        stop = rest(at, kBlockHead, total);
        break;
    }
    if (stop.need != 0 || stop.error) return stop;
    if (stop.skip != 0) {
      // The usual case: what nobody looks at ends in these bytes.
      if (stop.skip > static_cast<size_t>(end - stop.at)) return stop;
      stop.at += stop.skip;
    }
    at = stop.at;
  }
  return {.at = at};
}

// The first `used` bytes of the block at `at` are done; what is left but the trailer is skipped.
Stop PcapngReader::rest(const std::byte* at, uint32_t used, uint32_t total) {
  trailer_ = total;
  return {.at = at + used, .skip = total - used - kTrailer};
}

Stop PcapngReader::section(const std::byte* at, size_t have) {
  constexpr uint32_t kUsed = 16;
  if (have < kUsed) return {.at = at, .need = kUsed};
  const bool swapped = load32(at + 8, false) != kByteOrder;
  if (load32(at + 8, swapped) != kByteOrder)
    return {.at = at, .error = "section header without a byte order"};
  const uint32_t total = load32(at + 4, swapped);
  if (total < 28 || total % 4 != 0) return {.at = at, .error = "section header of a wrong length"};
  if (load16(at + 12, swapped) != 1)
    return {.at = at, .error = "section of a pcapng version other than 1"};
  swapped_ = swapped;
  count_ = 0;
  return rest(at, kUsed, total);
}

Stop PcapngReader::interface(const std::byte* at, size_t have, uint32_t total) {
  if (total < 20 || total > kMaxUnit)
    return {.at = at, .error = "interface description of a wrong length"};
  if (count_ == kMaxInterfaces) return {.at = at, .error = "more than 512 interfaces in a section"};
  const uint32_t whole = total - kTrailer;
  if (have < whole) return {.at = at, .need = whole};
  interfaces_[count_++] = {.link = static_cast<LinkType>(load16(at + 8, swapped_)),
                           .snapshot = load32(at + 12, swapped_),
                           .unit = time_unit(at + 16, at + whole)};
  return rest(at, whole, total);
}

// Walks the options of an interface: code u16, length u16, value padded to 4. A list that does not
// fit its block ends there; what was read before it counts.
TimeUnit PcapngReader::time_unit(const std::byte* option, const std::byte* end) const {
  constexpr uint16_t kResolution = 9;
  constexpr uint16_t kOffset = 14;
  uint8_t resolution = 6;
  int64_t offset = 0;
  while (end - option >= 4) {
    const uint16_t code = load16(option, swapped_);
    const uint32_t length = load16(option + 2, swapped_);
    option += 4;
    if (code == 0 || length > static_cast<size_t>(end - option)) break;
    if (code == kResolution && length >= 1) resolution = std::to_integer<uint8_t>(*option);
    if (code == kOffset && length >= 8) offset = static_cast<int64_t>(load64(option, swapped_));
    option += std::min<ptrdiff_t>((length + 3) & ~3u, end - option);
  }
  return {resolution, offset};
}

Stop PcapngReader::packet(const std::byte* at, size_t have, uint32_t total, bool obsolete,
                          Burst& burst, CaptureCounts& counts) {
  if (total < kPacketHead + kTrailer) return {.at = at, .error = "packet block is too short"};
  if (have < kPacketHead) return {.at = at, .need = kPacketHead};
  const uint32_t from = obsolete ? load16(at + 8, swapped_) : load32(at + 8, swapped_);
  if (from >= count_) return {.at = at, .error = "packet of an interface that is not described"};
  const uint32_t captured = load32(at + 20, swapped_);
  if (captured > kMaxCaptured)
    return {.at = at, .error = "captured length above 262144: the file is damaged here"};
  if (captured > total - kPacketHead - kTrailer)
    return {.at = at, .error = "packet is longer than its block"};
  if (have < kPacketHead + captured) return {.at = at, .need = kPacketHead + captured};
  const Interface& interface = interfaces_[from];
  const EventTime arrival = interface.unit.time_of(
      static_cast<uint64_t>(load32(at + 12, swapped_)) << 32 | load32(at + 16, swapped_));
  counts.bad_time += arrival == EventTime::before_all() ? 1 : 0;
  append(burst,
         {.data = at + kPacketHead,
          .length = captured,
          .wire_length = load32(at + 24, swapped_),
          .arrival = arrival,
          .interface = static_cast<uint16_t>(from),
          .link = interface.link},
         counts);
  return rest(at, kPacketHead + captured, total);
}

Stop PcapngReader::simple(const std::byte* at, size_t have, uint32_t total, Burst& burst,
                          CaptureCounts& counts) {
  if (total < kSimpleHead + kTrailer) return {.at = at, .error = "packet block is too short"};
  if (count_ == 0) return {.at = at, .error = "packet of an interface that is not described"};
  if (have < kSimpleHead) return {.at = at, .need = kSimpleHead};
  const uint32_t wire = load32(at + 8, swapped_);
  // The block does not say how much was captured: the snapshot length does, else all.
  const uint32_t snapshot = interfaces_[0].snapshot;
  const uint32_t captured = snapshot == 0 ? wire : std::min(wire, snapshot);
  if (captured > kMaxCaptured)
    return {.at = at, .error = "captured length above 262144: the file is damaged here"};
  if (captured > total - kSimpleHead - kTrailer)
    return {.at = at, .error = "packet is longer than its block"};
  if (have < kSimpleHead + captured) return {.at = at, .need = kSimpleHead + captured};
  ++counts.untimed;
  append(burst,
         {.data = at + kSimpleHead,
          .length = captured,
          .wire_length = wire,
          .arrival = EventTime::before_all(),
          .interface = 0,
          .link = interfaces_[0].link},
         counts);
  return rest(at, kSimpleHead + captured, total);
}

}  // namespace tidewire
