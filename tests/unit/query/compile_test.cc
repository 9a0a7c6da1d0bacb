#include "query/compile.h"

#include <gtest/gtest.h>

#include "sample_schema.h"

namespace tidewire {
namespace {

constexpr Duration seconds(int64_t n) { return {n * kSecond}; }
constexpr Duration kNever{INT64_MAX};

class Compile : public ::testing::Test {
 protected:
  Compile() {
    source_.name = "feed";
    source_.schema = &schema_;
    source_.lanes = {LaneId{0}};
    query_.name = "q";
    query_.source = "feed";
    query_.aggregates = {"count"};
    query_.window = {WindowKind::kTumbling, seconds(1), seconds(1), {}, {}};
  }

  Compiled run(std::vector<QuerySpec> queries) {
    problems_.clear();
    return compile(queries, std::span(&source_, 1), HashSeed{}, problems_);
  }
  Plan plan() {
    Compiled out = run({query_});
    EXPECT_EQ(text(), "");
    return out.plans.at(0);
  }
  PaneSum panes() {
    Compiled out = run({query_});
    EXPECT_EQ(text(), "");
    return out.panes.at(0);
  }
  // "option[item]@column: text" of every problem.
  std::string text() const {
    std::string all;
    for (const QueryProblem& p : problems_) {
      all += p.option;
      if (p.item >= 0) all += "[" + std::to_string(p.item) + "]";
      if (p.column >= 0) all += "@" + std::to_string(p.column);
      all += ": " + p.text + "\n";
    }
    return all;
  }
  std::string problem() {
    run({query_});
    return text();
  }

  Schema schema_ = sample_schema();
  QuerySource source_;
  QuerySpec query_;
  std::vector<QueryProblem> problems_;
};

TEST_F(Compile, GivesColumnsOnlyToWhatIsUsed) {
  query_.where = "port == 443";
  query_.key = {"protocol"};
  query_.aggregates = {"count", "sum(length)"};
  QuerySpec other = query_;
  other.name = "other";
  other.key = {"src"};
  const Compiled out = run({query_, other});
  ASSERT_EQ(text(), "");
  const ColumnMap& map = out.columns.at(0);
  EXPECT_EQ(map.used, 5u);  // src 2, port, protocol, length
  for (const uint32_t field : {kSrc, kPort, kProtocol, kLength}) EXPECT_TRUE(map.wants(field));
  for (const uint32_t field : {kDst, kVlan, kPrice}) EXPECT_FALSE(map.wants(field));
  EXPECT_EQ(out.plans[0].key.at(0).column, map.column[kProtocol]);
  EXPECT_EQ(out.plans[1].key.at(0).column, map.column[kSrc]);
  EXPECT_EQ(out.plans[1].key.at(1).column, map.column[kSrc] + 1);
  EXPECT_EQ(out.plans[0].values, std::vector<uint8_t>{map.column[kLength]});
  EXPECT_EQ(index_of(out.plans[1].id), 1);
}

TEST_F(Compile, GivesThePartitionFieldAColumn) {
  source_.partition = "vlan";
  EXPECT_TRUE(run({query_}).columns.at(0).wants(kVlan));
}

TEST_F(Compile, CountsColumns) {
  query_.key = {"src", "dst"};
  query_.aggregates = {"count", "sum(length)"};
  QuerySpec b = query_, c = query_, d = query_;
  b.key = {"flow", "gateway"};
  c.key = {"venue"};
  c.aggregates = {"first(symbol)", "last(mac)", "max(sent)", "sum(price)", "sum(volume)"};
  d.key = {"ethertype", "protocol", "tcp_flags", "vlan"};
  // 2+2+1 and 2+2 and 3+5 and 4 = 21: fits. Four columns more do not.
  EXPECT_EQ(run({query_, b, c, d}).columns.at(0).used, 21u);
  EXPECT_EQ(text(), "");
  schema_.fields.push_back({"wide", FieldType::kText, 4, 63, 0, false, ""});
  QuerySpec e = query_;
  e.key = {"wide"};
  run({query_, b, c, d, e});
  EXPECT_EQ(text(),
            "source: the queries on 'feed' use 25 columns (src 2, dst 2, protocol 1, vlan 1, "
            "length 1, price 1, symbol 1, tcp_flags 1, mac 1, ethertype 1, flow 2, sent 1, volume "
            "1, venue 3, gateway 2, wide 4); 24 is the limit: read the source twice\n");
}

TEST_F(Compile, CutsKeysToPrefixes) {
  query_.key = {"src/24/48", "protocol"};
  const Plan p = plan();
  EXPECT_EQ(p.key_words, 4u);  // three words take the store of four
  ASSERT_EQ(p.key.size(), 3u);
  const auto column = p.key[0].column;
  EXPECT_EQ(p.key[0].cut, KeyWord::Cut::kHighWord);
  EXPECT_EQ(p.key[0].address, column);
  EXPECT_EQ(p.key[0].mask_ipv4, -1);                // IPv4 is in the low word
  EXPECT_EQ(p.key[0].mask_ipv6, ~int64_t{0xFFFF});  // 48 of 64 bits
  EXPECT_EQ(p.key[1].cut, KeyWord::Cut::kLowWord);
  EXPECT_EQ(p.key[1].column, column + 1);
  EXPECT_EQ(p.key[1].address, column);
  EXPECT_EQ(p.key[1].mask_ipv4, ~int64_t{0xFF});  // 24 of the last 32 bits
  EXPECT_EQ(p.key[1].mask_ipv6, 0);
  EXPECT_EQ(p.key[2].cut, KeyWord::Cut::kNone);
  ASSERT_EQ(p.key_fields.size(), 2u);
  EXPECT_EQ(p.key_fields[0].name, "src/24/48");
  EXPECT_EQ(p.key_fields[0].words, 2);
  EXPECT_EQ(p.key_fields[0].prefix_ipv4, 24);
  EXPECT_EQ(p.key_fields[0].prefix_ipv6, 48);
  EXPECT_EQ(p.key_fields[1].first_word, 2);
}

TEST_F(Compile, ChoosesTheStoreByKeyWords) {
  EXPECT_EQ(plan().key_words, 0u);
  query_.key = {"protocol"};
  EXPECT_EQ(plan().key_words, 1u);
  query_.key = {"src"};
  EXPECT_EQ(plan().key_words, 2u);
  query_.key = {"flow", "src"};
  EXPECT_EQ(plan().key_words, 4u);
  query_.key = {"src", "dst", "port"};
  EXPECT_EQ(problem(),
            "key: the key takes 5 words of 8 bytes (src 2 + dst 2 + port 1); 4 is the limit\n");
  query_.key = {"port", "port"};
  EXPECT_EQ(problem(), "key[1]: 'port' stands in the key twice\n");
}

TEST_F(Compile, UsesStatsForOneNarrowValue) {
  query_.aggregates = {"max(volume)", "count", "avg(volume)", "min(volume)", "sum(volume)"};
  const Plan p = plan();
  EXPECT_EQ(p.cell, CellKind::kStats);  // 23 bits and 2^40 rows: 2^63
  EXPECT_EQ(p.cell_words, 4u);
  EXPECT_EQ(p.values.size(), 1u);
  ASSERT_EQ(p.outputs.size(), 5u);
  const uint16_t words[] = {3, 0, 1, 2, 1};  // {count, sum, min, max}
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(p.outputs[i].word, words[i]) << i;
  EXPECT_EQ(p.outputs[2].name, "avg(volume)");
  EXPECT_EQ(p.outputs[2].op, OutputOp::kAverage);
}

TEST_F(Compile, UsesWideForTheRest) {
  // count; sum128(price) 2 words, shared with avg; first(symbol) 3; sum64(length) 1; min(length) 1.
  query_.aggregates = {"sum(price)", "avg(price)", "first(symbol)", "sum(length)", "min(length)"};
  const Plan p = plan();
  EXPECT_EQ(p.cell, CellKind::kWide);
  ASSERT_EQ(p.parts.size(), 4u);
  EXPECT_EQ(p.parts[0].op, CellOp::kSum128);
  EXPECT_EQ(p.parts[0].word, 1);
  EXPECT_EQ(p.parts[1].op, CellOp::kFirst);
  EXPECT_EQ(p.parts[1].word, 3);
  EXPECT_EQ(p.parts[2].op, CellOp::kSum64);
  EXPECT_EQ(p.parts[2].word, 6);
  EXPECT_EQ(p.parts[3].op, CellOp::kMin);
  EXPECT_EQ(p.parts[3].word, 7);
  EXPECT_EQ(p.parts[2].value, p.parts[3].value);
  EXPECT_EQ(p.cell_words, 8u);
  EXPECT_EQ(p.outputs[1].word, 1);
  EXPECT_TRUE(p.outputs[1].sum128);
  EXPECT_EQ(p.outputs[1].decimals, 2);
  EXPECT_EQ(p.outputs[2].type, FieldType::kText);
  EXPECT_FALSE(p.outputs[3].sum128);
}

// Parts are shared by what can read them.
TEST_F(Compile, KeepsOnePartForSeveralResults) {
  query_.aggregates = {"stddev(price)",       "variance_samp(price)", "avg(price)",
                       "vwap(price, volume)", "sum(volume)",          "any(length)",
                       "all(length)",         "p99(length)",          "median(length)",
                       "ohlc(price)",         "top(price, 2)"};
  const Plan p = plan();
  struct Part {
    CellOp op;
    uint8_t value, second;
    uint16_t word;
  };
  // Values in the order in which they are met: price, volume, length. Histogram of 16 bits, not
  // declared free of negative values: (16 - 5 + 1) * 32 buckets a side, 767 in all, 8 in 32 B.
  const Part expected[] = {{CellOp::kSumProducts, 0, 0, 1}, {CellOp::kSum128, 0, 0, 4},
                           {CellOp::kSumProducts, 0, 1, 6}, {CellOp::kSum64, 1, 1, 9},
                           {CellOp::kNonZero, 2, 2, 10},    {CellOp::kHistogram, 2, 2, 11},
                           {CellOp::kFirst, 0, 0, 395},     {CellOp::kMax, 0, 0, 398},
                           {CellOp::kMin, 0, 0, 399},       {CellOp::kLast, 0, 0, 400},
                           {CellOp::kTop, 0, 0, 403}};
  ASSERT_EQ(p.parts.size(), std::size(expected));
  for (size_t i = 0; i < p.parts.size(); ++i) {
    EXPECT_EQ(p.parts[i].op, expected[i].op) << i;
    EXPECT_EQ(p.parts[i].value, expected[i].value) << i;
    EXPECT_EQ(p.parts[i].second, expected[i].second) << i;
    EXPECT_EQ(p.parts[i].word, expected[i].word) << i;
  }
  EXPECT_EQ(p.cell_words, 408u);                 // 405, in steps of 4
  const std::pair<uint16_t, uint16_t> words[] = {// word, sum_word
                                                 {1, 4},   {1, 4},   {4, 0},   {6, 9},   {9, 0},
                                                 {10, 0},  {10, 0},  {11, 0},  {11, 0},  {395, 0},
                                                 {398, 0}, {399, 0}, {400, 0}, {403, 0}, {403, 0}};
  ASSERT_EQ(p.outputs.size(), std::size(words));
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    EXPECT_EQ(p.outputs[i].word, words[i].first) << i;
    EXPECT_EQ(p.outputs[i].sum_word, words[i].second) << i;
  }
  EXPECT_TRUE(p.outputs[0].sum128);
  EXPECT_FALSE(p.outputs[3].sum128);    // of the volume, 23 bits
  EXPECT_EQ(p.outputs[3].decimals, 2);  // of the price
  EXPECT_EQ(p.outputs[7].parameter, 990'000u);
  EXPECT_EQ(p.outputs[7].range.bits, 16);
  EXPECT_EQ(p.outputs.back().name, "top(price,2).2");
  EXPECT_EQ(p.outputs.back().parameter, 2u);
  ASSERT_EQ(p.value_fields.size(), 3u);
  EXPECT_EQ(p.value_fields[1].name, "volume");
  EXPECT_EQ(p.value_fields[1].first_word, 1);
}

TEST_F(Compile, FieldsWithoutNegativeValuesTakeHalfAHistogram) {
  query_.aggregates = {"p99(length)"};
  EXPECT_EQ(plan().cell_words, 388u);  // 1 + 384
  schema_.fields[kLength].non_negative = true;
  EXPECT_EQ(plan().cell_words, 196u);  // 384 buckets, 8 in 32 B: 192
}

TEST_F(Compile, CountsDistinctAddresses) {
  query_.aggregates = {"distinct(src)", "max(length)", "distinct(length)"};
  const Plan p = plan();
  ASSERT_EQ(p.parts.size(), 3u);
  EXPECT_EQ(p.parts[0].value, 0);
  EXPECT_EQ(p.parts[0].second, 1);
  EXPECT_EQ(p.parts[1].value, 2);
  EXPECT_EQ(p.parts[2].second, p.parts[2].value);
  ASSERT_EQ(p.values.size(), 3u);
  EXPECT_EQ(p.values[1], p.values[0] + 1);
  EXPECT_EQ(p.value_fields[0].words, 2);
  EXPECT_EQ(p.value_fields[1].first_word, 2);
  EXPECT_EQ(p.cell_words, 260u);  // 1 + 128 + 1 + 128
}

// 63 bits: (63 - 5 + 1) * 32 = 1,888 buckets a side, 3,775 in all, 1,888 words.
TEST_F(Compile, RefusesRowsLargerThanABlock) {
  schema_.fields.push_back({"delay", FieldType::kInteger, 1, 63, 0, false, ""});
  query_.aggregates = {"p99(delay)", "p50(delay)", "count"};
  EXPECT_EQ(plan().cell_words, 1892u);
  query_.aggregates.push_back("p99(length)");  // 384 words more
  EXPECT_EQ(problem(),
            "aggregates: a result takes 18232 B, and 16336 B is the limit; quantiles take most "
            "(delay 15104 B, length 3072 B): ask for fewer of them, or in queries of their own\n");
}

TEST_F(Compile, AsksForBothFieldsOfAVwap) {
  query_.aggregates = {"vwap(price, vlan)"};
  EXPECT_EQ(problem(),
            "aggregates[0]: 'vlan' may be absent from an event, and then has no value; add 'vlan "
            "present' to `where` (with 'and')\n");
  query_.where = "vlan present";
  EXPECT_EQ(problem(), "");
}

TEST_F(Compile, WindowsWithoutEndTakeWideSums) {
  query_.aggregates = {"sum(length)"};
  EXPECT_EQ(plan().cell, CellKind::kStats);
  query_.window.kind = WindowKind::kGlobal;
  const Compiled out = run({query_});
  EXPECT_EQ(out.plans.at(0).cell, CellKind::kWide);
  EXPECT_TRUE(out.plans.at(0).outputs.at(0).sum128);
}

TEST_F(Compile, ACountAloneHasNoValues) {
  const Plan p = plan();
  EXPECT_TRUE(p.values.empty());
  EXPECT_EQ(p.cell, CellKind::kStats);
  EXPECT_TRUE(p.parts.empty());
  EXPECT_EQ(p.cell_words, 4u);
}

TEST_F(Compile, RefusesAggregatesOfWhatMayBeAbsent) {
  query_.aggregates = {"count", "avg(vlan)"};
  EXPECT_EQ(problem(),
            "aggregates[1]: 'vlan' may be absent from an event, and then has no value; add 'vlan "
            "present' to `where` (with 'and')\n");
  query_.where = "vlan present";
  EXPECT_EQ(problem(), "");
}

TEST_F(Compile, NamesResultColumnsOnce) {
  query_.key = {"protocol"};
  query_.aggregates = {"count", "sum(length)", "sum(length)", "max(length) as protocol"};
  EXPECT_EQ(
      problem(),
      "aggregates[2]: the result has two columns named 'sum(length)'; name this one with "
      "'as'\n"
      "aggregates[3]: the result has two columns named 'protocol'; name this one with 'as'\n");
}

TEST_F(Compile, ShardsHoldAtMost512Keys) {
  query_.key = {"protocol"};
  const std::pair<uint64_t, uint32_t> cases[] = {
      {1, 1}, {512, 1}, {513, 2}, {1'024, 2}, {1'025, 4}, {65'536, 128}, {1'000'000, 2'048}};
  query_.memory = uint64_t{1} << 40;
  for (const auto& [keys, shards] : cases) {
    query_.max_keys = keys;
    EXPECT_EQ(plan().shards, shards) << keys;
  }
  query_.key = {};
  EXPECT_EQ(plan().shards, 1u);
  EXPECT_EQ(plan().max_keys, 1u);
}

// ceil((size + bound + max_behind + drift + max_ahead) / pane) + 1, and one that is read out.
TEST_F(Compile, SizesPanesFromTheSourcesBounds) {
  query_.window = {WindowKind::kSliding, seconds(10), seconds(4), {}, {}};
  source_.bound = seconds(3);
  source_.max_ahead = seconds(5);
  source_.max_behind = seconds(100);
  source_.max_drift = seconds(1'000);
  // One lane, one partition: nothing is behind, nothing drifts. gcd(10, 4) = 2: 18 / 2 + 2.
  EXPECT_EQ(panes().pane, seconds(2));
  EXPECT_EQ(panes().worst, 11u);
  EXPECT_EQ(plan().max_panes, 11u);
  source_.partition = "vlan";
  EXPECT_EQ(panes().worst, 61u);  // 118 / 2 + 2
  source_.lanes = {LaneId{0}, LaneId{1}};
  EXPECT_EQ(panes().worst, 561u);  // 1118 / 2 + 2
  source_.max_behind = kNever;
  EXPECT_TRUE(panes().unbounded);
  EXPECT_EQ(panes().worst, 511u);     // 1018 / 2 + 2
  EXPECT_EQ(plan().max_panes, 575u);  // and 64 for what has no bound
  source_.partition = "";
  EXPECT_FALSE(panes().unbounded);
  query_.max_panes = 20;
  EXPECT_EQ(plan().max_panes, 20u);
}

TEST_F(Compile, MemoryGrantsPanes) {
  query_.key = {"protocol"};
  query_.max_keys = 1'000;
  source_.bound = seconds(100);
  EXPECT_EQ(panes().worst, 103u);  // 101 / 1 + 2
  // 1000 keys in 2 shards: mean 500, sigma 23, room for 500 + 115 + 16, made even: 632 cells.
  // 2 * (632 * 32 + 8) + 32 B of __overflow__.
  EXPECT_EQ(panes().bytes_a_pane, 40'496u);
  query_.memory = 40'496 * 50;
  EXPECT_EQ(plan().max_panes, 50u);
  EXPECT_TRUE(panes().limited_by_memory);
  query_.memory = 40'496 * 2;
  EXPECT_EQ(problem(),
            "memory: one window needs 3 panes of 40496 B, 121488 B in all; granted are 2: allow "
            "more memory, or fewer keys (max_keys)\n");
  query_.memory = 40'496 * 50;
  query_.max_panes = 2;
  EXPECT_EQ(problem(), "max_panes: one window needs 3 panes, not 2\n");
}

TEST_F(Compile, ChecksWindows) {
  query_.window.size = seconds(0);
  EXPECT_EQ(problem(), "window.size: a window's size must be above zero\n");
  query_.window = {WindowKind::kTumbling, seconds(60), seconds(60), seconds(60), {}};
  EXPECT_EQ(problem(),
            "window.offset: the offset 1 m must be nearer to zero than the size 1 m: windows "
            "repeat, so a smaller one means the same\n");
  query_.window.offset = seconds(-60);
  EXPECT_NE(problem(), "");
  query_.window.offset = seconds(-59);
  EXPECT_EQ(problem(), "");
  query_.window = {WindowKind::kSliding, seconds(10), seconds(3), seconds(-2), {}};
  EXPECT_EQ(problem(), "");
  query_.window.offset = seconds(3);
  EXPECT_NE(problem(), "");
  query_.window = {WindowKind::kSliding, seconds(1), seconds(60), {}, {}};  // gaps are allowed
  EXPECT_EQ(problem(), "");
  query_.window = {WindowKind::kSliding, seconds(1), {999'999'999}, {}, {}};
  EXPECT_EQ(problem(),
            "window.slide: size 1 s and slide 999999999 ns have only 1 ns in common, so a window "
            "would be put together from 1000000000 panes, 99182 MiB in all; 10000 panes are the "
            "limit: choose lengths that divide each other\n");  // 2 cells of 32 B, 8, and 32
  query_.window = {.kind = WindowKind::kSession};
  EXPECT_EQ(problem(),
            "window.gap: a session needs a gap above zero, or gap_field and gap_unit where events "
            "bring their own\n");
  query_.window.gap = seconds(2);
  const Plan p = plan();
  EXPECT_EQ(p.max_sessions, query_.max_sessions);
  EXPECT_EQ(p.max_panes, 0u);
}

TEST_F(Compile, TakesGapsFromAField) {
  query_.window = {.kind = WindowKind::kSession};
  query_.gap_field = "length";
  query_.gap_unit = {kMillisecond};
  query_.aggregates = {"count", "max(volume)"};
  Compiled out = run({query_});
  ASSERT_EQ(text(), "");
  const Plan& p = out.plans.at(0);
  EXPECT_EQ(p.gap_value, 1);  // behind what the aggregates read
  EXPECT_EQ(p.gap_unit.ns, kMillisecond);
  ASSERT_EQ(p.values.size(), 2u);
  EXPECT_EQ(p.values[1], out.columns.at(0).column[kLength]);
  ASSERT_EQ(p.value_fields.size(), 2u);
  EXPECT_EQ(p.value_fields[0].name, "volume");
  EXPECT_EQ(p.value_fields[1].name, "length");
  EXPECT_EQ(p.value_fields[1].first_word, 1);
  query_.aggregates = {"sum(length)"};  // read once
  EXPECT_EQ(plan().gap_value, 0);
  EXPECT_EQ(plan().values.size(), 1u);
  query_.gap_field = "lenght";
  EXPECT_EQ(problem(),
            "window.gap_field: format 'sample' has no field 'lenght'; did you mean 'length'?\n");
  for (const char* field : {"price", "sent", "src"}) {
    query_.gap_field = field;
    EXPECT_EQ(problem(), "window.gap_field: '" + query_.gap_field +
                             "' is no whole number, so it counts no gap_unit\n");
  }
  query_.gap_field = "vlan";
  EXPECT_EQ(problem(),
            "window.gap_field: 'vlan' may be absent from an event, and then has no value; add "
            "'vlan present' to `where` (with 'and')\n");
  query_.where = "vlan present";
  EXPECT_EQ(problem(), "");
}

TEST_F(Compile, ShapesWhatLeaves) {
  query_.aggregates = {"count as packets", "avg(price)"};
  query_.key = {"protocol"};
  query_.having = "packets > 5";
  query_.fill = EmptyFill::kCarry;
  query_.fill_windows = 7;
  query_.top = 3;
  query_.top_by = "avg(price)";
  query_.top_least = true;
  const Shaping shaping = plan().shaping;
  ASSERT_EQ(shaping.having.size(), 1u);
  EXPECT_TRUE(shaping.having[0].low == 6);
  EXPECT_EQ(shaping.fill, EmptyFill::kCarry);
  EXPECT_EQ(shaping.fill_windows, 7u);
  EXPECT_EQ(shaping.top, 3u);
  EXPECT_EQ(shaping.top_output, 1u);
  EXPECT_TRUE(shaping.top_least);
  query_.fill = EmptyFill::kNone;
  EXPECT_EQ(plan().shaping.fill_windows, 0u);
  query_.top_by = "packet";
  query_.having = "packets >";
  EXPECT_EQ(problem(),
            "having@9: expected a value of 'packets', found the end\n"
            "top_by: the query has no result 'packet'; did you mean 'packets'?\n");
  query_.having = {};
  query_.aggregates = {"first(symbol)"};
  query_.top_by = "first(symbol)";
  EXPECT_EQ(problem(),
            "top_by: 'first(symbol)' is neither a number nor a time, so it ranks nothing\n");
  // An aggregate that is wrong is told once.
  query_.aggregates = {"cuont"};
  EXPECT_EQ(problem(), "aggregates[0]@0: there is no aggregate 'cuont'; did you mean 'count'?\n");
}

TEST_F(Compile, KeepsLateRowsAndChangesWhereThereAreAny) {
  EXPECT_FALSE(plan().late_rows);
  EXPECT_EQ(plan().max_changes, 0u);
  query_.late_sinks = {"late"};
  query_.max_changes = 77;
  EXPECT_TRUE(plan().late_rows);
  EXPECT_EQ(plan().max_changes, 0u);
  query_.window.lateness = seconds(1);
  EXPECT_EQ(plan().max_changes, 77u);
  query_.window.lateness = {};
  query_.window.early = {kMillisecond * 100};
  EXPECT_EQ(plan().max_changes, 77u);
}

TEST_F(Compile, CountsRowsOnlyInALanesOrder) {
  query_.window = {.kind = WindowKind::kCount, .rows = 10, .row_slide = 10};
  query_.key = {"flow"};
  EXPECT_EQ(problem(), "");
  source_.lanes = {LaneId{0}, LaneId{1}};
  EXPECT_EQ(problem().substr(0, 37), "placement: count windows take the row");
  query_.placement = PlacementChoice::kLocal;
  EXPECT_EQ(problem(), "");
  source_.lane_order = false;
  EXPECT_EQ(problem().substr(0, 39), "window.type: count windows take rows in");
}

TEST_F(Compile, PlacesQueries) {
  query_.key = {"flow"};
  EXPECT_EQ(plan().placement, Placement::kLocal);  // one lane
  query_.placement = PlacementChoice::kExchange;
  EXPECT_EQ(plan().placement, Placement::kExchange);
  source_.lanes = {LaneId{0}, LaneId{1}};
  query_.placement = PlacementChoice::kAuto;
  EXPECT_EQ(plan().placement, Placement::kExchange);
  query_.placement = PlacementChoice::kLocal;  // the user vouches for it
  EXPECT_EQ(plan().placement, Placement::kLocal);
  query_.key = {};
  EXPECT_EQ(problem(),
            "placement: \"local\" would give one result a worker: without a key no lane determines "
            "it, and 'feed' has several lanes; leave it at \"auto\"\n");
}

TEST_F(Compile, TellsAllProblemsOfAllQueries) {
  query_.where = "lenght == 5";
  query_.key = {"src/40", "protocl"};
  query_.aggregates = {"sum(src)", "cuont"};
  QuerySpec other = query_;
  other.source = "fed";
  run({query_, other});
  EXPECT_EQ(text(),
            "where@0: format 'sample' has no field 'lenght'; did you mean 'length'?\n"
            "key[0]@4: expected a prefix length from 0 to 32, found '40'\n"
            "key[1]@0: format 'sample' has no field 'protocl'; did you mean 'protocol'?\n"
            "aggregates[0]@4: sum: 'src' is not a number\n"
            "aggregates[1]@0: there is no aggregate 'cuont'; did you mean 'count'?\n"
            "source: no source is named 'fed'; did you mean 'feed'?\n");
  EXPECT_EQ(problems_.back().query, 1u);
}

TEST_F(Compile, LimitsValues) {
  for (int i = 0; i < 9; ++i) {
    static constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    schema_.fields.push_back({kNames[i], FieldType::kInteger, 1, 16, 0, false, ""});
  }
  query_.aggregates.clear();
  for (char c = 'a'; c <= 'h'; ++c) query_.aggregates.push_back(std::string("max(") + c + ")");
  EXPECT_EQ(problem(), "");
  query_.aggregates.push_back("max(i)");
  EXPECT_EQ(problem(), "aggregates: they read 9 words of 8 bytes; 8 is the limit\n");
}

}  // namespace
}  // namespace tidewire
