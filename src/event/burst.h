// What a source hands over in one call: packets of ONE lane, in order. Columns, not structs.
//
//        data[0] -->| packet bytes in an mbuf or an io_uring block |     length[0]  arrival[0]  ...
//        data[1] -->| ...                                          |
//
// A burst lives for one turn. Nothing may keep a pointer into it (keep = copy): its buffers are
// given back by Source::release, and poisoned there in builds with debug checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/time.h"

namespace tidewire {

inline constexpr uint32_t kBurstMax = 256;

// What the first byte of a packet is: the values of the LINKTYPE registry
// (tcpdump.org/linktypes.html).
enum class LinkType : uint16_t {
  kNull = 0,  // BSD loopback: 4 bytes of address family in the capturing host's order
  kEthernet = 1,
  kRaw = 101,   // IPv4 or IPv6, told apart by the version nibble
  kLoop = 108,  // as kNull, big-endian
  kLinuxSll = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kLinuxSll2 = 276,
  // Not of the registry: what a datagram carries, without headers. From files of records (lines,
  // messages with their length before them).
  kPayload = 0xFFFF,
};

// What the files of a format hold where they are no captures.
enum class FileRecords : uint8_t {
  kCaptures,  // nothing else
  kLines,     // text, a line a record: ended by LF or CR LF, the last one by the file's end too
  kMessages,  // a length of two bytes, big-endian, before each; 0: the end (Nasdaq's BinaryFILE)
};

struct Burst {
  LaneId lane{};
  uint32_t limit = kBurstMax;  // most packets that the source may put in; the caller's
  uint32_t count = 0;
  uint32_t unstamped = 0;  // packets without an arrival stamp; a live lane's are stamped by runtime
  Position first{};        // position of packet 0
  std::array<const std::byte*, kBurstMax> data;
  std::array<uint32_t, kBurstMax> length;  // bytes that are there
  std::array<uint32_t, kBurstMax>
      wire_length;  // bytes that were on the wire; >= length unless the file lies
  std::array<EventTime, kBurstMax> arrival;   // capture stamp; before_all() = none
  std::array<uint16_t, kBurstMax> interface;  // index of the capture's interface, or of the port
  std::array<LinkType, kBurstMax> link;
  std::array<void*, kBurstMax> owner;  // the driver's handle; only Source::release reads it
};

}  // namespace tidewire
