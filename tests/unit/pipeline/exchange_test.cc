// The exchange alone, several workers in one thread and in a random order: each row reaches its
// owner once and unchanged, and never below the frontier its owner has seen.
#include "pipeline/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/rng.h"

namespace tidewire {
namespace {

bool always() { return true; }  // the stores have room

using State = Progress::State;

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20261203;
}

Plan plan_of(uint16_t id, uint32_t key_words, uint32_t values, uint32_t shards) {
  Plan plan;
  plan.id = QueryId{id};
  plan.key_words = key_words;
  plan.values.resize(values);
  plan.shards = shards;
  return plan;
}

class Workers {
 public:
  Workers(uint32_t count, std::vector<Plan> plans,
          Progress start = {State::kHolds, EventTime::before_all()})
      : plans_(std::move(plans)) {
    std::vector<Arena*> arenas;
    for (uint32_t w = 0; w < count; ++w) {
      arenas_.push_back(std::make_unique<Arena>(ArenaOptions{.fault_in = false}));
      arenas.push_back(arenas_.back().get());
    }
    fabric_ = std::make_unique<ExchangeFabric>(plans_, arenas);
    const std::vector<Progress> all(count, start);
    for (uint32_t w = 0; w < count; ++w)
      ends_.push_back(std::make_unique<Exchange>(*fabric_, w, plans_, all, *arenas_[w]));
  }
  Exchange& operator[](uint32_t w) { return *ends_[w]; }
  uint32_t count() const { return static_cast<uint32_t>(ends_.size()); }
  const std::vector<Plan>& plans() const { return plans_; }
  // Messages only: these tests send no rows.
  void settle() {
    for (int i = 0; i < 4; ++i)
      for (auto& end : ends_) end->take(1000, always, [](QueryId, const Rows&) { FAIL(); });
  }

 private:
  std::vector<Plan> plans_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::unique_ptr<ExchangeFabric> fabric_;
  std::vector<std::unique_ptr<Exchange>> ends_;
};

// Says whether bounds suffice, and keeps what is folded for a key of this worker.
class FakeStore final : public WindowStore {
 public:
  explicit FakeStore(bool narrow) : narrow_(narrow) {}
  bool bounds_suffice(const Rows&) const override { return narrow_; }
  // Number of rows, and the sum of their first values.
  void fold(const Rows& rows, std::span<const uint8_t> of, int64_t* cell) const override {
    cell[0] = static_cast<int64_t>(of.size());
    uint64_t sum = 0;
    for (const uint8_t row : of) sum += static_cast<uint64_t>(rows.value[0][row]);
    cell[1] = static_cast<int64_t>(sum);
  }
  void add(const Rows& rows) override {
    if (on_add) on_add(rows);
  }
  std::function<void(const Rows&)> on_add;

  void divert(const Rows&, LateReason) override {}
  bool has_room() const override { return true; }
  uint32_t fire(EventTime, EventTime, uint32_t, ResultWriter&) override { return 0; }
  std::optional<EventTime> next(EventTime) const override { return std::nullopt; }
  void begin_provisional() override {}
  uint32_t provisional(uint32_t, ResultWriter&) override { return 0; }
  bool is_showing() const override { return false; }
  StoreCounts counts() const override { return {}; }
  StoreUse use() const override { return {}; }

 private:
  bool narrow_;
};

// A batch of `count` rows whose every word is derived from (lane, ordinal), so that the reader can
// check each without a record of what was sent.
struct Source {
  std::array<EventTime, kBatchMax> time, stamp;
  std::array<uint64_t, kBatchMax> hash;
  std::array<std::array<int64_t, kBatchMax>, 12> word;
  std::array<uint8_t, kBatchMax> at;

  static uint64_t made(uint64_t lane, uint64_t ordinal, uint64_t what) {
    return Rng(lane << 40 ^ ordinal << 8 ^ what).next();
  }
  Rows rows(const Plan& plan, LaneId lane, uint64_t first, uint32_t count, EventTime watermark,
            Rng& rng) {
    Rows r;
    r.lane = lane;
    r.first = Ordinal{first};
    const bool gaps = rng.one_in(2);
    for (uint32_t i = 0; i < count; ++i) {
      if (gaps && rng.one_in(3)) continue;
      const uint64_t ordinal = first + i, l = index_of(lane);
      const uint32_t n = r.count++;
      at[n] = static_cast<uint8_t>(i);
      hash[n] = made(l, ordinal, 0);
      time[n] = {static_cast<int64_t>(made(l, ordinal, 1))};
      stamp[n] = {watermark.ns + static_cast<int64_t>(rng.below(5))};
      for (uint32_t w = 0; w < plan.key_words + plan.values.size(); ++w)
        word[w][n] = static_cast<int64_t>(made(l, ordinal, 2 + w));
    }
    r.at = gaps ? at.data() : nullptr;
    r.time = time.data();
    r.stamp = stamp.data();
    r.hash = hash.data();
    for (uint32_t w = 0; w < plan.key_words; ++w) r.key[w] = word[w].data();
    for (uint32_t v = 0; v < plan.values.size(); ++v) r.value[v] = word[plan.key_words + v].data();
    r.min_time = {-1};
    r.max_time = {-2};
    r.max_stamp = {static_cast<int64_t>(first)};
    return r;
  }
};

struct Ledger {                                             // what one worker has got
  std::set<std::tuple<uint32_t, uint32_t, uint64_t>> seen;  // query, lane, ordinal
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> last;   // order inside (query, lane)

  void take(const Plan& plan, uint32_t worker, uint32_t workers, const Rows& rows,
            EventTime frontier) {
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint64_t ordinal = index_of(rows.ordinal(i)), l = index_of(rows.lane);
      ASSERT_EQ(rows.hash[i], Source::made(l, ordinal, 0));
      ASSERT_EQ(owner_of(shard_of(rows.hash[i], plan.shards), plan.shards, workers), worker);
      ASSERT_EQ(rows.time[i].ns, static_cast<int64_t>(Source::made(l, ordinal, 1)));
      for (uint32_t w = 0; w < plan.key_words + plan.values.size(); ++w) {
        const int64_t got = w < plan.key_words ? rows.key[w][i] : rows.value[w - plan.key_words][i];
        ASSERT_EQ(got, static_cast<int64_t>(Source::made(l, ordinal, 2 + w)));
      }
      ASSERT_EQ(rows.max_stamp.ns, static_cast<int64_t>(index_of(rows.first)));
      ASSERT_GE(rows.stamp[i], frontier) << "I1";
      ASSERT_TRUE(seen.insert({index_of(plan.id), index_of(rows.lane), ordinal}).second);
      uint64_t& before = last[{index_of(plan.id), index_of(rows.lane)}];
      ASSERT_LE(before, ordinal);
      before = ordinal + 1;
    }
  }
};

// Where bounds suffice, keys, values and bounds come through, in order; nothing else does.
TEST(Exchange, NarrowRowsCarryKeysAndValues) {
  Rng rng(seed());
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round);
    const auto count = static_cast<uint32_t>(2 + rng.below(4));
    const uint32_t sizes[] = {0, 1, 2, 4};
    const Plan plan = plan_of(0, sizes[rng.below(4)], static_cast<uint32_t>(rng.below(9)), 16);
    Workers workers(count, {plan});
    auto source = std::make_unique<Source>();
    const Rows rows = source->rows(plan, LaneId{3}, 1000, static_cast<uint32_t>(1 + rng.below(256)),
                                   EventTime{0}, rng);
    std::vector<uint32_t> next(count);  // of `rows`, by owner
    const auto check = [&](uint32_t w, const Rows& got) {
      if (got.count == 0) return;
      ASSERT_EQ(got.lane, rows.lane);
      ASSERT_EQ(got.min_time, rows.min_time);
      ASSERT_EQ(got.max_time, rows.max_time);
      ASSERT_EQ(got.max_stamp, rows.max_stamp);
      for (uint32_t i = 0; i < got.count; ++i) {
        uint32_t& at = next[w];
        while (owner_of(shard_of(rows.hash[at], plan.shards), plan.shards, count) != w) ++at;
        ASSERT_EQ(got.hash[i], rows.hash[at]);
        for (uint32_t v = 0; v < plan.values.size(); ++v)
          ASSERT_EQ(got.value[v][i], rows.value[v][at]);
        for (uint32_t k = 0; plan.key_words > 1 && k < plan.key_words; ++k)
          ASSERT_EQ(got.key[k][i], rows.key[k][at]);
        ++at;
      }
    };
    uint32_t arrived = 0;
    FakeStore narrow(true);
    const Rows own = workers[1].route(plan, rows, narrow);
    check(1, own);
    arrived += own.count;
    for (uint32_t w = 0; w < count; ++w)
      workers[w].take(1000, always, [&](QueryId, const Rows& got) {
        EXPECT_EQ(got.time, nullptr);
        check(w, got);
        arrived += got.count;
      });
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_EQ(arrived, rows.count);
  }
}

// Half of the rows are of one key, a quarter of another: each goes folded, counts and sums are
// whole, and rows that only share a hash stay themselves.
TEST(Exchange, HotKeysAreFolded) {
  Rng rng(seed());
  for (const uint32_t words : {1u, 2u, 4u})
    for (int round = 0; round < 50; ++round) {
      SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round);
      const auto count = static_cast<uint32_t>(2 + rng.below(3));
      Plan plan = plan_of(0, words, 1, 16);
      plan.cell_words = 4;
      Workers workers(count, {plan});
      auto source = std::make_unique<Source>();
      Rows rows = source->rows(plan, LaneId{3}, 0, 256, EventTime{0}, rng);
      struct Total {
        uint64_t rows = 0, sum = 0;
        bool operator==(const Total&) const = default;
      };
      std::map<std::pair<uint64_t, int64_t>, Total> want, got;  // by hash and second key word
      for (uint32_t i = 0; i < rows.count; ++i) {
        const uint64_t pick = rng.below(4);
        if (pick < 3) source->hash[i] = pick < 2 ? 7 : UINT64_MAX - 7;
        for (uint32_t w = 0; w < words; ++w)
          source->word[w][i] = static_cast<int64_t>(source->hash[i]);
        if (words > 1 && rng.one_in(5)) source->word[1][i] = 1;  // the same hash, another key
        Total& total = want[{source->hash[i], words > 1 ? source->word[1][i] : 0}];
        ++total.rows;
        total.sum += static_cast<uint64_t>(rows.value[0][i]);
      }
      uint64_t arrived = 0, messages = 0;
      const auto take = [&](const Rows& r) {
        ++messages;
        for (uint32_t i = 0; i < r.count; ++i) {
          Total& total = got[{r.hash[i], words > 1 ? r.key[1][i] : 0}];
          total.rows += r.cell ? static_cast<uint64_t>(r.cell[0]) : 1;
          total.sum += static_cast<uint64_t>(r.cell ? r.cell[1] : r.value[0][i]);
          ++arrived;
        }
      };
      FakeStore store(true);
      store.on_add = take;
      take(workers[1].route(plan, rows, store));
      for (uint32_t w = 0; w < count; ++w)
        workers[w].take(1000, always, [&](QueryId, const Rows& r) { take(r); });
      EXPECT_EQ(got, want);
      // Three quarters are hot; where a hash has two keys, the first one's rows are folded.
      EXPECT_LT(arrived, words == 1 ? rows.count / 2 : rows.count);
      EXPECT_GT(messages, 2u);
    }
}

TEST(Exchange, EveryRowReachesItsOwnerOnceInOrderAndNotBelowTheFrontier) {
  Rng rng(seed());
  int met_full = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round);
    const auto count = static_cast<uint32_t>(1 + rng.below(4));
    std::vector<Plan> plans;
    const uint32_t sizes[] = {0, 1, 2, 4};
    for (uint16_t q = 0; q < 1 + rng.below(3); ++q)
      plans.push_back(
          plan_of(q, sizes[rng.below(4)], static_cast<uint32_t>(rng.below(9)), 1u << rng.below(6)));
    Workers workers(count, plans);
    std::vector<Ledger> ledger(count);
    std::vector<uint64_t> next(count);
    std::vector<EventTime> watermark(count, EventTime{0});
    std::vector<uint64_t> sent(count);
    auto source = std::make_unique<Source>();
    FakeStore whole(false);
    bool full = false;
    const auto take = [&](uint32_t w, uint32_t budget) {
      workers[w].take(budget, always, [&](QueryId q, const Rows& rows) {
        ledger[w].take(workers.plans()[index_of(q)], w, count, rows, workers[w].frontier());
      });
    };
    for (int turn = 0; turn < 400; ++turn) {
      const auto w = static_cast<uint32_t>(rng.below(count));
      if (rng.one_in(3)) take(w, static_cast<uint32_t>(1 + rng.below(600)));
      if (!workers[w].has_room()) {
        full = true;
        workers[w].publish({State::kHolds, watermark[w]}, false);
        continue;
      }
      const auto events = static_cast<uint32_t>(rng.one_in(2) ? kBatchMax : 1 + rng.below(9));
      for (const Plan& plan : workers.plans()) {
        const Rows rows = source->rows(plan, LaneId{static_cast<uint16_t>(w)}, next[w], events,
                                       watermark[w], rng);
        sent[w] += rows.count;
        ledger[w].take(plan, w, count, workers[w].route(plan, rows, whole), workers[w].frontier());
      }
      next[w] += events;
      watermark[w].ns += static_cast<int64_t>(rng.below(4));
      workers[w].publish({State::kHolds, watermark[w]}, false);
      if (testing::Test::HasFatalFailure()) return;
    }
    for (uint32_t w = 0; w < count; ++w) workers[w].publish({State::kEnded, watermark[w]}, false);
    for (int i = 0; i < 30; ++i) {
      for (uint32_t w = 0; w < count; ++w) {
        take(w, 100'000);
        workers[w].publish({State::kEnded, watermark[w]}, false);
      }
    }
    uint64_t out = 0, got = 0, crossed = 0, taken = 0;
    for (uint32_t w = 0; w < count; ++w) {
      out += sent[w];
      got += ledger[w].seen.size();
      crossed += workers[w].rows_sent();
      taken += workers[w].rows_taken();
      EXPECT_TRUE(workers[w].at_rest());
      EXPECT_EQ(workers[w].frontier(), EventTime::end_of_time());
    }
    EXPECT_EQ(got, out);
    EXPECT_EQ(crossed, taken);
    met_full += full;
  }
  EXPECT_GT(met_full, 10);  // the rings are small enough for this test to meet them full
}

TEST(Exchange, FrontierIsTheMinimumAndSilentOnesAreNotWaitedFor) {
  Workers w(3, {});
  w[0].publish({State::kHolds, {50}}, false);
  w[1].publish({State::kHolds, {30}}, false);
  w[2].publish({State::kHolds, {90}}, false);
  w.settle();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(w[i].frontier().ns, 30);
  w[1].publish({State::kSilent, {35}}, false);
  w.settle();
  EXPECT_EQ(w[2].frontier().ns, 50);
  w[0].publish({State::kSilent, {50}}, false);
  w[2].publish({State::kSilent, {90}}, false);
  w.settle();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(w[i].frontier().ns, 90);  // the largest, no further
  w[2].publish({State::kEnded, {95}}, false);
  w.settle();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(w[i].frontier().ns, 95);
  w[0].publish({State::kEnded, {50}}, false);
  w[1].publish({State::kEnded, {35}}, false);
  w.settle();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(w[i].frontier(), EventTime::end_of_time());
}

TEST(Exchange, WakingIsARoundTripAndOwnersHoldUntilTheNextPublish) {
  Workers w(3, {});
  w[0].publish({State::kSilent, {10}}, false);
  w[1].publish({State::kHolds, {40}}, false);
  w[2].publish({State::kHolds, {60}}, false);
  w.settle();
  EventTime floor;
  EXPECT_FALSE(w[0].wake(floor));
  w[0].publish({State::kSilent, {10}}, true);  // sends the question
  w[1].publish({State::kHolds, {70}}, false);
  w[2].take(1000, always,
            [](QueryId, const Rows&) {});      // 2 has seen the question and 1 at 70: it answers
  w[2].publish({State::kHolds, {65}}, false);  // its frontier, 40 or 60, and holds
  const EventTime held = w[2].frontier();
  w[1].take(1000, always, [](QueryId, const Rows&) {});
  w[1].publish({State::kHolds, {80}}, false);
  const EventTime held1 = w[1].frontier();
  EXPECT_FALSE(w[0].wake(floor));
  w[0].take(1000, always, [](QueryId, const Rows&) {});
  EXPECT_TRUE(w[0].wake(floor));
  EXPECT_GE(floor, held);
  EXPECT_GE(floor, held1);
  w[2].publish({State::kHolds, {200}}, false);
  w[1].publish({State::kHolds, {200}}, false);
  w.settle();
  EXPECT_EQ(w[2].frontier(), held);  // although nobody else is below 200
  EXPECT_EQ(w[1].frontier(), held1);
  w[0].publish({State::kHolds, floor}, false);
  w.settle();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(w[i].frontier(), floor);
  EXPECT_TRUE(w[0].wake(floor));  // another lane of a worker that holds: what it has published
  EXPECT_TRUE(w[0].at_rest());
}

TEST(Exchange, AloneTheFloorIsTheOwnFrontier) {
  Workers w(1, {});
  w[0].publish({State::kHolds, {40}}, false);
  w[0].publish({State::kSilent, {45}}, false);
  EventTime floor;
  EXPECT_TRUE(w[0].wake(floor));
  EXPECT_EQ(floor.ns, 45);
  w[0].publish({State::kHolds, {45}}, false);
  EXPECT_EQ(w[0].frontier().ns, 45);
}

// The lane that asked ends instead of returning: nobody may be kept holding for it.
TEST(Exchange, AnAbandonedQuestionIsReleased) {
  Workers w(2, {});
  w[0].publish({State::kSilent, {10}}, false);
  w[1].publish({State::kHolds, {40}}, false);
  w.settle();
  EventTime floor;
  EXPECT_FALSE(w[0].wake(floor));
  w[0].publish({State::kSilent, {10}}, false);
  w.settle();
  w[1].publish({State::kHolds, {90}}, false);
  w.settle();
  EXPECT_EQ(w[1].frontier().ns, 40);
  w[0].publish({State::kSilent, {10}}, false);
  w.settle();
  EXPECT_EQ(w[1].frontier().ns, 90);
}

// Whose word comes first must not show once all has been heard: rest is found by equal frontiers.
TEST(Exchange, AllAgreeHoweverTheWordWasPassed) {
  for (const bool ended_first : {true, false}) {
    Workers w(3, {});
    const auto none = [](QueryId, const Rows&) {};
    w[0].publish({State::kHolds, {100}}, false);
    w[1].publish({State::kHolds, {50}}, false);
    w[2].publish({State::kSilent, {20}}, false);
    w.settle();
    if (ended_first) w[0].publish({State::kEnded, {100}}, false);
    if (!ended_first) w[1].publish({State::kSilent, {50}}, false);
    w[2].take(1000, always, none);
    w[0].publish({State::kEnded, {100}}, false);
    w[1].publish({State::kSilent, {50}}, false);
    w.settle();
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(w[i].frontier().ns, 100) << i << ended_first;
  }
}

using ExchangeDeathTest = testing::Test;
TEST(ExchangeDeathTest, APromiseIsNeverTakenBack) {
  Workers w(2, {});
  w[0].publish({State::kHolds, {40}}, false);
  EXPECT_DEATH(w[0].publish({State::kHolds, {39}}, false), "promised_.watermark");
  w[1].publish({State::kSilent, {40}}, false);
  EXPECT_DEATH(w[1].publish({State::kHolds, {90}}, false), "kKnown");  // returned without a floor
}

TEST(Exchange, RowsStayInTheirRingWhileTheStoresHaveNoRoom) {
  Workers w(2, {plan_of(0, 1, 0, 2)});
  const EventTime time[] = {{5}, {6}}, stamp[] = {{1}, {1}};
  const uint64_t hash[] = {~uint64_t{0}, ~uint64_t{1}};  // the last shard: worker 1's
  const int64_t key[] = {7, 8};
  Rows rows;
  rows.count = 2;
  rows.time = time;
  rows.stamp = stamp;
  rows.hash = hash;
  rows.key[0] = key;
  FakeStore whole(false);
  EXPECT_EQ(w[0].route(w.plans()[0], rows, whole).count, 0u);
  uint32_t taken = 0;
  const auto add = [&](QueryId, const Rows& got) { taken += got.count; };
  w[1].take(
      1000, [] { return false; }, add);
  EXPECT_EQ(taken, 0u);
  w[1].take(1000, always, add);
  EXPECT_EQ(taken, 2u);
}

}  // namespace
}  // namespace tidewire
