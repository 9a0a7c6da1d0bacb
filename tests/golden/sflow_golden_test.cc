// sFlow of real agents against tcpdump, whose output stands beside the captures: every counter
// sample and the flow sample, number by number.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "framing/capture_framer.h"
#include "parse_helper.h"

namespace tidewire::test {
namespace {

namespace fs = std::filesystem;
using Row = std::vector<int64_t>;
const fs::path kFolder = fs::path(SAMPLES) / "flow" / "tcpdump";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Row> read(const std::string& name, const std::vector<std::string>& fields,
                      LaneCounts& counts) {
  auto parser = parser_of("sflow", fields);
  auto batch = std::make_unique<EventBatch>();
  const std::string file = read_file(kFolder / name);
  std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  CaptureFramer framer(spill);
  framer.begin();
  framer.feed(std::as_bytes(std::span(file.data(), file.size())));
  Burst burst;
  burst.first = Position{0};
  std::vector<Row> rows;
  while (framer.frame(burst) == Framed::kPackets) {
    receive(*parser, burst, counts);
    for (bool more = true; more;) {
      more = parser->next(*batch, counts);
      for (uint32_t i = 0; i < batch->count; ++i) {
        Row row;
        for (uint32_t c = 0; c < fields.size(); ++c) row.push_back(batch->column[c][i]);
        rows.push_back(row);
      }
    }
  }
  expect_balanced(counts);
  return rows;
}

// "ifindex 55, iftype 117, ifspeed 1000000000, ..." and the lines of octets behind it.
std::vector<Row> counters_of(const std::string& text) {
  static const std::regex kSample(
      R"(ifindex (\d+), iftype \d+, ifspeed (\d+),[^\n]*\n[^\n]*\n)"
      R"(\s*In octets (\d+), unicast pkts (\d+), multicast pkts (\d+), )"
      R"(broadcast pkts (\d+), discards (\d+)\n)"
      R"(\s*In errors (\d+),[^\n]*\n)"
      R"(\s*Out octets (\d+), unicast pkts (\d+), multicast pkts (\d+), )"
      R"(broadcast pkts (\d+), discards (\d+)\n)"
      R"(\s*Out errors (\d+))");
  std::vector<Row> rows;
  for (std::sregex_iterator at(text.begin(), text.end(), kSample), end; at != end; ++at) {
    const auto n = [&](size_t group) { return static_cast<int64_t>(std::stoull((*at)[group])); };
    rows.push_back({n(1), n(2), n(3), n(4) + n(5) + n(6), n(7), n(8), n(9), n(10) + n(11) + n(12),
                    n(13), n(14)});
  }
  return rows;
}

TEST(SflowGolden, CounterSamplesAreAsTcpdumpReadsThem) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "no samples beside the project";
  LaneCounts counts;
  std::vector<Row> rows =
      read("sflow_multiple_counter_30_pdus.pcap",
           {"if_index", "if_speed", "in_octets", "in_packets", "in_discards", "in_errors",
            "out_octets", "out_packets", "out_discards", "out_errors"},
           counts);
  const std::vector<Row> expected =
      counters_of(read_file(kFolder / "sflow_multiple_counter_30_pdus.out"));
  ASSERT_GT(expected.size(), 100u);
  // Two samples are of a processor and have no interface.
  EXPECT_EQ(std::erase_if(rows, [](const Row& row) { return row[0] == kAbsent; }), 2u);
  EXPECT_EQ(dropped(counts, DropReason::kNotThisFormat), 5u);  // "not supported"
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], expected[i]) << i;
}

TEST(SflowGolden, AFlowSampleIsAsTcpdumpReadsIt) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "no samples beside the project";
  LaneCounts counts;
  // sflow_expanded.out: idx 11001, rate 1000, drops 0, input 29001, output 1285816721, length 126.
  EXPECT_EQ(
      read("sflow_expanded.pcap",
           {"source", "sampling", "drops", "in_if", "out_if", "frame_length", "sequence"}, counts),
      (std::vector<Row>{{11'001, 1'000, 0, 29'001, 1'285'816'721, 126, 115'694'180}}));
}

// Every packet cut at every byte, and with every byte changed, in its frame.
TEST(SflowGolden, NothingBreaksOnACutOrChangedPacket) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "no samples beside the project";
  for (const char* name :
       {"sflow_expanded.pcap", "sflow_print-segv.pcap", "sflow_multiple_counter_30_pdus.pcap"}) {
    const std::string file = read_file(kFolder / name);
    std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
    CaptureFramer framer(spill);
    framer.begin();
    framer.feed(std::as_bytes(std::span(file.data(), file.size())));
    Burst burst;
    burst.first = Position{0};
    ASSERT_EQ(framer.frame(burst), Framed::kPackets);
    auto parser = parser_of("sflow", {"src", "dst_port", "bytes", "in_packets", "dst_as"});
    auto batch = std::make_unique<EventBatch>();
    LaneCounts counts;
    const uint32_t packets = std::min(burst.count, 3u);
    for (uint32_t p = 0; p < packets; ++p) {
      const Bytes whole(reinterpret_cast<const uint8_t*>(burst.data[p]),
                        reinterpret_cast<const uint8_t*>(burst.data[p]) + burst.length[p]);
      for (size_t i = 0; i < whole.size(); ++i) {
        BurstBuilder both;
        Bytes changed = whole;
        changed[i] = static_cast<uint8_t>(~changed[i]);
        both.add({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)}).add(changed);
        receive(*parser, both.burst(), counts);
        while (parser->next(*batch, counts)) {
        }
      }
    }
    expect_balanced(counts);
  }
}

}  // namespace
}  // namespace tidewire::test
