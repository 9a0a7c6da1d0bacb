// Count and global windows: what a row's number in canonical order decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "store_harness.h"

namespace tidewire {
namespace {

Plan count(uint64_t rows, uint64_t slide) {
  Plan plan = small_plan(WindowKind::kCount, 0, 0);
  plan.window.rows = rows;
  plan.window.row_slide = slide;
  return plan;
}
Plan global(uint64_t early_rows, Accumulation accumulation = Accumulation::kAccumulating) {
  Plan plan = small_plan(WindowKind::kGlobal, 0, 0);
  plan.window.early_rows = early_rows;
  plan.window.accumulation = accumulation;
  return plan;
}
std::vector<int64_t> sums(const std::vector<Result>& results) {
  std::vector<int64_t> out;
  for (const Result& r : results) out.push_back(r.sum);
  return out;
}
// Key 1, values 1, 2, 3, ... at times 10, 20, 30, ...
std::vector<Row> counting(int64_t rows) {
  std::vector<Row> out;
  for (int64_t i = 1; i <= rows; ++i) out.push_back({i * 10, 0, 1, i});
  return out;
}

TEST(CountWindows, TumblingHoldsItsRowsTimes) {
  StoreHarness store(count(3, 3));
  store.add({{10, 0, 1, 1}, {5, 0, 1, 2}, {100, 0, 2, 9}, {7, 0, 1, 4}, {20, 0, 1, 8}});
  store.finish();
  // Three rows of key 1, times 5 to 10; what is not full gives nothing.
  EXPECT_EQ(store.take_results(), (std::vector<Result>{{5, 11, 1, 3, 7, 1, 4}}));
  EXPECT_EQ(store.counts().deferred, 5u);
  EXPECT_EQ(store.counts().still_deferred, 0u);
}

TEST(CountWindows, SlidingGivesTheLastRows) {
  StoreHarness store(count(6, 4));
  store.add(counting(13));
  store.finish();
  // 1+2+3+4; 3+...+8 = 33; 7+...+12 = 57.
  EXPECT_EQ(sums(store.take_results()), (std::vector<int64_t>{10, 33, 57}));
}

TEST(CountWindows, SlideBeyondRowsLeavesSomeOut) {
  StoreHarness store(count(2, 3));
  store.add(counting(7));
  store.finish();
  EXPECT_EQ(sums(store.take_results()), (std::vector<int64_t>{2 + 3, 5 + 6}));
}

// As soon as the row is read where one lane feeds the query; behind the frontier elsewhere.
TEST(CountWindows, WaitForTheirPlace) {
  Plan plan = count(2, 2);
  plan.lanes = {LaneId{0}, LaneId{1}};
  StoreHarness store(plan);
  store.add({{10, 5, 1, 1}, {11, 5, 1, 2}});
  store.fire(5);
  EXPECT_TRUE(store.take_results().empty());
  store.fire(6);
  EXPECT_EQ(sums(store.take_results()), (std::vector<int64_t>{3}));
}

TEST(GlobalWindows, EndWithTheInput) {
  StoreHarness store(global(0));
  store.add({{10, 0, 1, 1}, {-5, 0, 2, 2}, {7, 9, 1, 4}});
  store.fire(INT64_MAX - 1);
  EXPECT_TRUE(store.take_results().empty());
  store.finish();
  std::vector<Result> got = store.take_results();
  std::sort(got.begin(), got.end(), [](auto& a, auto& b) { return a.key < b.key; });
  EXPECT_EQ(got, (std::vector<Result>{{INT64_MIN, INT64_MAX, 1, 2, 5, 1, 4},
                                      {INT64_MIN, INT64_MAX, 2, 1, 2, 2, 2}}));
  EXPECT_EQ(store.counts().natural, 3u);
  EXPECT_EQ(store.store().next(EventTime::end_of_time()), std::nullopt);
}

TEST(GlobalWindows, EarlyResultsInThreeModes) {
  const auto run = [](Accumulation mode) {
    StoreHarness store(global(2, mode));
    store.add(counting(5));
    store.finish();
    return sums(store.take_results());
  };
  EXPECT_EQ(run(Accumulation::kAccumulating), (std::vector<int64_t>{1 + 2, 1 + 2 + 3 + 4, 15}));
  EXPECT_EQ(run(Accumulation::kDiscarding), (std::vector<int64_t>{1 + 2, 3 + 4, 5}));
  // The old value is taken back before the new one stands.
  EXPECT_EQ(run(Accumulation::kRetracting), (std::vector<int64_t>{3, 3, 10, 10, 15}));
}

TEST(CountWindows, KeysWithoutRoomShareOneSlot) {
  Plan plan = count(2, 2);
  plan.max_keys = 2;
  StoreHarness store(plan);
  store.add({{1, 0, 1, 1}, {2, 0, 2, 1}, {3, 0, 3, 10}, {4, 0, 4, 20}});
  store.finish();
  EXPECT_EQ(store.take_results(),
            (std::vector<Result>{{3, 5, 0, 2, 30, 10, 20, kFlagOverflow | kFlagOverflowRow}}));
  EXPECT_EQ(store.counts().overflow, 2u);
}

TEST(CountWindows, AKeyWithoutRowsGivesItsIdBack) {
  Plan plan = count(1, 1);
  plan.max_keys = 2;
  plan.max_deferred = 100;
  StoreHarness store(plan);
  for (int64_t key = 1; key <= 100; ++key) store.add({{key, 0, key, key}});
  store.finish();
  EXPECT_EQ(store.take_results().size(), 100u);
  EXPECT_EQ(store.counts().overflow, 0u);
}

TEST(CountWindows, ALostRowFlagsAllThatFollows) {
  Plan plan = count(1, 1);
  plan.max_deferred = 2;
  StoreHarness store(plan);
  store.add({{1, 1, 1, 1}, {2, 2, 1, 1}, {3, 3, 1, 1}});
  store.fire(3);
  store.add({{4, 4, 1, 1}});
  store.finish();
  const std::vector<Result> got = store.take_results();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].flags | got[1].flags, 0);
  EXPECT_EQ(got[2].flags, kFlagOverflow);
  EXPECT_EQ(store.counts().overflow, 1u);
}

// Against a list of each key's rows in canonical order; any interleaving, any slice.
TEST(CountWindows, AreThoseOfTheCanonicalOrder) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  for (uint64_t seed = first; seed < first + (given ? 1 : 500); ++seed) {
    SCOPED_TRACE("TIDEWIRE_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const auto rows = 1 + rng.below(5), slide = 1 + rng.below(5);
    Plan plan = count(rows, slide);
    plan.max_deferred = 64;
    plan.lanes = {LaneId{0}, LaneId{1}};  // one is fed: due behind the frontier only
    StoreHarness store(plan);
    std::map<int64_t, std::vector<int64_t>> of_key;
    std::vector<std::pair<int64_t, int64_t>> want, got;  // key, sum
    int64_t stamp = 0;
    for (int i = 0; i < 60; ++i) {
      stamp += static_cast<int64_t>(rng.below(3));
      const auto key = static_cast<int64_t>(1 + rng.below(3));
      store.add({{static_cast<int64_t>(rng.below(1000)), stamp, key, i}});
      auto& list = of_key[key];
      list.push_back(i);
      if (list.size() % slide == 0)
        want.emplace_back(key, std::accumulate(list.end() - static_cast<ptrdiff_t>(std::min<size_t>(
                                                                list.size(), rows)),
                                               list.end(), int64_t{0}));
      if (rng.one_in(4)) store.fire(stamp);
    }
    store.finish();
    for (const Result& r : store.take_results()) got.emplace_back(r.key, r.sum);
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace tidewire
