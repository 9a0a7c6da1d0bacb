// Two properties of read_headers on damaged frames: it reads nothing past the bytes that are there
// (each frame lies in a heap block of its exact size, for the sanitizer), and its short way for
// plain packets says what the long way says.

#include "format/headers.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/rng.h"
#include "itch_builder.h"
#include "packet_builder.h"

namespace tidewire::test {
namespace {

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261201;
}

std::vector<Bytes> frames() {
  const uint32_t a = ipv4_address(10, 0, 0, 1), b = ipv4_address(10, 0, 0, 2);
  const Ipv6 c = ipv6_address(1), d = ipv6_address(2);
  const auto start = [] { return PacketBuilder().ethernet(); };
  return {
      start().ipv4(a, b).udp(1, 2, 12).finish(),
      start().ipv4(a, b).tcp(1, 2, 0x18, 5, 3).finish(),
      start().ipv4(a, b, {.option_words = 2}).udp(1, 2, 3).finish(64),
      start().ipv4(a, b, {.flags_and_offset = 0x2000}).udp(1, 2, 3).finish(),
      start().ipv4(a, b).icmp(1, 8, 0, 8).finish(),
      start().ipv4(a, b).sctp(1, 2, 8).finish(),
      start().arp(1, a, b).finish(),
      start()
          .vlan(0x88A8, 1)
          .vlan(0x8100, 2)
          .ipv6(c, d)
          .extension(0)
          .extension(43, 2)
          .tcp(1, 2, 2, 4)
          .finish(),
      start().ipv6(c, d).fragment(0, true).udp(1, 2, 8).finish(),
      start().ipv6(c, d).authentication(4).udp(1, 2, 8).finish(),
      start().mpls(5, false).mpls(6, true).ipv4(a, b).udp(1, 2, 3).finish(),
      start().pppoe(9).ipv6(c, d).icmp(58, 128, 0, 4).finish(),
      start().llc_snap().ipv4(a, b).udp(1, 2, 3).finish(),
  };
}

void expect_same(const Headers& x, const Headers& y) {
  EXPECT_EQ(x.end, y.end);
  EXPECT_EQ(x.ip_length, y.ip_length);
  EXPECT_EQ(x.payload_length, y.payload_length);
  EXPECT_EQ(x.ethertype, y.ethertype);
  EXPECT_EQ(x.mpls, y.mpls);
  EXPECT_EQ(x.arp_operation, y.arp_operation);
  EXPECT_EQ(x.vlan, y.vlan);
  EXPECT_EQ(x.vlan_inner, y.vlan_inner);
  EXPECT_EQ(x.source_mac, y.source_mac);
  EXPECT_EQ(x.target_mac, y.target_mac);
  EXPECT_EQ(x.ip, y.ip);
  EXPECT_EQ(x.source, y.source);
  EXPECT_EQ(x.target, y.target);
  EXPECT_EQ(x.transport, y.transport);
  EXPECT_EQ(x.protocol, y.protocol);
  EXPECT_EQ(x.ip_version, y.ip_version);
  EXPECT_EQ(x.has_ports, y.has_ports);
  EXPECT_EQ(x.has_tcp_flags, y.has_tcp_flags);
  EXPECT_EQ(x.has_icmp, y.has_icmp);
  EXPECT_EQ(x.fragment, y.fragment);
}

// Every place that the parsers may read must lie inside the frame.
void expect_inside(const Headers& h, size_t length) {
  const auto inside = [&](uint16_t place, size_t bytes) {
    EXPECT_TRUE(bytes == 0 || place == kNowhere || place + bytes <= length) << place;
  };
  const size_t address = h.ip_version == 6 ? 16 : 4;
  inside(h.source_mac, 6);
  inside(h.target_mac, 6);
  inside(h.ip, h.ip_version == 6 ? 40 : 20);
  inside(h.source, address);
  inside(h.target, address);
  inside(h.transport, h.has_tcp_flags ? 14 : h.has_ports ? 4 : h.has_icmp ? 2 : 0);
  EXPECT_LE(h.end, length);
}

TEST(Headers, ShortAndLongWayAgreeOnDamagedFrames) {
  Rng rng(seed());
  SCOPED_TRACE("TIDEWIRE_SEED=" + std::to_string(seed()));
  const std::vector<Bytes> whole = frames();
  uint32_t plain = 0;
  for (int round = 0; round < 100'000 && !::testing::Test::HasFailure(); ++round) {
    Bytes frame = whole[rng.below(whole.size())];
    const uint64_t changes = rng.below(4);
    for (uint64_t i = 0; i < changes; ++i)
      frame[rng.below(frame.size())] = static_cast<uint8_t>(
          rng.one_in(2) ? rng.next() : rng.below(48));  // small numbers hit lengths and protocols
    if (rng.one_in(4)) frame.resize(rng.below(frame.size() + 1));
    const auto wire = static_cast<uint32_t>(frame.size() + (rng.one_in(4) ? rng.below(100) : 0));
    const std::vector<std::byte> exact(
        reinterpret_cast<const std::byte*>(frame.data()),
        reinterpret_cast<const std::byte*>(frame.data()) + frame.size());
    const auto length = static_cast<uint32_t>(exact.size());
    Headers one, other;
    LaneCounts counts, counts_other;
    const auto reason = read_headers(LinkType::kEthernet, exact.data(), length, wire, one, counts);
    EXPECT_EQ(reason, read_any_headers(LinkType::kEthernet, exact.data(), length, wire, other,
                                       counts_other));
    if (length < wire) counts_other.note(Note::kCutByCapture);
    EXPECT_EQ(counts.noted, counts_other.noted);
    if (reason) continue;
    expect_same(one, other);
    expect_inside(one, length);
    Headers third;
    plain +=
        read_plain_headers(reinterpret_cast<const uint8_t*>(exact.data()), length, wire, third);
  }
  EXPECT_GT(plain, 1000u);  // the short way was taken, too
}

// Each byte of each frame takes each value, and each link type reads it.
TEST(Headers, EveryByteWithEveryValueUnderEveryLinkType) {
  const LinkType links[] = {LinkType::kEthernet, LinkType::kNull,      LinkType::kRaw,
                            LinkType::kLoop,     LinkType::kLinuxSll,  LinkType::kIpv4,
                            LinkType::kIpv6,     LinkType::kLinuxSll2, static_cast<LinkType>(9999)};
  LaneCounts counts;
  for (const Bytes& frame : frames()) {
    std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(frame.data()),
                                 reinterpret_cast<const std::byte*>(frame.data()) + frame.size());
    const auto length = static_cast<uint32_t>(bytes.size());
    for (std::byte& b : bytes) {
      const std::byte was = b;
      for (int value = 0; value < 256; ++value) {
        b = static_cast<std::byte>(value);
        for (const LinkType link : links) {
          Headers h;
          if (!read_headers(link, bytes.data(), length, length, h, counts))
            expect_inside(h, length);
        }
      }
      b = was;
    }
  }
}

}  // namespace
}  // namespace tidewire::test
