// Reports on time itself: its texts, its edges, days that are no 24 hours, clocks that are wrong.
// Each with the smallest input that its list gives (spec/formats.md 5.2).
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "capture_builder.h"
#include "format/catalog.h"
#include "framing/capture_framer.h"
#include "lane_rig.h"
#include "query/field_text.h"
#include "query/window_check.h"

namespace tidewire {
namespace {

using Windows = std::vector<Window>;
using Results = std::vector<Result>;
constexpr int64_t kBefore = INT64_MIN;
constexpr int64_t kHour = 3600 * kSecond, kDay = 24 * kHour;

// where: time-rs/time#404, microsoft/STL PR#2705
TEST(Report16, ALeapSecondIsTheLastNanosecondBeforeIt) {
  // 2017-01-01 is day 17167 since 1970.
  constexpr int64_t kNewYear = 17'167 * kDay;
  std::vector<Event> events;
  for (const auto& [text, ns] : std::initializer_list<std::pair<const char*, int64_t>>{
           {"2016-12-31T23:59:59.000Z", kNewYear - kSecond},
           {"2016-12-31T23:59:59.999999999Z", kNewYear - 1},
           {"2016-12-31T23:59:60Z", kNewYear - 1},
           {"2016-12-31T23:59:60.999999999Z", kNewYear - 1},
           {"2017-01-01T00:00:00Z", kNewYear},
           // The same second elsewhere, and that of a June.
           {"2016-12-31T18:59:60-05:00", kNewYear - 1},
           {"2017-01-01T05:29:60.5+05:30", kNewYear - 1},
           {"2015-06-30T23:59:60Z", 16'617 * kDay - 1}}) {
    const auto time = parse_time(text);
    ASSERT_TRUE(time.ok()) << time.status();
    EXPECT_EQ(time->ns, ns) << text;
    if (events.size() < 5) events.push_back({time->ns, time->ns});
  }
  for (const char* never : {"2016-12-31T23:58:60Z", "2016-12-30T23:59:60Z", "2016-12-31T12:59:60Z",
                            "2016-12-31T23:59:60-05:00", "2016-12-31T23:59:61Z"})
    EXPECT_FALSE(parse_time(never).ok()) << never;
  // In order, none is late without any bound, and all of the old year are in its last second.
  LaneRig rig({.bound = {0}}, tumbling(kSecond));
  rig.send(events);
  rig.end();
  EXPECT_EQ(rig.take(),
            (Windows{{kNewYear - kSecond, kNewYear, 4}, {kNewYear, kNewYear + kSecond, 1}}));
  EXPECT_EQ(rig.store().late, 0u);
}

Plan days_of(const char* zone) {
  Plan plan = tumbling(kDay);
  plan.window = {.kind = WindowKind::kCalendar, .unit = CalendarUnit::kDay, .zone = zone};
  return plan;
}

// where: polars#15966, nussknacker PR#4190, risingwave#14772, FLINK-10680 (PR#6932)
TEST(Report17, ADayOfNewYorkIsAsLongAsItIs) {
  // 2023-03-12 is day 19428 since 1970, 2023-11-05 day 19666. EST is UTC - 5, EDT UTC - 4.
  constexpr int64_t kMarch = 19'428 * kDay, kNovember = 19'666 * kDay;
  StoreHarness h(days_of("America/New_York"));
  h.add({{kMarch + 5 * kHour, kBefore},          // its midnight
         {kMarch + 28 * kHour - 1, kBefore},     // and last nanosecond: 23 hours
         {kMarch + 28 * kHour, kBefore},         // the next one's midnight
         {kNovember + 4 * kHour, kBefore},       //
         {kNovember + 29 * kHour - 1, kBefore},  // 25 hours
         {kNovember + 29 * kHour, kBefore}});
  h.finish();
  EXPECT_EQ(h.take_results(),
            (Results{{kMarch + 5 * kHour, kMarch + 28 * kHour, 1, 2, 2, 1, 1},
                     {kMarch + 28 * kHour, kMarch + 52 * kHour, 1, 1, 1, 1, 1},
                     {kNovember + 4 * kHour, kNovember + 29 * kHour, 1, 2, 2, 1, 1},
                     {kNovember + 29 * kHour, kNovember + 53 * kHour, 1, 1, 1, 1, 1}}));
}
TEST(Report17, AnOffsetHasASignAndIsLessThanTheWindow) {
  // Days of China begin at 16:00 UTC.
  Plan plan = tumbling(kDay);
  plan.window.offset = {-8 * kHour};
  StoreHarness h(plan);
  h.add({{16 * kHour - 1, kBefore}, {16 * kHour, kBefore}, {-8 * kHour - 1, kBefore}});
  h.finish();
  EXPECT_EQ(h.take_results(), (Results{{-32 * kHour, -8 * kHour, 1, 1, 1, 1, 1},
                                       {-8 * kHour, 16 * kHour, 1, 1, 1, 1, 1},
                                       {16 * kHour, 40 * kHour, 1, 1, 1, 1, 1}}));
  QuerySpec spec;
  spec.window = {.kind = WindowKind::kTumbling, .size = {kDay}, .slide = {kDay}};
  for (const int64_t sign : {-1, 1}) {
    spec.window.offset = {sign * (kDay - 1)};
    EXPECT_TRUE(check_window(spec).empty());
    spec.window.offset = {sign * kDay};
    ASSERT_EQ(check_window(spec).size(), 1u);
    EXPECT_EQ(check_window(spec)[0].option, "window.offset");
  }
}

// Parses a capture file into one batch.
LaneCounts parse(const test::Bytes& file, EventBatch& batch) {
  std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  CaptureFramer framer(spill);
  framer.begin();
  framer.feed(file);
  Burst burst;
  EXPECT_EQ(framer.frame(burst), Framed::kPackets) << framer.failure();
  const auto format = open_format("packet").value();
  const auto parser = format->make_parser({}, {});
  LaneCounts counts;
  counts.packets = burst.count;
  parser->begin(burst);
  EXPECT_FALSE(parser->next(batch, counts));
  return counts;
}

// where: Flink/nussknacker#2074, ksql PR#3471, paimon#3346
TEST(Report19, APacketWithoutATimeHasNoTime) {
  // A simple packet block has no time: it ends by that name, enters no arithmetic and no window.
  constexpr int64_t kNow = 1'700'000'000 * kSecond;
  test::PcapngBuilder b(false);
  b.section().interface(1, 0, b.resolution(9));
  b.simple(test::payload(60, 1), 60);
  b.enhanced(0, static_cast<uint64_t>(kNow), test::payload(60, 2), 60);
  auto batch = std::make_unique<EventBatch>();
  const LaneCounts counts = parse(b.bytes(), *batch);
  EXPECT_EQ(counts.packets, 2u);
  EXPECT_EQ(counts.dropped[static_cast<size_t>(DropReason::kNoTime)], 1u);
  ASSERT_EQ(batch->count, 1u);
  EXPECT_EQ(batch->time[0].ns, kNow);
  // The state that stands for it stays what it is.
  EXPECT_EQ(later(EventTime::before_all(), {kNow}), EventTime::before_all());
  EXPECT_EQ(earlier(EventTime::before_all(), {kNow}), EventTime::before_all());
  // As an arrival stamp it judges nobody: 1000 is not ahead of it, and nobody turns idle by it.
  LaneRig rig({.bound = {0}, .idle_after = {10}, .max_ahead = {10}, .max_partitions = 3},
              tumbling(100));
  rig.send({{100, 100, 1}, {1000, kBefore, 2}});
  EXPECT_EQ(rig.lane().met[static_cast<size_t>(LateReason::kTooFarAhead)], 0u);
  EXPECT_EQ(rig.frontier().ns, 100);
}

// where: omicron#5899, arduino NTPClient PR#237, phoebus PR#2421. The rest of it, no window an
// empty interval from 1970 to now, is tests/unit/window/store_test.cc.
TEST(Report20, AClockThatWasNeverSetMakesNoWindow) {
  constexpr int64_t kNow = 1'700'000'000 * kSecond;
  LaneOptions lane{.bound = {0}, .min_time = *parse_time("2020-01-01T00:00:00Z")};
  lane.before_min_time = GuardPolicy::kDrop;
  LaneRig rig(lane, tumbling(10 * kSecond));
  rig.send({{0, kNow}, {kNow, kNow}});
  rig.end();
  EXPECT_EQ(rig.take(), (Windows{{kNow, kNow + 10 * kSecond, 1}}));
  EXPECT_EQ(rig.lane().ended.dropped[static_cast<size_t>(LateReason::kBeforeMinTime)], 1u);
}

// ---- edges
TEST(Edges, TimesOf1677And2262AreCountedWhereTheyCome) {
  // The last seconds that a capture can say and int64 can hold, and a packet in between.
  test::PcapngBuilder b(false);
  b.section();
  b.interface(1, 0, b.offset(-9'223'372'036));  // 1677-09-21T00:12:44Z, in microseconds from there
  b.interface(1, 0, b.resolution(9));
  b.enhanced(0, 0, test::payload(60, 1), 60);
  b.enhanced(1, 1'700'000'000'000'000'000, test::payload(60, 2), 60);
  b.enhanced(1, 9'223'372'036'854'775'806, test::payload(60, 3), 60);
  auto batch = std::make_unique<EventBatch>();
  const LaneCounts counts = parse(b.bytes(), *batch);
  EXPECT_EQ(counts.ended.out_of_range, 2u);
  EXPECT_EQ(counts.ended.passed_on, 1u);
  ASSERT_EQ(batch->count, 1u);
  EXPECT_EQ(batch->time[0].ns, 1'700'000'000'000'000'000);
  // Their texts are exact, and one more is no time.
  EXPECT_EQ(parse_time("1677-09-21T00:12:44Z")->ns, -9'223'372'036 * kSecond);
  EXPECT_EQ(parse_time("2262-04-11T23:47:16.854775806Z")->ns, INT64_MAX - 1);
  EXPECT_FALSE(parse_time("2262-04-12T00:00:00Z").ok());
}

TEST(Edges, TheLastUsableTimesHaveWindowsOfAnyWidth) {
  for (const int64_t size : {int64_t{1}, int64_t{7}, 1000 * kDay, kWindowLengthMax})
    for (const int64_t t : {-kUsableTimeMax, kUsableTimeMax}) {
      StoreHarness h(tumbling(size));
      h.add({{t, kBefore}});
      h.finish();
      const int64_t start = floor_div(t, size) * size;
      EXPECT_EQ(h.take_results(), (Results{{start, start + size, 1, 1, 1, 1, 1}}));
    }
}

TEST(Edges, AWindowOfOneNanosecond) {
  LaneRig rig({.bound = {0}}, tumbling(1));
  rig.send({{-1, -1}, {-1, -1}, {0, 0}, {-1, 0}, {1, 1}});
  EXPECT_EQ(rig.store().late, 1u);  // the third -1: W is 0, the end of [-1, 0)
  rig.end();
  EXPECT_EQ(rig.take(), (Windows{{-1, 0, 2}, {0, 1, 1}, {1, 2, 1}}));
  // A session with a gap of one: 5 and 6 touch, 8 does not.
  StoreHarness h(session(1));
  h.add({{5, kBefore}, {6, kBefore}, {8, kBefore}});
  h.finish();
  EXPECT_EQ(h.take_results(), (Results{{5, 7, 1, 2, 2, 1, 1}, {8, 9, 1, 1, 1, 1, 1}}));
}

TEST(Edges, AWindowOfAThousandDays) {
  // Now is day 19675: in the window of days 19000 to 20000.
  constexpr int64_t kNow = 1'700'000'000 * kSecond, kLong = 1000 * kDay;
  StoreHarness h(tumbling(kLong));
  h.add({{kNow, kBefore}, {-1, kBefore}});
  h.finish();
  EXPECT_EQ(h.take_results(),
            (Results{{-kLong, 0, 1, 1, 1, 1, 1}, {19 * kLong, 20 * kLong, 1, 1, 1, 1, 1}}));
  // Every day one that holds a thousand of them: 0 lies in those that end on days 1 to 1000.
  Plan plan = sliding(kLong, kDay);
  plan.max_panes = 1001;
  StoreHarness daily(plan);
  daily.add({{0, kBefore}});
  daily.finish();
  const Results results = daily.take_results();
  ASSERT_EQ(results.size(), 1000u);
  for (int64_t i = 0; i < 1000; ++i)
    EXPECT_EQ(results[static_cast<size_t>(i)],
              (Result{(i + 1) * kDay - kLong, (i + 1) * kDay, 1, 1, 1, 1, 1}));
  EXPECT_EQ(daily.store().use().panes, 0u);
}

}  // namespace
}  // namespace tidewire
