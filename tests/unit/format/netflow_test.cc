#include "format/netflow.h"

#include <gtest/gtest.h>

#include "flow_rig.h"
#include "format/flow_exporters.h"
#include "format/flow_time.h"

namespace tidewire::test {
namespace {

using Rows = std::vector<std::vector<int64_t>>;
using Times = std::vector<int64_t>;
constexpr int64_t kAt = 1'700'000'000 * kSecond;
constexpr int64_t kMapped = int64_t{0xFFFF} << 32;  // ::ffff:0.0.0.0

TEST(Netflow, FieldsOfVersion5) {
  FlowRig rig({"src", "dst", "src_port", "dst_port", "protocol", "tcp_flags", "bytes", "packets",
               "flows", "in_if", "out_if", "start", "end", "export_time", "exporter",
               "exporter_port", "domain", "version"});
  rig.send(netflow5({.nanos = 250'000'000, .domain = 0x0102}, {{3, 300, 990'000, 999'000}}), 9);
  // 1.7 * 10^9 s and 250 ms, less 10 s and 1 s of uptime.
  EXPECT_EQ(rig.rows, (Rows{{0,
                             kMapped | 0x0A000001,
                             0,
                             kMapped | 0x0A000101,
                             1001,
                             80,
                             6,
                             0x10,
                             300,
                             3,
                             1,
                             1,
                             2,
                             kAt - 9'750 * kMillisecond,
                             kAt - 750 * kMillisecond,
                             kAt + 250 * kMillisecond,
                             0,
                             kMapped | 0xC0000209,
                             50'009,
                             0x0102,
                             5}}));
}

TEST(Netflow, TheCountOfVersion5IsBelievedAsFarAsBytesAreThere) {
  FlowRig rig({"bytes"});
  rig.send(netflow5({}, {{}, {}, {}}, 0, 55'582));
  EXPECT_EQ(rig.rows.size(), 3u);
  EXPECT_EQ(rig.noted(Note::kBadLength), 1u);
  rig.send(netflow5({.sequence = 55'582}, {{}, {}, {}}, 0, 2));
  EXPECT_EQ(rig.rows.size(), 5u);
}

TEST(Netflow, Version5SaysItsOwnSampling) {
  FormatOptions format;
  format.multiply_sampling = true;
  FlowRig rig({"bytes", "packets", "sampling"}, format);
  rig.send(netflow5({}, {{2, 100}}, 0x4000 | 64));  // mode 1, one of 64
  EXPECT_EQ(rig.rows, (Rows{{6'400, 128, 64}}));
}

TEST(Netflow, EachVersionCountsInItsOwnUnit) {
  // 5: flows. 30 of them were lost.
  FlowRig five({});
  five.send(netflow5({.sequence = 0}, std::vector<Flow5>(30)));
  five.send(netflow5({.sequence = 30}, std::vector<Flow5>(10)));
  five.send(netflow5({.sequence = 70}, std::vector<Flow5>(10)));
  EXPECT_EQ(five.noted(Note::kGap), 30u);
  // 9: packets, whatever is in them.
  FlowRig nine({});
  const std::vector<Bytes> sets{set_of(0, template_of(256, kUsual)),
                                set_of(256, usual(1, 100, 1, 990'000, 999'000))};
  for (const uint32_t sequence : {7, 8, 12}) nine.send(netflow9({.sequence = sequence}, sets));
  EXPECT_EQ(nine.noted(Note::kGap), 3u);
  // IPFIX: data records, and templates are none.
  FlowRig ten({});
  const std::vector<Bytes> again{set_of(2, template_of(256, kUsual)),
                                 set_of(256, usual(1, 100, 1, 990'000, 999'000))};
  for (const uint32_t sequence : {0, 1, 2, 5}) ten.send(ipfix({.sequence = sequence}, again));
  EXPECT_EQ(ten.noted(Note::kGap), 2u);
  EXPECT_EQ(ten.noted(Note::kReordered) + ten.noted(Note::kSequenceRestart), 0u);
}

TEST(Netflow, ADatagramThatComesTwiceCountsOnce) {
  FlowRig rig({"bytes"});
  const Bytes first = netflow5({.sequence = 0}, {{1, 10}}),
              second = netflow5({.sequence = 1}, {{1, 20}});
  rig.send(first).send(second).send(first).send(second);
  EXPECT_EQ(rig.rows, (Rows{{10}, {20}}));
  EXPECT_EQ(dropped(rig.counts, DropReason::kDuplicate), 2u);
  // An exporter that never counts is not heard once only.
  FlowRig zero({"bytes"});
  for (uint32_t i = 0; i < 5; ++i) zero.send(netflow5({.uptime = 1'000'000 + i}, {{1, i}}));
  EXPECT_EQ(zero.rows.size(), 5u);
}

TEST(Netflow, ReorderedAndRestarted) {
  FlowRig rig({});
  const auto send = [&](uint32_t sequence, uint32_t uptime) {
    rig.send(netflow9({.uptime = uptime, .sequence = sequence}, {}));
  };
  for (const uint32_t sequence : {10, 12, 11, 13}) send(sequence, 1'000'000 + sequence);
  EXPECT_EQ(rig.noted(Note::kGap), 1u);
  EXPECT_EQ(rig.noted(Note::kReordered), 1u);
  send(0, 5'000);  // a new start: its uptime says so
  send(1, 6'000);
  EXPECT_EQ(rig.noted(Note::kRestart), 1u);
  EXPECT_EQ(rig.noted(Note::kGap), 1u);
  EXPECT_EQ(rig.noted(Note::kSequenceRestart), 0u);
  send(2'000'000'000, 7'000);
  EXPECT_EQ(rig.noted(Note::kSequenceRestart), 1u);
}

// Two processes behind one address, and two domains of one process, are streams of their own.
TEST(Netflow, TemplatesAndNumbersAreTheStreams) {
  FlowRig rig({"bytes", "domain"});
  const std::vector<TemplateField> shorter{{1, 4}};
  rig.send(netflow9({.sequence = 5, .domain = 1}, {set_of(0, template_of(256, kUsual))}));
  rig.send(netflow9({.sequence = 900, .domain = 2}, {set_of(0, template_of(256, shorter))}));
  rig.send(netflow9({.sequence = 6, .domain = 1}, {set_of(256, usual(1, 100, 1, 0, 0))}));
  rig.send(netflow9({.sequence = 901, .domain = 2}, {set_of(256, {0, 0, 0, 7})}));
  EXPECT_EQ(rig.rows, (Rows{{100, 1}, {7, 2}}));
  EXPECT_EQ(rig.noted(Note::kGap), 0u);
}

TEST(Netflow, TemplatesChangeAndAreWithdrawn) {
  FlowRig rig({"bytes"});
  rig.send(
      ipfix({.sequence = 0}, {set_of(2, template_of(256, {{1, 4}})), set_of(256, {0, 0, 0, 1})}));
  rig.send(ipfix({.sequence = 1}, {set_of(2, template_of(256, {{1, 2}})), set_of(256, {0, 2})}));
  EXPECT_EQ(rig.noted(Note::kTemplateChanged), 1u);
  rig.send(ipfix({.sequence = 2}, {set_of(2, template_of(256, {}))}));
  EXPECT_EQ(rig.noted(Note::kTemplateWithdrawn), 1u);
  rig.send(ipfix({.sequence = 2}, {set_of(256, {0, 3})}));
  EXPECT_EQ(rig.noted(Note::kNoTemplate), 1u);
  rig.send(ipfix({.sequence = 3},
                 {set_of(2, template_of(257, {{1, 4}})), set_of(2, template_of(2, {}))}));
  rig.send(ipfix({.sequence = 3}, {set_of(257, {0, 0, 0, 4})}));
  EXPECT_EQ(rig.noted(Note::kNoTemplate), 2u);
  EXPECT_EQ(rig.rows, (Rows{{1}, {2}}));
}

TEST(Netflow, VariableLengthsAndElementsByNumber) {
  FormatOptions format;
  format.elements = {"29305/1 as bytes_back", "96 as application_name text"};
  FlowRig rig({"bytes", "bytes_back", "application_name"}, format);
  const Bytes templates = set_of(2, template_of(256, {{96, 0xFFFF}, {1, 4}, {1, 4, 29'305}}));
  Bytes records{3, 'd', 'n', 's', 0, 0, 0, 5, 0, 0, 0, 6};
  // The longer form of a length, and more than two words hold.
  Bytes longer{255, 0, 20};
  longer.insert(longer.end(), 20, 'x');
  append(longer, {0, 0, 0, 7, 0, 0, 0, 8});
  append(records, longer);
  append(records, {0, 0, 0, 0, 9, 0, 0, 0, 10});
  rig.send(ipfix({}, {templates, set_of(256, records)}));
  constexpr int64_t kDns = 0x646E730000000000, kXs = 0x7878787878787878;
  EXPECT_EQ(rig.rows, (Rows{{5, 6, kDns, 0}, {7, 8, kXs, kXs}, {9, 10, 0, 0}}));
  // A length that reaches past its set ends it.
  rig.send(ipfix({.sequence = 3}, {set_of(256, {200, 1, 2, 3})}));
  EXPECT_EQ(rig.rows.size(), 3u);
}

TEST(Netflow, AddressesOfEitherKind) {
  // Both in one record: the one that is not zero counts (formats that have room for both).
  FlowRig rig({"src"});
  const Bytes templates = set_of(2, template_of(256, {{8, 4}, {27, 16}}));
  Bytes four(20, 0), six(20, 0), none(20, 0);
  four[0] = 10, four[3] = 1;
  six[4] = 0x20, six[19] = 2;
  Bytes records = four;
  append(records, six);
  append(records, none);
  append(records, four);
  rig.send(ipfix({}, {templates, set_of(256, records)}));
  EXPECT_EQ(rig.rows, (Rows{{0, kMapped | 0x0A000001},
                            {0x2000000000000000, 2},
                            {0, kMapped},
                            {0, kMapped | 0x0A000001}}));
}

TEST(Netflow, SystemInitTimeOfADomainMakesUptimesAbsolute) {
  FlowRig rig({"end"});
  Bytes options;  // id, fields, scope fields; 143 meteringProcessId as scope, then 160
  for (const uint32_t v : {400, 2, 1, 143, 4, 160, 8}) put16(options, v);
  Bytes init;
  put32(init, 1);
  put64(init, 1'600'000'000'000);
  rig.send(ipfix({.sequence = 0}, {set_of(3, options), set_of(400, init)}));
  rig.send(ipfix({.sequence = 1}, {set_of(2, template_of(256, kUsual)),
                                   set_of(256, usual(1, 100, 1, 990'000, 999'000))}));
  EXPECT_EQ(rig.times, Times{1'600'000'999 * kSecond});
  EXPECT_EQ(rig.noted(Note::kTimeFallback), 0u);
}

TEST(Netflow, TimesAsTheyAreAskedFor) {
  for (const auto& [choice, expected] : std::initializer_list<std::pair<FlowTime, int64_t>>{
           {FlowTime::kEnd, kAt - kSecond},
           {FlowTime::kStart, kAt - 10 * kSecond},
           {FlowTime::kExport, kAt},
           {FlowTime::kArrival, kAt + 5 * kSecond}}) {
    FormatOptions format;
    format.flow_time = choice;
    FlowRig rig({}, format);
    rig.send(netflow5({}, {{}}), 1, kAt + 5 * kSecond);
    EXPECT_EQ(rig.times, Times{expected});
  }
}

TEST(FlowTime, UnitsOfTheRegistry) {
  const flow::Moment moment{{kAt}, false, 0};
  const auto of = [&](flow::Slot slot, int64_t value) {
    flow::Values values;
    values.fill(kAbsent);
    values[slot] = value;
    return flow::time_of(values, flow::kEndUptime, moment, kAbsent, false).ns;
  };
  EXPECT_EQ(of(flow::kEndSeconds, 1'600'000'000), 1'600'000'000 * kSecond);
  EXPECT_EQ(of(flow::kEndMillis, 1'600'000'000'123), 1'600'000'000'123 * kMillisecond);
  EXPECT_EQ(of(flow::kEndDelta, 2'500'000), kAt - 2'500 * kMillisecond);
  // NTP era 1 begins on 2036-02-07T06:28:16Z, 2085978496 s since 1970.
  EXPECT_EQ(of(flow::kEndNanos, 0), 2'085'978'496 * kSecond);
  EXPECT_EQ(of(flow::kEndNanos, static_cast<int64_t>(0xFFFFFFFF80000000)),
            2'085'978'495 * kSecond + kSecond / 2);
  EXPECT_EQ(of(flow::kEndUptime, 5), INT64_MIN);  // no absolute time
  EXPECT_FALSE(is_usable({of(flow::kEndSeconds, INT64_MAX)}));
}

TEST(Netflow, AFlowIsSharedOutOverItsIntervals) {
  FormatOptions format;
  format.spread = {10 * kSecond};
  FlowRig rig({"bytes", "packets", "flows"}, format);
  // From 17 s before to 2 s before an export at a multiple of 10 s: intervals of 7, 10 and ... 15 s
  // in all: -17..-10 is 7 s, -10..-2 is 8 s.
  rig.send(netflow5({}, {{10, 1'000, 983'000, 998'000}}));
  // 1000 * 7 / 15 = 466.7, 10 * 7 / 15 = 4.7, 1 * 7 / 15 = 0.
  EXPECT_EQ(rig.rows, (Rows{{466, 4, 0}, {534, 6, 1}}));
  EXPECT_EQ(rig.times, (Times{kAt - 10 * kSecond - 1, kAt - 2 * kSecond}));
  // By start: the flow's own, then the edges.
  format.flow_time = FlowTime::kStart;
  FlowRig starts({"bytes"}, format);
  starts.send(netflow5({}, {{10, 1'000, 983'000, 998'000}}));
  EXPECT_EQ(starts.times, (Times{kAt - 17 * kSecond, kAt - 10 * kSecond}));
  // A flow in one interval is one event.
  rig.send(netflow5({.sequence = 1}, {{1, 77, 991'000, 998'000}}));
  EXPECT_EQ(rig.rows.back(), (std::vector<int64_t>{77, 1, 1}));
}

TEST(Netflow, SharesSumUpToTheWholeOverManyBatches) {
  FormatOptions format;
  format.spread = {kSecond};
  FlowRig rig({"bytes", "packets", "flows"}, format);
  // 30 flows of 900 s and a bit: 901 intervals each, which no batch holds.
  const std::vector<Flow5> flows(30, {1'234'567, 987'654'321, 99'300, 999'900});
  rig.send(netflow5({}, flows));
  int64_t bytes = 0, packets = 0, count = 0;
  for (const auto& row : rig.rows) bytes += row[0], packets += row[1], count += row[2];
  EXPECT_EQ(bytes, 30 * int64_t{987'654'321});
  EXPECT_EQ(packets, 30 * int64_t{1'234'567});
  EXPECT_EQ(count, 30);
  EXPECT_EQ(rig.rows.size(), 30u * 901);
}

TEST(Netflow, WhatIsNoFlowExportIsNamed) {
  FlowRig rig({});
  rig.send({0, 5});
  rig.send({9});
  rig.send(Bytes(40, 0));
  Bytes shorter = ipfix({}, {});
  set16(shorter, 2, 3);  // less than its own header
  rig.send(shorter);
  EXPECT_EQ(dropped(rig.counts, DropReason::kTruncated), 2u);
  EXPECT_EQ(dropped(rig.counts, DropReason::kNotThisFormat), 1u);
  EXPECT_EQ(dropped(rig.counts, DropReason::kMalformed), 1u);
}

TEST(Netflow, PartitionsByStream) {
  ParserOptions options;
  options.partition_field = schema_of("netflow").find("stream");
  FlowRig rig({}, {}, options);
  rig.send(netflow5({.domain = 1}, {{}, {}}), 1).send(netflow5({.domain = 1}, {{}}), 2);
  rig.send(netflow5({.sequence = 0, .domain = 2}, {{}}), 1);
  EXPECT_EQ(rig.partitions, (std::vector<uint32_t>{1, 1, 2, 3}));
}

// Bursts of any size give the same events.
TEST(Netflow, BurstsDoNotShow) {
  std::vector<Bytes> packets;
  for (uint32_t i = 0; i < 60; ++i) {
    packets.push_back(
        netflow9({.sequence = 3 * i}, {set_of(256, usual(i, i, 1, 990'000, 999'000))}));
    packets.push_back(netflow9({.sequence = 3 * i + 1},
                               {set_of(0, template_of(i % 9 == 0 ? 256 : 300, kUsual))}));
    packets.push_back(netflow5({.sequence = i * 30}, std::vector<Flow5>(30)));
  }
  FlowRig one({"bytes", "sampling"}), all({"bytes", "sampling"});
  for (const Bytes& packet : packets) one.send(packet);
  BurstBuilder burst;
  for (const Bytes& packet : packets) FlowRig::add(burst, packet);
  all.take(burst);
  EXPECT_EQ(one.rows, all.rows);
  EXPECT_EQ(one.times, all.times);
  EXPECT_EQ(one.counts.noted, all.counts.noted);
}

TEST(Netflow, OptionsThatAreNone) {
  const auto why = [](const FormatOptions& options) {
    return std::string(open_format("netflow", options).status().message());
  };
  FormatOptions options;
  options.elements = {"12 as src"};
  EXPECT_EQ(why(options), "elements: there is a field 'src' already");
  options.elements = {"99999 as far"};
  EXPECT_NE(why(options).find("elements: '99999 as far' is none"), std::string::npos);
  options.elements = {};
  options.ntp_microseconds = {"192.0.2"};
  EXPECT_NE(why(options).find("ntp_microseconds: '192.0.2' is no address"), std::string::npos);
  options.ntp_microseconds = {"*"};
  options.spread = {kSecond};
  options.flow_time = FlowTime::kArrival;
  EXPECT_NE(why(options).find("spread: "), std::string::npos);
}

// Tables are bounded: what was used longest ago goes.
TEST(Netflow, MoreTemplatesThanTheTableHolds) {
  FlowRig rig({"bytes"});
  for (uint32_t domain = 0; domain < 600; ++domain)
    rig.send(ipfix({.domain = domain}, {set_of(2, template_of(256, {{1, 4}}))}));
  EXPECT_EQ(rig.noted(Note::kTableFull), 600u - 512u);
  rig.send(ipfix({.domain = 599}, {set_of(256, {0, 0, 0, 1})}));
  rig.send(ipfix({.domain = 0}, {set_of(256, {0, 0, 0, 2})}));
  EXPECT_EQ(rig.rows, Rows{{1}});
}

}  // namespace
}  // namespace tidewire::test
