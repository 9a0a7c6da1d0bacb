// Captures of other tools, against what tshark 4.0 says of them. For each file:
//   tshark -r FILE -Y frame.encap_type -T fields -e frame.time_epoch -e frame.len -e frame.cap_len
// (the filter leaves out custom blocks, which tshark lists as records):
// packets, sum of lengths, sum of captured lengths, packets without a time, first and last time.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "framed.h"

namespace tidewire::test {
namespace {

struct Golden {
  const char* file;
  uint64_t packets;
  uint64_t wire_bytes;
  uint64_t captured_bytes;
  uint64_t untimed;
  int64_t earliest;  // 0 where no packet has a time
  int64_t latest;
};

constexpr Golden kGolden[] = {
    {"capture/gopacket/le/test902.pcapng", 1, 314, 314, 0, 1519128000195312500,
     1519128000195312500},
    {"capture/pcap-parser/err-buffertoosmall.pcapng", 27, 8687, 8687, 0, 1681769419966695000,
     1681769420559625000},
    {"capture/pcap-parser/modified-format.pcap", 1, 98, 98, 0, 1712763541734807000,
     1712763541734807000},
    {"capture/pcap-parser/ntp.pcap", 12, 1080, 1080, 0, 1476535656489094000, 1476535739793479000},
    {"capture/pcap-parser/wireshark_samples-test.pcapng", 5898, 959259, 959259, 0,
     1506883716995391962, 1506885398126674489},
    {"capture/pcapng-test-generator/output_le/advanced/test100.pcapng", 5, 1480, 1480, 2,
     1340954905298858000, 1340954905301858000},
    {"capture/pcapng-test-generator/output_le/advanced/test101.pcapng", 4, 1138, 488, 1,
     1340954905298858000, 1340954905301858000},
    {"capture/pcapng-test-generator/output_le/advanced/test102.pcapng", 5, 1480, 798, 1,
     1340954905298858000, 1340954905301858000},
    {"capture/pcapng-test-generator/output_le/basic/test001.pcapng", 4, 1312, 1312, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test002.pcapng", 0, 0, 0, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test003.pcapng", 0, 0, 0, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test004.pcapng", 4, 1312, 448, 0,
     1340954905298858000, 1340954905301858000},
    {"capture/pcapng-test-generator/output_le/basic/test005.pcapng", 4, 1312, 448, 0,
     1340954905298858000, 1340954905301858000},
    {"capture/pcapng-test-generator/output_le/basic/test006.pcapng", 5, 1480, 552, 0,
     1340954905298858000, 1340954905302858000},
    {"capture/pcapng-test-generator/output_le/basic/test007.pcapng", 1, 314, 96, 0,
     1340954905298858000, 1340954905298858000},
    {"capture/pcapng-test-generator/output_le/basic/test008.pcapng", 4, 1312, 448, 0,
     1340954905298858, 1340954905301858},
    {"capture/pcapng-test-generator/output_le/basic/test009.pcapng", 2, 656, 656, 0,
     1340954905298858000, 1340954905299858000},
    {"capture/pcapng-test-generator/output_le/basic/test010.pcapng", 4, 1312, 1312, 4, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test011.pcapng", 4, 1312, 1312, 2,
     1340954905298858000, 1340954905300858000},
    {"capture/pcapng-test-generator/output_le/basic/test012.pcapng", 4, 1312, 1258, 2, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test013.pcapng", 0, 0, 0, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test014.pcapng", 0, 0, 0, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test015.pcapng", 0, 0, 0, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test016.pcapng", 4, 1312, 1312, 2,
     1340954905298858000, 1340954905300858000},
    {"capture/pcapng-test-generator/output_le/basic/test017.pcapng", 0, 0, 0, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/basic/test018.pcapng", 4, 1312, 1312, 2,
     1340954905298858000, 1340954905300858000},
    {"capture/pcapng-test-generator/output_le/difficult/test200.pcapng", 0, 0, 0, 0, 0, 0},
    {"capture/pcapng-test-generator/output_le/difficult/test201.pcapng", 4, 1138, 520, 1,
     1340954905298858000, 1340954905301858000},
    {"capture/pcapng-test-generator/output_le/difficult/test202.pcapng", 8, 2304, 1040, 2,
     1340954905298858000, 1340954905301858000},
    {"capture/tcpdump/802_15_4_beacon.pcap", 1, 39, 39, 0, 1477654255515816000,
     1477654255515816000},
    {"capture/tcpdump/ip6_frag_asan.pcap", 1, 262144, 60, 0, 2145916800000000000,
     2145916800000000000},
    {"capture/tcpdump/ipoib.pcap", 30, 4574, 4574, 0, 1555605152697187000, 1555605229323197000},
    {"capture/tcpdump/isup.pcap", 6, 584, 584, 0, 1089032999862196000, 1089033016952114000},
    {"capture/tcpdump/pptp.pcap", 23, 2072, 2072, 0, 954147395148077000, 954147396347775000},
    {"capture/tcpdump/slow-ossp.pcap", 1, 66, 66, 0, 1758639600000000000, 1758639600000000000},
    {"capture/tcpdump/tcp-handshake-nano.pcap", 3, 220, 220, 0, 1418145369924505488,
     1418145370052115157},
    {"capture/tcpdump/udp-length-heapoverflow.pcap", 1, 262144, 38, 0, 808464432999999000,
     808464432999999000},
    {"capture/zeek/pcapng-multi-interface.pcapng", 6, 798, 798, 0, 1767663089500330493,
     1767663437140942000},
    {"capture/zeek/ticks-dns.pcap", 10, 730, 730, 0, 629503200000000000, 629503209000000000},
    {"encap/snabb/udp-afteraftr-ipv6-2frags.pcap", 2, 1584, 1584, 0, 0, 0},
    {"encap/snabb/udp-frominet-3frag-bound.pcap", 3, 1542, 1542, 0, 0, 0},
    {"encap/suricata-verify/gre-udp.pcap", 3, 222, 222, 0, 1669305098513355000,
     1669305098514770000},
    {"encap/suricata-verify/ipv4frags.pcap", 3, 2918, 2918, 0, 1506945812535132000,
     1506945812535641000},
    {"encap/suricata-verify/truncated.pcap", 1, 1530, 1530, 0, 1734374386302630000,
     1734374386302630000},
    {"encap/suricata-verify/vxlan.pcap", 10, 1368, 1368, 0, 1368908504837063000,
     1368908507885359000},
    {"encap/tcpdump/802.1ad_QinQ.pcap", 2, 128, 128, 0, 1575842394599412000, 1575842394599680000},
    {"encap/tcpdump/erspan-type-i-1.pcap", 2, 280, 280, 0, 1315400999174316000,
     1315400999174822000},
    {"encap/tcpdump/erspan-type-ii-1.pcap", 1, 122, 122, 0, 1315421608139390000,
     1315421608139390000},
    {"encap/tcpdump/erspan-type-iii-ft-0.pcap", 9, 1368, 1368, 0, 1569743906661437000,
     1569743914853463000},
    {"encap/tcpdump/mpls-over-udp.pcap", 2, 260, 260, 0, 1581189012233047000, 1581189012233101000},
    {"encap/zeek/erspanII.pcap", 4, 656, 656, 0, 1402723255667881000, 1402723255669608000},
    {"encap/zeek/erspanIII.pcap", 2, 304, 304, 0, 1547208014232092000, 1547208014236397000},
    {"encap/zeek/geneve-ipv6.pcap", 2, 206, 206, 0, 1780571456686121000, 1780571456686515000},
    {"encap/zeek/geneve.pcap", 6, 912, 912, 0, 1402706119542940000, 1402706121543122000},
    {"encap/zeek/gre-sample.pcap", 40, 6731, 6731, 0, 1055289968793044000, 1055289996921473000},
    {"encap/zeek/http-qinq-0.pcap", 14, 6199, 6199, 0, 1362692526869344000, 1362692527080972000},
    {"encap/zeek/http-vlan-0.pcap", 14, 6143, 6143, 0, 1362692526869344000, 1362692527080972000},
    {"encap/zeek/ipv4/fragmented-1.pcap", 3, 548, 548, 0, 950988235155866000, 950988235156457000},
    {"encap/zeek/ipv4/fragmented-2.pcap", 3, 270, 270, 0, 950988235200823000, 950988235200957000},
    {"encap/zeek/ipv4/fragmented-3.pcap", 5, 7570, 7570, 0, 964750760184607000, 964750760259631000},
    {"encap/zeek/ipv4/fragmented-4.pcap", 6, 357, 357, 0, 1020580534846229000, 1020580534846229000},
    {"encap/zeek/ipv4/fragmented-syn.pcap", 2, 108, 108, 0, 1756907829066973000,
     1756907829067038000},
    {"encap/zeek/mixed-vlan-mpls.pcap", 47, 16403, 16403, 0, 952109346874907000,
     1278600802074822000},
    {"encap/zeek/trunc/icmp-header-trunc.pcap", 2, 196, 80, 0, 1338328954078361000,
     1338328954099743000},
    {"encap/zeek/trunc/icmp-payload-trunc.pcap", 4, 392, 320, 0, 1338324909690784000,
     1338324912702087000},
    {"encap/zeek/trunc/ip-discarder-truncated-tcp-oob.pcapng", 1, 54, 34, 0, 1000, 1000},
    {"encap/zeek/trunc/ip4-trunc.pcap", 1, 46, 20, 0, 1334160095895421000, 1334160095895421000},
    {"encap/zeek/trunc/ip6-ext-trunc.pcap", 1, 54, 54, 0, 1334094648590126000, 1334094648590126000},
    {"encap/zeek/trunc/ip6-trunc.pcap", 1, 74, 48, 0, 1334156241519125000, 1334156241519125000},
    {"encap/zeek/trunc/ipv4-internally-truncated-header.pcap", 1, 134, 34, 0, 1508360735834163000,
     1508360735834163000},
    {"encap/zeek/trunc/ipv4-truncated-broken-header.pcap", 1, 34, 34, 0, 1508360735834163000,
     1508360735834163000},
    {"encap/zeek/trunc/mpls-6in6-6in6-4in6-trunc.pcap", 1, 128, 128, 0, 1500557630000000000,
     1500557630000000000},
    {"encap/zeek/trunc/trunc-hdr.pcap", 1, 78, 8, 0, 1404148886981015000, 1404148886981015000},
    {"encap/zeek/vxlan.pcap", 10, 1368, 1368, 0, 1467818432675392000, 1467818435680663000},
    {"flow/tcpdump/sflow_expanded.pcap", 1, 370, 370, 0, 1672326228557763000, 1672326228557763000},
    {"flow/tcpdump/sflow_multiple_counter_30_pdus.pcap", 30, 28804, 28804, 0, 1301703210597291000,
     1301703212940683000},
    {"flow/tcpdump/sflow_print-segv.pcap", 1, 914, 914, 0, 1148058293834750000,
     1148058293834750000},
};

Bytes contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string s{std::istreambuf_iterator<char>(in), {}};
  Bytes b(s.size());
  std::memcpy(b.data(), s.data(), s.size());
  return b;
}

bool samples_are_here() { return std::filesystem::exists(SAMPLES "/capture"); }

TEST(Samples, EqualTshark) {
  if (!samples_are_here()) GTEST_SKIP() << "no ../shared/samples/capture";
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.file);
    const Bytes file = contents(std::string(SAMPLES) + "/" + golden.file);
    Golden got{golden.file, 0, 0, 0, 0, INT64_MAX, INT64_MIN};
    const Framing whole = frame_all(file, file.size());
    EXPECT_EQ(whole.failure, "");
    for (const Packet& packet : whole.packets) {
      ++got.packets;
      got.wire_bytes += packet.wire_length;
      got.captured_bytes += packet.data.size();
      if (packet.arrival == INT64_MIN) {
        ++got.untimed;
        continue;
      }
      got.earliest = std::min(got.earliest, packet.arrival);
      got.latest = std::max(got.latest, packet.arrival);
    }
    if (got.packets == got.untimed) got.earliest = got.latest = 0;
    EXPECT_EQ(got.packets, golden.packets);
    EXPECT_EQ(got.wire_bytes, golden.wire_bytes);
    EXPECT_EQ(got.captured_bytes, golden.captured_bytes);
    EXPECT_EQ(got.untimed, golden.untimed);
    EXPECT_EQ(got.earliest, golden.earliest);
    EXPECT_EQ(got.latest, golden.latest);
    for (const size_t block : {61u, 509u}) {
      EXPECT_EQ(frame_all(file, block).packets, whole.packets) << "blocks of " << block;
    }
  }
}

// The bundled capture (scripts/record-capture), by the same command.
TEST(Samples, TheBundledCapture) {
  const Framing got = frame_all(contents(DEMO), 4096);
  ASSERT_EQ(got.failure, "");
  ASSERT_EQ(got.packets.size(), 2649u);
  uint64_t wire = 0;
  uint64_t captured = 0;
  for (const Packet& packet : got.packets) {
    wire += packet.wire_length;
    captured += packet.data.size();
  }
  EXPECT_EQ(wire, 500406u);
  EXPECT_EQ(captured, 263226u);
  EXPECT_EQ(got.packets.front().arrival, 1796084922'449'209'254);
  EXPECT_EQ(got.packets.back().arrival, 1796084963'179'480'230);
}

// Report 11: fractions of a second and more. tshark carries them (or prints a negative time); here
// such a packet is kept and has no time.
TEST(Samples, ImpossibleFractions) {
  if (!samples_are_here()) GTEST_SKIP() << "no ../shared/samples/capture";
  for (const char* name : {"timestamp_invalid_micro.pcap", "timestamp_invalid_nano.pcap"}) {
    const Framing got =
        frame_all(contents(std::string(SAMPLES) + "/capture/tcpdump/" + name), 4096);
    EXPECT_EQ(got.packets.size(), 3u);
    EXPECT_GE(got.counts.bad_time, 1u);
    EXPECT_EQ(got.counts.bad_time, got.unstamped);
  }
}

// test901 goes on with a section of version 2: what stands before it is kept.
TEST(Samples, SectionOfAnUnknownVersion) {
  if (!samples_are_here()) GTEST_SKIP() << "no ../shared/samples/capture";
  const Framing got = frame_all(contents(SAMPLES "/capture/gopacket/le/test901.pcapng"), 4096);
  ASSERT_EQ(got.packets.size(), 1u);
  EXPECT_EQ(got.packets[0].arrival, 1'340'954'905'298'858'000);
  EXPECT_NE(got.failure.find("version other than 1"), std::string::npos);
}

}  // namespace
}  // namespace tidewire::test
