// Sessions with lateness, answers to late rows, gaps of the rows' own, a longest duration, results
// every n rows: each rule by hand, with the scenario of Flink that it comes from where there is
// one. In general: tests/property/session_model_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "memory/seal.h"
#include "store_harness.h"

namespace tidewire {
namespace {

constexpr int64_t kBefore = INT64_MIN;
constexpr int64_t kLongAgo = INT64_MIN + 2000;

// One lane: a row is due as soon as the frontier has reached its stamp.
class Sessions {
 public:
  explicit Sessions(const Plan& plan, uint32_t blocks = 8) : h_(plan, blocks) {}
  void add(const std::vector<Row>& rows) {
    h_.add(rows);
    for (const Row& row : rows) frontier_ = std::max(frontier_, row.stamp);
    run();
  }
  void reach(int64_t frontier) {
    frontier_ = frontier;
    run();
  }
  // All rows that have left since, one word each:
  //   place:window=sum        s for on time, e early, u<index> update, - retraction
  std::string take() { return std::exchange(text_, {}); }
  StoreHarness& harness() { return h_; }
  StoreCounts counts() const { return h_.counts(); }
  StoreUse use() { return h_.store().use(); }

 private:
  void run() {
    for (uint32_t used = 1; used > 0;) {
      used = h_.store().fire({frontier_}, {frontier_}, 3, h_.out());
      h_.out().close();
      read();
    }
  }
  void read() {
    for (const ResultBlock* b; (b = h_.ring().blocks.front()); h_.ring().blocks.pop())
      for (uint32_t at = 0; at < b->used;) {
        Run run;
        std::memcpy(&run, b->bytes.data() + at, sizeof run);
        at += sizeof run;
        for (uint32_t i = 0; i < run.rows; ++i, at += b->row_words * 8) {
          std::vector<int64_t> row(b->row_words);
          std::memcpy(row.data(), b->bytes.data() + at, row.size() * 8);
          say(run, row.data());
        }
      }
  }
  void say(const Run& run, const int64_t* row) {
    if (!text_.empty()) text_ += " ";
    if (run.kind == RunKind::kLate) {
      text_ += std::to_string(run.place.ns) + ":late@" + std::to_string(row[0]);
      return;
    }
    int64_t place = run.place.ns, start = run.start.ns, end = run.end.ns;
    if (run.kind == RunKind::kPlaced) {
      start = *row++;
      end = *row++;
      if (run.fire == FireKind::kOnTime) place = end;
    }
    text_ += std::to_string(place) + ":[" + std::to_string(start) + "," + std::to_string(end) +
             ")=" + std::to_string(row[3]);  // { hash, key, count, sum, ... }
    switch (run.fire) {
      case FireKind::kOnTime:
        text_ += "s";
        break;
      case FireKind::kEarly:
        text_ += "e" + std::to_string(run.index);
        break;
      case FireKind::kUpdate:
        text_ += "u" + std::to_string(run.index);
        break;
      case FireKind::kRetraction:
        text_ += "-";
        break;
      case FireKind::kProvisional:
        break;
    }
    if (run.flags & kFlagOverflowRow) text_ += "o";
    if (run.flags & kFlagOverflow) text_ += "!";
  }

  StoreHarness h_;
  int64_t frontier_ = kBefore;
  std::string text_;
};

Plan kept(int64_t gap, int64_t lateness, int64_t gather = 0,
          Accumulation accumulation = Accumulation::kAccumulating) {
  Plan plan = session(gap);
  plan.window.lateness = {lateness};
  plan.window.gather = {gather};
  plan.window.accumulation = accumulation;
  plan.max_changes = 16;
  plan.late_rows = true;
  return plan;
}

// ---- lateness (event-time.md 2.3, 3.1)
TEST(SessionLateness, AFiredSessionTakesRowsUntilEndPlusLateness) {
  // [0, 10) fires at 10 and stays until 15. The row at 3, stamp 14: 10 + 5 > 14, an update. The
  // same at 15: 10 + 5 <= 15, late.
  Sessions s(kept(10, 5));
  s.add({{0, kBefore}, {3, 14}, {3, 15}});
  s.reach(INT64_MAX);
  // The row at 3 makes [0, 13): 13 <= 14, and its own end + 5 = 18 is beyond 15: not late after
  // all.
  EXPECT_EQ(s.take(), "10:[0,10)=1s 14:[0,13)=2u1 15:[0,13)=3u2");
  Sessions t(kept(10, 5));
  t.add({{0, kBefore}, {0, 14}, {0, 15}});
  t.reach(INT64_MAX);
  EXPECT_EQ(t.take(), "10:[0,10)=1s 14:[0,10)=2u1 15:late@0");
  EXPECT_EQ(t.counts().late, 1u);
  EXPECT_EQ(t.counts().deferred, 1u);
}

TEST(SessionLateness, W16LatenessIsThatOfTheMergedSession) {
  // Times and watermarks of the scenario; a watermark t is the frontier t + 1.
  Sessions s(kept(3000, 10));
  s.add({{11600, 11502}});
  s.reach(14601);
  EXPECT_EQ(s.take(), "14600:[11600,14600)=1s");
  s.add({{10000, 14601}});  // alone [10000, 13000) would be late; it joins [11600, 14600)
  EXPECT_EQ(s.take(), "14601:[10000,14600)=2u1");
  s.add({{14500, 14601}});  // the end moves past the watermark: on time again
  EXPECT_EQ(s.take(), "");
  s.reach(20001);
  EXPECT_EQ(s.take(), "17500:[10000,17500)=3s");
  EXPECT_EQ(s.use().panes, 0u);
}

TEST(SessionLateness, D04TheFirstRowOfAClosedSessionIsAnsweredAtOnce) {
  Sessions s(kept(10, 100));
  s.add({{0, 50}});
  EXPECT_EQ(s.take(), "50:[0,10)=1u1");
  s.add({{100, 109}});  // ends at 110 > 109: in time
  EXPECT_EQ(s.take(), "");
  s.reach(110);
  EXPECT_EQ(s.take(), "110:[100,110)=1s");
  EXPECT_EQ(s.use().panes, 1u);  // [0, 10) has left at 110, [100, 110) stays
  EXPECT_EQ(s.harness().store().next({209}), std::nullopt);
  s.reach(210);
  EXPECT_EQ(s.use().panes, 0u);
}

TEST(SessionLateness, ABridgeOfFiredSessionsIsOneUpdate) {
  Sessions s(kept(10, 100));
  s.add({{0, kBefore}, {20, kBefore}});
  s.reach(30);
  EXPECT_EQ(s.take(), "10:[0,10)=1s 30:[20,30)=1s");
  s.add({{10, 30}});  // [10, 20) touches both
  EXPECT_EQ(s.take(), "30:[0,30)=3u1");
  EXPECT_EQ(s.use().panes, 1u);
}

// ---- gathered
TEST(SessionGathered, PointsHangOnTheMergedEnd) {
  // Points of [0, 10): 14 and 18 = 10 + lateness. Rows at stamps 11 and 12 show at 14, one at 15
  // at 18.
  Sessions s(kept(10, 8, 4));
  s.add({{0, kBefore}, {0, 11}, {0, 12}, {0, 15}});
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "10:[0,10)=1s 14:[0,10)=3u1 18:[0,10)=4u2");
  Sessions t(kept(10, 8, 4));
  t.add({{0, kBefore}, {0, 11}, {3, 13}});  // end 13, points 17 and 21
  t.reach(INT64_MAX);
  EXPECT_EQ(t.take(), "10:[0,10)=1s 17:[0,13)=3u1");
}

TEST(SessionGathered, WithoutALateRowNothingIsSaidAgain) {
  Sessions s(kept(10, 100, 1));
  s.add({{0, kBefore}});
  s.reach(10);
  s.take();
  EXPECT_EQ(s.harness().store().next({109}), std::nullopt);  // no step for each point
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "");
}

// ---- discarding, retracting
TEST(SessionDiscarding, W15TheSessionStaysButItsContentsHaveLeft) {
  Sessions s(kept(3000, 10, 0, Accumulation::kDiscarding));
  s.add({{11600, 11502}});
  s.reach(14601);
  s.add({{10000, 14601}, {14500, 14601}});
  s.reach(20001);
  EXPECT_EQ(s.take(), "14600:[11600,14600)=1s 14601:[10000,14600)=1u1 17500:[10000,17500)=1s");
}

TEST(SessionRetracting, EachOldResultIsTakenBackInItsOwnWindow) {
  Sessions s(kept(10, 100, 0, Accumulation::kRetracting));
  s.add({{0, kBefore}, {20, kBefore, 1, 5}});
  s.reach(30);
  EXPECT_EQ(s.take(), "10:[0,10)=1s 30:[20,30)=5s");
  s.add({{10, 30, 1, 2}});
  EXPECT_EQ(s.take(), "30:[0,10)=1- 30:[20,30)=5- 30:[0,30)=8u1");
  s.add({{25, 31}});  // grows to 35 > 31: what was said is taken back where it fires
  EXPECT_EQ(s.take(), "");
  EXPECT_EQ(s.use().changes, 1u);
  s.reach(35);
  EXPECT_EQ(s.take(), "35:[0,30)=8- 35:[0,35)=9s");
  EXPECT_EQ(s.use().changes, 0u);
}

TEST(SessionRetracting, AResultBlockAtATimeLosesAndRepeatsNothing) {
  Plan plan = kept(10, 100'000, 0, Accumulation::kRetracting);
  plan.gap_value = 0;  // a row's value is its gap
  plan.gap_unit = {1};
  plan.max_sessions = plan.max_changes = plan.max_deferred = 1000;
  Sessions s(plan, 1);
  for (int64_t i = 0; i < 500; ++i) s.add({{i * 10, i * 10 - 1, 1, 2}});
  s.reach(5000);
  s.take();
  EXPECT_EQ(s.use().panes, 500u);
  // [0, 4990] touches all. 500 retractions of 48 + 48 B do not fit one block of 16 KiB.
  s.add({{0, 5000, 1, 4990}});
  const std::string text = s.take();
  EXPECT_EQ(std::count(text.begin(), text.end(), '-'), 500);
  // The last session is [4990, 4992); sum 500 * 2 + 4990.
  EXPECT_EQ(text.substr(text.rfind(' ')), " 5000:[0,4992)=5990u1");
  EXPECT_EQ(s.use().panes, 1u);
}

// ---- gaps of the rows' own
TEST(SessionOwnGap, AnEmptyWindowTouchesAndFires) {
  Plan plan = kept(10, 0);
  plan.gap_value = 0;
  plan.gap_unit = {1};
  Sessions s(plan);
  s.add({{5, 4, 1, 0}});  // [5, 5)
  s.reach(5);
  EXPECT_EQ(s.take(), "5:[5,5)=0s");
  s.add({{10, 9, 1, 3}, {13, 9, 1, 0}, {20, 9, 1, -4}});  // [10,13) + [13,13); below zero is zero
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "13:[10,13)=3s 20:[20,20)=-4s");
}

TEST(SessionOwnGap, ALaterRowMayEndFirst) {
  // All within one tick (2^20 ns where rows bring their gaps), the last begun ends first.
  Plan plan = kept(10, 0);
  plan.gap_value = 0;
  plan.gap_unit = {1};
  Sessions s(plan);
  s.add({{300, kBefore, 1, 100}, {200, kBefore, 1, 20}, {100, kBefore, 1, 7}});
  s.reach(107);
  EXPECT_EQ(s.take(), "107:[100,107)=7s");
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "220:[200,220)=20s 400:[300,400)=100s");
}

TEST(SessionOwnGap, AGapBeyondAllBoundsIsTheLongest) {
  Plan plan = kept(10, 0);
  plan.gap_value = 0;
  plan.gap_unit = {kSecond};
  Sessions s(plan);
  s.add({{0, kBefore, 1, INT64_MAX}});
  s.reach(kWindowLengthMax - 1);
  EXPECT_EQ(s.take(), "");
  s.reach(kWindowLengthMax);
  EXPECT_EQ(s.use().panes, 0u);
}

// ---- max_duration
TEST(SessionMaxDuration, NoSessionCrossesTheGrid) {
  // Cells of 20. 15 + 10 would be 25: cut to 20. The row at 20 touches that end from another cell.
  Plan plan = kept(10, 0);
  plan.window.max_duration = {20};
  Sessions s(plan);
  s.add({{15, kBefore}, {19, kBefore}, {20, kBefore}, {-1, kBefore}});
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "0:[-1,0)=1s 20:[15,20)=2s 30:[20,30)=1s");
}

TEST(SessionMaxDuration, ARowOfAClosedCellIsLateAtOnce) {
  Plan plan = kept(10, 5);
  plan.window.max_duration = {20};
  Sessions s(plan);
  s.harness().add({{3, 24}, {3, 25}});  // the cell is kept until 20 + 5
  EXPECT_EQ(s.counts().late, 1u);
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "24:late@3 25:late@3");  // [3, 13) alone: 13 + 5 <= 24
  EXPECT_EQ(s.counts().unshown, 0u);
}

TEST(SessionMaxDuration, TwoSessionsOfAKeyMayEndAtOnePlace) {
  Plan plan = kept(10, 0);
  plan.gap_value = 0;
  plan.gap_unit = {1};
  plan.window.max_duration = {20};
  Sessions s(plan);
  s.add({{20, kBefore, 1, 0}, {12, kBefore, 1, 9}});  // [20, 20) and [12, 20)
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "20:[12,20)=9s 20:[20,20)=0s");
}

// ---- early results every n rows
TEST(SessionEarly, EveryMultipleAndTheEnd) {
  Plan plan = kept(10, 0);
  plan.window.early_rows = 2;
  Sessions s(plan);
  s.add({{0, kBefore}, {1, kBefore}, {2, 0}, {3, 1}, {4, 2}});
  s.reach(INT64_MAX);
  const std::string first = std::to_string(INT64_MIN + 1);
  EXPECT_EQ(s.take(), first + ":[0,11)=2e0 1:[0,13)=4e1 14:[0,14)=5s");
}

TEST(SessionEarly, W04RowsOfMergedSessionsCountTogether) {
  // 1 and 1 rows and the one between them: the third makes 3 >= 3.
  Plan plan = kept(10, 0, 0, Accumulation::kRetracting);
  plan.window.early_rows = 3;
  plan.window.lateness = {100};
  Sessions s(plan);
  s.add({{0, -5}, {15, -4}, {8, -3}});
  EXPECT_EQ(s.take(), "-3:[0,25)=3e0");
  s.reach(25);
  EXPECT_EQ(s.take(), "25:[0,25)=3- 25:[0,25)=3s");
}

TEST(SessionEarly, DiscardingLeavesNothingToSayAtTheEnd) {
  Plan plan = kept(10, 0, 0, Accumulation::kDiscarding);
  plan.window.early_rows = 2;
  Sessions s(plan);
  s.add({{0, -5}, {1, -4}});
  EXPECT_EQ(s.take(), "-4:[0,11)=2e0");
  s.reach(INT64_MAX);
  EXPECT_EQ(s.take(), "");
  EXPECT_EQ(s.use().panes, 0u);
}

// ---- edges
TEST(SessionEdges, TimesNextToTheEdgesOfInt64) {
  constexpr int64_t kLast = INT64_MAX - 2000;
  Sessions s(kept(1000, kWindowLengthMax, 100));
  s.add({{kLongAgo, kBefore}, {kLast, kLongAgo}, {kLast, kLast + 1500}});
  s.reach(INT64_MAX);
  // The stay and the last point would lie beyond the edge: the end of the input is before them.
  const auto window = [](int64_t start) {
    return ":[" + std::to_string(start) + "," + std::to_string(start + 1000) + ")";
  };
  EXPECT_EQ(s.take(), std::to_string(kLongAgo + 1000) + window(kLongAgo) + "=1s " +
                          std::to_string(kLast + 1000) + window(kLast) + "=1s " +
                          std::to_string(kLast + 1600) + window(kLast) + "=2u6");
  EXPECT_EQ(s.use().panes, 0u);
  EXPECT_EQ(s.use().keys, 0u);
}

// ---- full pools
TEST(SessionChanges, WithoutRoomForAnOldResultTheRowGoesToOverflow) {
  Plan plan = kept(10, 100, 50, Accumulation::kRetracting);
  plan.max_changes = 1;
  Sessions s(plan);
  s.add({{0, kBefore, 1}, {0, kBefore, 2}});
  s.reach(10);
  s.take();
  s.add({{0, 11, 1}, {0, 12, 2, 7}});  // the first takes the one place
  EXPECT_EQ(s.counts().overflow, 1u);
  s.reach(INT64_MAX);
  // At 60 key 1 takes back and says 2; the row of 7 leaves as __overflow__; all of it is flagged.
  EXPECT_EQ(s.take(), "60:[0,10)=1-! 60:[0,10)=2u1! 60:[0,10)=7u1o!");
  EXPECT_EQ(s.use().changes, 0u);
}

// ---- memory
TEST(SessionMemory, AMillionSessionsOpenedAndClosedLeaveNothing) {
  // 1,000 keys, 1,000 sessions each, of which a fifth is changed by a late row.
  Plan plan = kept(10, 40, 0, Accumulation::kRetracting);
  plan.max_keys = 1000;
  plan.max_sessions = 2000;
  plan.max_deferred = plan.max_changes = 256;
  Sessions s(plan);
  s.harness().keep_results(false);
  Rng rng(6);
  uint64_t rows = 0;
  for (int64_t i = 0; i < 1'000'000; ++i) {
    // Key i mod 1,000 comes every 1,000 units, so each row is a session of its own.
    const int64_t watermark = i == 0 ? kBefore : i - 1;
    s.harness().add({{i, watermark, i % 1000}});
    ++rows;
    if (i >= 30 && rng.one_in(5)) {
      s.harness().add({{i - 30, watermark, (i + 970) % 1000}});
      ++rows;
    }
    if (i % 64 == 0) s.harness().fire(watermark);
    ASSERT_LE(s.use().panes, 2000u);
  }
  s.harness().finish();
  EXPECT_EQ(s.use().panes, 0u);
  EXPECT_EQ(s.use().keys, 0u);
  EXPECT_EQ(s.use().changes, 0u);
  EXPECT_EQ(s.use().deferred, 0u);
  const StoreCounts n = s.counts();
  EXPECT_EQ(n.overflow, 0u);
  EXPECT_EQ(n.natural, 1'000'000u);
  EXPECT_EQ(n.natural + n.deferred + n.late, rows);
  // Each late row's session has said one thing, which it takes back: two results more.
  EXPECT_EQ(n.results, 1'000'000 + 2 * n.deferred);
}

TEST(SessionMemory, AddAndFireAllocateNothing) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "built without debug checks";
  for (const int64_t gather : {0, 4}) {
    Plan plan = kept(40, 10, gather, Accumulation::kRetracting);
    plan.window.max_duration = {1000};
    StoreHarness h(plan);
    h.keep_results(false);
    Rng rng(7);
    int64_t watermark = kBefore;
    std::vector<Row> one(1);
    const AllocGuard guard;
    for (int64_t i = 0; i < 20'000; ++i) {
      const int64_t time = i - static_cast<int64_t>(rng.below(90));
      one[0] = {time, watermark, static_cast<int64_t>(rng.below(40)), i};  // overflow included
      h.add(one);
      watermark = std::max(watermark, time - 30);
      h.fire(watermark);
    }
    h.finish();
    EXPECT_EQ(guard.count(), 0u);
    const StoreCounts n = h.counts();
    EXPECT_EQ(n.natural + n.deferred + n.late + n.overflow, 20'000u);
    EXPECT_GT(n.overflow, 0u);
    EXPECT_GT(n.late, 0u);
    EXPECT_EQ(h.store().use().panes, 0u);
  }
}

}  // namespace
}  // namespace tidewire
