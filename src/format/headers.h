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

#include <cstdint>
#include <optional>

#include "event/burst.h"
#include "event/drop_reason.h"
#include "event/event_batch.h"

namespace tidewire {

enum class Fragment : uint8_t { kNone, kFirst, kLater };

inline constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmpv6 = 58, kSctp = 132;

// Pointers are into the packet, null where the header is not there or not whole.
struct Headers {
  const uint8_t* frame = nullptr;
  const uint8_t* end = nullptr;  // of what is there, without padding behind the IP packet
  const uint8_t* source_mac = nullptr;
  const uint8_t* target_mac = nullptr;
  const uint8_t* ip = nullptr;      // 20 or 40 bytes
  const uint8_t* source = nullptr;  // addresses: 16 bytes where ip_version is 6, else 4 (ARP too)
  const uint8_t* target = nullptr;
  const uint8_t* transport = nullptr;  // none in later fragments; may be cut, see the has_ below
  uint32_t wire_length = 0, captured_length = 0;
  int32_t ethertype = kAbsent;                   // behind the VLAN tags
  int32_t vlan = kAbsent, vlan_inner = kAbsent;  // VLAN ids, outermost first
  int32_t mpls = kAbsent;                        // outermost label
  int32_t ip_length = kAbsent;                   // IP header and what it carries
  int32_t payload_length = kAbsent;              // behind the transport header, by the headers
  int32_t arp_operation = kAbsent;
  int16_t protocol = kAbsent;  // of what follows IPv4's options or IPv6's extension headers
  uint16_t interface = 0;
  uint8_t ip_version = 0;  // 0: neither
  Fragment fragment = Fragment::kNone;
  bool has_ports = false, has_tcp_flags = false, has_icmp = false;
};

// Fills `out` (freshly made). A reason: the packet holds no event.
std::optional<DropReason> read_headers(LinkType link, const std::byte* data, uint32_t length,
                                       uint32_t wire_length, Headers& out, LaneCounts& counts);

}  // namespace tidewire
