#include "format/sflow.h"

#include <gtest/gtest.h>

#include "flow_builder.h"
#include "parse_helper.h"

namespace tidewire::test {
namespace {

// Words and bytes of an sFlow datagram, after sflow_version_5.txt.
Bytes words(std::initializer_list<uint32_t> list) {
  Bytes b;
  for (const uint32_t word : list) put32(b, word);
  return b;
}
Bytes part(uint32_t format, const Bytes& body) {
  Bytes b = words({format, static_cast<uint32_t>(body.size())});
  append(b, body);
  return b;
}
Bytes datagram(uint32_t sequence, uint32_t uptime, const std::vector<Bytes>& samples) {
  Bytes b = words({5, 1, ipv4_address(192, 0, 2, 7), 3, sequence, uptime,
                   static_cast<uint32_t>(samples.size())});
  for (const Bytes& sample : samples) append(b, sample);
  return b;
}
// A flow sample of rate 512 with these records.
Bytes flow_sample(const std::vector<Bytes>& records) {
  Bytes b = words({9, 0x00000011, 512, 1'000, 4, 21, 22, static_cast<uint32_t>(records.size())});
  for (const Bytes& record : records) append(b, record);
  return part(1, b);
}
Bytes raw_header(const Bytes& frame, uint32_t length) {
  Bytes b = words({1, length, 4, static_cast<uint32_t>(frame.size())});
  append(b, frame);
  b.resize((b.size() + 3) / 4 * 4);
  return part(1, b);
}

class Rig {
 public:
  explicit Rig(const std::vector<std::string>& fields, FormatOptions options = {})
      : parser_(parser_of("sflow", fields, {}, options)),
        columns_(map_of(schema_of("sflow"), fields).used) {}
  Rig& send(const Bytes& payload) {
    BurstBuilder burst;
    burst.add(payload, 5 * kSecond, LinkType::kPayload);
    receive(*parser_, burst.burst(), counts);
    for (bool more = true; more;) {
      more = parser_->next(*batch_, counts);
      for (uint32_t i = 0; i < batch_->count; ++i) {
        std::vector<int64_t> row;
        for (uint32_t c = 0; c < columns_; ++c) row.push_back(batch_->column[c][i]);
        rows.push_back(row);
        EXPECT_EQ(batch_->time[i].ns, 5 * kSecond);
      }
    }
    expect_balanced(counts);
    return *this;
  }
  uint64_t noted(Note note) const { return test::noted(counts, note); }
  std::vector<std::vector<int64_t>> rows;
  LaneCounts counts;

 private:
  std::unique_ptr<Parser> parser_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  uint32_t columns_;
};
using Rows = std::vector<std::vector<int64_t>>;
constexpr int64_t kMapped = int64_t{0xFFFF} << 32;

TEST(Sflow, ASampledHeaderIsReadAsAPacket) {
  const Bytes frame = PacketBuilder()
                          .ethernet()
                          .vlan(0x8100, 30)
                          .ipv4(ipv4_address(10, 0, 0, 1), ipv4_address(10, 0, 0, 2))
                          .udp(1000, 53, 40)
                          .finish();
  // 22 of its 40 payload bytes are not there, as samples are.
  const Bytes cut(frame.begin(), frame.end() - 22);
  const std::vector<std::string> fields{"src",    "dst",    "src_port", "dst_port", "protocol",
                                        "vlan",   "bytes",  "packets",  "sampling", "in_if",
                                        "out_if", "source", "drops",    "agent",    "sub_agent"};
  Rig rig(fields);
  rig.send(datagram(1, 1'000, {flow_sample({raw_header(cut, 1'518)})}));
  std::vector<int64_t> expected{0,
                                kMapped | 0x0A000001,
                                0,
                                kMapped | 0x0A000002,
                                1000,
                                53,
                                17,
                                30,
                                1'518,
                                1,
                                512,
                                21,
                                22,
                                0x11,
                                4,
                                0,
                                kMapped | 0xC0000207,
                                3};
  EXPECT_EQ(rig.rows, Rows{expected});
  for (size_t note = 0; note < rig.counts.noted.size(); ++note)
    EXPECT_EQ(rig.counts.noted[note], 0u) << to_string(static_cast<Note>(note));
  FormatOptions multiply;
  multiply.multiply_sampling = true;
  Rig times(fields, multiply);
  times.send(datagram(1, 1'000, {flow_sample({raw_header(cut, 1'518)})}));
  expected[8] = 1'518 * 512;
  expected[9] = 512;
  EXPECT_EQ(times.rows, Rows{expected});
}

TEST(Sflow, RecordsWithoutAHeader) {
  Rig rig({"src", "dst", "src_port", "dst_port", "protocol", "tcp_flags", "bytes", "src_as",
           "dst_as", "next_hop", "vlan", "dst_vlan"});
  const Bytes ipv4 = part(3, words({700, 6, ipv4_address(10, 0, 0, 1), ipv4_address(10, 0, 0, 2),
                                    443, 50'000, 0x12, 0}));
  const Bytes vlans = part(1001, words({7, 0, 8, 0}));
  const Bytes router = part(1002, words({1, ipv4_address(10, 9, 9, 9), 24, 16}));
  // Two segments of the path: a sequence of two and a set of one.
  const Bytes gateway = part(1003, words({1, ipv4_address(10, 9, 9, 9), 65'000, 64'500, 64'501, 2,
                                          2, 2, 64'600, 64'601, 1, 1, 64'602, 0, 0}));
  rig.send(datagram(1, 1'000, {flow_sample({ipv4, vlans, router, gateway})}));
  EXPECT_EQ(rig.rows, (Rows{{0, kMapped | 0x0A000001, 0, kMapped | 0x0A000002, 443, 50'000, 6, 0x12,
                             700, 64'500, 64'602, 0, kMapped | 0x0A090909, 7, 8}}));
}

TEST(Sflow, WhatIsCutOrUnknownIsNamed) {
  Rig rig({"bytes"});
  rig.send(datagram(1, 1'000, {part(77, words({1, 2, 3})), part(1, words({9, 1}))}));
  EXPECT_EQ(rig.noted(Note::kUnknownMessage), 1u);
  EXPECT_EQ(rig.noted(Note::kUnreadable), 1u);
  EXPECT_EQ(rig.rows.size(), 0u);
  Bytes longer = datagram(2, 2'000, {});
  longer[longer.size() - 1] = 200;  // samples that are not there
  rig.send(longer);
  EXPECT_EQ(rig.noted(Note::kBadLength), 1u);
  rig.send({0, 0, 0, 4, 0, 0, 0, 1}).send({0, 0, 0, 5}).send({0, 0, 0, 5, 0, 0, 0, 9});
  EXPECT_EQ(dropped(rig.counts, DropReason::kNotThisFormat), 1u);
  EXPECT_EQ(dropped(rig.counts, DropReason::kTruncated), 2u);
}

}  // namespace

// where: sonic#7445, goflow2#292, nProbe#428
TEST(Report42, AnAgentThatStartsAnewHasLostNothing) {
  Rig rig({});
  for (const auto& [sequence, uptime] : std::initializer_list<std::pair<uint32_t, uint32_t>>{
           {415, 900'000}, {416, 901'000}, {1, 500}, {2, 1'500}})
    rig.send(datagram(sequence, uptime, {}));
  EXPECT_EQ(rig.noted(Note::kGap), 0u);
  EXPECT_EQ(rig.noted(Note::kRestart), 1u);
  EXPECT_EQ(rig.counts.packets_parsed, 4u);
}

// where: goflow2 #251/PR#252, gopacket PR#1228, Cistern/sflow#15/#30, goflow2 PR#139
TEST(Report43, GiantLengthsReadNothingThatIsNotThere) {
  Rig rig({"bytes", "src"});
  Bytes giant = words({1, 0xFFFFFFF0, 4, 0xFFFFFFFF, 0x11223344});
  rig.send(datagram(1, 1'000, {flow_sample({part(1, giant)})}));
  EXPECT_EQ(rig.rows, (Rows{{0xFFFFFFF0, kAbsent, kAbsent}}));
  Bytes record = part(1, words({1, 60, 4, 0}));
  set16(record, 4, 0xFFFF);  // a record of 4 GiB
  rig.send(datagram(2, 2'000, {flow_sample({record})}));
  EXPECT_EQ(rig.noted(Note::kBadLength), 1u);
  // A header of 13 bytes that nobody has padded, and another record behind it.
  Bytes unpadded = words({9, 1, 512, 1, 0, 1, 2, 1});
  Bytes header = words({1, 60, 4, 13});
  header.resize(header.size() + 13);
  append(unpadded, part(1, header));
  rig.send(datagram(3, 3'000, {part(1, unpadded)}));
  EXPECT_EQ(rig.rows.size(), 3u);
}

}  // namespace tidewire::test
