// Frames for tests, written byte by byte: every offset stands here as a number from the standard
// that defines it, and nothing is shared with the parsers under test.
//
//   PacketBuilder().ethernet().vlan(0x88A8, 5).vlan(0x8100, 7).ipv4(10.0.0.1, ...).udp(53, 40000,
//   12)
//
// Each call appends a header that announces the one which the next call appends: the type field of
// the one before and all lengths around it are written when the next header or finish() is called.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "event/burst.h"

namespace tidewire::test {

using Bytes = std::vector<uint8_t>;
using Ipv6 = std::array<uint8_t, 16>;

inline void put16(Bytes& b, uint32_t v) {
  b.push_back(static_cast<uint8_t>(v >> 8));
  b.push_back(static_cast<uint8_t>(v));
}
inline void put32(Bytes& b, uint32_t v) {
  put16(b, v >> 16);
  put16(b, v & 0xFFFF);
}
inline void put64(Bytes& b, uint64_t v) {
  put32(b, static_cast<uint32_t>(v >> 32));
  put32(b, static_cast<uint32_t>(v));
}
inline void set16(Bytes& b, size_t at, uint32_t v) {
  b[at] = static_cast<uint8_t>(v >> 8);
  b[at + 1] = static_cast<uint8_t>(v);
}

constexpr uint32_t ipv4_address(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}
// 2001:db8::<last>
inline Ipv6 ipv6_address(uint8_t last) {
  return {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
}

class PacketBuilder {
 public:
  // ---- link layers
  PacketBuilder& ethernet(uint64_t target = 0x020000000002, uint64_t source = 0x020000000001) {
    for (const uint64_t mac : {target, source}) {
      put16(bytes_, static_cast<uint32_t>(mac >> 32));
      put32(bytes_, static_cast<uint32_t>(mac));
    }
    return type_field();
  }
  PacketBuilder& linux_sll(uint64_t source = 0x020000000001) {
    put16(bytes_, 0);  // to us
    put16(bytes_, 1);  // ARPHRD_ETHER
    put16(bytes_, 6);
    put16(bytes_, static_cast<uint32_t>(source >> 32));
    put32(bytes_, static_cast<uint32_t>(source));
    put16(bytes_, 0);
    return type_field();
  }
  PacketBuilder& linux_sll2(uint64_t source = 0x020000000001) {
    type_field();
    put16(bytes_, 0);
    put32(bytes_, 3);                     // interface index
    put16(bytes_, 1);                     // ARPHRD_ETHER
    bytes_.insert(bytes_.end(), {0, 6});  // to us; address length
    put16(bytes_, static_cast<uint32_t>(source >> 32));
    put32(bytes_, static_cast<uint32_t>(source));
    put16(bytes_, 0);
    return *this;
  }
  PacketBuilder& null_loopback(uint32_t family, bool big_endian) {
    put32(bytes_, big_endian ? family : __builtin_bswap32(family));
    return *this;
  }

  // ---- between link and network
  PacketBuilder& vlan(uint32_t ethertype, uint32_t id, uint32_t priority = 0) {
    announce(ethertype);
    put16(bytes_, priority << 13 | id);
    return type_field();
  }
  PacketBuilder& mpls(uint32_t label, bool bottom, uint32_t ethertype = 0x8847) {
    announce(ethertype);  // for the first label only; no-op for the next ones
    put32(bytes_, label << 12 | (bottom ? 0x100u : 0u) | 64);
    return *this;
  }
  PacketBuilder& pppoe(uint32_t session) {
    announce(0x8864);
    bytes_.insert(bytes_.end(), {0x11, 0x00});
    put16(bytes_, session);
    lengths_.push_back({bytes_.size(), bytes_.size() + 2});
    put16(bytes_, 0);
    ppp_ = true;
    return type_field();
  }
  PacketBuilder& llc_snap() {  // 802.3: the type field before is a length
    set16(bytes_, type_at_, 0);
    lengths_.push_back({type_at_, bytes_.size()});
    bytes_.insert(bytes_.end(), {0xAA, 0xAA, 0x03, 0, 0, 0});
    return type_field();
  }
  PacketBuilder& arp(uint32_t operation, uint32_t sender, uint32_t target) {
    announce(0x0806);
    put16(bytes_, 1);
    put16(bytes_, 0x0800);
    bytes_.insert(bytes_.end(), {6, 4});
    put16(bytes_, operation);
    bytes_.insert(bytes_.end(), {2, 0, 0, 0, 0, 1});
    put32(bytes_, sender);
    bytes_.insert(bytes_.end(), 6, 0);
    put32(bytes_, target);
    return *this;
  }
  PacketBuilder& ethertype(uint32_t type) {
    announce(type);
    return *this;
  }

  // ---- network
  struct Ipv4Options {
    uint32_t option_words = 0;  // 4-byte words of no-operation options
    uint32_t tos = 0, ttl = 64;
    uint32_t flags_and_offset = 0;  // as on the wire: 0x2000 more fragments, low 13 bits offset / 8
  };
  PacketBuilder& ipv4(uint32_t source, uint32_t target) {
    return ipv4(source, target, Ipv4Options{});
  }
  PacketBuilder& ipv4(uint32_t source, uint32_t target, const Ipv4Options& o) {
    announce(0x0800);
    const size_t start = bytes_.size();
    bytes_.push_back(static_cast<uint8_t>(0x45 + o.option_words));
    bytes_.push_back(static_cast<uint8_t>(o.tos));
    lengths_.push_back({bytes_.size(), start});
    put16(bytes_, 0);  // total length
    put16(bytes_, 0x1234);
    put16(bytes_, o.flags_and_offset);
    bytes_.push_back(static_cast<uint8_t>(o.ttl));
    next_at_ = bytes_.size();
    bytes_.push_back(0);  // protocol
    put16(bytes_, 0);     // checksum: not looked at
    put32(bytes_, source);
    put32(bytes_, target);
    bytes_.insert(bytes_.end(), o.option_words * 4, 1);
    return *this;
  }
  PacketBuilder& ipv6(const Ipv6& source, const Ipv6& target, uint32_t traffic_class = 0,
                      uint32_t hop_limit = 64) {
    announce(0x86DD);
    put32(bytes_, 6u << 28 | traffic_class << 20 | 0xABCDE);
    lengths_.push_back({bytes_.size(), bytes_.size() + 36});  // counts from byte 40
    put16(bytes_, 0);
    next_at_ = bytes_.size();
    bytes_.push_back(59);
    bytes_.push_back(static_cast<uint8_t>(hop_limit));
    bytes_.insert(bytes_.end(), source.begin(), source.end());
    bytes_.insert(bytes_.end(), target.begin(), target.end());
    return *this;
  }
  // An extension header of 8 * units bytes: hop-by-hop 0, routing 43, destination options 60.
  PacketBuilder& extension(uint32_t number, uint32_t units = 1) {
    next_header(number);
    next_at_ = bytes_.size();
    bytes_.push_back(59);
    bytes_.push_back(static_cast<uint8_t>(units - 1));
    bytes_.insert(bytes_.end(), units * 8 - 2, 0);
    return *this;
  }
  PacketBuilder& fragment(uint32_t offset_units, bool more) {
    next_header(44);
    next_at_ = bytes_.size();
    bytes_.insert(bytes_.end(), {59, 0});
    put16(bytes_, offset_units << 3 | (more ? 1u : 0u));
    put32(bytes_, 0x01020304);
    return *this;
  }
  PacketBuilder& authentication(uint32_t words) {  // RFC 4302: length in words, minus 2
    next_header(51);
    next_at_ = bytes_.size();
    bytes_.push_back(59);
    bytes_.push_back(static_cast<uint8_t>(words - 2));
    bytes_.insert(bytes_.end(), words * 4 - 2, 0);
    return *this;
  }

  // ---- transport, each with `payload` bytes of 0x5A behind
  PacketBuilder& tcp(uint32_t source, uint32_t target, uint32_t flags, uint32_t payload,
                     uint32_t option_words = 0) {
    next_header(6);
    put16(bytes_, source);
    put16(bytes_, target);
    put32(bytes_, 1);
    put32(bytes_, 2);
    bytes_.push_back(static_cast<uint8_t>((5 + option_words) << 4));
    bytes_.push_back(static_cast<uint8_t>(flags));
    put16(bytes_, 512);
    put32(bytes_, 0);
    bytes_.insert(bytes_.end(), option_words * 4, 1);
    return this->payload(payload);
  }
  PacketBuilder& udp(uint32_t source, uint32_t target, const Bytes& payload) {
    next_header(17);
    put16(bytes_, source);
    put16(bytes_, target);
    put16(bytes_, static_cast<uint32_t>(payload.size()) + 8);
    put16(bytes_, 0);
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    return *this;
  }
  PacketBuilder& udp(uint32_t source, uint32_t target, uint32_t payload) {
    return udp(source, target, Bytes(payload, 0x5A));
  }
  PacketBuilder& sctp(uint32_t source, uint32_t target, uint32_t payload) {
    next_header(132);
    put16(bytes_, source);
    put16(bytes_, target);
    put32(bytes_, 7);
    put32(bytes_, 0);
    return this->payload(payload);
  }
  PacketBuilder& icmp(uint32_t number, uint32_t type, uint32_t code, uint32_t payload) {
    next_header(number);  // 1 or 58
    bytes_.insert(bytes_.end(), {static_cast<uint8_t>(type), static_cast<uint8_t>(code), 0, 0});
    put32(bytes_, 0);
    return this->payload(payload);
  }
  PacketBuilder& protocol(uint32_t number, uint32_t payload) {
    next_header(number);
    return this->payload(payload);
  }
  PacketBuilder& payload(uint32_t bytes) {
    bytes_.insert(bytes_.end(), bytes, 0x5A);
    return *this;
  }

  // Writes all lengths. `pad_to`: the least frame length of Ethernet, padded behind the packet.
  Bytes finish(size_t pad_to = 0) {
    for (const Length& l : lengths_)
      set16(bytes_, l.at, static_cast<uint32_t>(bytes_.size() - l.from));
    if (bytes_.size() < pad_to) bytes_.resize(pad_to, 0);
    return bytes_;
  }

 private:
  struct Length {
    size_t at;    // where the 16-bit length stands
    size_t from;  // it counts from here
  };
  PacketBuilder& type_field() {
    type_at_ = bytes_.size();
    put16(bytes_, 0);
    return *this;
  }
  void announce(uint32_t ethertype) {
    if (type_at_ == kNone) return;  // raw IP, or behind MPLS
    set16(bytes_, type_at_,
          !ppp_                 ? ethertype
          : ethertype == 0x0800 ? 0x0021
          : ethertype == 0x86DD ? 0x0057
                                : 0);
    type_at_ = kNone;
  }
  void next_header(uint32_t number) {
    if (next_at_ != kNone) bytes_[next_at_] = static_cast<uint8_t>(number);
    next_at_ = kNone;
  }

  static constexpr size_t kNone = SIZE_MAX;
  Bytes bytes_;
  std::vector<Length> lengths_;
  size_t type_at_ = kNone;
  size_t next_at_ = kNone;
  bool ppp_ = false;
};

// A burst over frames that lie in separate heap blocks of their exact size, so that a sanitizer
// sees a read past the end.
class BurstBuilder {
 public:
  BurstBuilder& add(const Bytes& frame, int64_t arrival_ns = 1'000'000'000,
                    LinkType link = LinkType::kEthernet) {
    return add(frame, frame.size(), frame.size(), arrival_ns, link);
  }
  BurstBuilder& add(const Bytes& frame, size_t captured, size_t wire, int64_t arrival_ns,
                    LinkType link = LinkType::kEthernet) {
    auto copy = std::make_unique<std::byte[]>(captured);
    if (captured > 0) std::memcpy(copy.get(), frame.data(), captured);
    const uint32_t i = burst_.count++;
    burst_.data[i] = copy.get();
    burst_.length[i] = static_cast<uint32_t>(captured);
    burst_.wire_length[i] = static_cast<uint32_t>(wire);
    burst_.arrival[i] = EventTime{arrival_ns};
    burst_.interface[i] = 0;
    burst_.link[i] = link;
    burst_.owner[i] = nullptr;
    frames_.push_back(std::move(copy));
    return *this;
  }
  Burst& burst() { return burst_; }

 private:
  Burst burst_;
  std::vector<std::unique_ptr<std::byte[]>> frames_;
};

}  // namespace tidewire::test
