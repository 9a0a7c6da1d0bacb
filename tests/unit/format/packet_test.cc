// The packet format against frames built byte by byte: every field of every header, absence, the
// named counters, and every cut of a deep frame.

#include <gtest/gtest.h>

#include "parse_helper.h"
#include "query/field_text.h"
#include "query/flow_key.h"

namespace tidewire::test {
namespace {

constexpr uint32_t kA = ipv4_address(10, 0, 0, 1), kB = ipv4_address(10, 0, 0, 9);
constexpr int64_t kMapped = int64_t{0xFFFF} << 32;

struct One {
  std::vector<int64_t> words;
  LaneCounts counts;
  uint32_t events = 0;
};

One parse(const Bytes& frame, const std::vector<std::string>& fields,
          LinkType link = LinkType::kEthernet, size_t captured = SIZE_MAX, int64_t at = kSecond) {
  auto parser = parser_of("packet", fields);
  BurstBuilder burst;
  burst.add(frame, std::min(captured, frame.size()), frame.size(), at, link);
  One one;
  auto batch = std::make_unique<EventBatch>();
  receive(*parser, burst.burst(), one.counts);
  EXPECT_FALSE(parser->next(*batch, one.counts));
  one.events = batch->count;
  const uint32_t columns = map_of(schema_of("packet"), fields).used;
  for (uint32_t c = 0; c < columns && batch->count > 0; ++c)
    one.words.push_back(batch->column[c][0]);
  expect_balanced(one.counts);
  return one;
}

int64_t field(const Bytes& frame, const std::string& name, LinkType link = LinkType::kEthernet,
              size_t captured = SIZE_MAX) {
  const One one = parse(frame, {name}, link, captured);
  EXPECT_EQ(one.events, 1u);
  return one.words.empty() ? -999 : one.words.back();
}

using Words = std::vector<int64_t>;

std::string flow_to_text(const FlowKey& key) {
  std::array<char, kFieldTextMax> room;
  TextWriter out{room};
  const int64_t words[] = {key.high, key.low};
  append_field(out,
               schema_of("packet").fields[static_cast<size_t>(schema_of("packet").find("flow"))],
               words);
  return std::string(out.text());
}

TEST(Packet, EthernetIpv4Udp) {
  const Bytes frame = PacketBuilder()
                          .ethernet(0x0A0B0C0D0E0F, 0x010203040506)
                          .ipv4(kA, kB, {.tos = 0xB9, .ttl = 17})
                          .udp(40000, 53, 12)
                          .finish(60);
  EXPECT_EQ(parse(frame, {"src", "dst", "src_port", "dst_port", "protocol", "wire_length"}).words,
            (Words{0, kMapped | kA, 0, kMapped | kB, 40000, 53, 17, 60}));
  EXPECT_EQ(parse(frame, {"ip_length", "payload_length", "ethertype", "ttl", "dscp", "ecn"}).words,
            (Words{40, 12, 0x0800, 17, 46, 1}));  // 20 + 8 + 12; 0xB9 = 46 << 2 | 1
  EXPECT_EQ(parse(frame, {"src_mac", "dst_mac", "ip_version", "fragment", "interface"}).words,
            (Words{0x010203040506, 0x0A0B0C0D0E0F, 4, 0, 0}));
  EXPECT_EQ(parse(frame, {"vlan", "vlan_inner", "mpls", "tcp_flags", "icmp_type", "icmp_code",
                          "arp_operation"})
                .words,
            Words(7, kAbsent));
}

TEST(Packet, AddressesOfAFrameWithoutThemAreAbsent) {
  const One one = parse(PacketBuilder().ethernet().ethertype(0x88CC).payload(46).finish(),
                        {"src", "dst", "flow", "ethertype"});
  EXPECT_EQ(one.words, (Words{kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, 0x88CC}));
  EXPECT_EQ(noted(one.counts, Note::kUnknownEthertype), 1u);
}

TEST(Packet, AbsentAddressStaysADashUnderAPrefix) {
  KeyField key{.name = "src/24",
               .type = FieldType::kAddress,
               .words = 2,
               .prefix_ipv4 = 24,
               .prefix_ipv6 = 64,
               .may_be_absent = true};
  const auto text = [&](int64_t high, int64_t low) {
    std::array<char, kFieldTextMax> room;
    TextWriter out{room};
    const int64_t words[] = {high, low};
    append_field(out, key, words);
    return std::string(out.text());
  };
  EXPECT_EQ(text(kAbsent, 0), "-");  // both words of kAbsent under the mask of /64
  EXPECT_EQ(text(0, 0), "::/64");
  EXPECT_EQ(text(0, kMapped | ipv4_address(10, 0, 0, 0)), "10.0.0.0/24");
}

TEST(Packet, TcpWithOptionsAndPadding) {
  const Bytes frame = PacketBuilder()
                          .ethernet()
                          .ipv4(kA, kB, {.option_words = 3})
                          .tcp(80, 5, 0x12, 0, 2)
                          .finish(90);
  EXPECT_EQ(
      parse(frame, {"src_port", "dst_port", "tcp_flags", "payload_length", "ip_length"}).words,
      (Words{80, 5, 0x12, 0, 60}));  // (20 + 12) + (20 + 8); the frame's padding does not count
  EXPECT_EQ(field(frame, "wire_length"), 90);
}

TEST(Packet, SctpAndIcmp) {
  const Bytes sctp = PacketBuilder().ethernet().ipv4(kA, kB).sctp(36412, 9, 16).finish();
  EXPECT_EQ(parse(sctp, {"src_port", "dst_port", "protocol", "payload_length"}).words,
            (Words{36412, 9, 132, 16}));
  const Bytes icmp = PacketBuilder().ethernet().ipv4(kA, kB).icmp(1, 3, 4, 28).finish();
  EXPECT_EQ(parse(icmp, {"icmp_type", "icmp_code", "src_port", "payload_length"}).words,
            (Words{3, 4, kAbsent, 28}));
  const Bytes icmp6 = PacketBuilder()
                          .ethernet()
                          .ipv6(ipv6_address(1), ipv6_address(2))
                          .icmp(58, 135, 0, 20)
                          .finish();
  EXPECT_EQ(parse(icmp6, {"icmp_type", "icmp_code", "protocol"}).words, (Words{135, 0, 58}));
}

TEST(Packet, BothTagsOfQinQ) {
  for (const uint32_t outer : {0x8100u, 0x88A8u, 0x9100u}) {
    const Bytes frame = PacketBuilder()
                            .ethernet()
                            .vlan(outer, 4094, 5)
                            .vlan(0x8100, 7)
                            .ipv4(kA, kB)
                            .udp(1, 2, 3)
                            .finish();
    EXPECT_EQ(parse(frame, {"vlan", "vlan_inner", "ethertype", "dst_port"}).words,
              (Words{4094, 7, 0x0800, 2}));
  }
}

TEST(Packet, TooManyTagsStopCounted) {
  PacketBuilder tags;
  tags.ethernet();
  for (uint32_t i = 0; i < 5; ++i) tags.vlan(0x8100, 100 + i);
  const One one =
      parse(tags.ipv4(kA, kB).udp(1, 2, 3).finish(), {"vlan", "vlan_inner", "dst_port"});
  EXPECT_EQ(one.words, (Words{100, 101, kAbsent}));
  EXPECT_EQ(noted(one.counts, Note::kTooManyTags), 1u);
}

TEST(Packet, MplsStackThenNibble) {
  const Bytes v4 = PacketBuilder()
                       .ethernet()
                       .mpls(1000, false)
                       .mpls(2000, true)
                       .ipv4(kA, kB)
                       .udp(1, 2, 3)
                       .finish();
  EXPECT_EQ(parse(v4, {"mpls", "ethertype", "dst_port"}).words, (Words{1000, 0x8847, 2}));
  const Bytes v6 = PacketBuilder()
                       .ethernet()
                       .mpls(0xFFFFF, true)
                       .ipv6(ipv6_address(1), ipv6_address(2))
                       .udp(1, 9, 3)
                       .finish();
  EXPECT_EQ(parse(v6, {"mpls", "ip_version", "dst_port"}).words, (Words{0xFFFFF, 6, 9}));
  const Bytes control_word = PacketBuilder().ethernet().mpls(5, true).payload(40).finish();
  EXPECT_EQ(noted(parse(control_word, {"mpls"}).counts, Note::kUnknownEthertype), 1u);
}

TEST(Packet, PppoeSession) {
  const Bytes v4 = PacketBuilder().ethernet().pppoe(77).ipv4(kA, kB).udp(1, 2, 3).finish(60);
  EXPECT_EQ(parse(v4, {"ethertype", "src_port", "dst_port", "payload_length"}).words,
            (Words{0x8864, 1, 2, 3}));
  const Bytes v6 = PacketBuilder()
                       .ethernet()
                       .vlan(0x8100, 5)
                       .pppoe(77)
                       .ipv6(ipv6_address(1), ipv6_address(2))
                       .tcp(1, 2, 2, 0)
                       .finish();
  EXPECT_EQ(parse(v6, {"vlan", "ip_version", "tcp_flags"}).words, (Words{5, 6, 2}));
}

TEST(Packet, Arp) {
  const Bytes frame = PacketBuilder().ethernet().arp(1, kA, kB).finish(60);
  EXPECT_EQ(parse(frame, {"src", "dst", "arp_operation", "protocol", "ethertype"}).words,
            (Words{0, kMapped | kA, 0, kMapped | kB, 1, kAbsent, 0x0806}));
}

TEST(Packet, Ipv6ExtensionHeaders) {
  const Bytes frame = PacketBuilder()
                          .ethernet()
                          .ipv6(ipv6_address(1), ipv6_address(2), 0x2C, 5)
                          .extension(0)
                          .extension(60, 3)
                          .extension(43, 2)
                          .authentication(6)
                          .tcp(1024, 443, 0x18, 100)
                          .finish();
  const int64_t high = 0x20010db800000000;
  EXPECT_EQ(parse(frame, {"src", "dst", "src_port", "dst_port", "protocol", "tcp_flags"}).words,
            (Words{high, 1, high, 2, 1024, 443, 6, 0x18}));
  // 40 + 8 + 24 + 16 + 24 + 20 + 100
  EXPECT_EQ(parse(frame, {"ip_length", "payload_length", "dscp", "ecn", "ttl"}).words,
            (Words{232, 100, 11, 0, 5}));
}

TEST(Packet, EspStops) {
  const One one = parse(
      PacketBuilder().ethernet().ipv6(ipv6_address(1), ipv6_address(2)).protocol(50, 40).finish(),
      {"protocol", "src_port"});
  EXPECT_EQ(one.words, (Words{50, kAbsent}));
  EXPECT_EQ(noted(one.counts, Note::kUnknownProtocol), 0u);
}

TEST(Packet, FragmentsOfIpv4) {
  const One first = parse(
      PacketBuilder().ethernet().ipv4(kA, kB, {.flags_and_offset = 0x2000}).udp(7, 8, 16).finish(),
      {"src_port", "dst_port", "fragment", "protocol", "payload_length"});
  EXPECT_EQ(first.words, (Words{7, 8, 1, 17, 16}));
  EXPECT_EQ(noted(first.counts, Note::kFragmentFirst), 1u);
  const One later = parse(
      PacketBuilder().ethernet().ipv4(kA, kB, {.flags_and_offset = 3}).protocol(17, 24).finish(),
      {"src_port", "dst_port", "fragment", "protocol", "payload_length"});
  EXPECT_EQ(later.words, (Words{kAbsent, kAbsent, 2, 17, 24}));
  EXPECT_EQ(noted(later.counts, Note::kFragmentLater), 1u);
  // "do not fragment" alone is not a fragment
  EXPECT_EQ(field(PacketBuilder()
                      .ethernet()
                      .ipv4(kA, kB, {.flags_and_offset = 0x4000})
                      .udp(7, 8, 16)
                      .finish(),
                  "fragment"),
            0);
}

TEST(Packet, FragmentsOfIpv6) {
  const auto start = [] {
    return PacketBuilder().ethernet().ipv6(ipv6_address(1), ipv6_address(2));
  };
  const std::vector<std::string> fields{"dst_port", "fragment", "protocol"};
  EXPECT_EQ(parse(start().fragment(0, true).udp(7, 8, 16).finish(), fields).words,
            (Words{8, 1, 17}));
  EXPECT_EQ(parse(start().fragment(185, false).protocol(17, 16).finish(), fields).words,
            (Words{kAbsent, 2, 17}));
  // An atomic fragment is whole (RFC 6946).
  EXPECT_EQ(parse(start().fragment(0, false).udp(7, 8, 16).finish(), fields).words,
            (Words{8, 0, 17}));
}

TEST(Packet, OtherLinkTypes) {
  const auto ip = [](PacketBuilder b) { return b.ipv4(kA, kB).udp(1, 2, 3).finish(); };
  const std::vector<std::string> fields{"dst_port", "src_mac"};
  EXPECT_EQ(parse(ip(PacketBuilder()), fields, LinkType::kRaw).words, (Words{2, kAbsent}));
  EXPECT_EQ(parse(ip(PacketBuilder()), fields, LinkType::kIpv4).words, (Words{2, kAbsent}));
  EXPECT_EQ(parse(PacketBuilder().ipv6(ipv6_address(1), ipv6_address(2)).udp(1, 2, 3).finish(),
                  fields, LinkType::kIpv6)
                .words,
            (Words{2, kAbsent}));
  EXPECT_EQ(parse(ip(PacketBuilder().linux_sll()), fields, LinkType::kLinuxSll).words,
            (Words{2, 0x020000000001}));
  EXPECT_EQ(parse(ip(PacketBuilder().linux_sll2()), fields, LinkType::kLinuxSll2).words,
            (Words{2, 0x020000000001}));
  for (const bool big_endian : {false, true})
    EXPECT_EQ(
        parse(ip(PacketBuilder().null_loopback(2, big_endian)), fields, LinkType::kNull).words,
        (Words{2, kAbsent}));
  for (const uint32_t family : {10u, 24u, 28u, 30u})
    EXPECT_EQ(parse(PacketBuilder()
                        .null_loopback(family, true)
                        .ipv6(ipv6_address(1), ipv6_address(2))
                        .udp(1, 2, 3)
                        .finish(),
                    fields, LinkType::kLoop)
                  .words,
              (Words{2, kAbsent}));
  EXPECT_EQ(
      field(PacketBuilder().ethernet().llc_snap().ipv4(kA, kB).udp(1, 2, 3).finish(), "dst_port"),
      2);
}

TEST(Packet, DropsHaveNames) {
  const Bytes good = PacketBuilder().ethernet().ipv4(kA, kB).udp(1, 2, 3).finish();
  const auto why = [](const One& one) {
    EXPECT_EQ(one.events, 0u);
    for (size_t r = 0; r < one.counts.dropped.size(); ++r)
      if (one.counts.dropped[r] == 1) return static_cast<DropReason>(r);
    return DropReason::kCount;
  };
  EXPECT_EQ(why(parse(good, {}, static_cast<LinkType>(147))), DropReason::kUnknownLink);
  EXPECT_EQ(why(parse(good, {}, LinkType::kEthernet, 13)), DropReason::kTruncated);
  EXPECT_EQ(why(parse(good, {}, LinkType::kLinuxSll, 15)), DropReason::kTruncated);
  EXPECT_EQ(why(parse(good, {}, LinkType::kLinuxSll2, 19)), DropReason::kTruncated);
  EXPECT_EQ(why(parse(good, {}, LinkType::kNull, 3)), DropReason::kTruncated);
  EXPECT_EQ(why(parse(good, {}, LinkType::kRaw, 0)), DropReason::kTruncated);
  EXPECT_EQ(why(parse(good, {}, LinkType::kRaw)), DropReason::kMalformed);  // 0x02...
  EXPECT_EQ(why(parse(good, {}, LinkType::kIpv4)), DropReason::kMalformed);
  EXPECT_EQ(why(parse(good, {}, LinkType::kIpv6)), DropReason::kMalformed);
  EXPECT_EQ(why(parse(good, {}, LinkType::kEthernet, SIZE_MAX, EventTime::before_all().ns)),
            DropReason::kNoTime);
}

TEST(Packet, OddLengthsAndVersionsAreNoted) {
  const Bytes good = PacketBuilder().ethernet().ipv4(kA, kB).udp(1, 2, 30).finish();
  const auto with = [&](size_t at, uint8_t value) {
    Bytes b = good;
    b[at] = value;
    return b;
  };
  const std::vector<std::string> fields{"ip_version", "dst_port"};
  const One version = parse(with(14, 0x65), fields);
  EXPECT_EQ(version.words, (Words{kAbsent, kAbsent}));
  EXPECT_EQ(noted(version.counts, Note::kBadVersion), 1u);
  const One header = parse(with(14, 0x44), fields);  // 16 bytes of header
  EXPECT_EQ(header.words, (Words{4, kAbsent}));
  EXPECT_EQ(noted(header.counts, Note::kBadLength), 1u);
  const One shorter = parse(with(17, 19), fields);  // total length below the header's
  EXPECT_EQ(shorter.words, (Words{4, kAbsent}));
  EXPECT_EQ(noted(shorter.counts, Note::kBadLength), 1u);
  const One longer = parse(with(17, 200), fields);
  EXPECT_EQ(longer.words, (Words{4, 2}));
  EXPECT_EQ(noted(longer.counts, Note::kBadLength), 1u);
  // Total length 0, as segmentation offload leaves it: all that is there.
  EXPECT_EQ(parse(with(17, 0), {"ip_length", "dst_port"}).words, (Words{58, 2}));
  const One udp = parse(with(39, 7), {"dst_port", "payload_length"});  // below UDP's own header
  EXPECT_EQ(udp.words, (Words{2, kAbsent}));
  EXPECT_EQ(noted(udp.counts, Note::kBadLength), 1u);
}

TEST(Packet, TransportStaysInsideTheIpPacket) {
  // Total length 22: two bytes of UDP; what follows in the frame is padding, not ports.
  Bytes frame = PacketBuilder().ethernet().ipv4(kA, kB).udp(1, 2, 30).finish();
  frame[17] = 22;
  const One one = parse(frame, {"src_port", "ip_length"});
  EXPECT_EQ(one.words, (Words{kAbsent, 22}));
  EXPECT_EQ(noted(one.counts, Note::kTruncatedHeader), 1u);
}

TEST(Packet, CutByCaptureKeepsTheHeadersNumbers) {
  const Bytes frame = PacketBuilder().ethernet().ipv4(kA, kB).tcp(1, 2, 0x10, 1400).finish();
  const One one = parse(frame, {"wire_length", "captured_length", "ip_length", "payload_length"},
                        LinkType::kEthernet, 54);
  EXPECT_EQ(one.words, (Words{1454, 54, 1440, 1400}));
  EXPECT_EQ(noted(one.counts, Note::kCutByCapture), 1u);
  EXPECT_EQ(noted(one.counts, Note::kTruncatedHeader), 0u);
}

// A sum of lengths stays exact in 64 bits because no length has more than 23: what a damaged record
// says beyond that is cut to it and counted.
TEST(Packet, NoFrameIsLongerThanAnyLinkCarries) {
  const Field& length =
      schema_of("packet").fields[static_cast<size_t>(schema_of("packet").find("wire_length"))];
  EXPECT_EQ(length.bits, 23);
  // Total length 0 (segmentation offload): the IP packet is as long as the wire says.
  Bytes frame = PacketBuilder().ethernet().ipv4(kA, kB).tcp(1, 2, 0x10, 0).finish();
  frame[16] = frame[17] = 0;
  auto parser = parser_of("packet", {"wire_length", "ip_length"});
  BurstBuilder burst;
  constexpr size_t kMost = (1u << 23) - 1;
  for (const size_t wire : {kMost, kMost + 1, size_t{UINT32_MAX}})
    burst.add(frame, frame.size(), wire, kSecond);
  auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  receive(*parser, burst.burst(), counts);
  EXPECT_FALSE(parser->next(*batch, counts));
  ASSERT_EQ(batch->count, 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(batch->column[0][i], static_cast<int64_t>(kMost));
    EXPECT_EQ(batch->column[1][i], static_cast<int64_t>(kMost) - 14);
  }
  EXPECT_EQ(noted(counts, Note::kBadLength), 2u);
}

// What each cut leaves of Ethernet 14, two tags 8, IPv6 40, hop-by-hop 8, destination options 16,
// TCP 20, payload 10.
TEST(Packet, EveryCutOfADeepFrame) {
  const Bytes frame = PacketBuilder()
                          .ethernet()
                          .vlan(0x88A8, 30)
                          .vlan(0x8100, 40)
                          .ipv6(ipv6_address(1), ipv6_address(2))
                          .extension(0)
                          .extension(60, 2)
                          .tcp(1024, 443, 0x18, 10)
                          .finish();
  ASSERT_EQ(frame.size(), 14u + 8 + 40 + 8 + 16 + 20 + 10);
  for (size_t cut = 0; cut <= frame.size(); ++cut) {
    SCOPED_TRACE(cut);
    const One one = parse(
        frame,
        {"vlan", "vlan_inner", "ip_version", "protocol", "dst_port", "tcp_flags", "payload_length"},
        LinkType::kEthernet, cut);
    if (cut < 14) {
      EXPECT_EQ(dropped(one.counts, DropReason::kTruncated), 1u);
      continue;
    }
    ASSERT_EQ(one.events, 1u);
    const auto from = [&](size_t least, int64_t value) { return cut >= least ? value : kAbsent; };
    EXPECT_EQ(one.words, (Words{from(18, 30), from(22, 40), from(62, 6), from(78, 6), from(90, 443),
                                from(100, 0x18), from(99, 10)}));
    EXPECT_EQ(noted(one.counts, Note::kTruncatedHeader), cut < 106 ? 1u : 0u);
  }
}

TEST(Packet, OutOfRangeTimesEndCounted) {
  auto parser = parser_of("packet", {"dst_port"}, {});
  const Bytes frame = PacketBuilder().ethernet().ipv4(kA, kB).udp(1, 2, 3).finish();
  BurstBuilder burst;
  constexpr int64_t kEdge = INT64_MAX - (int64_t{1} << 61);
  for (const int64_t t : {-kEdge - 1, -kEdge, kEdge, kEdge + 1}) burst.add(frame, t);
  burst.burst().first = Position{50};
  auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  receive(*parser, burst.burst(), counts);
  EXPECT_FALSE(parser->next(*batch, counts));
  EXPECT_EQ(batch->count, 2u);
  EXPECT_EQ(batch->time[0].ns, -kEdge);
  EXPECT_EQ(batch->time[1].ns, kEdge);
  EXPECT_EQ(index_of(batch->first), 51u);
  EXPECT_EQ(index_of(batch->ordinal), 0u);
  EXPECT_EQ(counts.ended.out_of_range, 2u);
  expect_balanced(counts);
  receive(*parser, burst.burst(), counts);
  EXPECT_FALSE(parser->next(*batch, counts));
  EXPECT_EQ(index_of(batch->ordinal), 2u);
}

// Declared ones have their ids before any packet; 0 stands for no value.
TEST(Packet, DeclaredPartitionsComeFirstAndAllHaveValues) {
  ParserOptions options;
  options.max_partitions = 4;
  options.partition_field = schema_of("packet").find("dst_port");
  options.declared = {{443, 0}, {53, 0}};
  const auto parser = parser_of("packet", {"dst_port"}, options);
  std::array<int64_t, 2> value{};
  EXPECT_TRUE(parser->partition_value(PartitionId{2}, value));
  EXPECT_EQ(value[0], 53);
  EXPECT_FALSE(parser->partition_value(PartitionId{3}, value));
  EXPECT_FALSE(parser->partition_value(PartitionId{0}, value));
  EXPECT_FALSE(parser_of("packet", {"dst_port"})->partition_value(PartitionId{0}, value));
}

TEST(Packet, PartitionsInOrderOfDiscovery) {
  ParserOptions options;
  options.max_partitions = 3;  // 0 and two values
  options.partition_field = schema_of("packet").find("src");
  auto parser = parser_of("packet", {}, options);
  BurstBuilder burst;
  for (const uint32_t host : {7u, 5u, 7u, 9u, 5u, 9u})
    burst.add(
        PacketBuilder().ethernet().ipv4(ipv4_address(10, 0, 0, host), kB).udp(1, 2, 3).finish());
  auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  receive(*parser, burst.burst(), counts);
  EXPECT_FALSE(parser->next(*batch, counts));
  std::vector<uint32_t> got;
  for (uint32_t i = 0; i < batch->count; ++i) got.push_back(index_of(batch->partition[i]));
  EXPECT_EQ(got, (std::vector<uint32_t>{1, 2, 1, 0, 2, 0}));
  EXPECT_EQ(noted(counts, Note::kPartitionOverflow), 2u);
}

TEST(FlowKey, SameForBothDirections) {
  const auto flow = [](const Bytes& frame) {
    const One one = parse(frame, {"flow"});
    return FlowKey{one.words[0], one.words[1]};
  };
  const Bytes there = PacketBuilder().ethernet().ipv4(kB, kA).udp(40000, 53, 3).finish();
  const Bytes back = PacketBuilder().ethernet().ipv4(kA, kB).udp(53, 40000, 99).finish();
  EXPECT_EQ(flow(there), flow(back));
  EXPECT_EQ(flow_to_text(flow(there)), "10.0.0.1:53 <-> 10.0.0.9:40000 udp");
  const Bytes tcp = PacketBuilder().ethernet().ipv4(kA, kB).tcp(53, 40000, 2, 0).finish();
  EXPECT_EQ(flow_to_text(flow(tcp)), "10.0.0.1:53 <-> 10.0.0.9:40000 tcp");
  // The same host at both ends: the smaller port first.
  EXPECT_EQ(flow_to_text(flow(PacketBuilder().ethernet().ipv4(kA, kA).udp(9, 8, 0).finish())),
            "10.0.0.1:8 <-> 10.0.0.1:9 udp");
  EXPECT_EQ(flow_to_text(flow(PacketBuilder().ethernet().ipv4(kB, kA).icmp(1, 8, 0, 0).finish())),
            "10.0.0.1 <-> 10.0.0.9 icmp");
  EXPECT_EQ(flow_to_text(flow(PacketBuilder().ethernet().arp(1, kA, kB).finish())), "-");
  const auto six = [](uint8_t a, uint8_t b, uint32_t from, uint32_t to) {
    return PacketBuilder()
        .ethernet()
        .ipv6(ipv6_address(a), ipv6_address(b))
        .udp(from, to, 3)
        .finish();
  };
  EXPECT_EQ(flow(six(1, 2, 53, 99)), flow(six(2, 1, 99, 53)));
  EXPECT_NE(flow(six(1, 2, 53, 99)), flow(six(1, 2, 99, 53)));
  EXPECT_NE(flow(six(1, 2, 53, 99)), flow(six(1, 3, 53, 99)));
  EXPECT_EQ(flow_to_text(flow(six(1, 2, 53, 99))).substr(0, 6), "flow6:");
}

TEST(FlowKey, Ipv4IsReadBackExactly) {
  const FlowKey key = flow_key_ipv4({0, 0xFFFFFFFF, 65535}, {0, 0, 0}, 255, true);
  const FlowIpv4 flow = unpack_flow_ipv4(key);
  EXPECT_EQ(flow.address_a, 0u);
  EXPECT_EQ(flow.address_b, 0xFFFFFFFFu);
  EXPECT_EQ(flow.port_a, 0);
  EXPECT_EQ(flow.port_b, 65535);
  EXPECT_EQ(flow.protocol, 255);
  EXPECT_TRUE(flow.has_ports);
  // Port 0 on the wire and no ports at all are two flows.
  EXPECT_NE(flow_key_ipv4({0, 1, 0}, {0, 2, 0}, 17, true),
            flow_key_ipv4({0, 1, 0}, {0, 2, 0}, 17, false));
}

TEST(Catalog, NamesAndErrors) {
  for (const std::string_view name : format_names()) {
    FormatOptions options;
    options.time = "t";
    const auto format = open_format(name, options);
    ASSERT_TRUE(format.ok()) << format.status();
    EXPECT_EQ((*format)->schema().format, name);
  }
  EXPECT_FALSE(open_format("pcaket").ok());
}

}  // namespace
}  // namespace tidewire::test
