// Window stores against rule 3 of core.md, word for word: rows sorted by (S, lane, ordinal), one
// Flink window operator, its watermark set to S before each row. The model is the slowest obvious
// one; the stores see the lanes in any interleaving, in bursts, split over one to three workers,
// fired in slices into few result blocks. Content, order and every count must agree.
//   TIDEWIRE_SEED=n   runs one case
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "store_feed.h"

namespace tidewire {
namespace {

using Words = std::vector<int64_t>;

struct ModelRow {
  int64_t stamp = 0, time = 0;
  uint16_t lane = 0;
  uint64_t ordinal = 0, hash = 0;
  Words key, value;
};
using Group = std::vector<const ModelRow*>;  // the rows of one cell
using KeyOf = std::pair<uint64_t, Words>;    // hash, key: the order of rule 8

struct Seen {
  int64_t place = 0, start = 0, end = 0;
  uint64_t hash = 0;
  Words key, cell;
  uint16_t flags = 0;
  auto operator<=>(const Seen&) const = default;
};
struct Expected {
  std::vector<Seen> results;
  uint64_t natural = 0, deferred = 0, late = 0, no_window = 0;
};

Words cell_of(const Plan& plan, const Group& rows) {
  Words cell(plan.cell_words, 0);
  cell[0] = static_cast<int64_t>(rows.size());
  std::vector<CellPart> parts = plan.parts;
  if (plan.cell == CellKind::kStats)
    parts = {{CellOp::kSum64, 0, 1}, {CellOp::kMin, 0, 2}, {CellOp::kMax, 0, 3}};
  for (const CellPart& part : parts) {
    int128 sum = 0;
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    const ModelRow *first = rows[0], *last = rows[0];
    for (const ModelRow* row : rows) {
      const int64_t value = plan.values.empty() ? 0 : row->value[part.value];
      sum += value;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      const auto at = [](const ModelRow* r) { return std::tie(r->time, r->lane, r->ordinal); };
      if (at(row) < at(first)) first = row;
      if (at(row) > at(last)) last = row;
    }
    const auto put = [&](const ModelRow* row) {
      cell[part.word] = row->time;
      cell[part.word + 1u] = static_cast<int64_t>(uint64_t{row->lane} << 48 | row->ordinal);
      cell[part.word + 2u] = row->value[part.value];
    };
    switch (part.op) {
      case CellOp::kSum128:
        cell[part.word + 1u] = static_cast<int64_t>(sum >> 64);
        [[fallthrough]];
      case CellOp::kSum64:
        cell[part.word] = static_cast<int64_t>(static_cast<uint64_t>(sum));
        break;
      case CellOp::kMin:
        cell[part.word] = least;
        break;
      case CellOp::kMax:
        cell[part.word] = greatest;
        break;
      case CellOp::kSumProducts:
      case CellOp::kNonZero:
      case CellOp::kTop:
      case CellOp::kBottom:
      case CellOp::kHistogram:
      case CellOp::kDistinct:  // tests/unit/window/cell_test.cc
        ADD_FAILURE() << "in no plan of this model";
        break;
      case CellOp::kFirst:
        put(first);
        break;
      case CellOp::kLast:
        put(last);
        break;
    }
  }
  return cell;
}

// ---- rule 3
Expected model_aligned(const Plan& plan, const std::vector<ModelRow>& rows) {
  const int64_t size = plan.window.size.ns, slide = plan.window.slide.ns;
  std::map<int64_t, std::map<KeyOf, Group>> windows;  // by end
  Expected want;
  const auto advance = [&](int64_t watermark) {
    while (!windows.empty() && windows.begin()->first <= watermark) {
      const auto& [end, keys] = *windows.begin();
      for (const auto& [key, group] : keys)
        want.results.push_back(
            {end, end - size, end, key.first, key.second, cell_of(plan, group), 0});
      windows.erase(windows.begin());
    }
  };
  for (const ModelRow& row : rows) {
    advance(row.stamp);
    int64_t start = floor_div(row.time - plan.window.offset.ns, slide) * slide +
                    plan.window.offset.ns;  // the last window that starts at or before the row
    int64_t first_end = INT64_MAX;
    bool accepted = false;
    for (; start + size > row.time; start -= slide) {
      first_end = start + size;
      if (row.stamp >= start + size) continue;
      accepted = true;
      windows[start + size][{row.hash, row.key}].push_back(&row);
    }
    if (first_end == INT64_MAX)
      ++(row.time < row.stamp ? want.late : want.no_window);
    else
      ++(!accepted ? want.late : row.stamp < first_end ? want.natural : want.deferred);
  }
  advance(INT64_MAX);
  return want;
}

Expected model_session(const Plan& plan, const std::vector<ModelRow>& rows) {
  const int64_t gap = plan.window.gap.ns;
  struct Session {
    int64_t start, end;
    Group group;
  };
  std::map<KeyOf, std::vector<Session>> open;
  Expected want;
  const auto advance = [&](int64_t watermark) {
    const size_t before = want.results.size();
    for (auto& [key, sessions] : open) {
      for (const Session& s : sessions)
        if (s.end <= watermark)
          want.results.push_back(
              {s.end, s.start, s.end, key.first, key.second, cell_of(plan, s.group), 0});
      std::erase_if(sessions, [&](const Session& s) { return s.end <= watermark; });
    }
    std::sort(want.results.begin() + static_cast<ptrdiff_t>(before), want.results.end(),
              [](const Seen& a, const Seen& b) {
                return std::tie(a.end, a.hash, a.key) < std::tie(b.end, b.hash, b.key);
              });
  };
  for (const ModelRow& row : rows) {
    advance(row.stamp);
    auto& sessions = open[{row.hash, row.key}];
    const auto touches = [&](const Session& s) {
      return s.start <= row.time + gap && s.end >= row.time;
    };
    Session cover{row.time, row.time + gap, {&row}};
    for (const Session& s : sessions) {
      if (!touches(s)) continue;
      cover.start = std::min(cover.start, s.start);
      cover.end = std::max(cover.end, s.end);
      cover.group.insert(cover.group.end(), s.group.begin(), s.group.end());
    }
    if (cover.end <= row.stamp) {
      ++want.late;
      continue;
    }
    std::erase_if(sessions, touches);
    sessions.push_back(cover);
    ++(row.time > row.stamp ? want.natural : want.deferred);
  }
  advance(INT64_MAX);
  return want;
}

// ---- input: lanes of rows with their stamps
struct ModelLane {
  std::vector<ModelRow> rows;
  std::vector<int64_t> frontier;  // after each row
};

struct Case {
  Plan plan;
  std::vector<ModelLane> lanes;
  int64_t unit = 1;  // scale of everything
  const char* what = "";
};

ModelLane make_lane(Rng& rng, const Case& c, uint16_t id, int64_t base,
                    const std::vector<Words>& keys, size_t count) {
  const uint32_t partitions = static_cast<uint32_t>(1 + rng.below(3));
  const int64_t bound = c.unit * static_cast<int64_t>(rng.below(4) * 5);
  const int64_t lag = rng.one_in(3) ? c.unit * static_cast<int64_t>(rng.below(60)) : 0;
  const int64_t coarse = rng.one_in(3) ? c.unit * 4 : 1;
  const uint64_t late = rng.below(3) * 5, ahead = rng.one_in(4) ? 80 : 0;
  std::vector<int64_t> highest(partitions, INT64_MIN);
  const auto watermark = [&](uint32_t p) {
    return highest[p] == INT64_MIN ? INT64_MIN : highest[p] - bound;
  };
  ModelLane lane;
  int64_t now = base, frontier = INT64_MIN;
  for (size_t i = 0; i < count; ++i) {
    ModelRow row;
    const auto p = static_cast<uint32_t>(rng.below(partitions));
    now += c.unit * static_cast<int64_t>(rng.below(3)) / 2;
    row.time = now - static_cast<int64_t>(rng.below(static_cast<uint64_t>(bound) + 1));
    if (rng.below(100) < late) row.time -= c.unit * static_cast<int64_t>(rng.below(60));
    if (p + 1 == partitions) row.time -= lag;
    if (ahead && rng.one_in(ahead))
      row.time += c.unit * (int64_t{1} << rng.below(c.unit > 1'000'000 ? 8 : 24));
    row.time = floor_div(row.time, coarse) * coarse;
    row.stamp = std::max(watermark(p), frontier);
    highest[p] = std::max(highest[p], row.time);
    int64_t least = INT64_MAX;
    for (uint32_t q = 0; q < partitions; ++q) least = std::min(least, watermark(q));
    frontier = std::max(frontier, least);
    row.lane = id;
    row.ordinal = i;
    row.key = keys[rng.below(keys.size())];
    row.value = {static_cast<int64_t>(rng.next()), static_cast<int64_t>(rng.below(100)) - 50};
    lane.rows.push_back(row);
    lane.frontier.push_back(frontier);
  }
  return lane;
}

Case make_case(uint64_t seed, Rng& rng) {
  Case c;
  Plan& plan = c.plan;
  plan.name = "model";
  plan.id = QueryId{3};
  plan.seed = {rng.next() | 1, rng.next()};
  plan.key_words = std::array{0u, 1u, 2u, 4u}[seed % 4];
  plan.shards = plan.key_words ? one_of(rng, {1u, 2u, 8u}) : 1;
  plan.values = {0, 1};
  if (seed % 8 < 4) {
    plan.cell = CellKind::kStats;
    if (rng.one_in(4)) plan.values.clear();
  } else {
    plan.cell = CellKind::kWide;
    plan.parts = {{CellOp::kSum128, 0, 1}, {CellOp::kFirst, 0, 3}, {CellOp::kLast, 1, 6},
                  {CellOp::kMin, 1, 9},    {CellOp::kMax, 0, 10},  {CellOp::kSum64, 1, 11}};
    plan.cell_words = 12;
  }
  c.unit = one_of<int64_t>(rng, {1, 1000, 50'000'000, 3'600'000'000'000});
  const int64_t size = c.unit * static_cast<int64_t>(1 + rng.below(20));
  plan.window.gap = {rng.one_in(4) ? 1 : size};
  plan.window.size = plan.window.slide = {size};
  switch (rng.below(4)) {
    case 0:
      plan.window.kind = WindowKind::kTumbling;
      c.what = "tumbling";
      break;
    case 1:
      plan.window.kind = WindowKind::kSliding;
      plan.window.slide = {std::max<int64_t>(1, size / static_cast<int64_t>(1 + rng.below(7)))};
      c.what = "sliding";
      break;
    case 2:
      plan.window.kind = WindowKind::kSliding;
      plan.window.slide = {size + c.unit * static_cast<int64_t>(rng.below(20))};
      c.what = "gaps";
      break;
    default:
      plan.window.kind = WindowKind::kSession;
      c.what = "session";
  }
  const auto slide = static_cast<uint64_t>(plan.window.slide.ns);
  plan.window.offset = {static_cast<int64_t>(rng.below(2 * slide - 1)) -
                        static_cast<int64_t>(slide - 1)};

  std::vector<Words> keys(plan.key_words == 0 ? 1 : 1 + rng.below(40));
  // With this seed two words hash to rotl(first, 32) ^ second: some keys collide by force.
  const bool collide = plan.key_words > 1 && rng.one_in(2);
  if (collide) plan.seed = {0, 0};
  for (Words& key : keys)
    for (uint32_t w = 0; w < plan.key_words; ++w) {
      const auto first = static_cast<uint64_t>(w % 2 ? key[w - 1] : 0);
      key.push_back(collide && w % 2 && rng.one_in(2) ? static_cast<int64_t>(std::rotl(first, 32))
                    : collide                         ? static_cast<int64_t>(rng.next())
                              : static_cast<int64_t>(rng.below(1000)) - 500);
    }
  const size_t lanes = 1 + rng.below(4), rows = 20 + rng.below(200);
  plan.max_keys = keys.size();
  plan.max_panes = plan.max_deferred = lanes * rows;
  plan.max_sessions = lanes * rows * plan.shards;  // whatever share of shards has them all
  // As near as the furthest row of make_lane allows.
  const int64_t edge = kUsableTimeMax - c.unit * (c.unit > 1'000'000 ? 2048 : 1 << 26);
  const int64_t base =
      one_of<int64_t>(rng, {0, 1'600'000'000'000'000'000, -500'000'000'000'000'000, -edge, edge});
  for (size_t l = 0; l < lanes; ++l) {
    plan.lanes.push_back(LaneId{static_cast<uint16_t>(l * 7)});
    const int64_t apart = rng.one_in(3) ? c.unit * static_cast<int64_t>(rng.below(200)) : 0;
    const bool jump = l > 0 && rng.one_in(6);  // a lane that starts in 1970
    c.lanes.push_back(
        make_lane(rng, c, static_cast<uint16_t>(l * 7), jump ? 0 : base + apart, keys, rows));
  }
  for (ModelLane& lane : c.lanes)
    for (ModelRow& row : lane.rows) {
      Words words = row.key;
      words.resize(kMaxKeyWords);
      row.hash = plan.key_words == 0   ? 0
                 : plan.key_words == 1 ? hash_words<1>(words.data(), plan.seed)
                 : plan.key_words == 2 ? hash_words<2>(words.data(), plan.seed)
                                       : hash_words<4>(words.data(), plan.seed);
    }
  return c;
}

// ---- the stores under test
class Worker : public StoreFeed {
 public:
  Worker(const Plan& plan, ShardRange range, Rng& rng)
      : StoreFeed(plan, range, size_t{1} << rng.below(4)), plan_(plan) {}
  const std::vector<Seen>& results() const { return results_; }

  size_t drain() {
    return StoreFeed::drain([this](const Run& run, const Words& words) {
      Seen seen{run.place.ns, run.start.ns, run.end.ns, 0, {}, {}, run.flags};
      CHECK(!words.empty());
      auto word = words.begin();
      if (run.kind == RunKind::kPlaced) {
        seen.start = *word++;
        seen.place = seen.end = *word++;
      }
      seen.hash = static_cast<uint64_t>(*word++);
      seen.key.assign(word, word + plan_.key_words);
      seen.cell.assign(word + plan_.key_words, words.end());
      results_.push_back(seen);
    });
  }

 private:
  const Plan& plan_;
  std::vector<Seen> results_;
};

void run(uint64_t seed) {
  Rng rng(seed * 0x9E3779B97F4A7C15u);
  const Case c = make_case(seed, rng);
  std::vector<ModelRow> sorted;
  for (const ModelLane& lane : c.lanes)
    sorted.insert(sorted.end(), lane.rows.begin(), lane.rows.end());
  std::sort(sorted.begin(), sorted.end(), [](const ModelRow& a, const ModelRow& b) {
    return std::tie(a.stamp, a.lane, a.ordinal) < std::tie(b.stamp, b.lane, b.ordinal);
  });
  const Expected want = c.plan.window.kind == WindowKind::kSession ? model_session(c.plan, sorted)
                                                                   : model_aligned(c.plan, sorted);

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
                  [](const ModelRow& row, uint32_t v) { return row.value[v]; });
  };
  const auto step = [&](int64_t frontier) {
    for (auto& worker : workers) {
      if (rng.one_in(3)) worker->drain();
      if (rng.one_in(4)) continue;
      const int64_t until = rng.one_in(4) && frontier > INT64_MIN + c.unit * 64
                                ? frontier - c.unit * static_cast<int64_t>(rng.below(30))
                                : frontier;
      worker->fire(frontier, until, one_of(rng, {1u, 17u, 512u}));
    }
  };
  interleave(
      rng, c.lanes.size(), {1, 7, 32, 256}, [&](size_t l) { return c.lanes[l].rows.size(); },
      [&](size_t l, size_t i) { return c.lanes[l].frontier[i]; }, give, step);
  StoreCounts got;
  std::vector<Seen> results;
  for (auto& worker : workers) {
    for (bool busy = true; busy;) {
      busy = worker->fire(INT64_MAX, INT64_MAX, one_of(rng, {1u, 17u, 512u})) > 0;
      busy |= worker->drain() > 0;
    }
    EXPECT_FALSE(worker->store().next(EventTime::end_of_time()).has_value());
    EXPECT_EQ(worker->store().use().keys, 0u);
    EXPECT_EQ(worker->store().use().panes, 0u);
    const StoreCounts n = worker->store().counts();
    EXPECT_EQ(worker->offered(),
              n.natural + n.deferred + n.late + n.overflow + n.no_window + n.still_deferred);
    EXPECT_EQ(n.results, worker->results().size());
    EXPECT_EQ(n.still_deferred, 0u);
    EXPECT_EQ(n.overflow, 0u);
    EXPECT_EQ(n.flagged, 0u);
    got.natural += n.natural;
    got.deferred += n.deferred;
    got.late += n.late;
    got.no_window += n.no_window;
    const auto middle = static_cast<ptrdiff_t>(results.size());
    results.insert(results.end(), worker->results().begin(), worker->results().end());
    std::inplace_merge(results.begin(), results.begin() + middle, results.end(),
                       [](const Seen& a, const Seen& b) {
                         return std::tie(a.place, a.hash, a.key) < std::tie(b.place, b.hash, b.key);
                       });
  }
  EXPECT_EQ(want.natural, got.natural);
  EXPECT_EQ(want.deferred, got.deferred);
  EXPECT_EQ(want.late, got.late);
  EXPECT_EQ(want.no_window, got.no_window);
  ASSERT_EQ(want.results.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) ASSERT_TRUE(want.results[i] == results[i]) << i;
}

TEST(WindowModel, StoresComputeWhatOneOperatorComputesOnSortedRows) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t last = given ? first : 2400;
  for (uint64_t seed = first; seed <= last; ++seed) {
    run(seed);
    ASSERT_FALSE(testing::Test::HasFailure()) << "TIDEWIRE_SEED=" << seed;
  }
}

}  // namespace
}  // namespace tidewire
