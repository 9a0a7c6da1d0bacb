#include "format/headers.h"

#include <algorithm>

#include "format/bytes.h"

namespace tidewire {
namespace {

constexpr uint16_t kTypeArp = 0x0806, kTypeIpv6 = 0x86DD;
constexpr uint16_t kTypeMpls = 0x8847, kTypeMplsUpstream = 0x8848, kTypePppoeSession = 0x8864;
constexpr uint16_t kTypeLeast = 0x0600;  // below: an 802.3 length (IEEE 802.3, 3.2.6)

// How many are looked at. Real frames have two tags and three labels; a frame made of tags only
// must not cost its length.
constexpr uint32_t kTagsMax = 4, kLabelsMax = 8, kExtensionsMax = 8;

constexpr uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kEsp = 50,
                  kAuthentication = 51, kNoNextHeader = 59, kDestinationOptions = 60;

class HeaderReader {
 public:
  HeaderReader(Headers& out, LaneCounts& counts)
      : h_(out), counts_(counts), end_(out.frame + out.end) {}

  std::optional<DropReason> link(LinkType type);

 private:
  std::optional<DropReason> raw(const uint8_t* at);
  std::optional<DropReason> loopback(bool either_order);
  void by_ethertype(uint32_t type, const uint8_t* at);
  void mpls(const uint8_t* at);
  void pppoe(const uint8_t* at);
  void arp(const uint8_t* at);
  void ipv4(const uint8_t* at);
  void ipv6(const uint8_t* at);
  void extensions(uint8_t next, const uint8_t* at);
  void transport(uint8_t protocol, const uint8_t* at);

  uint32_t left(const uint8_t* at) const {
    return at < end_ ? static_cast<uint32_t>(end_ - at) : 0;
  }
  void cut(const uint8_t* end) {
    end_ = end;
    h_.end = static_cast<uint32_t>(end - h_.frame);
  }
  uint16_t place(const uint8_t* at) const { return static_cast<uint16_t>(at - h_.frame); }
  bool there(const uint8_t* at, uint32_t bytes) {
    if (left(at) >= bytes) return true;
    counts_.note(Note::kTruncatedHeader);
    return false;
  }
  // Bytes that the wire carried from `at` on, captured or not.
  int64_t wire_left(const uint8_t* at) const { return int64_t{h_.wire_length} - (at - h_.frame); }
  // Sets ip_length and takes padding off. `said`: by the header; 0: it says nothing (segmentation
  // offload, jumbograms), so it is all that there is.
  void cut_to_ip(const uint8_t* at, uint32_t said, uint32_t header) {
    const int64_t wire = std::max<int64_t>(wire_left(at), header);
    if (said == 0) said = static_cast<uint32_t>(wire);
    if (said > wire) counts_.note(Note::kBadLength);
    h_.ip_length = static_cast<int32_t>(said);
    if (said < left(at)) cut(at + said);
  }
  // What stands from `at` to the IP packet's end by the headers. Never negative where the header in
  // front lies inside the IP packet.
  int32_t carried(const uint8_t* at) const {
    return h_.ip_length - static_cast<int32_t>(at - h_.at(h_.ip));
  }
  void set_payload(int32_t bytes) {
    if (bytes >= 0)
      h_.payload_length = bytes;
    else
      counts_.note(Note::kBadLength);
  }

  Headers& h_;
  LaneCounts& counts_;
  const uint8_t* end_;
};

std::optional<DropReason> HeaderReader::link(LinkType type) {
  const uint8_t* at = h_.frame;
  const uint32_t bytes = left(at);
  switch (type) {
    case LinkType::kEthernet:
      if (bytes < 14) return DropReason::kTruncated;
      h_.target_mac = 0;
      h_.source_mac = 6;
      by_ethertype(read_be16(at + 12), at + 14);
      return std::nullopt;
    case LinkType::kLinuxSll:  // packet type, ARPHRD, address length, address 8, protocol
      if (bytes < 16) return DropReason::kTruncated;
      if (read_be16(at + 4) == 6) h_.source_mac = 6;
      by_ethertype(read_be16(at + 14), at + 16);
      return std::nullopt;
    case LinkType::kLinuxSll2:  // protocol, 0, interface 4, ARPHRD, type, address length, address 8
      if (bytes < 20) return DropReason::kTruncated;
      if (at[11] == 6) h_.source_mac = 12;
      by_ethertype(read_be16(at), at + 20);
      return std::nullopt;
    case LinkType::kNull:
      return loopback(true);
    case LinkType::kLoop:
      return loopback(false);
    case LinkType::kRaw:
      return raw(at);
    case LinkType::kIpv4:
      if (bytes < 1) return DropReason::kTruncated;
      if (at[0] >> 4 != 4) return DropReason::kMalformed;
      ipv4(at);
      return std::nullopt;
    case LinkType::kIpv6:
      if (bytes < 1) return DropReason::kTruncated;
      if (at[0] >> 4 != 6) return DropReason::kMalformed;
      ipv6(at);
      return std::nullopt;
    case LinkType::kPayload:  // no headers
      break;
  }
  return DropReason::kUnknownLink;  // the number comes from a file: any value
}

std::optional<DropReason> HeaderReader::raw(const uint8_t* at) {
  if (left(at) < 1) return DropReason::kTruncated;
  if (at[0] >> 4 == 4)
    ipv4(at);
  else if (at[0] >> 4 == 6)
    ipv6(at);
  else
    return DropReason::kMalformed;
  return std::nullopt;
}

std::optional<DropReason> HeaderReader::loopback(bool either_order) {
  const uint8_t* at = h_.frame;
  if (left(at) < 4) return DropReason::kTruncated;
  uint32_t family = read_be32(at);
  if (either_order && family > 0xFFFF) family = __builtin_bswap32(family);
  switch (family) {
    case 2:
      ipv4(at + 4);
      break;
    case 10:  // Linux
    case 24:  // NetBSD, OpenBSD
    case 28:  // FreeBSD
    case 30:  // macOS
      ipv6(at + 4);
      break;
    default:
      counts_.note(Note::kUnknownEthertype);
  }
  return std::nullopt;
}

void HeaderReader::by_ethertype(uint32_t type, const uint8_t* at) {
  if (type == kTypeIpv4) [[likely]] {
    h_.ethertype = kTypeIpv4;
    return ipv4(at);
  }
  for (uint32_t tags = 0; type == 0x8100 || type == 0x88A8 || type == 0x9100; ++tags) {
    if (tags == kTagsMax) return counts_.note(Note::kTooManyTags);
    if (!there(at, 4)) return;
    const auto id = static_cast<int16_t>(read_be16(at) & 0x0FFF);
    if (tags == 0) h_.vlan = id;
    if (tags == 1) h_.vlan_inner = id;
    type = read_be16(at + 2);
    at += 4;
  }
  if (type < kTypeLeast) {  // a length: LLC, and SNAP may carry an ethertype (RFC 1042)
    constexpr uint8_t kSnap[6] = {0xAA, 0xAA, 0x03, 0, 0, 0};
    if (left(at) < 8 || !std::equal(kSnap, kSnap + 6, at))
      return counts_.note(Note::kUnknownEthertype);
    type = read_be16(at + 6);
    at += 8;
  }
  h_.ethertype = static_cast<int32_t>(type);
  switch (type) {
    case kTypeIpv4:
      return ipv4(at);
    case kTypeIpv6:
      return ipv6(at);
    case kTypeArp:
      return arp(at);
    case kTypeMpls:
    case kTypeMplsUpstream:
      return mpls(at);
    case kTypePppoeSession:
      return pppoe(at);
    default:
      counts_.note(Note::kUnknownEthertype);
  }
}

void HeaderReader::mpls(const uint8_t* at) {
  for (uint32_t labels = 0;; ++labels, at += 4) {
    if (labels == kLabelsMax) return counts_.note(Note::kTooManyTags);
    if (!there(at, 4)) return;
    const uint32_t entry = read_be32(at);  // label 20, class 3, bottom 1, TTL 8
    if (labels == 0) h_.mpls = static_cast<int32_t>(entry >> 12);
    if (entry >> 8 & 1) break;
  }
  at += 4;
  if (!there(at, 1)) return;
  // Nothing names what follows; by its first four bits (RFC 4928). 0 is a pseudowire's control
  // word.
  if (at[0] >> 4 == 4) return ipv4(at);
  if (at[0] >> 4 == 6) return ipv6(at);
  counts_.note(Note::kUnknownEthertype);
}

void HeaderReader::pppoe(const uint8_t* at) {
  if (!there(at, 8)) return;
  const uint32_t length = read_be16(at + 4);  // from the PPP protocol on
  if (at[0] != 0x11 || at[1] != 0) return counts_.note(Note::kBadVersion);
  if (length < 2 || int64_t{length} > wire_left(at + 6)) counts_.note(Note::kBadLength);
  if (length < left(at + 6)) cut(at + 6 + length);
  const uint16_t protocol = read_be16(at + 6);
  if (protocol == 0x0021) return ipv4(at + 8);
  if (protocol == 0x0057) return ipv6(at + 8);
  counts_.note(Note::kUnknownEthertype);
}

void HeaderReader::arp(const uint8_t* at) {
  if (!there(at, 8)) return;
  const uint32_t hardware = at[4];
  h_.arp_operation = read_be16(at + 6);
  if (read_be16(at + 2) != kTypeIpv4 || at[5] != 4) return counts_.note(Note::kUnknownProtocol);
  if (!there(at + 8, 2 * hardware + 8)) return;
  h_.source = place(at + 8 + hardware);
  h_.target = place(at + 8 + 2 * hardware + 4);
}

void HeaderReader::ipv4(const uint8_t* at) {
  if (left(at) >= 1 && at[0] >> 4 != 4) return counts_.note(Note::kBadVersion);
  if (!there(at, 20)) return;
  h_.ip = place(at);
  h_.ip_version = 4;
  h_.source = place(at + 12);
  h_.target = place(at + 16);
  h_.protocol = at[9];
  const uint32_t header = (at[0] & 0x0Fu) * 4, total = read_be16(at + 2);
  if (header < 20 || (total != 0 && total < header)) {
    h_.ip_length = static_cast<int32_t>(total);
    return counts_.note(Note::kBadLength);
  }
  cut_to_ip(at, total, header);
  const uint32_t place = read_be16(at + 6);  // flags 3, offset 13
  if ((place & 0x3FFF) != 0) [[unlikely]] {
    const bool later = (place & 0x1FFF) != 0;
    h_.fragment = later ? Fragment::kLater : Fragment::kFirst;
    counts_.note(later ? Note::kFragmentLater : Note::kFragmentFirst);
    if (later) return set_payload(carried(at + header));
  }
  transport(at[9], at + header);
}

void HeaderReader::ipv6(const uint8_t* at) {
  if (left(at) >= 1 && at[0] >> 4 != 6) return counts_.note(Note::kBadVersion);
  if (!there(at, 40)) return;
  h_.ip = place(at);
  h_.ip_version = 6;
  h_.source = place(at + 8);
  h_.target = place(at + 24);
  const uint32_t carried_length = read_be16(at + 4);
  cut_to_ip(at, carried_length == 0 && at[6] != kNoNextHeader ? 0 : carried_length + 40, 40);
  extensions(at[6], at + 40);
}

void HeaderReader::extensions(uint8_t next, const uint8_t* at) {
  for (uint32_t count = 0;; ++count) {
    const bool options = next == kHopByHop || next == kRouting || next == kDestinationOptions;
    if (!options && next != kFragmentHeader && next != kAuthentication) break;
    if (count == kExtensionsMax) return counts_.note(Note::kTooManyTags);
    if (!there(at, 8)) return;
    const uint8_t* header = at;
    if (options) at += (header[1] + 1u) * 8;                  // RFC 8200, 4.3
    if (next == kFragmentHeader) at += 8;                     // RFC 8200, 4.5
    if (next == kAuthentication) at += (header[1] + 2u) * 4;  // RFC 4302, 2.2
    // Only the fragment header's meaning is needed; the rest may be cut, its length is enough.
    if (carried(at) < 0) return counts_.note(Note::kBadLength);
    if (next == kFragmentHeader) {
      const uint32_t place = read_be16(header + 2);  // offset 13, reserved 2, more 1
      if ((place & 0xFFF9) != 0) {                   // neither: an atomic fragment, RFC 6946
        const bool later = (place & 0xFFF8) != 0;
        h_.fragment = later ? Fragment::kLater : Fragment::kFirst;
        counts_.note(later ? Note::kFragmentLater : Note::kFragmentFirst);
        if (later) {
          h_.protocol = header[0];
          return set_payload(carried(at));
        }
      }
    }
    next = header[0];
  }
  h_.protocol = next;
  transport(next, at);
}

void HeaderReader::transport(uint8_t protocol, const uint8_t* at) {
  const uint32_t bytes = left(at);
  const int32_t carried_length = carried(at);
  h_.transport = place(at);
  uint32_t header = 8;
  switch (protocol) {
    case kTcp:
      h_.has_ports = bytes >= 4;
      h_.has_tcp_flags = bytes >= 14;
      header = 20;
      if (bytes >= 13) {
        const uint32_t said = (at[12] >> 4) * 4u;
        if (said >= 20)
          set_payload(carried_length - static_cast<int32_t>(said));
        else
          counts_.note(Note::kBadLength);
      }
      break;
    case kUdp:
      h_.has_ports = bytes >= 4;
      if (bytes >= 6) {
        const int32_t said = read_be16(at + 4);  // 0: a jumbogram (RFC 2675), or offload
        const bool first = h_.fragment == Fragment::kFirst;  // says the length of the whole
        if (said > carried_length && !first) counts_.note(Note::kBadLength);
        set_payload((said == 0 || said > carried_length ? carried_length : said) - 8);
      }
      break;
    case kSctp:
      h_.has_ports = bytes >= 4;
      header = 12;
      set_payload(carried_length - 12);
      break;
    case kIcmp:
    case kIcmpv6:
      h_.has_icmp = bytes >= 2;
      set_payload(carried_length - 8);
      break;
    default:
      if (protocol != kEsp && protocol != kNoNextHeader) counts_.note(Note::kUnknownProtocol);
      return;
  }
  if (bytes < header) counts_.note(Note::kTruncatedHeader);
}

}  // namespace

std::optional<DropReason> read_any_headers(LinkType link, const std::byte* data, uint32_t length,
                                           uint32_t wire_length, Headers& out, LaneCounts& counts) {
  out = {};
  out.frame = reinterpret_cast<const uint8_t*>(data);
  out.end = length;
  out.wire_length = wire_length;
  out.captured_length = length;
  return HeaderReader(out, counts).link(link);
}

}  // namespace tidewire
