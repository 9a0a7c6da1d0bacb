// Shaping against arithmetic by hand, and against a slow model: one sorted list, shaped key by key.
#include "egress/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "fixture.h"

namespace tidewire {
namespace {

constexpr int64_t kSize = 100, kStep = 60, kGather = 30;

// Tumbling windows of 100 with an early step at 60: count, sum, min, max, delta(sum), rate(count).
Plan shaped_plan(uint16_t id, uint32_t key_words) {
  Plan plan = stats_plan(id, "shaped" + std::to_string(id), key_words);
  plan.window.size = plan.window.slide = {kSize};
  plan.window.early = {kStep};
  plan.max_keys = 64;
  return plan;
}
void add_comparisons(Plan& plan) {
  plan.outputs.push_back(make_output("delta(sum)", OutputOp::kDelta));
  plan.outputs.back().of = 1;
  plan.outputs.push_back(make_output("rate(count)", OutputOp::kRate));
  plan.outputs.back().of = 0;
}

// A row of a ring, and its place in the canonical order.
struct Row {
  Run head;
  uint16_t query = 0;
  std::vector<int64_t> key, cell;
  uint64_t hash = 0;
  auto order() const {
    const bool points = head.kind == RunKind::kPoint;
    const bool overflow = (head.flags & kFlagOverflowRow) != 0;
    return std::tuple(head.place.ns, query, points ? 0 : head.position + 1, head.end.ns, overflow,
                      overflow ? 0 : hash, key, head.fire != FireKind::kRetraction);
  }
};

// What leaves, in a form that compares. Values: absent as kAbsentValue.
struct Line {
  uint16_t query = 0, flags = 0;
  int64_t place = 0, start = 0, end = 0;
  FireKind fire = FireKind::kOnTime;
  uint32_t index = 0;
  std::vector<int64_t> key;
  std::vector<int128> values;
  bool operator==(const Line&) const = default;
};
void PrintTo(const Line& line, std::ostream* out) {
  *out << "query " << line.query << " place " << line.place << " [" << line.start << ", "
       << line.end << ") fire " << static_cast<int>(line.fire) << " index " << line.index
       << " flags " << line.flags << " key";
  for (const int64_t word : line.key) *out << ' ' << word;
  *out << " values";
  for (const int128 v : line.values)
    *out << ' ' << (v == kAbsentValue ? "absent" : std::to_string(static_cast<int64_t>(v)));
}

Line line_of(const Result& row) {
  Line line{row.query,  row.flags, row.place.ns, row.start.ns,
            row.end.ns, row.fire,  row.index,    {row.key, row.key + row.plan->key_words},
            {}};
  for (size_t i = 0; i < row.plan->outputs.size(); ++i) line.values.push_back(row.values[i].number);
  return line;
}

// Rows through rings of any number of workers, with pauses.
struct Run1 {
  explicit Run1(const std::vector<Plan>& p) : plans(p) {
    for (const Plan& plan : plans) list.push_back(&plan);
  }
  std::vector<Line> run(const std::vector<Row>& rows, uint32_t workers, Rng& rng) {
    std::vector<std::unique_ptr<TestRing>> rings;
    std::vector<ResultRing*> pointers;
    for (uint32_t w = 0; w < workers; ++w) {
      rings.push_back(std::make_unique<TestRing>(size_t{2} << rng.below(3)));
      pointers.push_back(&rings.back()->ring);
    }
    const auto owner = [&](const Row& row) {
      return plans[row.query].key_words == 0 ? 0 : row.hash / 7 % workers;
    };
    std::vector<std::vector<const Row*>> mine(workers);
    for (const Row& row : rows) mine[owner(row)].push_back(&row);
    std::vector<size_t> at(workers, 0);
    Shaper shaper(list, pointers);
    std::vector<Line> lines;
    EventTime passed = EventTime::before_all();
    for (int turn = 0; turn < 1'000'000 && passed < EventTime::end_of_time(); ++turn) {
      const auto w = rng.below(workers);
      TestRing& ring = *rings[w];
      for (uint64_t n = rng.below(20); n > 0 && at[w] < mine[w].size(); --n, ++at[w]) {
        if (!ring.writer->room_for(1)) break;
        write(*mine[w][at[w]], *ring.writer);
      }
      const bool done = at[w] >= mine[w].size();
      if (!rng.one_in(3)) ring.publish(done ? INT64_MAX : mine[w][at[w]]->head.place.ns - 1);
      Result row;
      for (uint64_t n = rng.below(30); n > 0 && shaper.next(row); --n) {
        EXPECT_GT(row.place, passed);
        lines.push_back(line_of(row));
      }
      EXPECT_GE(shaper.passed(), passed);
      passed = shaper.passed();
    }
    EXPECT_EQ(passed, EventTime::end_of_time());
    counts = shaper.counts();
    return lines;
  }
  void write(const Row& row, ResultWriter& out) const {
    const Plan& plan = plans[row.query];
    out.begin(plan.id, row.head, 1 + plan.key_words + plan.cell_words);
    int64_t* to = out.row();
    *to++ = static_cast<int64_t>(row.hash);
    to = std::copy(row.key.begin(), row.key.end(), to);
    std::copy(row.cell.begin(), row.cell.end(), to);
  }

  const std::vector<Plan>& plans;
  std::vector<const Plan*> list;
  ShapeCounts counts;
};

Row make_row(const Plan& plan, int64_t end, FireKind fire, int64_t k, int64_t sum,
             int64_t count = 1) {
  Row row;
  row.query = index_of(plan.id);
  row.key.assign(plan.key_words, k);
  row.hash = hash_of(plan, row.key.data());
  row.head.start = {end - kSize};
  row.head.end = row.head.place = {end};
  row.head.fire = fire;
  row.head.index = 1;
  row.cell = {count, sum, sum, sum};
  return row;
}

// ---- the model

// Numerator / denominator, half to even, by long division.
int128 half_even(int128 numerator, int128 denominator) {
  int128 q = numerator / denominator, r = numerator % denominator;
  if (r < 0) {
    r += denominator;
    --q;
  }
  if (2 * r > denominator || (2 * r == denominator && q % 2 != 0)) ++q;
  return q;
}

struct Candidate {
  Row row;
  Line line;
  bool empty = false;
};

std::vector<Line> model(const std::vector<Plan>& plans, const std::vector<Row>& rows) {
  std::vector<Candidate> all;
  using KeyId = std::pair<uint16_t, std::vector<int64_t>>;
  std::map<KeyId, std::set<int64_t>> with_rows;
  for (const Row& row : rows) {
    all.push_back({row, {}, false});
    if (row.head.fire == FireKind::kOnTime && (row.head.flags & kFlagOverflowRow) == 0)
      with_rows[{row.query, row.key}].insert(row.head.end.ns);
  }
  for (const auto& [id, ends] : with_rows) {
    const Plan& plan = plans[id.first];
    if (plan.shaping.fill == EmptyFill::kNone) continue;
    for (const int64_t end : ends)
      for (int64_t n = 1; n <= plan.shaping.fill_windows; ++n) {
        if (ends.count(end + n * kSize) != 0) break;
        Row row = make_row(plan, end + n * kSize, FireKind::kOnTime, 0, 0, 0);
        row.key = id.second;
        row.hash = hash_of(plan, row.key.data());
        row.head.flags = kFlagEmpty;
        all.push_back({row, {}, true});
      }
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.row.order() < b.row.order();
  });

  struct Shown {
    int64_t end;
    std::vector<int128> values;
  };
  std::map<KeyId, std::vector<Shown>> on_time;
  for (Candidate& c : all) {
    const Plan& plan = plans[c.row.query];
    const Run& head = c.row.head;
    c.line = {c.row.query,   head.flags,  head.place.ns,
              head.start.ns, head.end.ns, head.fire,
              head.index,    c.row.key,   {}};
    std::vector<Shown>& shown = on_time[{c.row.query, c.row.key}];
    const bool overflow = (head.flags & kFlagOverflowRow) != 0;
    for (size_t i = 0; i < 4; ++i) {
      int128 v = c.row.cell[i];
      if (c.empty) v = i < 2 ? 0 : kAbsentValue;
      if (c.empty && plan.shaping.fill == EmptyFill::kCarry) v = shown.back().values[i];
      c.line.values.push_back(v);
    }
    if (plan.outputs.size() > 4) {
      int128 delta = kAbsentValue, rate = kAbsentValue;
      const Shown* before = nullptr;
      if (overflow)
        before = nullptr;
      else if (head.fire == FireKind::kOnTime || (!shown.empty() && head.end.ns > shown.back().end))
        before = shown.empty() ? nullptr : &shown.back();
      else if (shown.size() > 1 && head.end.ns == shown.back().end)
        before = &shown[shown.size() - 2];
      if (before) {
        delta = c.line.values[1] - before->values[1];
        rate = half_even((c.line.values[0] - before->values[0]) * 1'000'000'000 * 1'000'000,
                         head.end.ns - before->end);
      }
      c.line.values.push_back(delta);
      c.line.values.push_back(rate);
    }
    if (head.fire == FireKind::kOnTime && !overflow) shown.push_back({head.end.ns, c.line.values});
  }

  std::vector<Candidate> kept;
  for (const Candidate& c : all) {
    const std::vector<HavingStep>& having = plans[c.row.query].shaping.having;
    if (!having.empty()) {  // the test asks for: sum in a range, or not so
      const int128 sum = c.line.values[1];
      bool in = sum != kAbsentValue && sum >= having[0].low && sum <= having[0].high;
      if (having.size() > 1) in = !in;
      if (!in) continue;
    }
    kept.push_back(c);
  }
  std::vector<Line> lines;
  for (size_t i = 0; i < kept.size();) {
    const Shaping& shaping = plans[kept[i].row.query].shaping;
    const auto ranked = [&](const Candidate& c) {
      return shaping.top > 0 && c.row.head.kind == RunKind::kPoint &&
             (c.row.head.flags & kFlagOverflowRow) == 0;
    };
    if (!ranked(kept[i])) {
      lines.push_back(kept[i++].line);
      continue;
    }
    size_t end = i;
    while (end < kept.size() && ranked(kept[end]) && kept[end].row.query == kept[i].row.query &&
           kept[end].row.head.place == kept[i].row.head.place &&
           kept[end].row.head.end == kept[i].row.head.end)
      ++end;
    std::stable_sort(
        kept.begin() + static_cast<ptrdiff_t>(i), kept.begin() + static_cast<ptrdiff_t>(end),
        [&](const Candidate& a, const Candidate& b) {
          const int128 x = a.line.values[shaping.top_output], y = b.line.values[shaping.top_output];
          if (x == kAbsentValue || y == kAbsentValue) return y < x;
          return shaping.top_least ? x < y : x > y;
        });
    for (size_t n = i; n < std::min<size_t>(end, i + shaping.top); ++n)
      lines.push_back(kept[n].line);
    i = end;
  }
  return lines;
}

// Early, on time, gathered and single updates with retractions of a few keys; no flags but those of
// the __overflow__ rows, which are of their own window only.
std::vector<Row> random_rows(Rng& rng, const std::vector<Plan>& plans) {
  std::vector<Row> rows;
  uint64_t ordinal = 0;
  for (const Plan& plan : plans) {
    const auto keys = static_cast<int64_t>(plan.key_words == 0 ? 1 : 1 + rng.below(12));
    const auto windows = static_cast<int64_t>(1 + rng.below(10));
    const uint64_t rare = 1 + rng.below(4);
    for (int64_t k = 0; k < keys; ++k) {
      for (int64_t end = kSize; end <= windows * kSize; end += kSize) {
        const auto value = [&] { return static_cast<int64_t>(rng.below(9)) - 2; };
        if (!rng.one_in(rare)) continue;
        Row row = make_row(plan, end, FireKind::kOnTime, k, value(),
                           1 + static_cast<int64_t>(rng.below(5)));
        if (rng.one_in(3)) {
          Row early = row;
          early.head.fire = FireKind::kEarly;
          early.head.place = {end - kSize + kStep};
          early.head.index = 0;
          early.cell[1] = value();
          rows.push_back(early);
        }
        rows.push_back(row);
        for (uint64_t n = rng.below(3); n > 0; --n) {
          Row update = row;
          const bool gathered = n == 2;
          update.head.fire = FireKind::kUpdate;
          update.head.index = 4 - static_cast<uint32_t>(n);
          update.head.place = {end + (gathered ? kGather : static_cast<int64_t>(rng.below(250)))};
          if (!gathered) {
            update.head.kind = RunKind::kUpdate;
            update.head.position = ++ordinal;
          }
          if (plan.shaping.top == 0) {
            Row back = update;
            back.head.fire = FireKind::kRetraction;
            back.cell[1] = value();
            rows.push_back(back);
          }
          update.cell[1] = value();
          rows.push_back(update);
        }
      }
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.order() < b.order(); });
  return rows;
}

TEST(Shape, IsWhatASlowModelMakesOfTheSortedList) {
  const uint64_t seed = test_seed(5);
  for (uint64_t round = 0; round < 400; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Rng rng(seed + round);
    std::vector<Plan> plans;
    for (uint16_t id = 0; id < 4; ++id) {
      Plan plan = shaped_plan(id, id == 3 ? 0 : id == 2 ? 2 : 1);
      if (rng.one_in(2)) add_comparisons(plan);
      if (rng.one_in(2)) plan.shaping.fill = rng.one_in(2) ? EmptyFill::kZero : EmptyFill::kCarry;
      plan.shaping.fill_windows = static_cast<uint32_t>(1 + rng.below(4));
      if (rng.one_in(3)) {
        plan.shaping.having.push_back({HavingStep::Op::kRange, 1, 0, 4});
        if (rng.one_in(2)) plan.shaping.having.push_back({HavingStep::Op::kNot, 0, 0, 0});
      }
      if (rng.one_in(3)) {
        plan.shaping.top = static_cast<uint32_t>(1 + rng.below(4));
        plan.shaping.top_output = static_cast<uint16_t>(rng.below(plan.outputs.size()));
        plan.shaping.top_least = rng.one_in(2);
      }
      plans.push_back(plan);
    }
    const std::vector<Row> rows = random_rows(rng, plans);
    const std::vector<Line> expected = model(plans, rows);
    const std::vector<Line> got =
        Run1(plans).run(rows, static_cast<uint32_t>(1 + rng.below(4)), rng);
    for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
      ASSERT_EQ(got[i], expected[i]) << "row " << i;
    ASSERT_EQ(got.size(), expected.size());
  }
}

// ---- by hand

struct Fixed {
  std::vector<Plan> plans{shaped_plan(0, 1)};
  Plan& plan = plans[0];
  Rng rng{1};
  ShapeCounts counts;
  std::vector<Line> run(std::vector<Row> rows, uint32_t workers = 1) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.order() < b.order(); });
    Run1 one(plans);
    std::vector<Line> lines = one.run(rows, workers, rng);
    counts = one.counts;
    return lines;
  }
  Row at(int64_t end, int64_t sum, int64_t k = 1) {
    return make_row(plan, end, FireKind::kOnTime, k, sum);
  }
};
std::vector<int64_t> ends_of(const std::vector<Line>& lines) {
  std::vector<int64_t> ends;
  for (const Line& line : lines) ends.push_back(line.end);
  return ends;
}

TEST(Shape, ZeroFillsTheWindowsBehindTheLast) {
  Fixed f;
  f.plan.shaping.fill = EmptyFill::kZero;
  f.plan.shaping.fill_windows = 2;
  const std::vector<Line> lines = f.run({f.at(100, 7), f.at(300, 8), f.at(700, 9)});
  EXPECT_EQ(ends_of(lines), (std::vector<int64_t>{100, 200, 300, 400, 500, 700, 800, 900}));
  EXPECT_EQ(lines[1].values, (std::vector<int128>{0, 0, kAbsentValue, kAbsentValue}));
  EXPECT_EQ(lines[1].flags, kFlagEmpty);
  EXPECT_EQ(lines[1].start, 100);
  EXPECT_EQ(lines[1].place, 200);
  EXPECT_EQ(lines[1].index, 1u);  // of a window with one step before its end
  EXPECT_EQ(lines[2].flags, 0);
  EXPECT_EQ(f.counts.empty, 5u);
}

// February 2023 has rows; March and April are filled: 31 and 30 days.
TEST(Shape, FillsCalendarWindows) {
  constexpr int64_t kDay = 86'400 * kSecond;
  constexpr int64_t kMarch = 1'677'628'800 * kSecond;  // date -u -d 2023-03-01 +%s
  Fixed f;
  f.plan.window = {};
  f.plan.window.kind = WindowKind::kCalendar;
  f.plan.window.unit = CalendarUnit::kMonth;
  f.plan.window.zone = "UTC";
  f.plan.shaping.fill = EmptyFill::kZero;
  f.plan.shaping.fill_windows = 2;
  Row row = f.at(kMarch, 7);
  row.head.start = {kMarch - 28 * kDay};
  const std::vector<Line> lines = f.run({row});
  EXPECT_EQ(ends_of(lines), (std::vector<int64_t>{kMarch, kMarch + 31 * kDay, kMarch + 61 * kDay}));
  EXPECT_EQ(lines[1].start, kMarch);
  EXPECT_EQ(lines[2].start, kMarch + 31 * kDay);
}

TEST(Shape, CarryShowsTheLastValueAgain) {
  Fixed f;
  f.plan.shaping.fill = EmptyFill::kCarry;
  f.plan.shaping.fill_windows = 1;
  const std::vector<Line> lines = f.run({f.at(100, 7)});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].values, lines[0].values);
  EXPECT_EQ(lines[1].flags, kFlagEmpty);
}

// n is a bound on windows, not on time: 10^9 of them between two rows are no loop.
TEST(Shape, NeverStepsThroughEmptyTime) {
  Fixed f;
  f.plan.shaping.fill = EmptyFill::kZero;
  f.plan.shaping.fill_windows = 1;
  EXPECT_EQ(ends_of(f.run({f.at(100, 7), f.at(100'000'000'000, 8)})),
            (std::vector<int64_t>{100, 200, 100'000'000'000, 100'000'000'100}));
}

// Discarding: what an early result has shown is not there any more at the end. The window had rows.
TEST(Shape, AWindowShownEarlyIsNotEmpty) {
  Fixed f;
  f.plan.shaping.fill = EmptyFill::kZero;
  f.plan.shaping.fill_windows = 1;
  Row early = f.at(200, 5);
  early.head.fire = FireKind::kEarly;
  early.head.place = {160};
  EXPECT_EQ(ends_of(f.run({f.at(100, 7), early})), (std::vector<int64_t>{100, 200, 300}));
}

// A pool that was full may have taken the key's row: what is filled behind it is flagged.
TEST(Shape, FillsBehindAFlaggedWindowAreFlagged) {
  Fixed f;
  f.plan.shaping.fill = EmptyFill::kZero;
  f.plan.shaping.fill_windows = 3;
  Row other = f.at(200, 5, 2);
  other.head.flags = kFlagOverflow;
  std::map<int64_t, int> flagged;
  for (const Line& line : f.run({f.at(100, 7), other, f.at(500, 9)}))
    if (line.key[0] == 1) flagged[line.end] = line.flags & kFlagOverflow;
  EXPECT_EQ(flagged,
            (std::map<int64_t, int>{
                {100, 0}, {200, 1}, {300, 1}, {400, 1}, {500, 0}, {600, 0}, {700, 0}, {800, 0}}));
}

TEST(Shape, DeltaAndRateAgainstTheWindowBefore) {
  Fixed f;
  add_comparisons(f.plan);
  f.plan.window.early = {};
  Row update = f.at(300, 14);
  update.head.kind = RunKind::kUpdate;
  update.head.fire = FireKind::kUpdate;
  update.head.place = {310};
  Row older = update;
  older.head.start = {0};
  older.head.end = {100};
  older.head.position = 1;
  const std::vector<Line> lines =
      f.run({f.at(100, 7), make_row(f.plan, 300, FireKind::kOnTime, 1, 10, 5), update, older});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].values[4], kAbsentValue);
  EXPECT_EQ(lines[0].values[5], kAbsentValue);
  EXPECT_EQ(lines[1].values[4], 3);  // 10 - 7
  // 4 more rows in 200 ns: 20,000,000 a second, with six decimals.
  EXPECT_EQ(lines[1].values[5], int128{20'000'000'000'000});
  EXPECT_EQ(lines[2].values[4], 7);  // 14 - 7: still against the window of 100
  EXPECT_EQ(lines[3].values[4], kAbsentValue);
}

TEST(Shape, RateRoundsHalfToEvenAndKnowsItsLimits) {
  EXPECT_EQ(rate_of(1, 3 * kSecond), 333'333);    // 0.333333|3
  EXPECT_EQ(rate_of(-2, 3 * kSecond), -666'667);  // 0.666666|6
  EXPECT_EQ(rate_of(1, 2'000'000 * kSecond), 0);  // 0.0000005
  EXPECT_EQ(rate_of(3, 2'000'000 * kSecond), 2);  // 0.0000015
  EXPECT_EQ(rate_of(5, 0), kAbsentValue);
  EXPECT_EQ(rate_of(5, -1), kAbsentValue);
  EXPECT_EQ(rate_of(int128{1} << 120, 1), kAbsentValue);  // 2^120 * 10^15 > 2^127
  EXPECT_EQ(rate_of(int128{1} << 76, 1), (int128{1} << 76) * 1'000'000'000'000'000);
}

TEST(Shape, HavingIsAPostfixProgram) {
  std::vector<Value> values(2);
  values[0].number = 5;
  values[1].number = kAbsentValue;
  using Op = HavingStep::Op;
  const HavingStep in{Op::kRange, 0, 5, 5}, out{Op::kRange, 0, 6, 9},
      absent{Op::kRange, 1, kAbsentValue, 9};
  const HavingStep both{Op::kAnd, 0, 0, 0}, either{Op::kOr, 0, 0, 0}, invert{Op::kNot, 0, 0, 0};
  const auto ask = [&](const std::vector<HavingStep>& steps) {
    return passes(steps, values.data());
  };
  EXPECT_TRUE(ask({}));
  EXPECT_TRUE(ask({in}));
  EXPECT_FALSE(ask({out}));
  EXPECT_FALSE(ask({absent}));
  EXPECT_TRUE(ask({absent, invert}));
  EXPECT_TRUE(ask({in, in, both}));
  EXPECT_FALSE(ask({in, out, both}));
  EXPECT_FALSE(ask({out, in, both}));
  EXPECT_TRUE(ask({out, in, either}));
  EXPECT_TRUE(ask({in, out, either}));
  EXPECT_FALSE(ask({out, out, either}));
  EXPECT_FALSE(ask({in, in, out, both, both}));
  EXPECT_TRUE(ask({in, out, out, either, invert, both}));
}

TEST(Shape, TopIsBestFirstWithTheOverflowRowBehind) {
  Fixed f;
  f.plan.shaping.top = 2;
  f.plan.shaping.top_output = 1;
  Row overflow = f.at(100, 1000);
  overflow.head.flags = kFlagOverflow | kFlagOverflowRow;
  overflow.key = {0};
  std::vector<Row> rows{overflow};
  for (int64_t k = 1; k <= 5; ++k) rows.push_back(f.at(100, k % 4, k));  // 1 2 3 0 1
  for (Row& row : rows) row.head.flags |= kFlagOverflow;
  const std::vector<Line> lines = f.run(rows, 3);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].key[0], 3);
  EXPECT_EQ(lines[1].key[0], 2);
  EXPECT_EQ(lines[2].values[1], 1000);
  EXPECT_EQ(f.counts.below_top, 3u);
}

// Four keys in a table of two: the key whose rows lie longest back is forgotten, wherever it lives.
TEST(Shape, AFullTableForgetsByTheOrderOfResults) {
  Fixed f;
  f.plan.max_keys = 2;
  f.plan.seed.multiplier = 1;  // hash = key
  f.plan.shaping.fill = EmptyFill::kZero;
  f.plan.shaping.fill_windows = 5;
  std::vector<Row> rows;
  for (int64_t k = 1; k <= 4; ++k) rows.push_back(f.at(k * 100, k, k * 7));
  const std::vector<Line> one = f.run(rows, 1);
  EXPECT_EQ(f.counts.keys_forgotten, 2u);
  // Key 7 is forgotten when key 21 comes, at 300, behind 7's own window of 300; 14 likewise.
  std::map<int64_t, int> filled;
  for (const Line& line : one) filled[line.key[0]] += (line.flags & kFlagEmpty) != 0;
  EXPECT_EQ(filled, (std::map<int64_t, int>{{7, 2}, {14, 2}, {21, 5}, {28, 5}}));
  for (uint32_t workers = 2; workers <= 4; ++workers) EXPECT_EQ(f.run(rows, workers), one);
}

TEST(Shape, MemoryIsSaidBeforehand) {
  Plan plain = stats_plan(0, "plain", 1);
  EXPECT_TRUE(Shaper::memory({&plain}).empty());
  Fixed f;
  add_comparisons(f.plan);
  f.plan.shaping.fill = EmptyFill::kZero;
  f.plan.shaping.fill_windows = 1;
  const std::vector<ArenaTerm> terms = Shaper::memory({&f.plan});
  ASSERT_EQ(terms.size(), 1u);
  // 64 keys: 128 slots of 4 B; an entry of 48 B, a key word, two values of two windows, a fill.
  EXPECT_EQ(terms[0].bytes, 128 * 4 + 64 * (48 + 8 + 4 * 16 + 24));
}

}  // namespace
}  // namespace tidewire
