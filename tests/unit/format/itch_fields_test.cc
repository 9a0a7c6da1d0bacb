// Fields of single message types, each message written in the order of the specification's tables;
// names of stocks; files of messages.

#include <gtest/gtest.h>

#include "itch_feed.h"

namespace tidewire::test {
namespace {

struct Expected {
  std::string field;
  int64_t value;
};

// The fields of one message, all others absent: of those that this test file names anywhere.
const std::vector<std::string> kBodies{"event_code",
                                       "market_category",
                                       "financial_status",
                                       "round_lot",
                                       "round_lots_only",
                                       "issue_class",
                                       "issue_subtype",
                                       "authenticity",
                                       "ipo",
                                       "luld_tier",
                                       "etp",
                                       "etp_leverage",
                                       "etp_inverse",
                                       "short_sale_threshold",
                                       "trading_state",
                                       "reason",
                                       "reg_sho",
                                       "participant",
                                       "primary_maker",
                                       "maker_mode",
                                       "maker_state",
                                       "decline_level_1",
                                       "decline_level_2",
                                       "decline_level_3"};
const std::vector<std::string> kMore{
    "breached_level", "release_time",  "release_qualifier", "ipo_price",       "reference_price",
    "upper_price",    "lower_price",   "collar_extension",  "market",          "halt_action",
    "printable",      "new_order_ref", "cross_type",        "paired_shares",   "imbalance",
    "imbalance_side", "far_price",     "near_price",        "price_variation", "interest",
    "open_eligible",  "least_price",   "greatest_price"};

void expect_fields(const ItchMessage& message, size_t length,
                   const std::vector<Expected>& expected) {
  SCOPED_TRACE(static_cast<char>(message.bytes()[0]));
  ASSERT_EQ(message.bytes().size(), length);  // as the specification has it
  size_t found = 0;
  for (const auto& fields : {kBodies, kMore}) {
    Feed feed(fields);
    const Outcome& run = feed.send(mold_frame("S", 1, {message}));
    ASSERT_EQ(run.rows.size(), 1u);
    for (size_t f = 0; f < fields.size(); ++f) {
      const auto at = std::find_if(expected.begin(), expected.end(),
                                   [&](const Expected& e) { return e.field == fields[f]; });
      EXPECT_EQ(run.rows[0][f], at == expected.end() ? kAbsent : at->value) << fields[f];
      found += at != expected.end();
    }
  }
  EXPECT_EQ(found, expected.size());
}

TEST(ItchFields, OfTheDaysFirstMessages) {
  const auto m = [](char type) { return ItchMessage(type, kOpen, 7); };
  const auto p = packed;
  expect_fields(m('S').letter('Q'), 12, {{"event_code", p("Q")}});
  expect_fields(m('R')
                    .padded("TQQQ")
                    .letter('G')
                    .letter('N')
                    .u32(100)
                    .letter('N')
                    .letter('Q')
                    .padded("E", 2)
                    .letter('P')
                    .letter(' ')
                    .letter('Y')
                    .letter('2')
                    .letter('Y')
                    .u32(3)
                    .letter('N'),
                39,
                {{"market_category", p("G")},
                 {"financial_status", p("N")},
                 {"round_lot", 100},
                 {"round_lots_only", p("N")},
                 {"issue_class", p("Q")},
                 {"issue_subtype", p("E")},
                 {"authenticity", p("P")},
                 {"short_sale_threshold", 0},
                 {"ipo", p("Y")},
                 {"luld_tier", p("2")},
                 {"etp", p("Y")},
                 {"etp_leverage", 3},
                 {"etp_inverse", p("N")}});
  expect_fields(m('H').padded("HALT").letter('P').letter(' ').padded("LUDP", 4), 25,
                {{"trading_state", p("P")}, {"reason", p("LUDP")}});
  expect_fields(m('Y').padded("SHO").letter('1'), 20, {{"reg_sho", p("1")}});
  expect_fields(m('L').padded("GSCO", 4).padded("ABC").letter('Y').letter('N').letter('A'), 26,
                {{"participant", p("GSCO")},
                 {"primary_maker", p("Y")},
                 {"maker_mode", p("N")},
                 {"maker_state", p("A")}});
  expect_fields(m('V').u64(402'000'000'000).u64(376'000'000'000).u64(346'000'000'000), 35,
                {{"decline_level_1", 402'000'000'000},
                 {"decline_level_2", 376'000'000'000},
                 {"decline_level_3", 346'000'000'000}});
  expect_fields(m('W').letter('1'), 12, {{"breached_level", p("1")}});
}

TEST(ItchFields, OfAuctionsAndTrades) {
  const auto m = [](char type) { return ItchMessage(type, kOpen, 7); };
  const auto p = packed;
  expect_fields(m('K').padded("NEWS").u32(35'100).letter('A').u32(280'000), 28,
                {{"release_time", 35'100}, {"release_qualifier", p("A")}, {"ipo_price", 280'000}});
  expect_fields(
      m('J').padded("LULD").u32(10).u32(12).u32(8).u32(2), 35,
      {{"reference_price", 10}, {"upper_price", 12}, {"lower_price", 8}, {"collar_extension", 2}});
  expect_fields(m('h').padded("X").letter('B').letter('T'), 21,
                {{"market", p("B")}, {"halt_action", p("T")}});
  expect_fields(m('F').u64(1).letter('B').u32(2).padded("F").u32(3).padded("MS", 4), 40,
                {{"participant", p("MS")}});
  expect_fields(m('C').u64(1).u32(2).u64(3).letter('N').u32(4), 36, {{"printable", p("N")}});
  expect_fields(m('U').u64(14).u64(15).u32(16).u32(17), 35, {{"new_order_ref", 15}});
  expect_fields(m('Q').u64(5).padded("X").u32(6).u64(7).letter('C'), 40, {{"cross_type", p("C")}});
  expect_fields(m('I')
                    .u64(70'000)
                    .u64(1'200)
                    .letter('S')
                    .padded("IMB")
                    .u32(101)
                    .u32(102)
                    .u32(103)
                    .letter('O')
                    .letter('L'),
                50,
                {{"paired_shares", 70'000},
                 {"imbalance", 1'200},
                 {"imbalance_side", p("S")},
                 {"far_price", 101},
                 {"near_price", 102},
                 {"reference_price", 103},
                 {"cross_type", p("O")},
                 {"price_variation", p("L")}});
  expect_fields(m('N').padded("X").letter('A'), 20, {{"interest", p("A")}});
  expect_fields(m('O').padded("D").letter('Y').u32(1).u32(2).u32(3).u64(4).u32(5).u32(6), 48,
                {{"open_eligible", p("Y")},
                 {"least_price", 1},
                 {"greatest_price", 2},
                 {"near_price", 3},
                 {"lower_price", 5},
                 {"upper_price", 6}});
  Feed feed({"near_time"});
  const auto dlcr = m('O').padded("D").letter('Y').u32(1).u32(2).u32(3).u64(4).u32(5).u32(6);
  EXPECT_EQ(feed.send(mold_frame("S", 1, {dlcr})).rows, (Rows{{4}}));
}

ItchMessage directory(std::string_view stock, uint32_t locate) {
  ItchMessage message('R', kOpen, locate);
  return message.padded(stock).fill(39);
}

TEST(ItchFields, SymbolIsTheDirectorysName) {
  Feed feed({"symbol"});
  const auto p = packed;
  // Inside one datagram, so inside one batch: what comes before its name has none.
  feed.send(mold_frame("MON", 1,
                       {delete_order(kOpen, 1, 9), directory("AAPL", 9), delete_order(kOpen, 2, 9),
                        directory("F", 65535), delete_order(kOpen, 3, 65535),
                        delete_order(kOpen, 4, 10), ItchMessage('S', kOpen, 0).letter('Q')}));
  // Another session has its own numbers; the first one keeps its names.
  feed.send(mold_frame("TUE", 1, {delete_order(kOpen, 1, 9), directory("MSFT", 9)}));
  feed.send(mold_frame("MON", 8, {delete_order(kOpen, 5, 9)}));
  Outcome& run = feed.send(mold_frame("TUE", 3, {delete_order(kOpen, 5, 9)}));
  EXPECT_EQ(run.rows, (Rows{{kAbsent},
                            {p("AAPL")},
                            {p("AAPL")},
                            {p("F")},
                            {p("F")},
                            {kAbsent},
                            {kAbsent},
                            {kAbsent},
                            {p("MSFT")},
                            {p("AAPL")},
                            {p("MSFT")}}));
  // A day's messages start in the same session: its names are of the day before.
  feed.send(mold_frame("TUE", 4,
                       {ItchMessage('S', kOpen, 0).letter('O'), delete_order(kOpen, 6, 9),
                        directory("NVDA", 9), delete_order(kOpen, 7, 9)}));
  EXPECT_EQ(Rows(run.rows.begin() + 11, run.rows.end()),
            (Rows{{kAbsent}, {kAbsent}, {p("NVDA")}, {p("NVDA")}}));
}

TEST(ItchFields, FiveSessionsForgetTheOldestNames) {
  Feed feed({"symbol"});
  for (const char* session : {"A", "B", "C", "D", "E"})
    feed.send(mold_frame(session, 1, {directory(session, 1)}));
  Outcome& run = feed.send(mold_frame("E", 2, {delete_order(kOpen, 1, 1)}));
  EXPECT_EQ(run.rows.back(), (std::vector<int64_t>{packed("E")}));
  feed.send(mold_frame("B", 2, {delete_order(kOpen, 1, 1)}));
  EXPECT_EQ(run.rows.back(), (std::vector<int64_t>{packed("B")}));
  feed.send(mold_frame("A", 2, {delete_order(kOpen, 1, 1)}));
  EXPECT_EQ(run.rows.back(), (std::vector<int64_t>{kAbsent}));
}

// BinaryFILE: each record is a message; the file has no arrivals, so the date is given.
TEST(ItchRecords, MessagesOfAFileHaveTheGivenDate) {
  FormatOptions dated;
  dated.date = 18199;  // 2019-10-30, kMidnight
  Feed feed({"symbol", "order_ref", "sequence", "session"}, {}, dated);
  const int64_t none = EventTime::before_all().ns;
  BurstBuilder burst;
  for (const ItchMessage& m :
       {directory("AAPL", 9), delete_order(kOpen, 21, 9), delete_order(25 * 3600 * kSecond, 22, 9)})
    burst.add(m.bytes(), none, LinkType::kPayload);
  Outcome& run = feed.send(burst);
  EXPECT_EQ(run.rows, (Rows{{packed("AAPL"), kAbsent, kAbsent, kAbsent, kAbsent},
                            {packed("AAPL"), 21, kAbsent, kAbsent, kAbsent}}));
  EXPECT_EQ(run.times, std::vector<int64_t>(2, kMidnight + static_cast<int64_t>(kOpen)));
  EXPECT_EQ(run.counts.ended.no_time, 1u);  // no day has such a stamp
  EXPECT_EQ(run.counts.packets_parsed, 3u);
}

TEST(ItchRecords, WithoutADateTheyHaveNoTime) {
  Feed feed({"order_ref"});
  BurstBuilder burst;
  burst.add(delete_order(kOpen, 1).bytes(), EventTime::before_all().ns, LinkType::kPayload);
  EXPECT_EQ(feed.send(burst).counts.ended.no_time, 1u);
  // Where there is an arrival, its date counts.
  BurstBuilder live;
  live.add(delete_order(kOpen, 2).bytes(), kMidnight + 11 * kHour, LinkType::kPayload);
  EXPECT_EQ(feed.send(live).times, std::vector<int64_t>{kMidnight + static_cast<int64_t>(kOpen)});
}

// The day that loses an hour: 2023-03-12 is day 19428 and begins at 05:00Z; 8.5 h later it is
// 09:30.
TEST(ItchRecords, TheDateBeginsAtTheZonesMidnight) {
  FormatOptions dated;
  dated.date = 19428;
  Feed feed({}, {}, dated);
  BurstBuilder burst;
  burst.add(delete_order(static_cast<uint64_t>(17 * kHour / 2), 1).bytes(),
            EventTime::before_all().ns, LinkType::kPayload);
  EXPECT_EQ(feed.send(burst).times,
            std::vector<int64_t>{19428 * 24 * kHour + 5 * kHour + 17 * kHour / 2});
}

TEST(ItchRecords, OddRecordsEndByName) {
  FormatOptions dated;
  dated.date = 18199;
  Feed feed({"order_ref"}, {}, dated);
  const Bytes whole = delete_order(kOpen, 1).bytes();
  const int64_t none = EventTime::before_all().ns;
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    BurstBuilder burst;
    burst.add(whole, cut, cut, none, LinkType::kPayload);           // the file says so
    burst.add(whole, cut, whole.size(), none, LinkType::kPayload);  // the file ends before
    feed.send(burst);
  }
  BurstBuilder burst;
  burst.add(ItchMessage('z', kOpen).fill(40).bytes(), none, LinkType::kPayload);
  const Outcome& run = feed.send(burst);
  EXPECT_EQ(run.rows.size(), 0u);
  EXPECT_EQ(dropped(run.counts, DropReason::kTruncated), whole.size());
  EXPECT_EQ(noted(run.counts, Note::kBadLength), whole.size() - 1);
  EXPECT_EQ(noted(run.counts, Note::kUnknownMessage), 2u);  // the empty one and 'z'
}

}  // namespace
}  // namespace tidewire::test
