// PaneStore against tests/sim/model.h, one Flink operator a key, over all that aligned windows can
// do: steps, results every n rows, lateness with a result a row or gathered, accumulating,
// discarding, retracting, cumulating; from one to three workers, in slices, with few result blocks.
//   TIDEWIRE_SEED=n   runs one case
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "../sim/model.h"
#include "base/hash.h"
#include "store_feed.h"

namespace tidewire {
namespace {

using sim::hash_of;
using sim::ModelRow;
using Key = std::array<int64_t, kMaxKeyWords>;

struct InRow : ModelRow {
  Key key{};
  uint64_t hash = 0;
};
struct InLane {
  std::vector<InRow> rows;
  std::vector<int64_t> frontier;  // after each row
};
struct Case {
  Plan plan;
  std::vector<InLane> lanes;
};

InLane make_lane(Rng& rng, const Plan& plan, uint32_t lane, int64_t base, size_t rows) {
  const uint64_t keys = 1 + rng.below(5);
  const auto bound = static_cast<int64_t>(rng.below(5));
  InLane out;
  int64_t highest = INT64_MIN, watermark = INT64_MIN;
  int64_t now = base + static_cast<int64_t>(rng.below(6));
  for (size_t i = 0; i < rows; ++i) {
    now += one_of<int64_t>(rng, {0, 0, 1, 2, 4});
    InRow row;
    row.lane = lane;
    row.ordinal = i;
    row.time = now - one_of<int64_t>(rng, {0, 0, 0, 1, 2, 3, 5, 8, 12, 30});
    row.stamp = watermark;
    row.value = static_cast<int64_t>(rng.below(1000)) - 300;
    const auto key = static_cast<int64_t>(rng.below(keys));
    for (uint32_t w = 0; w < plan.key_words; ++w) row.key[w] = w == 0 ? key : key % 2;
    row.hash = hash_of(plan, row.key);
    highest = std::max(highest, row.time);
    watermark = std::max(watermark, highest - bound);
    out.rows.push_back(row);
    out.frontier.push_back(watermark);
  }
  return out;
}

Case make_case(Rng& rng) {
  Case c;
  Plan& plan = c.plan;
  plan.name = "aligned";
  plan.key_words = one_of(rng, {0u, 1u, 1u, 2u, 4u});
  plan.seed = {rng.next() | 1, rng.next()};
  plan.shards = plan.key_words ? one_of(rng, {1u, 2u, 8u}) : 1;
  plan.values = {0};
  WindowShape& w = plan.window;
  w.size = w.slide = {1 + static_cast<int64_t>(rng.below(12))};
  switch (rng.below(4)) {
    case 0:
      break;
    case 1:
      w.kind = WindowKind::kSliding;
      w.slide = {1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(w.size.ns)))};
      break;
    case 2:
      w.kind = WindowKind::kSliding;  // mostly gapped
      w.slide = {1 + static_cast<int64_t>(rng.below(20))};
      break;
    default:
      w.kind = WindowKind::kCumulate;
  }
  const auto slide = static_cast<uint64_t>(w.slide.ns);
  w.offset = {static_cast<int64_t>(rng.below(2 * slide - 1)) - static_cast<int64_t>(slide - 1)};
  const bool cumulates = w.kind == WindowKind::kCumulate;
  if (cumulates || rng.one_in(2))
    w.early = {1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(w.size.ns) + 1))};
  else if (rng.one_in(3))
    w.early_rows = 1 + rng.below(4);
  w.lateness = {one_of<int64_t>(rng, {0, 0, 4, 20, 60})};
  if (rng.one_in(2)) w.gather = {one_of<int64_t>(rng, {1, 3, 6, 7})};
  w.accumulation = one_of(
      rng, {Accumulation::kAccumulating, Accumulation::kDiscarding, Accumulation::kRetracting});
  // What a step would take back is another window.
  if (cumulates && w.accumulation == Accumulation::kRetracting)
    w.accumulation = Accumulation::kDiscarding;
  const size_t lanes = 1 + rng.below(4), rows = 5 + rng.below(60);
  plan.max_keys = 16;
  plan.max_panes = plan.max_deferred = lanes * rows;
  plan.max_changes = lanes * rows * 12;  // no row is in more windows
  const int64_t base =
      one_of<int64_t>(rng, {0, 0, 1'600'000'000'000'000'000, INT64_MIN + 3'000, INT64_MAX - 3'000});
  for (uint32_t l = 0; l < lanes; ++l) {
    plan.lanes.push_back(LaneId{static_cast<uint16_t>(l)});
    const auto apart = static_cast<int64_t>(rng.below(30));
    c.lanes.push_back(make_lane(rng, plan, l, base + apart, rows));
  }
  return c;
}

class Worker : public StoreFeed {
 public:
  Worker(const Plan& plan, ShardRange range, Rng& rng)
      : StoreFeed(plan, range, size_t{1} << rng.below(4)), plan_(plan) {}
  const std::vector<sim::Result>& results() const { return results_; }
  uint64_t lost() const { return lost_; }
  uint64_t provisional() const { return provisional_; }

  size_t drain() {
    return StoreFeed::drain([this](const Run& run, const std::vector<int64_t>& word) {
      if (run.kind == RunKind::kLost) {
        ++lost_;
      } else if (run.kind == RunKind::kProvisional) {
        ++provisional_;
      } else {
        read(run, word);
      }
    });
  }

 private:
  void read(const Run& run, const std::vector<int64_t>& word) {
    sim::Result r;
    r.place = run.place.ns;
    r.update = run.kind == RunKind::kUpdate;
    r.position = run.position;
    r.start = run.start.ns;
    r.order_start = r.update ? 0 : r.start;
    r.end = r.order_end = run.end.ns;
    r.stands = run.fire != FireKind::kRetraction;
    r.fire = run.fire;
    r.index = run.index;
    r.hash = static_cast<uint64_t>(word[0]);
    std::copy_n(word.begin() + 1, plan_.key_words, r.key.begin());
    const int64_t* cell = &word[1 + plan_.key_words];
    r.count = cell[0];
    r.sum = cell[1];
    r.min = cell[2];
    r.max = cell[3];
    results_.push_back(r);
  }

  const Plan& plan_;
  std::vector<sim::Result> results_;
  uint64_t lost_ = 0, provisional_ = 0;
};

// What the model says, in the order of rule 8.
sim::ModelAnswer expected(const Case& c) {
  std::vector<InRow> sorted;
  for (const InLane& lane : c.lanes)
    sorted.insert(sorted.end(), lane.rows.begin(), lane.rows.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const InRow& a, const InRow& b) { return a.order() < b.order(); });
  std::map<Key, std::vector<ModelRow>> by_key;
  for (const InRow& row : sorted) by_key[row.key].push_back(row);
  sim::ModelAnswer want;
  for (const auto& [key, rows] : by_key) {
    sim::Result blank;
    blank.key = key;
    blank.hash = hash_of(c.plan, key);
    const sim::ModelAnswer one = model(c.plan, blank, rows);
    want.results.insert(want.results.end(), one.results.begin(), one.results.end());
    want.late += one.late;
    want.no_window += one.no_window;
  }
  std::sort(want.results.begin(), want.results.end());
  return want;
}

std::vector<std::unique_ptr<Worker>> play(const Case& c, Rng& rng) {
  const uint32_t count =
      c.plan.key_words == 0
          ? 1
          : static_cast<uint32_t>(1 + rng.below(std::min<uint32_t>(3, c.plan.shards)));
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t w = 0; w < count; ++w)
    workers.push_back(std::make_unique<Worker>(c.plan, shards_of(w, c.plan.shards, count), rng));
  const auto give = [&](size_t l, size_t from, size_t burst) {
    for (auto& worker : workers)
      worker->add(c.lanes[l].rows, from, burst,
                  [](const InRow& row, uint32_t) { return row.value; });
  };
  const auto step = [&](int64_t frontier) {
    for (auto& worker : workers) {
      if (rng.one_in(3)) worker->drain();
      if (rng.one_in(8)) worker->store().begin_provisional();
      if (rng.one_in(2)) worker->store().provisional(3, worker->out());
      worker->out().close();
      if (rng.one_in(4)) continue;
      const int64_t until = rng.one_in(4) && frontier > INT64_MIN + 64
                                ? frontier - static_cast<int64_t>(rng.below(10))
                                : frontier;
      worker->fire(frontier, until, one_of(rng, {1u, 3u, 17u, 512u}));
    }
  };
  interleave(
      rng, c.lanes.size(), {1, 1, 3, 7, 64}, [&](size_t l) { return c.lanes[l].rows.size(); },
      [&](size_t l, size_t i) { return c.lanes[l].frontier[i]; }, give, step);
  for (auto& worker : workers) {
    for (bool busy = true; busy;) {
      busy = worker->fire(INT64_MAX, INT64_MAX, one_of(rng, {1u, 17u, 512u})) > 0;
      busy |= worker->drain() > 0;
    }
    EXPECT_FALSE(worker->store().next(EventTime::end_of_time()).has_value());
    const StoreUse use = worker->store().use();
    EXPECT_EQ(use.keys, 0u);
    EXPECT_EQ(use.panes, 0u);
    EXPECT_EQ(use.changes, 0u);
    const StoreCounts n = worker->store().counts();
    EXPECT_EQ(worker->offered(), n.natural + n.deferred + n.late + n.overflow + n.no_window);
    EXPECT_EQ(n.still_deferred, 0u);
    EXPECT_EQ(n.results, worker->results().size());
  }
  return workers;
}

std::string shown(const sim::Result& r) {
  std::string text;
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"place", r.place},
                                    {"update", r.update},
                                    {"position", static_cast<int64_t>(r.position)},
                                    {"start", r.start},
                                    {"end", r.end},
                                    {"key", r.key[0]},
                                    {"stands", r.stands},
                                    {"fire", static_cast<int64_t>(r.fire)},
                                    {"index", r.index},
                                    {"count", r.count},
                                    {"sum", r.sum}})
    text += std::string(name) + " " + std::to_string(value) + "  ";
  return text;
}

std::string shown(const WindowShape& w) {
  return "size " + std::to_string(w.size.ns) + "/" + std::to_string(w.slide.ns) + " offset " +
         std::to_string(w.offset.ns) + " early " + std::to_string(w.early.ns) + " early_rows " +
         std::to_string(w.early_rows) + " lateness " + std::to_string(w.lateness.ns) + " gather " +
         std::to_string(w.gather.ns) + " mode " + std::to_string(static_cast<int>(w.accumulation));
}

uint64_t results_seen = 0, provisional_seen = 0;

void run(uint64_t seed) {
  Rng rng(seed * 0x9E3779B97F4A7C15u);
  const Case c = make_case(rng);
  const sim::ModelAnswer want = expected(c);
  std::vector<sim::Result> got;
  StoreCounts sum;
  for (const auto& worker : play(c, rng)) {
    EXPECT_TRUE(std::is_sorted(worker->results().begin(), worker->results().end()));
    got.insert(got.end(), worker->results().begin(), worker->results().end());
    const StoreCounts n = worker->store().counts();
    sum.late += n.late;
    sum.no_window += n.no_window;
    sum.overflow += n.overflow;
    sum.flagged += n.flagged;
    provisional_seen += worker->provisional();
  }
  std::sort(got.begin(), got.end());
  results_seen += got.size();
  EXPECT_EQ(sum.late, want.late);
  EXPECT_EQ(sum.no_window, want.no_window);
  EXPECT_EQ(sum.overflow, 0u);
  EXPECT_EQ(sum.flagged, 0u);
  EXPECT_EQ(got.size(), want.results.size()) << shown(c.plan.window);
  for (size_t i = 0; i < std::min(got.size(), want.results.size()); ++i)
    ASSERT_TRUE(got[i] == want.results[i]) << shown(c.plan.window) << "\n got  " << shown(got[i])
                                           << "\n want " << shown(want.results[i]);
}

TEST(AlignedModel, EveryKindOfResultIsWhatOneOperatorGives) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t last = given ? first : 6000;
  for (uint64_t seed = first; seed <= last; ++seed) {
    run(seed);
    ASSERT_FALSE(testing::Test::HasFailure()) << "TIDEWIRE_SEED=" << seed;
  }
  if (given) return;
  EXPECT_GT(results_seen, 100'000u);
  EXPECT_GT(provisional_seen, 10'000u);
}

// With pools that are too small, rows are lost and counted; what is not flagged is still right.
TEST(AlignedModel, WhereRowsAreLostTheirWindowsAreFlagged) {
  uint64_t lost = 0, told = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Rng rng(seed * 0x9E3779B97F4A7C15u + 1);
    Case c = make_case(rng);
    switch (rng.below(3)) {
      case 0:
        c.plan.max_panes = 3;
        break;
      case 1:
        c.plan.max_deferred = 2;
        break;
      default:
        c.plan.max_changes = 2;
    }
    for (const auto& worker : play(c, rng)) {
      const uint64_t overflow = worker->store().counts().overflow;
      lost += overflow;
      told += worker->lost();
      EXPECT_EQ(overflow > 0, worker->lost() > 0);
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " " << shown(c.plan.window);
  }
  EXPECT_GT(lost, 1000u);
  EXPECT_GT(told, 500u);
}

}  // namespace
}  // namespace tidewire
