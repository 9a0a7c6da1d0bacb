// Provisional results: what open windows hold when a clock asks, of all stores.
#include <gtest/gtest.h>

#include "store_harness.h"

namespace tidewire {
namespace {

using Results = std::vector<Result>;
constexpr int64_t kBefore = INT64_MIN;

// The whole walk, each call with a small budget, egress taking every block.
Results show(StoreHarness& h) {
  h.store().begin_provisional();
  while (h.store().is_showing()) {
    h.store().provisional(1, h.out());
    h.out().close();
    h.take();
  }
  return h.take_results();
}

TEST(Provisional, OpenWindowsAreShownAsTheyAreAndChangeNothing) {
  // Windows of 4 every 2: rows at 1 and 3 with values 1 and 2; the key 1 throughout.
  StoreHarness h(sliding(4, 2));
  h.add({{1, kBefore, 1, 1}, {3, kBefore, 1, 2}});
  const Results open = {{-2, 2, 1, 1, 1, 1, 1}, {0, 4, 1, 2, 3, 1, 2}, {2, 6, 1, 1, 2, 2, 2}};
  EXPECT_EQ(show(h), open);
  EXPECT_EQ(show(h), open);
  EXPECT_EQ(h.counts().results, 0u);
  h.fire(2);
  EXPECT_EQ(h.take_results(), Results({open[0]}));
  EXPECT_EQ(show(h), Results({open[1], open[2]}));
  h.finish();
  EXPECT_EQ(h.take_results(), Results({open[1], open[2]}));
  EXPECT_EQ(h.counts().results, 3u);
  EXPECT_EQ(show(h), Results());
}

TEST(Provisional, SessionsAreShownWithTheirBoundsSoFar) {
  StoreHarness h(session(10));
  h.add({{0, kBefore}, {5, kBefore}, {100, kBefore}});
  EXPECT_EQ(show(h), (Results{{100, 110, 1, 1, 1, 1, 1}, {0, 15, 1, 2, 2, 1, 1}}));
  EXPECT_EQ(h.counts().results, 0u);
  h.fire(15);
  EXPECT_EQ(h.take_results(), (Results{{0, 15, 1, 2, 2, 1, 1}}));
  EXPECT_EQ(show(h), (Results{{100, 110, 1, 1, 1, 1, 1}}));
}

TEST(Provisional, ACountWindowShowsTheRowsThatItHas) {
  Plan plan = tumbling(1);
  plan.window.kind = WindowKind::kCount;
  plan.window.rows = plan.window.row_slide = 3;
  StoreHarness h(plan);
  h.add({{5, kBefore}, {6, kBefore}});
  h.fire(7);
  EXPECT_EQ(show(h), (Results{{5, 7, 1, 2, 2, 1, 1}}));
  EXPECT_EQ(h.counts().results, 0u);
}

TEST(Provisional, TheWalkGoesOnBehindWindowsThatFireMeanwhile) {
  StoreHarness h(tumbling(10), 2);
  h.add({{5, kBefore}, {15, kBefore}, {25, kBefore}});
  h.store().begin_provisional();
  h.store().provisional(1, h.out());  // [0, 10)
  h.fire(20);                         // that and [10, 20)
  while (h.store().is_showing()) h.store().provisional(1, h.out());
  h.out().close();
  h.take();
  EXPECT_EQ(h.take_results(), (Results{{0, 10, 1, 1, 1, 1, 1},
                                       {0, 10, 1, 1, 1, 1, 1},
                                       {10, 20, 1, 1, 1, 1, 1},
                                       {20, 30, 1, 1, 1, 1, 1}}));
}

// One block, and more keys than it holds: 16,384 B - 48 B of a run = 340 rows of 48 B.
TEST(Provisional, ThePlaceInAShardIsKept) {
  Plan plan = tumbling(10);
  plan.max_keys = 1000;
  StoreHarness h(plan, 1);
  for (int64_t key = 0; key < 1000; ++key) h.add({{5, kBefore, key}});
  h.store().begin_provisional();
  int calls = 0;
  for (; h.store().is_showing(); ++calls) {
    if (calls == 1) h.add({{5, kBefore, 999, 7}});
    h.store().provisional(10'000, h.out());
    h.out().close();
    h.take();
  }
  EXPECT_GE(calls, 3);
  const Results results = h.take_results();
  ASSERT_EQ(results.size(), 1000u);
  std::vector<int> seen(1000, 0);
  for (const Result& r : results) ++seen[static_cast<size_t>(r.key)];
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
}

}  // namespace
}  // namespace tidewire
