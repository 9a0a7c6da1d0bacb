// Aligned windows that show themselves more than once (core.md rule 6), by hand. The general case
// is tests/property/aligned_model_test.cc.
#include <gtest/gtest.h>

#include "store_harness.h"

namespace tidewire {
namespace {

using Tolds = std::vector<Told>;
constexpr int64_t kBefore = INT64_MIN;
constexpr auto kOnTime = FireKind::kOnTime, kEarly = FireKind::kEarly, kUpdate = FireKind::kUpdate,
               kBack = FireKind::kRetraction;

Plan with_changes(Plan plan) {
  plan.max_changes = 16;
  return plan;
}

TEST(Lateness, EachLateRowGivesAResultUntilCleanUp) {
  Plan plan = with_changes(tumbling(10));
  plan.window.lateness = {5};
  StoreHarness h(plan);
  h.add({{1, kBefore, 1, 1}});
  h.fire(10);
  h.add({{2, 12, 1, 2}, {3, 14, 1, 4}, {4, 15, 1, 8}});  // 15 = end + lateness: late
  EXPECT_EQ(h.counts().late, 1u);
  h.fire(14);
  EXPECT_EQ(h.take_told(), (Tolds{{10, 0, 10, 1, 1, 1, kOnTime, 0},
                                  {12, 0, 10, 1, 2, 3, kUpdate, 1, true},
                                  {14, 0, 10, 1, 3, 7, kUpdate, 2, true}}));
  EXPECT_EQ(h.store().use().panes, 1u);
  EXPECT_EQ(h.store().use().changes, 1u);
  EXPECT_EQ(h.store().next({15}), EventTime{15});  // clean-up
  h.fire(15);
  EXPECT_EQ(h.store().use().panes, 0u);
  EXPECT_EQ(h.store().use().changes, 0u);
}

TEST(Lateness, ARowMayBeTooLateForSomeWindowsOnly) {
  // Windows of 6 every 3, lateness 2. Time 4 lies in [0, 6) and [3, 9). At stamp 9 the first is
  // cleaned up (6 + 2 <= 9), the second has fired and takes it.
  Plan plan = with_changes(sliding(6, 3));
  plan.window.lateness = {2};
  StoreHarness h(plan);
  h.add({{4, kBefore, 1, 1}, {4, 9, 1, 2}});
  h.finish();
  EXPECT_EQ(h.take_told(), (Tolds{{6, 0, 6, 1, 1, 1, kOnTime, 0},
                                  {9, 3, 9, 1, 1, 1, kOnTime, 0},
                                  {9, 3, 9, 1, 2, 3, kUpdate, 1, true}}));
}

TEST(Lateness, BetweenWindowsARowIsLateWhenOneBesideItWouldBe) {
  Plan plan = with_changes(sliding(2, 5));  // [0, 2) [5, 7)
  plan.window.lateness = {4};
  StoreHarness h(plan);
  h.add({{3, 7}, {3, 8}});  // 3 + 4 < 8
  EXPECT_EQ(h.counts().no_window, 1u);
  EXPECT_EQ(h.counts().late, 1u);
}

TEST(Lateness, GatheredResultsSayOnlyWhatChanged) {
  // Points 13, 16 and 10 + 8 = 18, numbers 1, 2, 3. Two keys; the second never changes.
  Plan plan = with_changes(tumbling(10));
  plan.window.lateness = {8};
  plan.window.gather = {3};
  StoreHarness h(plan);
  h.add({{1, kBefore, 1, 1}, {1, kBefore, 2, 1}, {2, 11, 1, 2}, {2, 12, 1, 4}, {2, 17, 1, 8}});
  h.fire(17);
  h.take_told();
  EXPECT_EQ(h.store().next({18}), EventTime{18});
  StoreHarness again(plan);
  again.add({{1, kBefore, 1, 1}, {2, 11, 1, 2}, {2, 12, 1, 4}, {2, 17, 1, 8}});
  again.finish();
  EXPECT_EQ(again.take_told(), (Tolds{{10, 0, 10, 1, 1, 1, kOnTime, 0},
                                      {13, 0, 10, 1, 3, 7, kUpdate, 1},
                                      {18, 0, 10, 1, 4, 15, kUpdate, 3}}));
}

TEST(Lateness, CleanUpIsAPlaceAlsoAtTheEndOfTime) {
  Plan plan = with_changes(tumbling(10));
  plan.window.lateness = {kWindowLengthMax};
  StoreHarness h(plan);
  h.add({{1, kBefore}, {2, 10}});
  h.finish();
  EXPECT_EQ(h.store().use().panes, 0u);
  EXPECT_EQ(h.store().use().changes, 0u);
  EXPECT_EQ(h.store().use().keys, 0u);
}

TEST(Lateness, AnEndPlusLatenessBeyondInt64IsTheEndOfTime) {
  // scenarios.txt W11: 9223372036854774057 = 2^63 - 1751; the window ends at 2^63 - 808.
  Plan plan = with_changes(tumbling(1000));
  plan.window.lateness = {2000};
  StoreHarness h(plan);
  h.add({{9223372036854774057, kBefore, 2, 1}, {9223372036854774500, INT64_MAX - 1, 2, 2}});
  h.finish();
  EXPECT_EQ(
      h.take_told(),
      (Tolds{
          {9223372036854775000, 9223372036854774000, 9223372036854775000, 2, 1, 1, kOnTime, 0},
          {INT64_MAX - 1, 9223372036854774000, 9223372036854775000, 2, 2, 3, kUpdate, 1, true}}));
}

TEST(Accumulation, DiscardedResultsAddUpToTheWindow) {
  // Steps 4 and 8 of [0, 10). The row at 1 stamped 5 is deferred: 4 has shown its time.
  Plan plan = with_changes(tumbling(10));
  plan.window.early = {4};
  plan.window.lateness = {5};
  plan.window.accumulation = Accumulation::kDiscarding;
  StoreHarness h(plan);
  h.add({{0, kBefore, 1, 1}, {1, 5, 1, 2}, {5, 5, 1, 4}, {3, 11, 1, 8}});
  h.finish();
  EXPECT_EQ(h.take_told(), (Tolds{{4, 0, 10, 1, 1, 1, kEarly, 0},
                                  {8, 0, 10, 1, 2, 6, kEarly, 1},
                                  {11, 0, 10, 1, 1, 8, kUpdate, 3, true}}));
}

TEST(Accumulation, ARetractionStandsBeforeWhatReplacesIt) {
  Plan plan = with_changes(tumbling(10));
  plan.window.early = {5};
  plan.window.lateness = {5};
  plan.window.accumulation = Accumulation::kRetracting;
  StoreHarness h(plan);
  // The row at 2 stamped 6 comes behind the step 5 and shows at the end: 1 is taken back, not 3.
  h.add({{0, kBefore, 1, 1}, {2, 6, 1, 2}, {3, 11, 1, 4}});
  h.finish();
  EXPECT_EQ(h.take_told(), (Tolds{{5, 0, 10, 1, 1, 1, kEarly, 0},
                                  {10, 0, 10, 1, 1, 1, kBack, 1},
                                  {10, 0, 10, 1, 2, 3, kOnTime, 1},
                                  {11, 0, 10, 1, 2, 3, kBack, 2, true},
                                  {11, 0, 10, 1, 3, 7, kUpdate, 2, true}}));
}

TEST(Early, AKeyShowsAtEachStepFromItsFirstRowOn) {
  Plan plan = with_changes(tumbling(10));
  plan.window.early = {3};
  StoreHarness h(plan);
  h.add({{4, kBefore, 1, 1}});
  h.finish();
  EXPECT_EQ(h.take_told(), (Tolds{{6, 0, 10, 1, 1, 1, kEarly, 1},
                                  {9, 0, 10, 1, 1, 1, kEarly, 2},
                                  {10, 0, 10, 1, 1, 1, kOnTime, 3}}));
}

TEST(Early, CumulatingWindowsEndAtTheirSteps) {
  Plan plan = with_changes(tumbling(6));
  plan.window.kind = WindowKind::kCumulate;
  plan.window.early = {2};
  StoreHarness h(plan);
  h.add({{1, kBefore, 1, 1}, {3, kBefore, 1, 2}});
  h.finish();
  EXPECT_EQ(h.take_told(), (Tolds{{2, 0, 2, 1, 1, 1, kOnTime, 0},
                                  {4, 0, 4, 1, 2, 3, kOnTime, 1},
                                  {6, 0, 6, 1, 2, 3, kOnTime, 2}}));
}

TEST(Early, EveryTwoRowsOfAKey) {
  Plan plan = with_changes(tumbling(10));
  plan.window.early_rows = 2;
  StoreHarness h(plan);
  h.add({{1, 0, 1, 1}, {2, 0, 2, 1}, {3, 0, 1, 2}, {4, 0, 1, 4}, {5, 0, 1, 8}});
  EXPECT_EQ(h.counts().natural, 0u);
  h.finish();
  EXPECT_EQ(h.counts().deferred, 5u);
  Tolds told = h.take_told();
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0], (Told{0, 0, 10, 1, 2, 3, kEarly, 0, true}));
  EXPECT_EQ(told[1], (Told{0, 0, 10, 1, 4, 15, kEarly, 1, true}));
  for (const Told& t : {told[2], told[3]}) EXPECT_EQ(t.fire, kOnTime);
}

TEST(Changes, AFullTableIsCountedAndItsWindowsAreFlagged) {
  Plan plan = tumbling(10);
  plan.window.lateness = {5};
  plan.max_changes = 1;
  StoreHarness h(plan);
  h.add({{1, kBefore, 1}, {1, kBefore, 2}, {2, 11, 1, 2}, {3, 12, 2, 4}, {4, 13, 1, 8}});
  h.finish();
  EXPECT_EQ(h.counts().overflow, 1u);
  EXPECT_EQ(h.take_lost(), (std::vector<std::pair<int64_t, int64_t>>{{10, 10}}));
  const std::vector<Result> results = h.take_results();
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[2], (Result{0, 10, 1, 2, 3, 1, 2, 0}));
  EXPECT_EQ(results[3], (Result{0, 10, 1, 3, 11, 1, 8, kFlagOverflow}));
}

}  // namespace
}  // namespace tidewire
