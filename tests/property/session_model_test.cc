// Session windows against rules 3, 4 and 6 of core.md with everything that a session may have:
// lateness with an answer to each row or at the points of a grid, accumulating, discarding,
// retracting, gaps of the rows' own, a longest duration, results every n rows. The model is one
// operator on the rows sorted by (S, lane, ordinal) that keeps every row of every session in a list
// and looks at all of them each time. The store sees the lanes in any interleaving, in bursts, on
// one to three workers, fired in slices into few result blocks. What leaves, its order and every
// count must agree.
//   TIDEWIRE_SEED=n   runs one case
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "base/int128.h"
#include "store_feed.h"

namespace tidewire {
namespace {

struct ModelRow {
  int64_t stamp = 0, time = 0, value = 0;
  int64_t gap = 0, gap_field = 0;  // what the field means, and what stands in it
  uint16_t lane = 0;
  uint64_t ordinal = 0, hash = 0;
  std::vector<int64_t> key;
  // What a row before all time is answered by stands behind it, or could never leave.
  int64_t place() const { return std::max(stamp, INT64_MIN + 1); }
  uint64_t position() const { return uint64_t{lane} << 48 | ordinal; }
};
using Group = std::vector<const ModelRow*>;

// One row that leaves, late ones included.
struct Seen {
  int64_t place = 0;
  uint64_t after = 0;  // 0: a point, else position + 1
  int64_t order_end = 0;
  uint64_t hash = 0;
  std::vector<int64_t> key;
  bool late = false;
  FireKind fire = FireKind::kOnTime;
  uint32_t index = 0;
  int64_t start = 0, end = 0;
  std::vector<int64_t> cell;
  bool operator==(const Seen&) const = default;
  bool before(const Seen& o) const {
    return std::tie(place, after, order_end, hash) <
           std::tie(o.place, o.after, o.order_end, o.hash);
  }
};
std::ostream& operator<<(std::ostream& out, const Seen& s) {
  out << "place " << s.place << " after " << s.after << " key " << (s.key.empty() ? 0 : s.key[0])
      << (s.late ? " late " : " ") << "fire " << static_cast<int>(s.fire) << " index " << s.index
      << " [" << s.start << "," << s.end << ")";
  for (const int64_t word : s.cell) out << " " << word;
  return out;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

class Model {
 public:
  explicit Model(const Plan& plan) : w_(plan.window) {}

  std::vector<Seen> out;
  uint64_t natural = 0, deferred = 0, late = 0;

  void take(const ModelRow& row) {
    advance(row.stamp);
    const int64_t cell = cell_of(row.time);
    int64_t row_end = plus(row.time, row.gap);
    if (w_.max_duration.ns > 0) {
      const int128 cell_end = (static_cast<int128>(cell) + 1) * w_.max_duration.ns;
      row_end = static_cast<int64_t>(std::min<int128>(row_end, cell_end));
    }
    const auto meets = [&](const Session& s) {
      return s.row->hash == row.hash && s.row->key == row.key && cell_of(s.start) == cell &&
             s.start <= row_end && s.end >= row.time;
    };
    Session made{&row, row.time, row_end, {&row}, {&row}, {}, std::nullopt, false, 1, 0};
    for (const Session& s : sessions_) {
      if (!meets(s)) continue;
      made.start = std::min(made.start, s.start);
      made.end = std::max(made.end, s.end);
      made.all.insert(made.all.end(), s.all.begin(), s.all.end());
      made.fresh.insert(made.fresh.end(), s.fresh.begin(), s.fresh.end());
      made.said.insert(made.said.end(), s.said.begin(), s.said.end());
      made.since += s.since;
      made.index = std::max(made.index, s.index);
    }
    if (plus(made.end, w_.lateness.ns) <= watermark_) {
      ++late;
      out.push_back({row.place(),
                     row.position() + 1,
                     0,
                     row.hash,
                     row.key,
                     true,
                     FireKind::kOnTime,
                     static_cast<uint32_t>(LateReason::kLate),
                     row.time,
                     0,
                     {row.value, row.gap_field}});
      return;
    }
    ++(row.time > row.stamp && w_.early_rows == 0 ? natural : deferred);
    std::erase_if(sessions_, meets);
    std::sort(made.said.begin(), made.said.end(),
              [](const Said& a, const Said& b) { return a.start < b.start; });
    sessions_.push_back(made);
    Session& s = sessions_.back();
    const bool full = w_.early_rows > 0 && s.since >= w_.early_rows;
    if (w_.early_rows > 0) s.since %= w_.early_rows;
    const Seen update = seen_at(row.place(), row.position() + 1, s.end);
    if (s.end > watermark_) {
      if (full) say(s, update, FireKind::kEarly, s.index++);
      return;
    }
    s.fired = true;
    if (w_.gather.ns == 0)
      say(s, update, FireKind::kUpdate, ++s.index);
    else
      s.due = grid(s, nullptr, watermark_);
  }
  void finish() { advance(INT64_MAX); }

 private:
  struct Said {
    int64_t start, end;
    Group rows;
  };
  struct Session {
    const ModelRow* row;
    int64_t start, end;
    Group all, fresh;
    std::vector<Said> said;
    std::optional<int64_t> due;
    bool fired;
    uint64_t since;
    uint32_t index;
  };

  static Seen seen_at(int64_t place, uint64_t after, int64_t order_end) {
    Seen seen;
    seen.place = place;
    seen.after = after;
    seen.order_end = order_end;
    return seen;
  }
  int64_t cell_of(int64_t time) const {
    return w_.max_duration.ns > 0 ? floor_div(time, w_.max_duration.ns) : 0;
  }
  // The first point after `after`, and its number.
  int64_t grid(const Session& s, uint32_t* number, int64_t after) const {
    for (uint32_t k = 1;; ++k) {
      const bool last = k * w_.gather.ns >= w_.lateness.ns;
      const int64_t point = plus(s.end, last ? w_.lateness.ns : k * w_.gather.ns);
      if (number) *number = k;
      if (point > after || last) return point;
    }
  }
  void advance(int64_t to) {
    const auto place = [](const Session& s) { return s.fired ? *s.due : s.end; };
    for (;;) {
      Session* first = nullptr;
      for (Session& s : sessions_) {
        if ((s.fired && !s.due) || place(s) > to) continue;
        const auto key = [&](const Session& x) {
          return std::tuple(place(x), x.end, x.row->hash, x.row->key, x.start);
        };
        if (!first || key(s) < key(*first)) first = &s;
      }
      if (!first) break;
      const int64_t now = place(*first);
      const Seen point = seen_at(now, 0, first->end);
      if (first->fired) {
        uint32_t number = 0;
        grid(*first, &number, now - 1);
        say(*first, point, FireKind::kUpdate, number);
      } else {
        first->index = 0;
        say(*first, point, FireKind::kOnTime, 0);
      }
      first->fired = true;
      first->due.reset();
    }
    watermark_ = std::max(watermark_, to);
    std::erase_if(sessions_,
                  [&](const Session& s) { return plus(s.end, w_.lateness.ns) <= watermark_; });
  }
  static std::vector<int64_t> cell(const Group& rows) {
    std::vector<int64_t> cell{static_cast<int64_t>(rows.size()), 0, INT64_MAX, INT64_MIN};
    for (const ModelRow* row : rows) {
      cell[1] += row->value;
      cell[2] = std::min(cell[2], row->value);
      cell[3] = std::max(cell[3], row->value);
    }
    return cell;
  }
  void say(Session& s, Seen seen, FireKind fire, uint32_t index) {
    seen.hash = s.row->hash;
    seen.key = s.row->key;
    seen.index = index;
    if (w_.accumulation == Accumulation::kRetracting) {
      for (const Said& old : s.said) {
        seen.fire = FireKind::kRetraction;
        seen.start = old.start;
        seen.end = old.end;
        seen.cell = cell(old.rows);
        out.push_back(seen);
      }
      s.said = {{s.start, s.end, s.all}};
    }
    const bool discarding = w_.accumulation == Accumulation::kDiscarding;
    const Group& rows = discarding ? s.fresh : s.all;
    if (rows.empty()) return;
    seen.fire = fire;
    seen.start = s.start;
    seen.end = s.end;
    seen.cell = cell(rows);
    out.push_back(seen);
    s.fresh.clear();
  }

  const WindowShape& w_;
  std::vector<Session> sessions_;
  int64_t watermark_ = INT64_MIN;
};

struct Case {
  Plan plan;
  std::vector<std::vector<ModelRow>> lanes;
  std::vector<std::vector<int64_t>> frontier;  // after each row
};

Case make_case(Rng& rng) {
  Case c;
  Plan& plan = c.plan;
  plan.name = "sessions";
  plan.id = QueryId{1};
  plan.key_words = one_of(rng, {0u, 1u, 1u, 2u});
  // With this seed two words hash to rotl(first, 32) ^ second: keys collide by force.
  plan.seed = plan.key_words == 2 ? HashSeed{0, 0} : HashSeed{rng.next() | 1, rng.next()};
  plan.shards = plan.key_words == 0 ? 1 : one_of(rng, {1u, 2u, 8u});
  plan.values = {0, 1};
  plan.late_rows = true;
  WindowShape& w = plan.window;
  w.kind = WindowKind::kSession;
  const int64_t unit = one_of<int64_t>(rng, {1, 1, 1, 1000, 50'000'000});
  // A gap of 3,000 has ticks of 4: several places stand in one.
  w.gap = {unit * one_of<int64_t>(rng, {2, 3, 10, 3000})};
  w.lateness = {unit * one_of<int64_t>(rng, {0, 0, 4, 20, 50})};
  if (rng.one_in(12)) w.lateness = {kWindowLengthMax};
  if (w.lateness.ns > 0 && w.lateness.ns < kWindowLengthMax)
    w.gather = {unit * one_of<int64_t>(rng, {0, 0, 1, 3, 6, 7, 60})};
  w.accumulation = one_of(
      rng, {Accumulation::kAccumulating, Accumulation::kDiscarding, Accumulation::kRetracting});
  if (rng.one_in(4)) w.early_rows = 1 + rng.below(4);
  if (rng.one_in(4)) w.max_duration = {unit * one_of<int64_t>(rng, {1, 7, 20, 4000})};
  const bool own_gaps = rng.one_in(3);
  if (own_gaps) {
    plan.gap_value = 1;
    plan.gap_unit = {unit};
    if (rng.one_in(2)) w.gap = {};
  }
  const size_t lanes = 1 + rng.below(4), count = 5 + rng.below(40);
  const int64_t base = one_of<int64_t>(
      rng, {0, 1'600'000'000'000'000'000, -500, -500'000'000'000'000'000, INT64_MIN + 4000 * unit,
            INT64_MAX - (own_gaps ? 4000 : 400 + 45 * 3100) * unit});
  std::vector<std::vector<int64_t>> keys(plan.key_words == 0 ? 1 : 1 + rng.below(4));
  for (size_t k = 0; k < keys.size(); ++k)
    for (uint32_t i = 0; i < plan.key_words; ++i)
      keys[k].push_back(static_cast<int64_t>(i == 0 ? k : k << 32));
  plan.max_keys = keys.size();
  plan.max_deferred = lanes * count;
  plan.max_sessions = plan.max_changes = lanes * count * plan.shards;
  const int64_t long_jump = w.gap.ns > 20 * unit && base < INT64_MAX / 2 ? w.gap.ns : 5 * unit;
  for (size_t l = 0; l < lanes; ++l) {
    const auto lane = static_cast<uint16_t>(l * 5);
    plan.lanes.push_back(LaneId{lane});
    const int64_t bound = unit * one_of<int64_t>(rng, {0, 3, 3, 9});
    int64_t now = base + unit * static_cast<int64_t>(rng.below(6)), watermark = INT64_MIN;
    auto& rows = c.lanes.emplace_back();
    auto& frontier = c.frontier.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      now += unit * one_of<int64_t>(rng, {0, 0, 1, 2, 4});
      if (rng.one_in(8)) now += long_jump + unit * static_cast<int64_t>(rng.below(3));
      ModelRow row;
      row.time = now - unit * one_of<int64_t>(rng, {0, 0, 0, 1, 2, 3, 5, 8, 12, 40});
      if (rng.one_in(8)) row.time -= long_jump;
      if (unit > 1 && rng.one_in(2)) row.time += static_cast<int64_t>(rng.below(3));
      row.stamp = watermark;
      watermark = std::max(watermark, row.time - bound);
      frontier.push_back(watermark);
      row.lane = lane;
      row.ordinal = i;
      row.value = static_cast<int64_t>(rng.below(100)) - 50;
      row.key = keys[rng.below(keys.size())];
      row.gap = w.gap.ns;
      row.gap_field = one_of<int64_t>(rng, {-3, 0, 0, 1, 2, 5, 30});
      if (own_gaps) row.gap = std::max<int64_t>(0, row.gap_field) * unit;
      row.hash = plan.key_words == 0   ? 0
                 : plan.key_words == 1 ? hash_words<1>(row.key.data(), plan.seed)
                                       : hash_words<2>(row.key.data(), plan.seed);
      rows.push_back(row);
    }
  }
  return c;
}

class Worker : public StoreFeed {
 public:
  Worker(const Plan& plan, ShardRange range, Rng& rng)
      : StoreFeed(plan, range, size_t{1} << rng.below(3)), plan_(plan) {}
  const std::vector<Seen>& seen() const { return seen_; }

  size_t drain() {
    return StoreFeed::drain(
        [this](const Run& run, const std::vector<int64_t>& words) { read(run, words); });
  }

 private:
  void read(const Run& run, const std::vector<int64_t>& words) {
    EXPECT_EQ(run.flags, 0);
    if (words.empty()) {
      ADD_FAILURE() << "a run without a row";
      return;
    }
    Seen seen;
    seen.place = run.place.ns;
    seen.fire = run.fire;
    seen.index = run.index;
    seen.start = run.start.ns;
    seen.end = run.end.ns;
    auto word = words.begin();
    switch (run.kind) {
      case RunKind::kPlaced:
        seen.start = *word++;
        seen.end = *word++;
        seen.order_end = run.fire == FireKind::kRetraction ? run.end.ns : seen.end;
        if (run.fire == FireKind::kOnTime) seen.place = seen.end;
        break;
      case RunKind::kUpdate:
        seen.after = run.position + 1;
        seen.order_end = run.fire == FireKind::kRetraction ? 0 : run.end.ns;
        break;
      case RunKind::kLate:
        seen.after = run.position + 1;
        seen.late = true;
        seen.start = *word++;
        break;
      case RunKind::kPoint:
      case RunKind::kLost:
      case RunKind::kProvisional:
        ADD_FAILURE() << "a run of no session";
    }
    seen.hash = static_cast<uint64_t>(*word++);
    seen.key.assign(word, word + plan_.key_words);
    seen.cell.assign(word + plan_.key_words, words.end());
    seen_.push_back(seen);
  }

  const Plan& plan_;
  std::vector<Seen> seen_;
};

// How often each kind of result was seen, so that a generator that never makes one is noticed.
struct Tally {
  std::array<uint64_t, 5> fired{};
  uint64_t late = 0, merged_retractions = 0;
};

void run(uint64_t seed, Tally& tally) {
  Rng rng(seed * 0x9E3779B97F4A7C15u);
  const Case c = make_case(rng);
  std::vector<ModelRow> sorted;
  for (const auto& lane : c.lanes) sorted.insert(sorted.end(), lane.begin(), lane.end());
  std::sort(sorted.begin(), sorted.end(), [](const ModelRow& a, const ModelRow& b) {
    return std::tie(a.stamp, a.lane, a.ordinal) < std::tie(b.stamp, b.lane, b.ordinal);
  });
  Model model(c.plan);
  for (const ModelRow& row : sorted) model.take(row);
  model.finish();

  const uint32_t count = static_cast<uint32_t>(1 + rng.below(std::min<uint32_t>(3, c.plan.shards)));
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t w = 0; w < count; ++w)
    workers.push_back(std::make_unique<Worker>(c.plan, shards_of(w, c.plan.shards, count), rng));
  const auto give = [&](size_t l, size_t from, size_t burst) {
    for (auto& worker : workers)
      worker->add(c.lanes[l], from, burst, [](const ModelRow& row, uint32_t v) {
        return v == 0 ? row.value : row.gap_field;
      });
  };
  const auto step = [&](int64_t frontier) {
    for (auto& worker : workers) {
      if (rng.one_in(3)) worker->drain();
      if (rng.one_in(4)) continue;
      const int64_t until = rng.one_in(4) && frontier > INT64_MIN + 100
                                ? frontier - static_cast<int64_t>(rng.below(30))
                                : frontier;
      worker->fire(frontier, until, one_of(rng, {1u, 3u, 17u, 512u}));
    }
  };
  interleave(
      rng, c.lanes.size(), {1, 1, 3, 7, 32}, [&](size_t l) { return c.lanes[l].size(); },
      [&](size_t l, size_t i) { return c.frontier[l][i]; }, give, step);
  uint64_t natural = 0, deferred = 0, late = 0;
  std::vector<Seen> got;
  for (auto& worker : workers) {
    for (bool busy = true; busy;) {
      busy = worker->fire(INT64_MAX, INT64_MAX, one_of(rng, {1u, 17u, 512u})) > 0;
      busy |= worker->drain() > 0;
    }
    WindowStore& store = worker->store();
    EXPECT_FALSE(store.next({INT64_MAX}).has_value());
    EXPECT_EQ(store.use().keys, 0u);
    EXPECT_EQ(store.use().panes, 0u);
    EXPECT_EQ(store.use().changes, 0u);
    const StoreCounts n = store.counts();
    EXPECT_EQ(worker->offered(), n.natural + n.deferred + n.late);
    EXPECT_EQ(n.results + n.late, worker->seen().size());
    EXPECT_EQ(n.overflow + n.flagged + n.unshown + n.still_deferred + n.no_window, 0u);
    natural += n.natural;
    deferred += n.deferred;
    late += n.late;
    const auto middle = static_cast<ptrdiff_t>(got.size());
    got.insert(got.end(), worker->seen().begin(), worker->seen().end());
    std::inplace_merge(got.begin(), got.begin() + middle, got.end(),
                       [](const Seen& a, const Seen& b) { return a.before(b); });
  }
  EXPECT_EQ(model.natural, natural);
  EXPECT_EQ(model.deferred, deferred);
  EXPECT_EQ(model.late, late);
  for (size_t i = 0; i < std::min(got.size(), model.out.size()); ++i) {
    Seen& want = model.out[i];
    if (want.after > 0 && want.fire == FireKind::kRetraction) want.order_end = 0;
    ASSERT_TRUE(want == got[i]) << i << "\nwant " << want << "\ngot  " << got[i];
    ++tally.fired[static_cast<size_t>(want.fire)];
    tally.late += want.late;
    tally.merged_retractions += i > 0 && want.fire == FireKind::kRetraction &&
                                model.out[i - 1].fire == FireKind::kRetraction &&
                                model.out[i - 1].after == want.after &&
                                model.out[i - 1].key == want.key;
  }
  ASSERT_EQ(model.out.size(), got.size());
}

TEST(SessionModel, TheStoreComputesWhatOneOperatorComputesOnSortedRows) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t last = given ? first : 6000;
  Tally tally;
  for (uint64_t seed = first; seed <= last; ++seed) {
    run(seed, tally);
    ASSERT_FALSE(testing::Test::HasFailure()) << "TIDEWIRE_SEED=" << seed;
  }
  if (given) return;
  for (const FireKind fire :
       {FireKind::kOnTime, FireKind::kEarly, FireKind::kUpdate, FireKind::kRetraction})
    EXPECT_GT(tally.fired[static_cast<size_t>(fire)], 1000u) << static_cast<int>(fire);
  EXPECT_GT(tally.late, 1000u);
  EXPECT_GT(tally.merged_retractions, 100u);
}

}  // namespace
}  // namespace tidewire
