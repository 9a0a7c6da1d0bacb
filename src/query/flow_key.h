// The direction-free name of a flow: both directions of a conversation give the same two words, so
// that a query can key by it. What is lexically smaller, (address, port), stands first.
//
//   IPv4, exact:   high  address A : 32 | address B : 32
//                  low   port A : 16 | port B : 16 | protocol : 8 | 0 : 15 | ports : 1 | form : 8
//   IPv6:          high  64 bits of the canonical 5-tuple's hash
//                  low   56 bits of another hash of it | form : 8
//
// The form in the low byte keeps the two apart, and both from kAbsent. Two IPv6 flows meet in one
// key with probability 2^-120 a pair; an IPv4 key is read back exactly. Without ports (ICMP, later
// fragments) both are 0 and the bit `ports` is clear, so port 0 on the wire is another flow.
// As text: append_flow in query/field_text.h.
#pragma once

#include <cstdint>
#include <utility>

#include "base/hash.h"

namespace tidewire {

struct FlowKey {
  int64_t high = 0, low = 0;
  bool operator==(const FlowKey&) const = default;
};

// An end of a flow. IPv4: `high` is 0 and `low` the address.
struct FlowEnd {
  uint64_t high = 0, low = 0;
  uint16_t port = 0;
  auto operator<=>(const FlowEnd&) const = default;
};

inline constexpr uint64_t kFlowIpv4 = 1, kFlowIpv6 = 2, kFlowFormMask = 0xFF, kFlowPorts = 0x100;

constexpr FlowKey flow_key_ipv4(FlowEnd a, FlowEnd b, uint8_t protocol, bool has_ports) {
  if (b < a) std::swap(a, b);
  return {
      static_cast<int64_t>(a.low << 32 | b.low),
      static_cast<int64_t>(uint64_t{a.port} << 48 | uint64_t{b.port} << 32 |
                           uint64_t{protocol} << 24 | (has_ports ? kFlowPorts : 0) | kFlowIpv4)};
}

constexpr FlowKey flow_key_ipv6(FlowEnd a, FlowEnd b, uint8_t protocol, bool has_ports) {
  if (b < a) std::swap(a, b);
  const uint64_t rest = uint64_t{a.port} << 48 | uint64_t{b.port} << 32 | uint64_t{protocol} << 24 |
                        (has_ports ? kFlowPorts : 0);
  // The seeds are constants: a flow must have the same name in every deployment and every run.
  constexpr HashSeed kHighSeed{};
  constexpr HashSeed kLowSeed{0xD6E8FEB86659FD93u, 0xA4093822299F31D0u};
  const auto hash = [&](const HashSeed& seed) {
    const uint64_t ends =
        mix_words(mix_words(a.high, a.low, seed), mix_words(b.high, b.low, seed), seed);
    return mix_words(ends, rest, seed);
  };
  return {static_cast<int64_t>(hash(kHighSeed)),
          static_cast<int64_t>((hash(kLowSeed) & ~kFlowFormMask) | kFlowIpv6)};
}

// What stands in an IPv4 key. Only for keys whose form is kFlowIpv4.
struct FlowIpv4 {
  uint32_t address_a = 0, address_b = 0;
  uint16_t port_a = 0, port_b = 0;
  uint8_t protocol = 0;
  bool has_ports = false;
};
constexpr FlowIpv4 unpack_flow_ipv4(FlowKey key) {
  const auto high = static_cast<uint64_t>(key.high), low = static_cast<uint64_t>(key.low);
  return {static_cast<uint32_t>(high >> 32), static_cast<uint32_t>(high),
          static_cast<uint16_t>(low >> 48),  static_cast<uint16_t>(low >> 32),
          static_cast<uint8_t>(low >> 24),   (low & kFlowPorts) != 0};
}

}  // namespace tidewire
