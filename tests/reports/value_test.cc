// Reports on values, keys and memory, with the smallest input that their list gives
// (spec/formats.md 5.2).
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "egress/lower.h"
#include "memory/seal.h"
#include "query/compile.h"
#include "query/field_text.h"
#include "store_harness.h"

namespace tidewire {
namespace {

constexpr int64_t kBefore = INT64_MIN;

// where: bytewax#577 and plausible PR#593 are nearest
TEST(Report36, AKeyThatNeverPausesIsCutAtAlignedMultiples) {
  // Gap 10, an event each 9. A cell [1000 c, 1000 c + 1000) holds the multiples of 9 in it; its
  // last one is less than 9 from the end, so that last + 10 is cut to the end.
  constexpr int64_t kEvents = 1'000'000, kLongest = 1000;
  const auto multiples_below = [](int64_t t) { return (t + 8) / 9; };
  Plan plan = session(10);
  plan.window.max_duration = {kLongest};
  StoreHarness h(plan);
  int64_t cell = 0;
  const auto check = [&] {
    for (const Result& r : h.take_results()) {
      const int64_t before = multiples_below(cell * kLongest);
      const int64_t count = multiples_below((cell + 1) * kLongest) - before;
      ASSERT_EQ(r, (Result{9 * before, (cell + 1) * kLongest, 1, count, count, 1, 1}));
      ++cell;
    }
  };
  for (int64_t i = 0; i < kEvents; ++i) {
    h.add({{9 * i, i == 0 ? kBefore : 9 * (i - 1)}});
    if (i % 1000 > 0) continue;
    h.fire(9 * (i - 1));
    check();
    ASSERT_LE(h.store().use().panes, 2u);  // open sessions
  }
  h.finish();
  check();
  EXPECT_EQ(cell, 9 * kEvents / kLongest);
  EXPECT_EQ(h.sum_of_counts(), static_cast<uint64_t>(kEvents));
  EXPECT_EQ(h.counts().natural, static_cast<uint64_t>(kEvents));

  // The report itself: without, nothing is shown until the end.
  StoreHarness endless(session(10));
  for (int64_t i = 0; i < 1000; ++i) {
    endless.add({{9 * i, i == 0 ? kBefore : 9 * (i - 1)}});
    endless.fire(9 * i - 1);
  }
  EXPECT_EQ(endless.rows(), 0u);
  endless.finish();
  EXPECT_EQ(endless.rows(), 1u);
}

// Of one wide value with two decimals, by one key: sum, average, least, greatest of each window.
struct Numbers {
  int64_t start;
  int128 sum, average;
  int64_t least, greatest;
  bool operator==(const Numbers&) const = default;
};
std::vector<Numbers> numbers_of(const WindowShape& window, const std::vector<Row>& rows) {
  Schema schema;
  schema.format = "wide";
  schema.fields = {{.name = "key", .help = "a number"},
                   {.name = "value", .bits = 63, .decimals = 2, .help = "the widest"}};
  QuerySource source;
  source.name = "in";
  source.schema = &schema;
  source.lanes = {LaneId{0}};
  QuerySpec spec;
  spec.name = "numbers";
  spec.source = "in";
  spec.key = {"key"};
  spec.aggregates = {"sum(value)", "avg(value)", "min(value)", "max(value)"};
  spec.window = window;
  spec.max_panes = 16;
  std::vector<QueryProblem> problems;
  const Compiled compiled = compile({&spec, 1}, {&source, 1}, HashSeed{}, problems);
  for (const QueryProblem& problem : problems) ADD_FAILURE() << problem.text;
  const Plan& plan = compiled.plans.at(0);
  EXPECT_TRUE(plan.outputs.at(0).sum128);
  StoreHarness h(plan);
  h.add(rows);
  std::vector<Numbers> out;
  for (uint32_t used = 1; used > 0;) {
    used = h.store().fire(EventTime::end_of_time(), EventTime::end_of_time(), 64, h.out());
    h.out().close();
    for (const ResultBlock* b; (b = h.ring().blocks.front()); h.ring().blocks.pop())
      for (uint32_t at = 0; at < b->used;) {
        Run run;
        std::memcpy(&run, b->bytes.data() + at, sizeof run);
        at += sizeof run;
        EXPECT_EQ(run.flags, 0);
        for (uint32_t i = 0; i < run.rows; ++i, at += b->row_words * 8) {
          std::vector<int64_t> row(b->row_words);
          std::memcpy(row.data(), b->bytes.data() + at, row.size() * 8);
          const auto number = [&](size_t o) {
            Value value = lower_shape(plan.outputs.at(o));
            lower(plan.outputs.at(o), row.data() + 2, value);  // behind hash and key
            return value.number;
          };
          out.push_back({run.start.ns, number(0), number(1), static_cast<int64_t>(number(2)),
                         static_cast<int64_t>(number(3))});
        }
      }
  }
  return out;
}
constexpr WindowShape tens(int64_t slide) {
  return {.kind = slide == 10 ? WindowKind::kTumbling : WindowKind::kSliding,
          .size = {10},
          .slide = {slide}};
}

// where: esper#67; flux#4945; vespa PR#37850; deephaven PR#7424; mimir PR#9212
TEST(Report47, NoNumberIsAFloatAndNothingLeaksIntoTheNextWindow) {
  // No format has a float yet. A text that names none is no number of any field.
  for (const char* text : {"NaN", "nan", "-nan", "inf", "Inf", "-inf", "infinity", "1e3", ""})
    EXPECT_FALSE(parse_decimal(text, 2).ok()) << text;
  // 1, 2 | 3 with two decimals; averages have six more: 1.5 and 3.
  EXPECT_EQ(
      numbers_of(tens(10), {{1, kBefore, 1, 100}, {2, 1, 1, 200}, {11, 2, 1, 300}}),
      (std::vector<Numbers>{{0, 300, 150'000'000, 100, 200}, {10, 300, 300'000'000, 300, 300}}));
  // What a float accumulation loses: 90,000,000,000,000.01 - 90,000,000,000,000 + 0.02 = 0.03, of
  // three 0.01.
  constexpr int64_t kLarge = 9'000'000'000'000'000;
  EXPECT_EQ(numbers_of(tens(10), {{1, kBefore, 1, kLarge + 1}, {2, 1, 1, -kLarge}, {3, 2, 1, 2}}),
            (std::vector<Numbers>{{0, 3, 1'000'000, -kLarge, kLarge + 1}}));
}

// where: bngblaster#178, nProbe#202, ntopng#9979, open-kilda#2255
TEST(Report48, SumsBeyond64BitsAreExact) {
  // The widest values that a field can have: +-2^63 but for one. In one pane and merged from two.
  constexpr int128 kTwo64 = static_cast<int128>(1) << 64;
  constexpr int128 kMillion = 1'000'000;
  for (const int64_t slide : {10, 5}) {
    const std::vector<Numbers> up =
        numbers_of(tens(slide), {{1, kBefore, 1, INT64_MAX}, {6, 1, 1, INT64_MAX}});
    const std::vector<Numbers> down =
        numbers_of(tens(slide), {{1, kBefore, 1, INT64_MIN}, {6, 1, 1, INT64_MIN}});
    const size_t both = slide == 10 ? 0 : 1;  // [-5, 5) and [5, 15) hold one of them
    ASSERT_EQ(up.size(), slide == 10 ? 1u : 3u);
    EXPECT_EQ(up[both], (Numbers{0, kTwo64 - 2, INT64_MAX * kMillion, INT64_MAX, INT64_MAX}));
    EXPECT_EQ(down[both], (Numbers{0, -kTwo64, INT64_MIN * kMillion, INT64_MIN, INT64_MIN}));
  }
}

// where: vector#1734, influxdb#6679, dd-trace-dotnet PR#8824, opentelemetry-go#6788. Keys and flags
// of such windows are in tests/unit/window/store_test.cc.
TEST(Report49, TenMillionRandomKeysTakeNoMemory) {
  // 100 windows of 100,000 rows, nearly each with a key of its own: 1,000 keys have room at once.
  constexpr uint64_t kRows = 10'000'000, kBatch = 250, kInWindow = 100'000;
  Plan plan = tumbling(kInWindow);
  plan.max_keys = 1000;
  StoreHarness h(plan, 64);
  h.keep_results(false);
  const uint64_t reserved = h.arena().bytes();
  Rng rng(49);
  std::array<EventTime, kBatch> time, stamp;
  std::array<uint64_t, kBatch> hash;
  std::array<int64_t, kBatch> key, value;
  value.fill(1);
  const AllocGuard guard;
  for (uint64_t at = 0; at < kRows; at += kBatch) {
    stamp.fill({static_cast<int64_t>(at)});  // as far as it has fired
    for (uint64_t i = 0; i < kBatch; ++i) {
      time[i] = {static_cast<int64_t>(at + i)};
      key[i] = static_cast<int64_t>(rng.next());
      hash[i] = hash_words<1>(&key[i], plan.seed);
    }
    Rows rows;
    rows.count = kBatch;
    rows.lane = LaneId{0};
    rows.first = Ordinal{at};
    rows.time = time.data();
    rows.stamp = stamp.data();
    rows.hash = hash.data();
    rows.key[0] = key.data();
    rows.value[0] = value.data();
    rows.min_time = time[0];
    rows.max_time = time[kBatch - 1];
    rows.max_stamp = stamp[kBatch - 1];
    h.store().add(rows);
    if ((at + kBatch) % kInWindow > 0) continue;
    h.fire(static_cast<int64_t>(at + kBatch));
    ASSERT_EQ(h.sum_of_counts(), at + kBatch);  // each window's total is right
    ASSERT_LE(h.store().use().keys, 1000u);
  }
  h.finish();
  EXPECT_EQ(guard.count(), 0u);
  EXPECT_EQ(h.arena().bytes(), reserved);
  EXPECT_EQ(h.sum_of_counts(), kRows);
  EXPECT_EQ(h.counts().natural + h.counts().overflow, kRows);
  EXPECT_GE(h.counts().overflow, kRows - 100 * 1000);
  EXPECT_EQ(h.store().use().keys, 0u);
}

}  // namespace
}  // namespace tidewire
