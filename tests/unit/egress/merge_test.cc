#include "egress/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "fixture.h"

namespace tidewire {
namespace {

// A row as the model keeps it.
struct Row {
  uint16_t query = 0;
  int64_t place = 0, start = 0, end = 0;
  uint16_t flags = 0;
  std::vector<int64_t> key;
  std::vector<int64_t> cell;
  uint64_t hash = 0;
  bool lost = false;  // no row: kLost, of the windows that end in [end, through]
  int64_t through = 0;
  bool overflow() const { return (flags & kFlagOverflowRow) != 0; }
  auto order() const {
    return std::tuple(place, query, end, overflow() ? 2 : lost ? 0 : 1, hash, key);
  }
};
using Line = std::tuple<uint16_t, int64_t, int64_t, int64_t, uint16_t, std::vector<int64_t>,
                        std::vector<int64_t>>;

struct Scene {
  std::vector<Plan> plans;
  std::vector<const Plan*> plan_list() const {
    std::vector<const Plan*> list;
    for (const Plan& plan : plans) list.push_back(&plan);
    return list;
  }
};

constexpr uint16_t kSessionQuery = 2;

Scene make_scene() {
  Scene scene;
  scene.plans = {stats_plan(0, "one", 1), stats_plan(1, "two", 2), stats_plan(2, "session", 1),
                 stats_plan(3, "none", 0)};
  return scene;
}

// Rows of every worker, each list in order; a key lives on one worker.
std::vector<std::vector<Row>> random_rows(Rng& rng, const Scene& scene, uint32_t workers) {
  std::vector<std::vector<Row>> rows(workers);
  const int64_t points = 1 + static_cast<int64_t>(rng.below(12));
  for (int64_t point = 1; point <= points; ++point) {
    for (const Plan& plan : scene.plans) {
      const uint16_t query = index_of(plan.id);
      if (rng.one_in(4)) continue;
      const uint64_t keys = plan.key_words == 0 ? 1 : rng.below(40);
      for (uint64_t k = 0; k < keys; ++k) {
        Row row;
        row.query = query;
        row.end = point * 100;
        row.start = row.end - 100 - static_cast<int64_t>(query == kSessionQuery ? k : 0);
        row.place = row.end;
        for (uint32_t w = 0; w < plan.key_words; ++w)
          row.key.push_back(static_cast<int64_t>(k) - 3);
        row.hash = hash_of(plan, row.key.data());
        const auto v = static_cast<int64_t>(rng.below(1000)) - 500;
        row.cell = {1 + static_cast<int64_t>(rng.below(9)), v * 3, v - 1, v + 1};
        const uint32_t owner =
            plan.key_words == 0 ? 0 : owner_of(shard_of(row.hash, 64), 64, workers);
        rows[rng.one_in(5) && plan.key_words == 2 ? k % workers : owner].push_back(row);
      }
      for (uint32_t worker = 0; worker < workers; ++worker) {
        if (query == kSessionQuery || !rng.one_in(6)) continue;
        Row row;
        row.query = query;
        row.place = row.end = point * 100;
        row.start = row.end - 100;
        if (rng.one_in(3)) {
          row.lost = true;
          row.through = row.end + static_cast<int64_t>(rng.below(3)) * 100;
          rows[worker].push_back(row);
          continue;
        }
        row.flags = kFlagOverflow | kFlagOverflowRow;
        row.key.resize(plan.key_words);
        row.cell = {1, static_cast<int64_t>(rng.below(10)), -worker, worker};
        // The worker's other rows of this window carry the flag as well.
        for (Row& other : rows[worker])
          if (other.query == query && other.place == row.place && !other.lost)
            other.flags |= kFlagOverflow;
        rows[worker].push_back(row);
      }
    }
  }
  for (auto& list : rows)
    std::stable_sort(list.begin(), list.end(),
                     [](const Row& a, const Row& b) { return a.order() < b.order(); });
  return rows;
}

// The slowest obvious version: all rows in one list, sorted; overflow rows added up.
std::vector<Line> model(const std::vector<std::vector<Row>>& rows) {
  std::vector<Row> all;
  std::map<std::pair<uint16_t, int64_t>, uint16_t> flags;  // by query and window end
  for (const auto& list : rows)
    for (const Row& row : list) {
      all.push_back(row);
      if (row.query == kSessionQuery) continue;
      flags[{row.query, row.end}] |= row.flags & kFlagOverflow;
      for (int64_t end = row.end; row.lost && end <= row.through; end += 100)
        flags[{row.query, end}] |= kFlagOverflow;
    }
  std::stable_sort(all.begin(), all.end(),
                   [](const Row& a, const Row& b) { return a.order() < b.order(); });
  std::vector<Line> lines;
  for (const Row& row : all) {
    if (row.lost) continue;
    const uint16_t all_flags = static_cast<uint16_t>(
        row.flags | (row.query == kSessionQuery ? 0 : flags[{row.query, row.end}]));
    Line line{row.query, row.place, row.start, row.end, all_flags, row.key, row.cell};
    if (row.overflow() && !lines.empty() && (std::get<4>(lines.back()) & kFlagOverflowRow) != 0 &&
        std::get<0>(lines.back()) == row.query && std::get<3>(lines.back()) == row.end) {
      auto& sum = std::get<6>(lines.back());
      sum = {sum[0] + row.cell[0], sum[1] + row.cell[1], std::min(sum[2], row.cell[2]),
             std::max(sum[3], row.cell[3])};
      continue;
    }
    lines.push_back(line);
  }
  return lines;
}

// A worker that writes its list into its ring in random portions, as room allows.
struct Worker {
  Worker(const Scene& s, std::vector<Row> r, size_t blocks)
      : scene(s), rows(std::move(r)), out(blocks) {}

  void run(Rng& rng) {
    uint64_t portion = rng.below(30);
    while (portion-- > 0 && at < rows.size() && out.writer->room_for(1)) {
      const Row& row = rows[at];
      const Plan& plan = scene.plans[row.query];
      if (row.query == kSessionQuery) {
        write_sessions(plan, rng.below(4));
        continue;
      }
      if (row.lost) {
        out.writer->begin(plan.id,
                          {.place = EventTime{row.place},
                           .start = EventTime{row.end},
                           .end = EventTime{row.through},
                           .kind = RunKind::kLost,
                           .flags = kFlagOverflow},
                          1 + plan.key_words + plan.cell_words);
      } else {
        out.point_row(plan, row.place, row.start, row.end, row.flags, row.key, row.cell);
      }
      ++at;
    }
    if (rng.one_in(3)) return;  // blocks without news of the place
    if (rng.one_in(2)) out.writer->close();
    // Anything below the next row's place is true, and the next row's own is not.
    const int64_t most = at < rows.size() ? rows[at].place - 1 : INT64_MAX;
    fired = std::max(fired, at < rows.size() && rng.one_in(2) ? most - 50 : most);
    out.publish(fired);
  }
  // Several sessions of one flag set share a run; its place is that of the first.
  void write_sessions(const Plan& plan, uint64_t more) {
    out.writer->begin(plan.id, {.place = EventTime{rows[at].place}, .kind = RunKind::kPlaced},
                      3 + plan.key_words + plan.cell_words);
    do {
      if (!out.writer->room_for(1)) return;
      int64_t* to = out.writer->row();
      to[0] = rows[at].start;
      to[1] = rows[at].end;
      TestRing::fill(plan, to + 2, 0, rows[at].key, rows[at].cell);
      ++at;
    } while (more-- > 0 && at < rows.size() && rows[at].query == kSessionQuery);
  }

  const Scene& scene;
  std::vector<Row> rows;
  size_t at = 0;
  int64_t fired = INT64_MIN;
  TestRing out;
};

Line line_of(const Result& row) {
  return {row.query,
          row.place.ns,
          row.start.ns,
          row.end.ns,
          row.flags,
          {row.key, row.key + row.plan->key_words},
          {row.cell, row.cell + row.plan->cell_words}};
}

TEST(Merge, GivesTheOrderOfOneListHoweverWorkersPause) {
  const uint64_t seed = test_seed(7);
  const Scene scene = make_scene();
  for (uint64_t round = 0; round < 300; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Rng rng(seed + round);
    const auto workers = static_cast<uint32_t>(1 + rng.below(4));
    const auto rows = random_rows(rng, scene, workers);
    const std::vector<Line> expected = model(rows);

    std::vector<std::unique_ptr<Worker>> running;
    std::vector<ResultRing*> rings;
    for (const auto& list : rows) {
      running.push_back(std::make_unique<Worker>(scene, list, size_t{2} << rng.below(3)));
      rings.push_back(&running.back()->out.ring);
    }
    Merge merge(scene.plan_list(), rings);
    std::vector<Line> got;
    for (int turn = 0; turn < 100'000 && merge.passed() < EventTime::end_of_time(); ++turn) {
      if (!rng.one_in(3)) running[rng.below(workers)]->run(rng);
      Result row;
      for (uint64_t budget = rng.below(50); budget > 0 && merge.next(row); --budget) {
        ASSERT_GT(row.place, merge.passed());
        got.push_back(line_of(row));
      }
    }
    ASSERT_EQ(merge.passed(), EventTime::end_of_time());
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << "row " << i;
  }
}

TEST(Merge, WaitsForWhatARingMayStillBring) {
  const Plan plan = stats_plan(0, "q", 1);
  TestRing a(4), b(4);
  Merge merge({&plan}, {&a.ring, &b.ring});
  Result row;
  a.point_row(plan, 10, 0, 10, 0, {1}, {1, 1, 1, 1});
  a.publish(10);
  EXPECT_FALSE(merge.next(row));
  b.publish(9);
  EXPECT_FALSE(merge.next(row));
  EXPECT_EQ(merge.passed().ns, 9);
  b.publish(10);
  EXPECT_TRUE(merge.next(row));
  EXPECT_EQ(merge.passed().ns, 9);  // the row is only being returned
  EXPECT_FALSE(merge.next(row));
  EXPECT_EQ(merge.passed().ns, 10);
}

TEST(Merge, OverflowRowsOfAWindowBecomeOne) {
  const Plan plan = stats_plan(0, "q", 1);
  TestRing a(4), b(4), c(4);
  Merge merge({&plan}, {&a.ring, &b.ring, &c.ring});
  constexpr uint16_t kRow = kFlagOverflow | kFlagOverflowRow;
  a.point_row(plan, 10, 0, 10, kFlagOverflow, {1}, {1, 1, 1, 1});
  a.point_row(plan, 10, 0, 10, kRow, {}, {2, 20, 1, 5});
  b.point_row(plan, 10, 0, 10, 0, {2}, {1, 1, 1, 1});
  b.point_row(plan, 20, 10, 20, 0, {2}, {1, 1, 1, 1});
  c.point_row(plan, 10, 0, 10, kRow, {}, {3, 30, -1, 3});
  for (TestRing* ring : {&a, &b, &c}) ring->publish(20);
  std::vector<Line> got;
  for (Result row; merge.next(row);) got.push_back(line_of(row));
  ASSERT_EQ(got.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(std::get<4>(got[i]) & kFlagOverflow, kFlagOverflow) << i;
  EXPECT_EQ(std::get<4>(got[2]), kRow);
  EXPECT_EQ(std::get<6>(got[2]), (std::vector<int64_t>{5, 50, -1, 5}));
  EXPECT_EQ(std::get<4>(got[3]), 0);
}

}  // namespace
}  // namespace tidewire
