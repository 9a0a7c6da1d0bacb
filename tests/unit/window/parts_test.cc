// The parts of a store on their own: geometry, cells, dictionary, flagged intervals, timing wheel.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/rng.h"
#include "store_harness.h"
#include "window/cell.h"
#include "window/deferred.h"
#include "window/dictionary.h"
#include "window/flagged.h"
#include "window/geometry.h"
#include "window/timing_wheel.h"

namespace tidewire {
namespace {

WindowShape shape(int64_t size, int64_t slide, int64_t offset) {
  WindowShape s;
  s.size = {size};
  s.slide = {slide};
  s.offset = {offset};
  return s;
}

TEST(Geometry, AgreesWithTheListOfAllWindows) {
  for (const auto& [size, slide, offset] :
       {std::tuple{10, 10, 0}, {10, 5, 3}, {5, 2, -1}, {7, 3, 2}, {2, 5, -4}, {6, 9, 0}}) {
    const Geometry g(shape(size, slide, offset));
    for (int64_t t = -40; t <= 40; ++t) {
      int64_t first_after = INT64_MAX, last_started = INT64_MIN;
      bool held = false;
      for (int64_t k = -60; k <= 60; ++k) {
        const int64_t start = k * slide + offset, end = start + size;
        if (end > t) first_after = std::min(first_after, end);
        if (start <= t) last_started = std::max(last_started, end);
        held |= start <= t && t < end;
        // No edge of any window lies inside t's pane.
        for (const int64_t edge : {start, end})
          EXPECT_FALSE(edge > g.pane_of(t).start && edge < g.pane_of(t).end);
      }
      EXPECT_EQ(g.first_end(t), first_after);
      EXPECT_EQ(g.last_end(t), last_started);
      EXPECT_EQ(g.last_end(t) > t, held);
      EXPECT_LE(g.pane_of(t).start, t);
      EXPECT_GT(g.pane_of(t).end, t);
    }
  }
}

// Steps from each window's start, against the list of all windows' points.
TEST(Geometry, PointsAgreeWithTheListOfAllPoints) {
  for (const auto& [size, slide, offset, step] :
       {std::tuple{10, 10, 0, 3}, {12, 5, 2, 4}, {7, 3, -1, 2}, {4, 9, 1, 3}, {6, 2, 0, 9}}) {
    WindowShape s = shape(size, slide, offset);
    s.early = {step};
    const Geometry g(s);
    for (int64_t t = -30; t <= 30; ++t) {
      int64_t first = INT64_MAX;
      for (int64_t k = -60; k <= 60; ++k) {
        const Span window{k * slide + offset, k * slide + offset + size};
        if (t < window.start || t >= window.end) continue;
        int64_t last = window.start, next = window.end;
        uint32_t index = 0;
        for (int64_t p = window.start + step; p < window.end; p += step, ++index) {
          EXPECT_TRUE(g.is_point(window, p));
          EXPECT_EQ(g.index_of(window, p), index);
          if (p <= t) last = p;
          if (p > t) next = std::min(next, p);
        }
        EXPECT_EQ(g.index_of(window, window.end), index);
        EXPECT_EQ(g.point_after(window, t), next);
        EXPECT_EQ(g.last_point(window, t), last);
        first = std::min(first, next);
      }
      if (first == INT64_MAX) continue;  // between windows
      EXPECT_EQ(g.pane_point_after(g.pane_of(t).start, t), first);
      EXPECT_GE(first, g.pane_of(t).end);
    }
  }
}

TEST(Geometry, GatheredPointsEndWithTheLateness) {
  WindowShape s = shape(10, 10, 0);
  s.early = {4};
  s.lateness = {8};
  s.gather = {3};
  const Geometry g(s);
  // [0, 10): steps 4, 8 and the end are numbers 0, 1, 2; then 13, 16 and 18.
  EXPECT_EQ(g.gathered_after(10, 10), 13);
  EXPECT_EQ(g.gathered_after(10, 12), 13);
  EXPECT_EQ(g.gathered_after(10, 13), 16);
  EXPECT_EQ(g.gathered_after(10, 17), 18);
  EXPECT_EQ(g.index_of({0, 10}, 13), 3u);
  EXPECT_EQ(g.index_of({0, 10}, 16), 4u);
  EXPECT_EQ(g.index_of({0, 10}, 18), 5u);
}

TEST(Geometry, IsExactUpToTheEdgesOfInt64) {
  // 2^63 - 1 = 9223372036854775807; windows of 10 end at ...800, the next one would pass the edge.
  const Geometry g(shape(10, 10, 0));
  EXPECT_EQ(g.last_end(INT64_MAX - 10), INT64_MAX - 7);
  EXPECT_EQ(g.first_end(INT64_MAX - 10), INT64_MAX - 7);
  EXPECT_EQ(g.first_end(INT64_MAX - 7), INT64_MAX);
  EXPECT_EQ(g.gone_at(INT64_MAX - 7), INT64_MAX - 7);
  EXPECT_EQ(g.pane_of(INT64_MAX - 10).start, INT64_MAX - 17);
  // -2^63 = -9223372036854775808 lies in [...810, ...800), whose start is no int64.
  EXPECT_EQ(g.first_end(INT64_MIN), INT64_MIN + 8);
  EXPECT_EQ(g.pane_of(INT64_MIN).start, INT64_MIN);
  EXPECT_EQ(g.pane_of(INT64_MIN + 7).end, INT64_MIN + 8);
  WindowShape late = shape(10, 10, 0);
  late.lateness = {INT64_MAX};
  EXPECT_EQ(Geometry(late).gone_at(1), INT64_MAX);
}

TEST(Geometry, DoesNotOverflowAtTheEdges) {
  const Geometry g(shape(kWindowLengthMax, kWindowLengthMax - 1, kWindowLengthMax - 2));
  for (const int64_t t : {-kUsableTimeMax, kUsableTimeMax}) {
    EXPECT_GT(g.first_end(t), t);
    EXPECT_GT(g.last_end(t), t);
    EXPECT_LE(g.pane_of(t).start, t);
  }
  EXPECT_EQ(g.first_end(INT64_MAX), INT64_MAX);
  EXPECT_LT(g.first_end(INT64_MIN), -kUsableTimeMax + kWindowLengthMax);
}

TEST(WideCells, SumsOf128BitsCarry) {
  Plan plan = tumbling(10);
  plan.cell = CellKind::kWide;
  plan.parts = {{CellOp::kSum128, 0, 1}, {CellOp::kSum64, 0, 3}};
  plan.cell_words = 4;
  const WideCells cells(plan);
  alignas(32) int64_t a[4], b[4];
  cells.clear(a, 1);
  cells.clear(b, 1);
  SingleRow row;
  row.value[0] = INT64_MAX;
  cells.add(a, row.rows(), 0);
  cells.add(a, row.rows(), 0);
  cells.add(a, row.rows(), 0);  // 3 * (2^63 - 1) = 2^64 + (2^63 - 3)
  EXPECT_EQ(a[1], INT64_MAX - 2);
  EXPECT_EQ(a[2], 1);
  EXPECT_EQ(a[3], INT64_MAX - 2);
  row.value[0] = INT64_MIN;
  for (int i = 0; i < 4; ++i) cells.add(b, row.rows(), 0);  // -2^65
  EXPECT_EQ(b[1], 0);
  EXPECT_EQ(b[2], -2);
  cells.merge(a, b);  // 2^63 - 3 - 2^64
  EXPECT_EQ(a[0], 7);
  EXPECT_EQ(a[1], INT64_MAX - 2);
  EXPECT_EQ(a[2], -1);
}

TEST(CellMerge, Stats) {
  const Plan plan = tumbling(10);
  std::array<int64_t, 4> a{2, 10, 3, 7}, b{3, -4, -9, 5};
  merge_cells(plan, a.data(), b.data());
  EXPECT_EQ(a, (std::array<int64_t, 4>{5, 6, -9, 7}));
}

TEST(CellMerge, WideInEitherOrder) {
  Plan plan;
  plan.cell = CellKind::kWide;
  plan.cell_words = 12;
  plan.parts = {{CellOp::kSum128, 0, 1}, {CellOp::kMin, 0, 3},  {CellOp::kMax, 0, 4},
                {CellOp::kFirst, 0, 5},  {CellOp::kLast, 0, 8}, {CellOp::kSum64, 0, 11}};
  // Equal times: lane 0x8000 counts as later than lane 1, so the word is unsigned.
  const auto far_lane = static_cast<int64_t>(uint64_t{0x8000} << 48);
  const auto near_lane = static_cast<int64_t>(uint64_t{1} << 48);
  const std::array<int64_t, 12> a{1, -1, 0, 5, 5, 100, near_lane, 11, 100, near_lane, 11, 6};
  const std::array<int64_t, 12> b{2, 1, 0, 4, 9, 100, far_lane, 22, 100, far_lane, 22, -1};
  // The low words 2^64 - 1 and 1 carry into the high word.
  const std::array<int64_t, 12> both{3, 0, 1, 4, 9, 100, near_lane, 11, 100, far_lane, 22, 5};
  auto ab = a;
  merge_cells(plan, ab.data(), b.data());
  EXPECT_EQ(ab, both);
  auto ba = b;
  merge_cells(plan, ba.data(), a.data());
  EXPECT_EQ(ba, both);
}

// Every key gets one id, ids are dense, the walk is in (hash, key) order, and what is recycled can
// be had again: against a std::map, with hashes that collide by force where W > 1.
template <uint32_t W>
void check_dictionary(bool collide) {
  Plan plan = tumbling(10);
  plan.key_words = W;
  plan.shards = 4;
  plan.max_keys = 400;
  if (collide) plan.seed = kCollidingSeed;
  Arena arena(ArenaOptions{-1, false, false});
  Reserve reserve(&arena, "test");
  Dictionary<W> dictionary(plan, {0, 4}, reserve);
  std::map<std::vector<int64_t>, uint32_t> known;  // key -> shard << 16 | id
  Rng rng(W);
  SingleRow row;
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> key(W);
    for (int64_t& word : key)
      word = static_cast<int64_t>((rng.below(W == 1 ? 600 : 20) - 300) * 0x9E3779B97F4A7C15u);
    // Twenty keys under one hash (and more for W == 4): they spill over several lines.
    if (collide && rng.one_in(4)) key[1] = colliding_with(key[0]);
    std::copy(key.begin(), key.end(), row.key.begin());
    row.hash = hash_words<W>(row.key.data(), plan.seed);
    const Rows rows = row.rows();
    const uint64_t line = dictionary.line_of(row.hash);
    const uint32_t shard = dictionary.shard_of(row.hash);
    EXPECT_EQ(dictionary.lookup(rows, 0, line) != Dictionary<W>::kNone, known.count(key) == 1);
    const uint32_t id = dictionary.find(rows, 0, line);
    if (id == Dictionary<W>::kNone) continue;
    ASSERT_LT(id, dictionary.capacity());
    const auto [at, inserted] = known.try_emplace(key, shard << 16 | id);
    EXPECT_EQ(at->second, shard << 16 | id);
    if (const auto match = dictionary.match(rows, 0, line);
        match.found && dictionary.confirm(shard, match.id, rows, 0)) {
      EXPECT_EQ(match.id, id);
    }
    EXPECT_EQ(dictionary.keys(), known.size());
    if (round % 100 != 99) continue;
    const auto dead = [](uint32_t i) { return i % 3 == 0; };
    for (uint32_t s = 0; s < 4; ++s) {
      std::vector<std::pair<uint64_t, std::vector<int64_t>>> walk;
      std::set<uint32_t> ids;
      for (const uint16_t i : dictionary.in_order(s)) {
        const int64_t* k = dictionary.key(s, i);
        walk.push_back({dictionary.hash_of(k), std::vector<int64_t>(k, k + W)});
        ids.insert(i);
        EXPECT_EQ(known.at(walk.back().second), s << 16 | i);
      }
      EXPECT_TRUE(std::is_sorted(walk.begin(), walk.end()));
      EXPECT_EQ(ids.size(), walk.size());
      dictionary.recycle(s, [&](uint32_t i) { return !dead(i); });
    }
    std::erase_if(known, [&](const auto& entry) { return dead(entry.second & 0xFFFF); });
    EXPECT_EQ(dictionary.keys(), known.size());
  }
  EXPECT_GT(known.size(), 100u);
}

TEST(Dictionary, OneWord) { check_dictionary<1>(false); }
TEST(Dictionary, TwoWords) {
  check_dictionary<2>(false);
  check_dictionary<2>(true);
}
TEST(Dictionary, FourWords) {
  check_dictionary<4>(false);
  check_dictionary<4>(true);
}

TEST(FlaggedIntervals, NeverForgetAndStayFew) {
  Rng rng(1);
  FlaggedIntervals flagged;
  std::vector<std::pair<int64_t, int64_t>> all;
  for (int i = 0; i < 5000; ++i) {
    const int64_t low = static_cast<int64_t>(rng.below(1'000'000)) - 500'000;
    const int64_t high = low + static_cast<int64_t>(rng.below(50));
    flagged.add(low, high);
    all.push_back({low, high});
    ASSERT_LE(flagged.size(), FlaggedIntervals::kMax);
    for (int k = 0; k < 10; ++k) {
      const auto& [a, b] = all[rng.below(all.size())];
      ASSERT_TRUE(flagged.meets(a, a) && flagged.meets(b, b));
    }
  }
}

TEST(FlaggedIntervals, AreExactWhileThereIsRoom) {
  FlaggedIntervals flagged;
  flagged.add(10, 20);
  flagged.add(40, 50);
  flagged.add(15, 30);
  EXPECT_TRUE(flagged.meets(30, 30));
  EXPECT_FALSE(flagged.meets(31, 39));
  EXPECT_EQ(flagged.size(), 2u);
  flagged.drop_through(30);
  EXPECT_FALSE(flagged.meets(10, 30));
  EXPECT_TRUE(flagged.meets(0, 40));
}

// Every slot comes up in its tick, whatever the distance: 1 ns ticks, jumps over ages.
TEST(TimingWheel, BringsEverySlotUpInItsTick) {
  for (const int64_t gap : {int64_t{1}, int64_t{5'000}, 230 * kMillisecond, 86'400 * kSecond}) {
    Arena arena(ArenaOptions{-1, false, false});
    Reserve reserve(&arena, "test");
    constexpr uint32_t kSlots = 300;
    TimingWheel wheel(gap, kSlots, 4 * kSlots, reserve);
    std::vector<uint32_t> word(kSlots, TimingWheel::kIdle);
    std::vector<uint64_t> wanted(kSlots, 0);  // tick; 0: not armed
    Rng rng(static_cast<uint64_t>(gap));
    uint64_t came = 0, steps = 0;
    const auto drain = [&] {
      ++steps;
      wheel.drain([&](uint32_t slot) -> uint32_t& { return word[slot]; },
                  [&](uint32_t slot) {
                    if (wanted[slot] > wheel.now())
                      return wheel.arm(slot, wanted[slot], word[slot]);
                    EXPECT_EQ(wanted[slot], wheel.now());
                    wanted[slot] = 0;
                    ++came;
                  });
    };
    int64_t now = -(int64_t{1} << 61);
    for (int round = 0; round < 400; ++round) {
      for (int k = 0; k < 20; ++k) {
        const auto slot = static_cast<uint32_t>(rng.below(kSlots));
        const uint64_t tick = wheel.now() + 1 + (rng.next() >> (20 + rng.below(44)));
        if (tick >= wheel.tick_of(INT64_MAX / 2) || !wheel.has_room(0)) continue;
        if (wanted[slot] != 0 && wanted[slot] < tick) continue;  // only earlier, as sessions do
        wanted[slot] = tick;
        wheel.arm(slot, tick, word[slot]);
      }
      now += static_cast<int64_t>(rng.next() >> (6 + rng.below(57)));
      now = std::min(now, INT64_MAX / 2);
      const uint64_t goal = wheel.tick_of(now);
      while (wheel.draining() || wheel.now() < goal || wheel.next_tick() <= goal) {
        if (wheel.draining())
          drain();
        else
          wheel.advance(goal);
      }
      for (uint32_t slot = 0; slot < kSlots; ++slot)
        ASSERT_TRUE(wanted[slot] == 0 || wanted[slot] > goal);
    }
    EXPECT_GT(came, 50u);
    EXPECT_LT(steps, 100'000u);
  }
}

}  // namespace
}  // namespace tidewire
