// Reports on flow export (spec/formats.md 5.1 and 5.2), each with the smallest input that its list
// gives.
#include <gtest/gtest.h>

#include "flow_rig.h"

namespace tidewire::test {
namespace {

using Rows = std::vector<std::vector<int64_t>>;
using Times = std::vector<int64_t>;
constexpr int64_t kAt = 1'700'000'000 * kSecond;

struct Uptimes {
  uint32_t up, first, last;
  int64_t start_ms, end_ms;  // from the export time on, by signed 32-bit differences
};
// 5.1: a (a real wrap), b (last 160 ms after the uptime), c (both before the wrap), and one that is
// plain. 3381 - 4294967295 = 3382 modulo 2^32, 3381 - 2577 = 804, and so on.
constexpr Uptimes kUptimes[] = {
    {3'381, 4'294'967'295, 2'577, -3'382, -804},
    {66'892'000, 66'888'064, 66'892'160, -3'936, 160},
    {3'381, 4'294'960'000, 4'294'967'000, -10'677, -3'677},
    {1'000'000, 990'000, 997'050, -10'000, -2'950},
};

void expect_uptimes(const FlowRig& rig) {
  ASSERT_EQ(rig.rows.size(), std::size(kUptimes));
  for (size_t i = 0; i < rig.rows.size(); ++i) {
    EXPECT_EQ(rig.rows[i][0], kAt + kUptimes[i].start_ms * kMillisecond) << i;
    EXPECT_EQ(rig.rows[i][1], kAt + kUptimes[i].end_ms * kMillisecond) << i;
    EXPECT_EQ(rig.times[i], rig.rows[i][1]) << i;
  }
}

// where: netsampler/goflow2 PR#431
TEST(Report1, AnUptimeThatWrapsIsNoFuture) {
  FlowRig five({"start", "end"}), nine({"start", "end"});
  for (uint32_t i = 0; const Uptimes& u : kUptimes) {
    // Each from an exporter of its own: uptimes of one would go back.
    const FlowHeader header{.uptime = u.up, .sequence = i};
    five.send(netflow5(header, {{1, 100, u.first, u.last}}), ++i);
    nine.send(netflow9(header, {set_of(0, template_of(256, kUsual)),
                                set_of(256, usual(1, 100, 1, u.first, u.last))}),
              i);
  }
  expect_uptimes(five);
  expect_uptimes(nine);
}

// where: pmacct#640
TEST(Report2, AFlowMayEndALittleAfterItsHeader) {
  FlowRig rig({"end", "duration"});
  rig.send(netflow5({.uptime = 66'892'000}, {{1, 100, 66'888'064, 66'892'160}}));
  EXPECT_EQ(rig.rows, (Rows{{kAt + 160 * kMillisecond, 4'096 * kMillisecond}}));
  EXPECT_EQ(rig.noted(Note::kReversed), 0u);
}

// where: softflowd#52, ntopng#635, elastiflow#3, pmacct#432, nfdump#14
TEST(Report3, AFlowWithoutAbsoluteTimeHasTheExportersAndIsCounted) {
  // IPFIX with 21 and 22 only (MikroTik, Barracuda): no date is made of an uptime.
  FlowRig rig({"start", "end"});
  rig.send(ipfix(
      {}, {set_of(2, template_of(256, kUsual)), set_of(256, usual(1, 100, 1, 990'000, 999'000))}));
  EXPECT_EQ(rig.rows, (Rows{{kAbsentNumber, kAbsentNumber}}));
  EXPECT_EQ(rig.times, Times{kAt});
  EXPECT_EQ(rig.noted(Note::kTimeFallback), 1u);
}

// where: LibreQoS PR#1129
TEST(Report4, AMillionOddRecordsAreACounter) {
  FlowRig rig({"end"});
  const std::vector<Flow5> reversed(30, {1, 100, 999'000, 990'000});
  for (uint32_t i = 0; i < 1'000; ++i) rig.send(netflow5({.sequence = 30 * i}, reversed));
  EXPECT_EQ(rig.noted(Note::kReversed), 30'000u);
  EXPECT_EQ(rig.rows.size(), 30'000u);
}

// where: britram/python-ipfix#14
TEST(Report5, FractionsOfASecondAreNtpSince1900) {
  // 2009-10-05T06:06:07.492060Z is 1254722767 s since 1970 and 3463711567 since 1900; 0.49206 of
  // 2^32 is 2113381607.77, so 2113381608.
  FlowRig rig({"end"});
  Bytes data;
  put32(data, 3'463'711'567);
  put32(data, 2'113'381'608);
  rig.send(ipfix({}, {set_of(2, template_of(256, {{155, 8}})), set_of(256, data)}));
  ASSERT_EQ(rig.times.size(), 1u);
  EXPECT_EQ(rig.times[0], 1'254'722'767 * kSecond + 492'060'000);
}

// where: logstash-codec-netflow PR#61
TEST(Report6, OneExporterPutsMicrosecondsThere) {
  FormatOptions netscaler = FlowRig::with_wait({});
  netscaler.ntp_microseconds = {"192.0.2.1"};
  FlowRig rig({"end"}, netscaler);
  Bytes data;
  put32(data, 3'463'711'567);
  put32(data, 0x00085F98);  // 548760
  const Bytes packet = ipfix({}, {set_of(2, template_of(256, {{155, 8}})), set_of(256, data)});
  rig.send(packet, 1).send(packet, 2);
  // As a fraction it is 548760 * 10^9 / 2^32 = 127768.8 ns.
  EXPECT_EQ(rig.times,
            (Times{1'254'722'767 * kSecond + 548'760'000, 1'254'722'767 * kSecond + 127'768}));
}

// where: FDio/vpp#2394
TEST(Report7, AFlowThatEndsBeforeItsStartHasNoDuration) {
  for (const FlowTime choice : {FlowTime::kEnd, FlowTime::kStart, FlowTime::kExport}) {
    FormatOptions format = FlowRig::with_wait({});
    format.flow_time = choice;
    FlowRig rig({"duration"}, format);
    rig.send(netflow5({}, {{1, 100, 999'000, 879'000}}));  // starts 120 s after its end
    EXPECT_EQ(rig.rows, (Rows{{kAbsent}}));
    EXPECT_EQ(rig.noted(Note::kReversed), 1u);
    const int64_t since = choice == FlowTime::kEnd ? -121 : choice == FlowTime::kStart ? -1 : 0;
    EXPECT_EQ(rig.times, Times{kAt + since * kSecond});
  }
}

// where: akvorado#89, telegraf#15089, beats#17615, ipfixcol2#87, logstash#106, goflow2#42/#330
TEST(Report37, DataBeforeItsTemplateIsKept) {
  const Bytes data = set_of(256, usual(1, 100, 1, 990'000, 999'000));
  const Bytes other = set_of(257, usual(2, 50, 1, 990'000, 999'000));
  const Bytes templates = set_of(0, template_of(256, kUsual));
  FlowRig one({"bytes"});  // in one packet
  one.send(netflow9({}, {data, templates}));
  EXPECT_EQ(one.rows, Rows{{100}});
  EXPECT_EQ(one.noted(Note::kNoTemplate), 0u);

  FlowRig later({"bytes"});
  later.send(netflow9({.sequence = 0}, {data, other}));
  EXPECT_EQ(later.rows.size(), 0u);
  EXPECT_EQ(later.noted(Note::kNoTemplate), 2u);
  later.send(netflow9({.seconds = 1'700'000'060, .uptime = 1'060'000, .sequence = 1}, {templates}));
  EXPECT_EQ(later.rows, Rows{{100}});
  EXPECT_EQ(later.times, Times{kAt - kSecond});  // by the header that it came with
  // The other one is still waiting for its own; another exporter's does not serve it.
  const Bytes others = set_of(0, template_of(257, kUsual));
  later.send(netflow9({.sequence = 0}, {others}), 2);
  EXPECT_EQ(later.rows.size(), 1u);
  later.send(netflow9({.seconds = 1'700'000'061, .uptime = 1'061'000, .sequence = 2}, {others}));
  EXPECT_EQ(later.rows, (Rows{{100}, {50}}));
}

TEST(Report37, WhatHasWaitedTooLongIsForgotten) {
  FlowRig rig({"bytes"});
  rig.send(netflow9({.sequence = 0}, {set_of(256, usual(1, 100, 1, 990'000, 999'000))}));
  rig.send(netflow9({.sequence = 1}, {set_of(0, template_of(256, kUsual))}), 1,
           kAt + 601 * kSecond);
  EXPECT_EQ(rig.rows.size(), 0u);
  EXPECT_EQ(rig.noted(Note::kNoTemplate), 1u);
}

// where: goflow2#206, PR#207; nfdump#231/#237/#7; elastiflow#116
TEST(Report38, SamplingComesFromOptionsAndFromThenOn) {
  // Scope 1 (system) of 4 bytes; sampler id 48 and random interval 50.
  const auto options_template = [] {
    Bytes b;
    put16(b, 300);
    put16(b, 4);
    put16(b, 8);
    for (const uint32_t v : {1, 4, 48, 2, 50, 4}) put16(b, v);
    return b;
  }();
  const auto rate = [](uint32_t sampler, uint32_t n) {
    Bytes b;
    put32(b, 1);
    put16(b, sampler);
    put32(b, n);
    return b;
  };
  const std::vector<TemplateField> fields{{8, 4}, {1, 4}, {2, 4}, {48, 2}};
  const auto record = [](uint32_t bytes, uint32_t sampler) {
    Bytes b;
    put32(b, ipv4_address(10, 0, 0, 1));
    put32(b, bytes);
    put32(b, 2);
    put16(b, sampler);
    return b;
  };
  FormatOptions format = FlowRig::with_wait({});
  format.multiply_sampling = true;
  FlowRig rig({"bytes", "packets", "sampling"}, format);
  const Bytes records = set_of(0, template_of(256, fields));
  rig.send(netflow9({.sequence = 0}, {records, set_of(256, record(10, 1))}));
  EXPECT_EQ(rig.rows.back(), (std::vector<int64_t>{10, 2, kAbsent}));  // unknown: 1, counted
  EXPECT_EQ(rig.noted(Note::kNoSampling), 1u);
  // Options may come from another port (PR#207): another process of the same exporter.
  Bytes both = rate(1, 100);
  append(both, rate(2, 500));
  rig.send(netflow9({.sequence = 1}, {set_of(1, options_template), set_of(300, both)}));
  rig.send(netflow9({.sequence = 2}, {set_of(256, record(10, 1)), set_of(256, record(10, 2))}));
  EXPECT_EQ(rig.rows[1], (std::vector<int64_t>{1'000, 200, 100}));
  EXPECT_EQ(rig.rows[2], (std::vector<int64_t>{5'000, 1'000, 500}));
  rig.send(netflow9({.sequence = 3}, {set_of(300, rate(1, 0)), set_of(300, rate(2, 50))}));
  rig.send(netflow9({.sequence = 4}, {set_of(256, record(10, 1)), set_of(256, record(10, 2))}));
  EXPECT_EQ(rig.rows[3], (std::vector<int64_t>{1'000, 200, 100}));  // a rate of 0 says nothing
  EXPECT_EQ(rig.rows[4], (std::vector<int64_t>{500, 100, 50}));
}

// where: nfdump#73, logstash#146, softflowd/logstash#17
TEST(Report39, ZerosBehindTheLastSetAreNoError) {
  FlowRig rig({"bytes"});
  Bytes packet = netflow9(
      {}, {set_of(0, template_of(256, kUsual)), set_of(256, usual(1, 100, 1, 990'000, 999'000))});
  packet.resize(packet.size() + 1'220);
  rig.send(packet);
  EXPECT_EQ(rig.rows, Rows{{100}});
  for (size_t note = 0; note < rig.counts.noted.size(); ++note)
    EXPECT_EQ(rig.counts.noted[note], 0u) << to_string(static_cast<Note>(note));
}

// where: vflow#97, python-netflow#36, netflow_parser#56/PR#57, logstash#18
TEST(Report40, NothingLoopsOnALengthOfNothing) {
  FlowRig rig({"bytes"});
  for (uint32_t length = 0; length < 4; ++length) {
    Bytes set;
    put16(set, 256);
    put16(set, length);
    set.push_back(1);
    rig.send(netflow9({.sequence = length}, {set_of(0, template_of(256, kUsual)), set}));
  }
  EXPECT_EQ(rig.noted(Note::kBadLength), 4u);
  // A field of no bytes, and records of none.
  rig.send(netflow9({.sequence = 4},
                    {set_of(0, template_of(257, {{8, 0}, {1, 4}})), set_of(257, {0, 0, 0, 9})}));
  EXPECT_EQ(rig.rows, Rows{{9}});
  rig.send(netflow9({.sequence = 5},
                    {set_of(0, template_of(258, {{8, 0}})), set_of(258, {0, 0, 0, 9})}));
  EXPECT_EQ(rig.rows.size(), 1u);
  EXPECT_EQ(rig.noted(Note::kUnreadable), 1u);
}

// where: logstash#207
TEST(Report41, ASetOfNothingIsLegal) {
  FlowRig rig({"bytes"});
  rig.send(netflow9({}, {set_of(0, template_of(256, kUsual)), set_of(256, {}),
                         set_of(256, usual(1, 100, 1, 990'000, 999'000))}));
  EXPECT_EQ(rig.rows, Rows{{100}});
  EXPECT_EQ(rig.noted(Note::kBadLength), 0u);
}

}  // namespace
}  // namespace tidewire::test
