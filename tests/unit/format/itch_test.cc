// The itch format against datagrams from an independent builder: fields of the message types, the
// cursor, sequence numbers, and times in New York on ordinary days and on both clock changes of
// 2023.

#include <gtest/gtest.h>

#include "itch_feed.h"

namespace tidewire::test {
namespace {

TEST(Itch, FieldsOfAnAddOrder) {
  Feed feed({"type", "stock_locate", "tracking", "stock", "side", "shares", "price", "order_ref",
             "match", "sequence", "session", "message_time"});
  ItchMessage message('A', kOpen + 5, 77, 3);
  message.u64(123456789012).letter('S').u32(300).padded("AAPL").u32(2437500);
  const Outcome& run = feed.send(mold_frame("000010059B", 14757701, {message}));
  EXPECT_EQ(run.rows, (Rows{{packed("A"), 77, 3, packed("AAPL"), packed("S"), 300, 2437500,
                             123456789012, kAbsent, 14757701, packed("00001005"), packed("9B"),
                             static_cast<int64_t>(kOpen + 5)}}));
  EXPECT_EQ(run.times, std::vector<int64_t>{kMidnight + static_cast<int64_t>(kOpen) + 5});
}

TEST(Itch, EveryTypeHasItsOwnFields) {
  Feed feed({"type", "stock", "side", "shares", "price", "order_ref", "match"});
  const auto m = [](char type) { return ItchMessage(type, kOpen); };
  const int64_t no = kAbsent;
  const std::vector<ItchMessage> messages{
      m('S').letter('O'),
      m('R').padded("ZVZZT").fill(39),
      m('H').padded("HALT").fill(25),
      m('Y').padded("REGSHO").letter('0'),
      m('L').padded("MMKR", 4).padded("LMT").fill(26),
      m('V').u64(1).u64(2).u64(3),
      m('W').letter('1'),
      m('K').padded("IPO").u32(1).letter('A').u32(5),
      m('J').padded("LULD").u32(1).u32(2).u32(3).u32(4),
      m('h').padded("OPHALT").letter('Q').letter('H'),
      m('F').u64(1).letter('B').u32(2).padded("F").u32(3).padded("MPID", 4),
      m('E').u64(4).u32(5).u64(6),
      m('C').u64(7).u32(8).u64(9).letter('Y').u32(10),
      m('X').u64(11).u32(12),
      m('D').u64(13),
      m('U').u64(14).u64(15).u32(16).u32(17),
      m('P').u64(0).letter('B').u32(18).padded("TRADE").u32(19).u64(20),
      m('Q').u64(uint64_t{1} << 40).padded("CROSS").u32(21).u64(22).letter('O'),
      m('B').u64(23),
      m('I').u64(1).u64(2).letter('B').padded("IMBAL").u32(3).u32(4).u32(5).letter('C').letter('1'),
      m('N').padded("RETAIL").letter('A'),
      m('O').padded("DLCR").fill(48),
  };
  // Lengths of the specification's tables, in the same order.
  const std::vector<size_t> lengths{12, 39, 25, 20, 26, 35, 12, 28, 35, 21, 40,
                                    31, 36, 23, 19, 35, 44, 40, 19, 50, 20, 48};
  for (size_t i = 0; i < messages.size(); ++i)
    ASSERT_EQ(messages[i].bytes().size(), lengths[i]) << messages[i].bytes()[0];
  const auto p = packed;
  EXPECT_EQ(feed.send(mold_frame("S", 1, messages)).rows,
            (Rows{{p("S"), no, no, no, no, no, no},
                  {p("R"), p("ZVZZT"), no, no, no, no, no},
                  {p("H"), p("HALT"), no, no, no, no, no},
                  {p("Y"), p("REGSHO"), no, no, no, no, no},
                  {p("L"), p("LMT"), no, no, no, no, no},
                  {p("V"), no, no, no, no, no, no},
                  {p("W"), no, no, no, no, no, no},
                  {p("K"), p("IPO"), no, no, no, no, no},
                  {p("J"), p("LULD"), no, no, no, no, no},
                  {p("h"), p("OPHALT"), no, no, no, no, no},
                  {p("F"), p("F"), p("B"), 2, 3, 1, no},
                  {p("E"), no, no, 5, no, 4, 6},
                  {p("C"), no, no, 8, 10, 7, 9},
                  {p("X"), no, no, 12, no, 11, no},
                  {p("D"), no, no, no, no, 13, no},
                  {p("U"), no, no, 16, 17, 14, no},
                  {p("P"), p("TRADE"), p("B"), 18, 19, 0, 20},
                  {p("Q"), p("CROSS"), no, int64_t{1} << 40, 21, no, 22},
                  {p("B"), no, no, no, no, no, 23},
                  {p("I"), p("IMBAL"), no, no, no, no, no},
                  {p("N"), p("RETAIL"), no, no, no, no, no},
                  {p("O"), p("DLCR"), no, no, no, no, no}}));
}

TEST(Itch, TheCursorStopsInsideAPacket) {
  Feed feed({"order_ref", "sequence"});
  BurstBuilder burst;
  uint64_t next = 1;
  for (int packet = 0; packet < 10; ++packet) {  // 10 x 60 messages: 256 + 256 + 88
    std::vector<ItchMessage> messages;
    const uint64_t first = next;
    for (int i = 0; i < 60; ++i) messages.push_back(delete_order(kOpen, 1000 + next++));
    burst.add(mold_frame("S", first, messages), kMidnight + static_cast<int64_t>(kOpen));
  }
  burst.burst().first = Position{500};
  const Outcome& run = feed.send(burst);
  ASSERT_EQ(run.rows.size(), 600u);
  for (int64_t i = 0; i < 600; ++i)
    EXPECT_EQ(run.rows[static_cast<size_t>(i)], (std::vector<int64_t>{1001 + i, 1 + i}));
  EXPECT_EQ(run.positions,
            (std::vector<uint64_t>{500, 504, 508}));  // events 0, 256, 512 of 60 each
  EXPECT_EQ(run.counts.packets_parsed, 10u);
  EXPECT_EQ(run.counts.events, 600u);
}

TEST(Itch, HeartbeatRevealsLossAndEndOfSessionIsCounted) {
  Feed feed({"sequence"});
  feed.send(mold_frame("S", 10, {delete_order(kOpen, 1), delete_order(kOpen, 2)}));
  feed.send(mold_frame("S", 12, {}));  // nothing missing
  Outcome& run = feed.send(mold_frame("S", 15, {}));
  EXPECT_EQ(noted(run.counts, Note::kHeartbeat), 2u);
  EXPECT_EQ(noted(run.counts, Note::kGap), 3u);  // 12, 13, 14
  feed.send(mold_frame("S", 16, {}, 0xFFFF));
  EXPECT_EQ(noted(run.counts, Note::kEndOfSession), 1u);
  EXPECT_EQ(noted(run.counts, Note::kGap), 4u);
  EXPECT_EQ(run.counts.packets_parsed, 4u);
  EXPECT_EQ(run.rows.size(), 2u);
}

// A heartbeat that finds nothing missing says that the feed is caught up at its arrival.
TEST(Itch, CaughtUpIsAMark) {
  Feed feed({"sequence"});
  const auto at = [](int64_t second) { return kMidnight + 10 * kHour + second * kSecond; };
  BurstBuilder burst;  // the marks stand where their packets do
  burst.add(mold_frame("S", 10, {delete_order(kOpen, 1), delete_order(kOpen, 2)}), at(0));
  burst.add(mold_frame("S", 12, {}), at(1));
  burst.add(mold_frame("S", 12, {}), at(2));
  burst.add(mold_frame("S", 12, {delete_order(kOpen, 3)}), at(3));
  burst.add(mold_frame("S", 13, {}), at(4));
  using Marks = std::vector<std::pair<size_t, int64_t>>;
  EXPECT_EQ(feed.send(burst).marks, (Marks{{2, at(2)}, {3, at(4)}}));
  EXPECT_EQ(feed.send(mold_frame("S", 15, {}), at(5)).marks.size(), 2u);  // two are missing
  EXPECT_EQ(feed.send(mold_frame("S", 15, {}), at(6)).marks.size(), 3u);  // and known to be
  // A second session is under way: neither speaks for the other.
  feed.send(mold_frame("T", 1, {delete_order(kOpen, 4)}), at(7));
  EXPECT_EQ(feed.send(mold_frame("S", 15, {}), at(8)).marks.size(), 3u);
  EXPECT_EQ(feed.send(mold_frame("T", 2, {}), at(9)).marks.size(), 3u);
  EXPECT_EQ(feed.send(mold_frame("S", 15, {}, 0xFFFF), at(10)).marks.size(), 3u);
  EXPECT_EQ(feed.send(mold_frame("T", 2, {}, 0xFFFF), at(11)).marks.back(),
            std::pair(size_t{4}, at(11)));
  // S goes on after all.
  feed.send(mold_frame("S", 15, {delete_order(kOpen, 5)}), at(12));
  EXPECT_EQ(feed.send(mold_frame("T", 2, {}), at(13)).marks.size(), 4u);
}

TEST(Itch, DuplicatesGapsAndReordering) {
  Feed feed({"sequence"});
  const auto one = [&](uint64_t s) -> Outcome& {
    return feed.send(mold_frame("S", s, {delete_order(kOpen, s)}));
  };
  for (const uint64_t s : {1, 3, 2, 4, 3}) one(s);  // the highest counts: one gap, of one message
  // Overlaps what has come by two of three messages.
  Outcome& run = feed.send(
      mold_frame("S", 3, {delete_order(kOpen, 3), delete_order(kOpen, 4), delete_order(kOpen, 5)}));
  EXPECT_EQ(run.rows, (Rows{{1}, {3}, {2}, {4}, {5}}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 1u);
  EXPECT_EQ(noted(run.counts, Note::kReordered), 1u);
  EXPECT_EQ(noted(run.counts, Note::kDuplicateMessage), 3u);
  EXPECT_EQ(dropped(run.counts, DropReason::kDuplicate), 1u);  // the packet with only 3
}

TEST(Itch, BothLinesOfAPairGiveEachMessageOnce) {
  Feed feed({"sequence"});
  BurstBuilder burst;
  const auto frame = [](uint64_t s, uint32_t vlan) {
    return PacketBuilder()
        .ethernet()
        .vlan(0x8100, vlan)
        .ipv4(ipv4_address(10, 1, 1, 1), ipv4_address(233, 54, 12, vlan))
        .udp(1, 26477 + vlan, mold_payload("S", s, {delete_order(kOpen, s)}))
        .finish();
  };
  for (uint64_t s = 1; s <= 100; ++s) {
    if (s % 7 != 0) burst.add(frame(s, 1), kMidnight + static_cast<int64_t>(kOpen));
    if (s > 5 && (s - 5) % 11 != 0)  // the other line is five messages behind
      burst.add(frame(s - 5, 2), kMidnight + static_cast<int64_t>(kOpen));
  }
  const Outcome& run = feed.send(burst);
  // Missing on both lines: multiples of 7 and 11 (77), and above 95 what line A lost: 98.
  EXPECT_EQ(run.rows.size(), 98u);
  EXPECT_EQ(noted(run.counts, Note::kGap) - noted(run.counts, Note::kReordered), 2u);
}

TEST(Itch, SessionChangeIsNoGap) {
  Feed feed({"sequence"});
  feed.send(mold_frame("MONDAY", 100000, {delete_order(kOpen, 1)}));
  feed.send(mold_frame("TUESDAY", 1, {delete_order(kOpen, 1)}));
  // The first session goes on where it was: known, so neither a change nor a gap.
  Outcome& run = feed.send(mold_frame("MONDAY", 100001, {delete_order(kOpen, 1)}));
  EXPECT_EQ(run.rows, (Rows{{100000}, {1}, {100001}}));
  EXPECT_EQ(noted(run.counts, Note::kSessionChange), 1u);
  EXPECT_EQ(noted(run.counts, Note::kGap), 0u);
}

TEST(Itch, NumbersFarAwayAreARestart) {
  Feed feed({"sequence"});
  const auto one = [&](uint64_t s) -> Outcome& {
    return feed.send(mold_frame("S", s, {delete_order(kOpen, s)}));
  };
  one(1'000'000);
  one(1);  // a million back, more than the window of 131072
  one(2);
  one(uint64_t{1} << 60);          // no loss is that large
  Outcome& run = one(UINT64_MAX);  // and the arithmetic holds at the edge
  one(0);
  EXPECT_EQ(run.rows.size(), 6u);
  EXPECT_EQ(noted(run.counts, Note::kSequenceRestart), 3u);
  EXPECT_EQ(noted(run.counts, Note::kGap), 0u);
}

TEST(Itch, LargeGapForgetsNothingInsideTheWindow) {
  Feed feed({"sequence"});
  const auto one = [&](uint64_t s) -> Outcome& {
    return feed.send(mold_frame("S", s, {delete_order(kOpen, s)}));
  };
  for (uint64_t s = 1; s <= 200; ++s) one(s);
  one(130'000);
  one(200);  // still remembered: duplicate
  Outcome& run = one(201);
  EXPECT_EQ(noted(run.counts, Note::kDuplicateMessage), 1u);
  EXPECT_EQ(noted(run.counts, Note::kReordered), 1u);
  one(261'000);  // 131072 back lies 129929: 201 is forgotten now, 130000 is not
  one(130'000);
  EXPECT_EQ(noted(run.counts, Note::kDuplicateMessage), 2u);
  // Numbers of the gap share bits with forgotten ones, which must have been cleared.
  for (uint64_t s = 131'072 + 150; s < 131'072 + 202; ++s) one(s);
  EXPECT_EQ(noted(run.counts, Note::kDuplicateMessage), 2u);
  EXPECT_EQ(noted(run.counts, Note::kReordered), 53u);
}

TEST(Itch, UnknownAndShortMessagesAreSkippedByLength) {
  Feed feed({"sequence"});
  ItchMessage unknown('z', kOpen);
  unknown.fill(60);
  ItchMessage cut('A', kOpen);
  cut.fill(35);  // an add order has 36
  ItchMessage grown('D', kOpen);
  grown.u64(5).fill(30);  // a later revision may append
  const Outcome& run = feed.send(mold_frame("S", 1, {unknown, cut, grown, delete_order(kOpen, 4)}));
  EXPECT_EQ(run.rows, (Rows{{3}, {4}}));
  EXPECT_EQ(noted(run.counts, Note::kUnknownMessage), 1u);
  EXPECT_EQ(noted(run.counts, Note::kBadLength), 1u);
  EXPECT_EQ(noted(run.counts, Note::kGap), 0u);
}

TEST(Itch, WhatIsNoMoldPacketIsDroppedByName) {
  Feed feed({"sequence"});
  const auto ip = [] {
    return PacketBuilder().ethernet().ipv4(ipv4_address(1, 1, 1, 1), ipv4_address(2, 2, 2, 2));
  };
  feed.send(ip().tcp(1, 2, 2, 60).finish());
  feed.send(ip().udp(1, 2, 60).finish(60));  // 0x5A... is a session of letters, the rest is odd
  feed.send(ip().udp(53, 53, Bytes(60, 0x01)).finish());
  Outcome& run = feed.send(ip().udp(1, 2, 19).finish());
  EXPECT_EQ(dropped(run.counts, DropReason::kNotThisFormat), 2u);
  EXPECT_EQ(dropped(run.counts, DropReason::kTruncated), 1u);
  EXPECT_EQ(noted(run.counts, Note::kBadLength), 1u);
}

// A datagram cut at every byte: the messages before the cut are there, the rest shows as a gap.
TEST(Itch, EveryCut) {
  const Bytes frame = mold_frame(
      "S", 7,
      {delete_order(kOpen, 1), add_order(kOpen, 2, 'B', 1, "X", 1), delete_order(kOpen, 3)});
  const size_t head = 18 + 20 + 8 + 20;  // Ethernet and tag, IPv4, UDP, MoldUDP64
  ASSERT_EQ(frame.size(), head + 21 + 38 + 21);
  for (size_t cut = 0; cut <= frame.size(); ++cut) {
    SCOPED_TRACE(cut);
    Feed feed({"sequence"});
    BurstBuilder burst;
    burst.add(frame, cut, frame.size(), kMidnight + static_cast<int64_t>(kOpen));
    feed.send(burst);
    Outcome& run = feed.send(mold_frame("S", 10, {delete_order(kOpen, 4)}));
    const size_t whole = (cut >= head + 21) + (cut >= head + 59) + (cut >= head + 80);
    EXPECT_EQ(run.rows.size(), whole + 1);
    EXPECT_EQ(noted(run.counts, Note::kGap), cut >= head ? 3 - whole : 0u);
  }
}

TEST(Itch, NoArrivalMeansNoTimeButSequenceCounts) {
  Feed feed({"sequence"});
  Outcome& run = feed.send(mold_frame("S", 1, {delete_order(kOpen, 1), delete_order(kOpen, 2)}),
                           EventTime::before_all().ns);
  EXPECT_EQ(run.counts.ended.no_time, 2u);
  feed.send(mold_frame("S", 3, {delete_order(kOpen, 3)}));
  EXPECT_EQ(run.rows, (Rows{{3}}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 0u);
  // A stamp that no day has.
  feed.send(mold_frame("S", 4, {delete_order(static_cast<uint64_t>(25 * kHour), 4)}));
  EXPECT_EQ(run.counts.ended.no_time, 3u);
}

TEST(Itch, TimesAtTheEdgesOfInt64AreOutOfRange) {
  Feed feed({"sequence"});
  uint64_t s = 1;
  for (const int64_t arrival : {INT64_MIN + 1, INT64_MIN + kHour, INT64_MAX - 1,
                                INT64_MAX - (int64_t{1} << 61) + kHour * 99})
    feed.send(mold_frame("S", s++, {delete_order(kOpen, 1)}), arrival);
  Outcome& run = feed.send(mold_frame("S", s, {delete_order(kOpen, 1)}));
  EXPECT_EQ(run.counts.ended.out_of_range, 4u);
  EXPECT_EQ(run.rows.size(), 1u);
}

// The capture of spec/formats.md 1.1: arrived 13:30:00.000059094Z, carries 09:29:59.999894278 EDT.
TEST(Itch, EventTimeMayPrecedeArrivalAcrossAWindowEdge) {
  Feed feed({});
  const int64_t arrival = kMidnight + static_cast<int64_t>(kOpen) + 59'094;
  Outcome& run = feed.send(mold_frame("S", 1, {delete_order(kOpen - 105'722, 1)}), arrival);
  EXPECT_EQ(run.times, std::vector<int64_t>{kMidnight + static_cast<int64_t>(kOpen) - 105'722});
}

// Days since 1970-01-01: 2023-03-12 is 19428, 2023-11-05 is 19666 (date -d DATE +%s / 86400).
// Elapsed since midnight: on the day that loses an hour, 09:30 on the clock is 8.5 h after it.
TEST(Itch, ClockChangesOf2023) {
  struct Case {
    int64_t midnight_utc;
    int64_t since_midnight;
    int64_t expected_utc;
  };
  const int64_t march = 19428 * 24 * kHour, november = 19666 * 24 * kHour;
  const Case cases[] = {
      {march + 5 * kHour, 1 * kHour, march + 6 * kHour},            // 01:00 EST
      {march + 5 * kHour, 2 * kHour, march + 7 * kHour},            // 03:00 EDT, the change
      {march + 5 * kHour, 17 * kHour / 2, march + 27 * kHour / 2},  // 09:30 EDT = 13:30Z
      {november + 4 * kHour, 1 * kHour, november + 5 * kHour},      // 01:00 EDT
      {november + 4 * kHour, 2 * kHour, november + 6 * kHour},      // 01:00 EST, the second one
      {november + 4 * kHour, 21 * kHour / 2, november + 29 * kHour / 2},  // 09:30 EST = 14:30Z
      {november + 4 * kHour, 25 * kHour - 1, november + 29 * kHour - 1},  // its last nanosecond
  };
  for (const Case& c : cases) {
    Feed feed({});
    Outcome& run =
        feed.send(mold_frame("S", 1, {delete_order(static_cast<uint64_t>(c.since_midnight), 1)}),
                  c.expected_utc + 150'000);
    EXPECT_EQ(run.times, std::vector<int64_t>{c.expected_utc});
    EXPECT_EQ(c.midnight_utc + c.since_midnight, c.expected_utc);
  }
}

TEST(Itch, NearMidnightTheDateIsTheNearest) {
  const int64_t day = 24 * kHour;
  struct Case {
    int64_t arrival;
    int64_t since_midnight;
    int64_t expected;
  };
  const Case cases[] = {
      {kMidnight + 100, day - 50, kMidnight - 50},      // sent before midnight, arrived after
      {kMidnight - 100, 50, kMidnight + 50},            // the other clock runs ahead
      {kMidnight + day - 1, 0, kMidnight + day},        //
      {kMidnight + day, day - 1, kMidnight + day - 1},  //
      {kMidnight + 11 * kHour, 2 * kHour, kMidnight + 2 * kHour},  // late by hours: same day
  };
  Feed feed({});
  uint64_t s = 1;
  std::vector<int64_t> expected;
  for (const Case& c : cases) {
    feed.send(mold_frame("S", s++, {delete_order(static_cast<uint64_t>(c.since_midnight), 1)}),
              c.arrival);
    expected.push_back(c.expected);
  }
  BurstBuilder none;
  EXPECT_EQ(feed.send(none).times, expected);
}

TEST(Itch, OtherZonesAndUnknownOnes) {
  FormatOptions tokyo;
  tokyo.zone = "Asia/Tokyo";  // UTC + 9, no summer time
  Feed feed({}, {}, tokyo);
  // 07:00Z is 16:00 = 57600 s in Tokyo.
  Outcome& run = feed.send(mold_frame("S", 1, {delete_order(uint64_t{57600} * 1'000'000'000, 1)}),
                           18142 * 24 * kHour + 7 * kHour + 500);
  EXPECT_EQ(run.times, std::vector<int64_t>{18142 * 24 * kHour + 7 * kHour});
  FormatOptions nowhere;
  nowhere.zone = "America/New_Yrok";
  const auto format = open_format("itch", nowhere);
  ASSERT_FALSE(format.ok());
  EXPECT_NE(format.status().ToString().find("America/New_Yrok"), std::string::npos);
}

TEST(Itch, PartitionsByStock) {
  ParserOptions options;
  options.partition_field = schema_of("itch").find("stock_locate");
  auto parser = parser_of("itch", {"stock_locate"}, options);
  BurstBuilder burst;
  burst.add(mold_frame("S", 1,
                       {delete_order(kOpen, 1, 900), delete_order(kOpen, 1, 30),
                        delete_order(kOpen, 1, 900)}),
            kMidnight + static_cast<int64_t>(kOpen));
  auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  receive(*parser, burst.burst(), counts);
  EXPECT_FALSE(parser->next(*batch, counts));
  ASSERT_EQ(batch->count, 3u);
  EXPECT_EQ(index_of(batch->partition[0]), 1u);
  EXPECT_EQ(index_of(batch->partition[1]), 2u);
  EXPECT_EQ(index_of(batch->partition[2]), 1u);
}

}  // namespace
}  // namespace tidewire::test
