// Real captures through framing and the packet format against an independent tool: packets and
// bytes by second, protocol, addresses, ports and VLAN ids, as tshark counts them. The expected
// table and how it was made: packet_expected.tsv, packet_expected.py beside this file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "format/catalog.h"
#include "framing/capture_framer.h"
#include "parse_helper.h"
#include "query/field_text.h"

namespace tidewire::test {
namespace {

namespace fs = std::filesystem;

struct Total {
  uint64_t packets = 0, bytes = 0;
  bool operator==(const Total&) const = default;
  friend void PrintTo(const Total& t, std::ostream* out) {
    *out << t.packets << " packets, " << t.bytes << " bytes";
  }
};
using Table = std::map<std::string, Total>;  // "second protocol src dst src_port dst_port vlans"

const std::vector<std::string> kFields{"src",      "dst",  "src_port",   "dst_port",
                                       "protocol", "vlan", "vlan_inner", "wire_length"};

// The file as one block.
template <class Take>
CaptureCounts read_capture(const fs::path& path, Take take) {
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  CaptureFramer framer(spill);
  framer.begin();
  framer.feed(std::as_bytes(std::span(file.data(), file.size())));
  Burst burst;
  burst.first = Position{0};
  Framed framed;
  while ((framed = framer.frame(burst)) == Framed::kPackets) take(burst);
  EXPECT_NE(framed, Framed::kFailed) << framer.failure();
  framer.finish();
  return framer.counts();
}

std::string number(int64_t value) { return value == kAbsent ? "-" : std::to_string(value); }

std::string address(int64_t high, int64_t low) {
  if (high == kAbsent && low == kAbsent) return "-";
  std::array<char, kFieldTextMax> room;
  TextWriter out{room};
  append_address(out, high, low);
  return std::string(out.text());
}

Table read_table(const fs::path& path, int64_t seconds, LaneCounts& counts) {
  auto parser = parser_of("packet", kFields);
  auto batch = std::make_unique<EventBatch>();
  Table table;
  read_capture(path, [&](const Burst& burst) {
    receive(*parser, burst, counts);
    EXPECT_FALSE(parser->next(*batch, counts));
    for (uint32_t i = 0; i < batch->count; ++i) {
      const auto word = [&](uint32_t column) { return batch->column[column][i]; };
      const int64_t second = floor_div(batch->time[i].ns, kSecond);
      std::string vlans = number(word(7));
      if (word(8) != kAbsent) vlans += "," + number(word(8));
      std::ostringstream key;
      key << second - second % seconds << ' ' << number(word(6)) << ' ';
      if (seconds > 1)
        key << "* * * * *";
      else
        key << address(word(0), word(1)) << ' ' << address(word(2), word(3)) << ' '
            << number(word(4)) << ' ' << number(word(5)) << ' ' << vlans;
      Total& total = table[key.str()];
      ++total.packets;
      total.bytes += static_cast<uint64_t>(word(9));
    }
  });
  expect_balanced(counts);
  return table;
}

std::map<std::string, Table> expected_tables() {
  std::map<std::string, Table> tables;
  std::ifstream in(EXPECTED);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string capture, key, word;
    words >> capture;
    for (int i = 0; i < 7; ++i) {
      words >> word;
      key += (i > 0 ? " " : "") + word;
    }
    Total total;
    words >> total.packets >> total.bytes;
    tables[capture][key] = total;
  }
  return tables;
}

fs::path samples() { return SAMPLES; }

TEST(PacketGolden, EqualsTshark) {
  if (!fs::exists(samples())) GTEST_SKIP() << "no captures: " << samples() << " is absent";
  const auto tables = expected_tables();
  ASSERT_GE(tables.size(), 10u);
  for (const auto& [capture, expected] : tables) {
    SCOPED_TRACE(capture);
    const bool by_minute = expected.begin()->first.find('*') != std::string::npos;
    LaneCounts counts;
    EXPECT_EQ(read_table(samples() / capture, by_minute ? 60 : 1, counts), expected);
    EXPECT_EQ(counts.packets, counts.packets_parsed);
  }
}

// Damage to real packets: each byte of each packet's first 100 changed, and each cut. Nothing
// crashes, reads past the bytes (they lie in blocks of their own) or escapes the balances.
TEST(PacketGolden, DamagedCapturesStayBalanced) {
  if (!fs::exists(samples())) GTEST_SKIP() << "no captures: " << samples() << " is absent";
  auto parser = parser_of("packet", kFields);
  auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  uint64_t tried = 0;
  const auto parse = [&](const Bytes& frame, size_t captured, size_t wire, LinkType link) {
    BurstBuilder burst;
    burst.add(frame, captured, wire, kSecond, link);
    receive(*parser, burst.burst(), counts);
    EXPECT_FALSE(parser->next(*batch, counts));
    ++tried;
  };
  for (const char* capture :
       {"encap/zeek/mixed-vlan-mpls.pcap", "encap/zeek/chksums/ip6-route0-tcp-good-chksum.pcap",
        "encap/suricata-verify/ipv4frags.pcap", "encap/tcpdump/802.1ad_QinQ.pcap",
        "capture/tcpdump/isup.pcap", "encap/zeek/trunc/ip6-ext-trunc.pcap",
        "encap/zeek/trunc/trunc-hdr.pcap", "encap/zeek/trunc/ipv4-internally-truncated-header.pcap",
        "encap/zeek/trunc/ipv4-truncated-broken-header.pcap",
        "encap/zeek/trunc/mpls-6in6-6in6-4in6-trunc.pcap"}) {
    read_capture(samples() / capture, [&](const Burst& burst) {
      for (uint32_t i = 0; i < burst.count; ++i) {
        const auto* at = reinterpret_cast<const uint8_t*>(burst.data[i]);
        Bytes frame(at, at + burst.length[i]);
        for (size_t cut = 0; cut <= frame.size() && cut <= 100; ++cut)
          parse(frame, cut, burst.wire_length[i], burst.link[i]);
        for (size_t k = 0; k < frame.size() && k < 100; ++k) {
          for (const int change : {0x01, 0x80, 0xFF}) {
            frame[k] ^= static_cast<uint8_t>(change);
            parse(frame, frame.size(), burst.wire_length[i], burst.link[i]);
            frame[k] ^= static_cast<uint8_t>(change);
          }
        }
      }
    });
  }
  EXPECT_GT(tried, 10'000u);
  EXPECT_EQ(counts.packets, tried);
  expect_balanced(counts);
}

}  // namespace
}  // namespace tidewire::test
