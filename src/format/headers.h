// From a link type and a packet's bytes to where its headers stand: the part that all packet-borne
// formats share.
//
//   link  [VLAN tags]  [MPLS labels | PPPoE]  IPv4 | IPv6 [extension headers] | ARP   transport
//
// Nothing here trusts a length on the wire: `end` is the smallest of what was captured and what the
// headers say, and every read is tested against it. A header that is cut, or contradicts itself,
// leaves its fields and those behind it absent and ends in a Note; only a packet whose first header
// cannot be read is dropped. Tunnels (GRE, IP in IP, VXLAN) are not opened: the outer packet
// counts.
//
// Sources: IEEE 802.1Q, RFC 3032 (MPLS), RFC 2516 (PPPoE), RFC 826 (ARP), RFC 791, RFC 8200,
// RFC 4302 (AH), tcpdump.org/linktypes (SLL, NULL, LOOP).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "event/burst.h"
#include "event/drop_reason.h"
#include "event/event_batch.h"
#include "format/bytes.h"
#include "query/schema.h"

namespace tidewire {

enum class Fragment : uint8_t { kNone, kFirst, kLater };

inline constexpr uint16_t kTypeIpv4 = 0x0800;
inline constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmpv6 = 58, kSctp = 132;

inline constexpr uint16_t kNowhere = 0xFFFF;

// One cache line a packet, so that those of a burst stay in L1 until the columns are written.
// Places are offsets from `frame`, kNowhere where the header is not there or not whole.
struct Headers {
  const uint8_t* frame = nullptr;
  uint32_t end = 0;  // of what is there, without padding behind the IP packet
  uint32_t wire_length = 0, captured_length = 0;
  int32_t ip_length = kAbsent;       // IP header and what it carries
  int32_t payload_length = kAbsent;  // behind the transport header, by the headers
  int32_t ethertype = kAbsent;       // behind the VLAN tags
  int32_t mpls = kAbsent;            // outermost label
  int32_t arp_operation = kAbsent;
  int16_t vlan = kAbsent, vlan_inner = kAbsent;  // VLAN ids, outermost first
  uint16_t source_mac = kNowhere, target_mac = kNowhere;
  uint16_t ip = kNowhere;      // 20 or 40 bytes
  uint16_t source = kNowhere;  // addresses: 16 bytes where ip_version is 6, else 4 (ARP too)
  uint16_t target = kNowhere;
  uint16_t transport = kNowhere;  // not in later fragments; may be cut, see the has_ below
  uint16_t interface = 0;         // the burst's; set by who calls
  int16_t protocol = kAbsent;     // of what follows IPv4's options or IPv6's extension headers
  uint8_t ip_version : 4 = 0;     // 0: neither
  bool has_ports : 1 = false, has_tcp_flags : 1 = false, has_icmp : 1 = false;
  Fragment fragment = Fragment::kNone;

  const uint8_t* at(uint16_t place) const { return frame + place; }
  // As a kAddress field has it.
  TwoWords address_at(uint16_t place) const {
    if (place == kNowhere) return {kAbsent, kAbsent};
    if (ip_version != 6) return {0, int64_t{0xFFFF} << 32 | read_be32(at(place))};
    return {static_cast<int64_t>(read_be64(at(place))),
            static_cast<int64_t>(read_be64(at(place) + 8))};
  }
};
static_assert(sizeof(Headers) == 64);

// Nearly all packets: untagged Ethernet, IPv4 without options or fragments, TCP or UDP, nothing cut
// and no length that contradicts another. Sets what HeaderReader would, in half the time; false:
// another packet, nothing is set.
inline bool read_plain_headers(const uint8_t* frame, uint32_t length, uint32_t wire_length,
                               Headers& out) {
  if (length < 14 + 20 + 8) return false;
  uint32_t type_and_version;
  std::memcpy(&type_and_version, frame + 12, 4);
  if ((type_and_version & 0xFFFFFF) != 0x450008) return false;  // 08 00 45, little-endian
  if ((read_be16(frame + 20) & 0x3FFF) != 0) return false;
  const uint8_t* at = frame + 34;
  const int32_t total = read_be16(frame + 16), carried = total - 20;
  if (static_cast<uint32_t>(total) + 14 > std::min(length, wire_length)) return false;
  const uint8_t protocol = frame[23];
  int32_t header = 8;
  if (protocol == kUdp) {
    if (carried < 8 || read_be16(at + 4) != carried) return false;
  } else {
    if (protocol != kTcp || carried < 20) return false;
    header = (at[12] >> 4) * 4;
    if (header < 20 || header > carried) return false;
  }
  out = {.frame = frame,
         .end = static_cast<uint32_t>(14 + total),
         .wire_length = wire_length,
         .captured_length = length,
         .ip_length = total,
         .payload_length = carried - header,
         .ethertype = kTypeIpv4,
         .source_mac = 6,
         .target_mac = 0,
         .ip = 14,
         .source = 26,
         .target = 30,
         .transport = 34,
         .protocol = protocol,
         .ip_version = 4,
         .has_ports = true,
         .has_tcp_flags = protocol == kTcp};
  return true;
}

// No link carries a longer frame (segmentation offload ends at 2^16 to 2^19): a length beyond it is
// damage. Fields of lengths have so many bits, and a sum of them over 2^40 rows fits 64.
inline constexpr uint32_t kLengthBits = 23;
inline constexpr uint32_t kLengthMax = (1u << kLengthBits) - 1;

std::optional<DropReason> read_any_headers(LinkType link, const std::byte* data, uint32_t length,
                                           uint32_t wire_length, Headers& out, LaneCounts& counts);

// Sets all of `out`. A reason: the packet holds no event, and `out` means nothing.
inline std::optional<DropReason> read_headers(LinkType link, const std::byte* data, uint32_t length,
                                              uint32_t wire_length, Headers& out,
                                              LaneCounts& counts) {
  if (length < wire_length) counts.note(Note::kCutByCapture);
  if (length > kLengthMax || wire_length > kLengthMax) [[unlikely]] {
    counts.note(Note::kBadLength);
    length = std::min(length, kLengthMax);
    wire_length = std::min(wire_length, kLengthMax);
  }
  if (link == LinkType::kEthernet &&
      read_plain_headers(reinterpret_cast<const uint8_t*>(data), length, wire_length, out))
    return std::nullopt;
  return read_any_headers(link, data, length, wire_length, out, counts);
}

}  // namespace tidewire
