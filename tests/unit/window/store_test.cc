// Behaviour of whole stores, by hand: the reports of spec/formats.md that meet windows, full pools,
// recycled keys, memory. What rule 3 asks for in general is tests/property/window_model_test.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "memory/seal.h"
#include "store_harness.h"

namespace tidewire {
namespace {

using Results = std::vector<Result>;
using Intervals = std::vector<std::pair<int64_t, int64_t>>;
constexpr int64_t kBefore = INT64_MIN;  // nothing seen yet

uint64_t accounted(const StoreCounts& n) {
  return n.natural + n.deferred + n.late + n.overflow + n.no_window + n.still_deferred;
}

// ---- reports
TEST(Report18, NegativeTimesRoundDown) {
  StoreHarness h(tumbling(10));
  h.add({{-1, kBefore}, {0, kBefore}, {-10, kBefore}, {-11, kBefore}});
  h.finish();
  EXPECT_EQ(h.take_results(),
            (Results{{-20, -10, 1, 1, 1, 1, 1}, {-10, 0, 1, 2, 2, 1, 1}, {0, 10, 1, 1, 1, 1, 1}}));
}

TEST(Report20, FromTheEpochToNowIsTwoWindows) {
  constexpr int64_t kNow = 1'700'000'000 * kSecond;
  for (const Plan& plan : {tumbling(kSecond), sliding(10 * kSecond, 10 * kSecond), session(1),
                           session(3600 * kSecond)}) {
    StoreHarness h(plan);
    h.add({{0, kBefore}, {kNow, kBefore}});
    // Two windows, their keys, and a few steps of the wheel: not one unit a window in between.
    EXPECT_LT(h.fire(kNow + 1), 64u);
    h.finish();
    EXPECT_EQ(h.take_results().size(), 2u);
  }
}

TEST(Report29, TouchingSessionsAreOneInEitherOrder) {
  for (const std::vector<Row>& rows : {std::vector<Row>{{1, kBefore}, {3, kBefore}},
                                       std::vector<Row>{{3, kBefore}, {1, kBefore}}}) {
    StoreHarness h(session(2));
    h.add(rows);
    h.finish();
    EXPECT_EQ(h.take_results(), (Results{{1, 5, 1, 2, 2, 1, 1}}));
  }
  StoreHarness apart(session(2));
  apart.add({{1, kBefore}, {4, kBefore}});
  apart.finish();
  EXPECT_EQ(apart.take_results(), (Results{{1, 3, 1, 1, 1, 1, 1}, {4, 6, 1, 1, 1, 1, 1}}));
}

TEST(Report31, ABridgingRowMakesOneSessionOnce) {
  StoreHarness h(session(10));
  h.add({{0, kBefore}, {15, kBefore}, {8, kBefore}});
  h.finish();
  EXPECT_EQ(h.take_results(), (Results{{0, 25, 1, 3, 3, 1, 1}}));
  EXPECT_EQ(h.counts().natural, 3u);
}

TEST(Report31, ADeferredRowBridgesWhatIsOpenAtItsPlace) {
  // Stamp 9: the session [0, 10) is still open and [12, 22) too; 5 <= 9 defers the row, and at its
  // place it touches both: [0, 22).
  StoreHarness h(session(10));
  h.add({{0, kBefore}, {12, 2}, {5, 9}});
  h.fire(9);
  EXPECT_EQ(h.counts().deferred, 1u);
  h.finish();
  EXPECT_EQ(h.take_results(), (Results{{0, 22, 1, 3, 3, 1, 1}}));
}

TEST(Report32, AMillionKeysOnceEachLeaveNothingBehind) {
  for (Plan plan : {tumbling(100), session(100)}) {
    plan.max_keys = 512;
    plan.max_sessions = 64;
    StoreHarness h(plan);
    h.keep_results(false);
    // One key a time unit, 250 to 350 open at once, less than 512: ids must come round.
    for (int64_t i = 0; i < 1'000'000; ++i) {
      h.add({{i, i - 200, i * 7919, 1}});
      if (i % 50 == 0) h.fire(i - 200);
      ASSERT_LE(h.store().use().keys, 512u);
    }
    h.finish();
    EXPECT_EQ(h.counts().overflow, 0u);
    EXPECT_EQ(h.rows(), 1'000'000u);
    EXPECT_EQ(h.sum_of_counts(), 1'000'000u);
    EXPECT_EQ(h.store().use().keys, 0u);
    EXPECT_EQ(h.store().use().panes, 0u);
  }
}

TEST(Report35, SlideEqualToSizeIsTumbling) {
  StoreHarness a(tumbling(10)), b(sliding(10, 10));
  Rng rng(35);
  int64_t watermark = kBefore;
  for (int i = 0; i < 500; ++i) {
    const int64_t time = i + static_cast<int64_t>(rng.below(12));
    const Row row{time, watermark, static_cast<int64_t>(rng.below(5)), i};
    a.add({row});
    b.add({row});
    watermark = std::max(watermark, time - 4);
    a.fire(watermark);
    b.fire(watermark);
  }
  a.finish();
  b.finish();
  const Results results = a.take_results();
  EXPECT_EQ(results, b.take_results());
  EXPECT_GT(results.size(), 100u);
  EXPECT_EQ(a.counts().late, b.counts().late);
}

TEST(Report35, SlideNeedNotDivideSize) {
  // size 5, slide 2: starts ..., -4, -2, 0, 2; the row at 1 lies in [-2,3) and [0,5) and [-4,1)
  // not.
  StoreHarness h(sliding(5, 2));
  h.add({{1, kBefore}});
  h.finish();
  EXPECT_EQ(h.take_results(), (Results{{-2, 3, 1, 1, 1, 1, 1}, {0, 5, 1, 1, 1, 1, 1}}));
}

TEST(Report49, KeysWithoutEndKeepTheirTotalInTheOverflowRow) {
  for (Plan plan : {tumbling(100), session(100)}) {
    plan.max_keys = 8;
    StoreHarness h(plan);
    for (int64_t key = 0; key < 5000; ++key) h.add({{key % 50, kBefore, key, 2}});
    h.finish();
    const Results results = h.take_results();
    ASSERT_EQ(results.size(), 9u);
    const bool is_session = plan.window.kind == WindowKind::kSession;
    // Keys 0 to 7 found an id: one row each. All others: one row, last in its place, key 0.
    int64_t rows = 0;
    for (const Result& r : results) {
      const bool of_overflow = (r.flags & kFlagOverflowRow) != 0;
      EXPECT_EQ(of_overflow, &r == &results.back() || r.count > 1);
      EXPECT_TRUE(r.flags & kFlagOverflow);
      rows += r.count;
      if (of_overflow) {
        EXPECT_EQ(r.count, 4992);
        EXPECT_EQ(r.sum, 2 * 4992);
        EXPECT_EQ(r.key, 0);
      }
    }
    EXPECT_EQ(rows, 5000);
    EXPECT_EQ(h.counts().overflow, 4992u);
    EXPECT_EQ(accounted(h.counts()), 5000u);
    EXPECT_EQ(h.counts().flagged, is_session ? 9u : 1u);
  }
}

TEST(Report49, AfterAFloodTheNextWindowIsCleanAgain) {
  Plan plan = tumbling(100);
  plan.max_keys = 8;
  StoreHarness h(plan);
  for (int64_t key = 0; key < 100; ++key) h.add({{50, kBefore, key}});
  h.fire(100);
  h.take_results();
  for (int64_t key = 200; key < 208; ++key) h.add({{150, 100, key}});
  h.finish();
  const Results results = h.take_results();
  ASSERT_EQ(results.size(), 8u);
  for (const Result& r : results) EXPECT_EQ(r.flags, 0);
}

TEST(Report50, EqualTimesAreLegal) {
  for (const Plan& plan : {tumbling(10), session(10)}) {
    StoreHarness h(plan);
    h.add({{5, kBefore}, {5, 4}, {5, 4}});
    h.finish();
    const Results results = h.take_results();
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].count, 3);
  }
}

// ---- lateness
TEST(PaneStore, LateNoWindowAndNatural) {
  StoreHarness h(sliding(2, 5));                  // [0,2) [5,7) ...
  h.add({{1, kBefore}, {3, 3}, {3, 4}, {1, 2}});  // natural, no window, late, late
  const StoreCounts n = h.counts();
  EXPECT_EQ(n.natural, 1u);
  EXPECT_EQ(n.no_window, 1u);
  EXPECT_EQ(n.late, 2u);
}

TEST(PaneStore, ADeferredRowIsNotInTheWindowsThatFiredBeforeItsPlace) {
  StoreHarness h(sliding(4, 2));  // row at 1, stamp 2: [-2,2) has fired, [0,4) has not
  h.add({{0, kBefore}, {1, 2}});
  h.finish();
  EXPECT_EQ(h.take_results(), (Results{{-2, 2, 1, 1, 1, 1, 1}, {0, 4, 1, 2, 2, 1, 1}}));
  EXPECT_EQ(h.counts().deferred, 1u);
}

TEST(SessionStore, LateIsFoundAtItsPlace) {
  // gap 10, stamp 30: alone the row at 15 would end at 25 <= 30: late. Where a session [25, 35) is
  // open the same row touches it and is not.
  StoreHarness alone(session(10)), met(session(10));
  alone.add({{15, 30}});
  met.add({{25, kBefore}, {15, 30}});
  alone.finish();
  met.finish();
  EXPECT_EQ(alone.counts().late, 1u);
  EXPECT_EQ(alone.store().use().keys, 0u);
  EXPECT_EQ(met.counts().late, 0u);
  EXPECT_EQ(met.take_results(), (Results{{15, 35, 1, 2, 2, 1, 1}}));
}

// ---- full pools
TEST(PaneStore, WithoutAFreePaneTheRowsWindowsAreFlagged) {
  Plan plan = sliding(20, 10);
  plan.max_panes = 2;
  StoreHarness h(plan);
  h.add({{5, kBefore}, {15, kBefore}, {25, kBefore, 1, 7}});  // no pane for [20, 30)
  EXPECT_EQ(h.counts().overflow, 1u);
  h.fire(20);  // [-10,10) [0,20): panes [0,10) is free again
  h.add({{26, 20, 1, 3}});
  h.finish();
  // The lost row belonged to [10,30) and [20,40).
  EXPECT_EQ(h.take_results(), (Results{{-10, 10, 1, 1, 1, 1, 1, 0},
                                       {0, 20, 1, 2, 2, 1, 1, 0},
                                       {10, 30, 1, 2, 4, 1, 3, kFlagOverflow},
                                       {20, 40, 1, 1, 3, 3, 3, kFlagOverflow}}));
  EXPECT_EQ(h.counts().flagged, 2u);
  EXPECT_EQ(h.take_lost(), (Intervals{{30, 40}}));
  EXPECT_EQ(accounted(h.counts()), 4u);
}

// Another worker may have rows in the windows of a lost one while this store has none, and no pane
// that would make it fire there: egress is told, at the place of the first of them.
TEST(PaneStore, LostRowsAreToldWhereNothingFires) {
  Plan plan = sliding(20, 10);
  plan.max_panes = 1;
  StoreHarness h(plan);
  h.add({{5, kBefore}, {1005, kBefore}, {1005, kBefore}});  // no pane for [1000, 1010)
  h.fire(1009);
  EXPECT_EQ(h.take_results().size(), 2u);
  EXPECT_EQ(h.take_lost(), Intervals{});
  EXPECT_EQ(h.store().next({1009}), std::nullopt);
  EXPECT_EQ(h.store().next({1010}), EventTime{1010});
  h.fire(1010);
  EXPECT_EQ(h.take_lost(), (Intervals{{1010, 1020}}));
  EXPECT_EQ(h.store().next(EventTime::end_of_time()), std::nullopt);
  EXPECT_EQ(h.counts().overflow, 2u);
}

TEST(PaneStore, WithoutADeferredSlotTheOpenWindowsAreFlagged) {
  Plan plan = sliding(20, 10);
  plan.max_deferred = 1;
  StoreHarness h(plan);
  h.add({{5, kBefore}, {5, 10}, {5, 10}});
  EXPECT_EQ(h.counts().overflow, 1u);
  h.finish();
  EXPECT_EQ(h.take_results(),
            (Results{{-10, 10, 1, 1, 1, 1, 1, 0}, {0, 20, 1, 2, 2, 1, 1, kFlagOverflow}}));
  EXPECT_EQ(h.take_lost(), (Intervals{{20, 20}}));
}

TEST(SessionStore, WithoutAFreeSessionTheRowGoesToOverflow) {
  Plan plan = session(10);
  plan.max_sessions = 1;
  StoreHarness h(plan);
  h.add({{0, kBefore}, {100, kBefore}, {200, kBefore, 1, 5}});  // one inline, one more, none
  h.finish();
  EXPECT_EQ(h.take_results(),
            (Results{{0, 10, 1, 1, 1, 1, 1, 0},
                     {100, 110, 1, 1, 1, 1, 1, 0},
                     {200, 210, 0, 1, 5, 5, 5, kFlagOverflow | kFlagOverflowRow}}));
  EXPECT_EQ(h.counts().overflow, 1u);
}

TEST(PaneStore, WithoutAResultBlockTheCursorStays) {
  StoreHarness h(tumbling(10), 1);
  h.add({{5, kBefore}});
  h.store().fire({10}, {10}, 100, h.out());  // writes into the one block
  h.out().close();                           // full for the ring: nobody takes it
  h.add({{15, 10}});
  EXPECT_EQ(h.store().fire({20}, {20}, 100, h.out()), 0u);
  EXPECT_EQ(h.store().next({20}), EventTime{20});
  h.take();
  EXPECT_GT(h.store().fire({20}, {20}, 100, h.out()), 0u);
  h.out().close();
  h.take();
  EXPECT_EQ(h.take_results().size(), 2u);
  EXPECT_FALSE(h.store().next({20}).has_value());
}

TEST(PaneStore, NextIsThePlaceThatIsDue) {
  StoreHarness h(sliding(20, 10));
  EXPECT_FALSE(h.store().next(EventTime::end_of_time()).has_value());
  h.add({{5, kBefore}});
  EXPECT_FALSE(h.store().next({9}).has_value());
  EXPECT_EQ(h.store().next({10}), EventTime{10});
  h.add({{5, 15}});
  EXPECT_EQ(h.store().next({15}), EventTime{10});
  h.store().fire({15}, {10}, 100, h.out());
  EXPECT_EQ(h.store().next({15}), EventTime{15});  // the deferred row
  h.store().fire({15}, {15}, 100, h.out());
  EXPECT_FALSE(h.store().next({15}).has_value());
}

// ---- memory
TEST(StoreMemory, TheSumIsWhatIsTaken) {
  for (const uint32_t words : {0u, 1u, 2u, 4u})
    for (const CellKind cell : {CellKind::kStats, CellKind::kWide})
      for (Plan plan : {tumbling(10), session(10)}) {
        plan.key_words = words;
        plan.cell = cell;
        plan.cell_words = cell == CellKind::kWide ? 8 : 4;
        plan.shards = words ? 4 : 1;
        plan.max_keys = 1000;
        Arena arena(ArenaOptions{-1, false, false});
        const ShardRange range{0, words ? 3u : 1u};
        const auto store = make_store(plan, range, arena);
        const std::vector<ArenaTerm> terms = store_memory(plan, range);
        ASSERT_EQ(terms.size(), arena.terms().size());
        for (size_t i = 0; i < terms.size(); ++i) {
          EXPECT_EQ(terms[i].purpose, arena.terms()[i].purpose);
          EXPECT_EQ(terms[i].bytes, arena.terms()[i].bytes) << terms[i].purpose;
        }
      }
}

TEST(StoreMemory, AddAndFireAllocateNothing) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "built without debug checks";
  for (Plan plan : {tumbling(100), sliding(300, 100), session(40)}) {
    plan.max_keys = 64;
    StoreHarness h(plan);
    h.keep_results(false);
    Rng rng(7);
    int64_t watermark = kBefore;
    std::vector<Row> one(1);
    const AllocGuard guard;
    for (int64_t i = 0; i < 20'000; ++i) {
      const int64_t time = i - static_cast<int64_t>(rng.below(60));
      one[0] = {time, watermark, static_cast<int64_t>(rng.below(200)), i};  // overflow included
      h.add(one);
      watermark = std::max(watermark, time - 30);
      h.fire(watermark);
    }
    h.finish();
    EXPECT_EQ(guard.count(), 0u);
    EXPECT_EQ(accounted(h.counts()), 20'000u);
  }
}

}  // namespace
}  // namespace tidewire
