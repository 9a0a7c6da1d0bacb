// Reports on watermarks, idleness and lateness, each with the smallest input that its list gives
// (spec/formats.md 5.2; "where" names the project and thread).
#include <gtest/gtest.h>

#include "lane_rig.h"

namespace tidewire {
namespace {

using Windows = std::vector<Window>;
using Outsides = std::vector<Outside>;
using Why = Punctuation::Why;
constexpr int64_t kBefore = INT64_MIN;
constexpr size_t at(LateReason reason) { return static_cast<size_t>(reason); }

// where: gnocchi#307, sonic-buildimage#5007, ringserver#49, trex PR#890, pjproject PR#4140
TEST(Report21, AClockThatIsSetBackStopsNothing) {
  // Time is arrival, and steps back by 60 after 110. W stays at 110: what lies in windows that have
  // ended is late, and the first event behind them is taken at once.
  LaneRig rig({.bound = {0}, .idle_after = {1000}}, tumbling(10));
  rig.send({{100, 100}, {110, 110}});
  EventTime highest = rig.frontier();
  EXPECT_EQ(highest.ns, 110);
  for (int64_t t = 50; t <= 130; t += 10) {
    rig.send({{t, t}});
    EXPECT_GE(rig.frontier(), highest);
    highest = rig.frontier();
  }
  EXPECT_EQ(rig.store().late, 6u);  // 50, 60, 70, 80, 90, 100
  rig.end();
  EXPECT_EQ(rig.take(), (Windows{{100, 110, 1}, {110, 120, 2}, {120, 130, 1}, {130, 140, 1}}));
}

// where: OpenNMS PR#3227
TEST(Report22, AnExporterEightHoursBehindIsToldApart) {
  // Its events lie 28,800 s behind the leader, which is more than a minute: they hold nothing back,
  // are counted under its name, and leave with their own time and the place where they came.
  constexpr int64_t kHours = 8 * 3600;
  LaneRig rig({.bound = {0},
               .max_behind = {60},
               .max_partitions = 3,
               .beyond_max_behind = GuardPolicy::kDivert},
              with_late_rows(tumbling(10)));
  for (int64_t t = 100'000; t < 100'050; t += 10) rig.send({{t, t, 1}, {t + 1 - kHours, t + 1, 2}});
  EXPECT_EQ(rig.frontier().ns, 100'040);  // that of exporter 1
  EXPECT_EQ(rig.lane().met[at(LateReason::kTooFarBehind)], 5u);
  EXPECT_EQ(rig.record().offences[1][at(LateReason::kTooFarBehind)], 0u);
  EXPECT_EQ(rig.record().offences[2][at(LateReason::kTooFarBehind)], 5u);
  rig.end();
  EXPECT_EQ(rig.take().size(), 5u);  // [100000, 100010) to [100040, 100050)
  const Outsides outside = rig.take_outside();
  ASSERT_EQ(outside.size(), 5u);
  for (int64_t i = 0; i < 5; ++i) {
    const int64_t t = 100'000 + 10 * i;
    EXPECT_EQ(outside[static_cast<size_t>(i)],
              (Outside{LateReason::kTooFarBehind, t + 1 - kHours, t}));
  }
  EXPECT_EQ(rig.store().late, 0u);
}

// where: pmacct#171, #680, #858; nfdump#668
TEST(Report23, AnExporterInLocalTimeSpoilsNoBin) {
  // Two exporters of one site, the second at UTC + 6: its events are ahead of their arrival by
  // 21,600 s. Bins hold the first one's events only, and none of those is late.
  LaneRig rig({.bound = {0},
               .max_ahead = {10},
               .max_partitions = 3,
               .beyond_max_ahead = GuardPolicy::kDrop},
              tumbling(10));
  for (int64_t t = 100; t < 150; t += 5) rig.send({{t, t, 1}, {t + 6 * 3600, t, 2}});
  rig.end();
  EXPECT_EQ(rig.take(),
            (Windows{{100, 110, 2}, {110, 120, 2}, {120, 130, 2}, {130, 140, 2}, {140, 150, 2}}));
  EXPECT_EQ(rig.store().late, 0u);
  EXPECT_EQ(rig.record().offences[2][at(LateReason::kTooFarAhead)], 10u);
}

// where: laminardb PR#388, sql-flow#358, pinpoint#7635, seq-tickets#1570
TEST(Report24, OneEventOfTomorrowMakesNothingLate) {
  constexpr int64_t kDay = 86'400;
  const std::vector<Event> events = {{0, 0}, {1, 1}, {kDay, 2}, {2, 2}, {3, 3}};
  struct Case {
    GuardPolicy policy;
    uint64_t dropped, diverted;
    Windows windows;
    Outsides outside;
  };
  const Case cases[] = {
      {GuardPolicy::kAccept, 0, 0, {{0, 10, 4}, {kDay, kDay + 10, 1}}, {}},
      {GuardPolicy::kDrop, 1, 0, {{0, 10, 4}}, {}},
      // It came when the watermark was 1.
      {GuardPolicy::kDivert, 0, 1, {{0, 10, 4}}, {{LateReason::kTooFarAhead, kDay, 1}}}};
  for (const Case& c : cases) {
    LaneRig rig({.bound = {0}, .max_ahead = {10}, .beyond_max_ahead = c.policy},
                with_late_rows(tumbling(10)));
    rig.send(events);
    EXPECT_EQ(rig.frontier().ns, 3);
    rig.end();
    EXPECT_EQ(rig.take(), c.windows);
    EXPECT_EQ(rig.take_outside(), c.outside);
    EXPECT_EQ(rig.store().late, 0u);
    EXPECT_EQ(rig.lane().met[at(LateReason::kTooFarAhead)], 1u);
    EXPECT_EQ(rig.lane().ended.dropped[at(LateReason::kTooFarAhead)], c.dropped);
    EXPECT_EQ(rig.lane().ended.diverted[at(LateReason::kTooFarAhead)], c.diverted);
  }
  // The report itself: without the guard, 2 and 3 find [0, 10) closed. The counters say so.
  LaneRig without({.bound = {0}}, tumbling(10));
  without.send(events);
  without.end();
  EXPECT_EQ(without.store().late, 2u);
  EXPECT_EQ(without.take(), (Windows{{0, 10, 2}, {kDay, kDay + 10, 1}}));
}

// where: arroyo PR#222, ydb#28603, numaflow#1385, pravega flink-connectors#17, ydb PR#25540
TEST(Report25, APartitionThatStopsHoldsNothingForEver) {
  LaneRig rig({.bound = {0}, .idle_after = {100}, .max_partitions = 3}, tumbling(10));
  rig.send({{3, 3, 1}, {5, 5, 2}, {12, 12, 1}, {25, 25, 1}, {105, 105, 1}});
  EXPECT_TRUE(rig.take().empty());  // 105 - 5 is not more than 100: partition 2 holds 5
  rig.send({{110, 110, 1}});
  EXPECT_EQ(rig.take(),
            (Windows{{0, 10, 2}, {10, 20, 1}, {20, 30, 1}, {100, 110, 1}}));  // it holds no more
  rig.send({{112, 113, 2}, {114, 114, 1}});  // back, into the open window
  rig.end();
  EXPECT_EQ(rig.take(), (Windows{{110, 120, 3}}));
  EXPECT_EQ(rig.store().late, 0u);
}
TEST(Report25, ALaneThatStopsHoldsNothingForEver) {
  // What the clock found out is input: `say`.
  LaneRig rig({.bound = {0}}, tumbling(10), 2);
  rig.send({{3, kBefore, 0, 0}, {5, kBefore, 0, 1}, {25, kBefore, 0, 0}});
  EXPECT_TRUE(rig.take().empty());
  rig.say(1, Why::kSilent, EventTime::before_all());
  EXPECT_EQ(rig.take(), (Windows{{0, 10, 2}}));
  rig.say(1, Why::kReturned, rig.frontier());
  rig.send({{27, kBefore, 0, 1}, {30, kBefore, 0, 0}});
  rig.end();
  EXPECT_EQ(rig.take(), (Windows{{20, 30, 2}, {30, 40, 1}}));
  EXPECT_EQ(rig.store().late, 0u);
}

// where: flink PR#22925 (FLINK-32496)
TEST(Report26, AnIdlePartitionReturnsLateAndIsTakenAgain) {
  LaneRig rig({.bound = {0}, .idle_after = {100}, .max_partitions = 3},
              with_late_rows(tumbling(10)));
  rig.send({{3, 3, 1}, {5, 5, 2}, {110, 110, 1}});
  EXPECT_EQ(rig.frontier().ns, 110);
  rig.send({{60, 111, 2}});  // [60, 70) has ended
  EXPECT_EQ(rig.store().late, 1u);
  rig.send({{125, 125, 1}});
  EXPECT_EQ(rig.frontier().ns, 110);  // partition 2 stands at 60 and holds what it found
  rig.send({{118, 126, 2}, {130, 127, 2}});
  EXPECT_EQ(rig.frontier().ns, 125);  // caught up
  rig.end();
  EXPECT_EQ(rig.take(), (Windows{{0, 10, 2}, {110, 120, 2}, {120, 130, 1}, {130, 140, 1}}));
  EXPECT_EQ(rig.take_outside(), (Outsides{{LateReason::kLate, 60, 110}}));
}
TEST(Report26, ASilentLaneReturnsLateAndIsTakenAgain) {
  LaneRig rig({.bound = {0}}, with_late_rows(tumbling(10)), 2);
  rig.send({{5, kBefore, 0, 1}, {110, kBefore, 0, 0}});
  rig.say(1, Why::kSilent, EventTime::before_all());
  rig.say(1, Why::kReturned, rig.frontier());
  rig.send({{60, kBefore, 0, 1}, {125, kBefore, 0, 0}, {118, kBefore, 0, 1}});
  EXPECT_EQ(rig.store().late, 1u);
  EXPECT_EQ(rig.frontier().ns, 118);
  rig.send({{130, kBefore, 0, 1}});
  EXPECT_EQ(rig.frontier().ns, 125);
  rig.end();
  EXPECT_EQ(rig.take(), (Windows{{0, 10, 1}, {110, 120, 2}, {120, 130, 1}, {130, 140, 1}}));
  EXPECT_EQ(rig.take_outside(), (Outsides{{LateReason::kLate, 60, 110}}));
}

// where: ksql#9007, #1030; streamiz#445; kafka-streams-examples#441
TEST(Report27, TheLastWindowOfAQuietStreamIsShown) {
  const std::vector<Event> events = {{1, 1}, {2, 2}, {3, 3}, {14, 14}};
  // Silence alone promises nothing beyond 14. The end of the file, and a drain, do.
  LaneRig file({.bound = {0}}, tumbling(10));
  file.send(events);
  file.say(0, Why::kSilent, EventTime::before_all());
  EXPECT_EQ(file.take(), (Windows{{0, 10, 3}}));
  file.end();
  EXPECT_EQ(file.take(), (Windows{{10, 20, 1}}));
  // A feed that says at 22 that nothing is missing, less the bound of 2.
  LaneRig feed({.bound = {2}, .watermark_by = WatermarkBy::kMarks}, tumbling(10));
  feed.send(events);
  feed.mark(21);
  EXPECT_EQ(feed.take(), (Windows{{0, 10, 3}}));
  feed.mark(22);
  EXPECT_EQ(feed.take(), (Windows{{10, 20, 1}}));
  // An operator's push.
  LaneRig pushed({.bound = {0}}, tumbling(10));
  pushed.send(events);
  pushed.say(0, Why::kOperator, {20});
  EXPECT_EQ(pushed.take(), (Windows{{0, 10, 3}, {10, 20, 1}}));
}

// where: spark PR#56043
TEST(Report28, AnEventAtTheWatermarkIsInWhateverTheBurst) {
  // After 20 the watermark is 20: 20 is in [20, 30), 19 was in [10, 20). A session that 19 touches
  // is open, so there it is in.
  constexpr int64_t kRounds = 60;
  std::vector<Event> events;
  for (int64_t base = 0; base < 100 * kRounds; base += 100)
    for (const int64_t t : {10, 10, 20, 20, 19, 30, 20, 30}) events.push_back({base + t, base + t});
  for (const uint32_t burst : {1u, 32u, 256u}) {
    LaneRig aligned({.bound = {0}}, with_late_rows(tumbling(10)), 1, burst),
        sessions({.bound = {0}}, with_late_rows(session(5)), 1, burst);
    aligned.send(events);
    aligned.end();
    sessions.send(events);
    sessions.end();
    Windows want_aligned, want_sessions;
    Outsides late_aligned, late_sessions;
    for (int64_t base = 0; base < 100 * kRounds; base += 100) {
      for (const int64_t start : {10, 20, 30})
        want_aligned.push_back({base + start, base + start + 10, 2});
      late_aligned.push_back({LateReason::kLate, base + 19, base + 20});
      late_aligned.push_back({LateReason::kLate, base + 20, base + 30});
      want_sessions.push_back({base + 10, base + 15, 2});
      want_sessions.push_back({base + 19, base + 25, 3});
      want_sessions.push_back({base + 30, base + 35, 2});
      late_sessions.push_back({LateReason::kLate, base + 20, base + 30});
    }
    EXPECT_EQ(aligned.take(), want_aligned) << burst;
    EXPECT_EQ(aligned.take_outside(), late_aligned) << burst;
    EXPECT_EQ(sessions.take(), want_sessions) << burst;
    EXPECT_EQ(sessions.take_outside(), late_sessions) << burst;
  }
}

// where: laminardb#65, numaflow#494
TEST(Report30, LateIsJudgedByTheWindowsEndAndItsLateness) {
  // 11 is behind the watermark 12 and in time: [10, 20) is open. 8 is not; with 5 of lateness it
  // is, until the watermark is 15.
  const std::vector<Event> events = {{5, 5}, {12, 12}, {11, 12}, {8, 12}, {15, 15}, {9, 15}};
  LaneRig plain({.bound = {0}}, with_late_rows(tumbling(10)));
  plain.send(events);
  plain.end();
  EXPECT_EQ(plain.take(), (Windows{{0, 10, 1}, {10, 20, 3}}));
  EXPECT_EQ(plain.take_outside(),
            (Outsides{{LateReason::kLate, 8, 12}, {LateReason::kLate, 9, 15}}));
  Plan plan = with_late_rows(tumbling(10));
  plan.window.lateness = {5};
  LaneRig kept({.bound = {0}}, plan);
  kept.send(events);
  kept.end();
  EXPECT_EQ(kept.take(), (Windows{{0, 10, 1}, {0, 10, 2, FireKind::kUpdate}, {10, 20, 3}}));
  EXPECT_EQ(kept.take_outside(), (Outsides{{LateReason::kLate, 9, 15}}));
  // Of two windows that hold 8, only the one that is open takes it: [5, 15) has 5, 12, 11, 8.
  LaneRig both({.bound = {0}}, sliding(10, 5));
  both.send({{5, 5}, {12, 12}, {11, 12}, {8, 12}});
  both.end();
  EXPECT_EQ(both.take(), (Windows{{0, 10, 1}, {5, 15, 4}, {10, 20, 2}}));
  EXPECT_EQ(both.store().late, 0u);
}

// where: telegraf#18257, #2238; risingwave#23270; kafka PR#5742, flink PR#4665, feldera PR#2074
TEST(Report33, WhatIsLateIsSeen) {
  LaneRig rig({.bound = {5}}, with_late_rows(tumbling(10)));
  rig.send({{100, 100}, {130, 130}, {88, 131}, {127, 131}});
  rig.end();
  EXPECT_EQ(rig.store().late, 1u);                                          // the counter,
  EXPECT_EQ(rig.take_outside(), (Outsides{{LateReason::kLate, 88, 125}}));  // the event itself,
  EXPECT_EQ(rig.record().lateness.max(), 42u);  // and how late: 130 - 88
  EXPECT_EQ(rig.record().lateness.count(), 4u);
  EXPECT_EQ(rig.record().beyond_bound, 1u);  // 130 - 127 was within it
}

}  // namespace
}  // namespace tidewire
