// The tests that the core must carry (core.md section 7): results depend on lanes and punctuations
// and on nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "memory/seal.h"
#include "scenario.h"
#include "simulation.h"

namespace tidewire::sim {
namespace {

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20261204;
}

std::string show(const Result& r) {
  std::string s = "query " + std::to_string(r.query) + " [" + std::to_string(r.start) + ", " +
                  std::to_string(r.end) + ") key";
  for (const int64_t k : r.key) s += " " + std::to_string(k);
  return s + " count " + std::to_string(r.count) + " sum " + std::to_string(r.sum) + " place " +
         std::to_string(r.place) + " fire " + std::to_string(static_cast<int>(r.fire)) + " index " +
         std::to_string(r.index) + " order_end " + std::to_string(r.order_end) +
         (r.update ? " update " + std::to_string(r.position) : "") + (r.late ? " late" : "");
}

void expect_equal(const Answer& got, const Answer& want) {
  for (size_t i = 0; i < std::min(got.results.size(), want.results.size()); ++i) {
    if (got.results[i] == want.results[i]) continue;
    FAIL() << "got " << show(got.results[i]) << "\nwant " << show(want.results[i]);
  }
  ASSERT_EQ(got.results.size(), want.results.size());
  for (size_t q = 0; q < want.queries.size(); ++q) {
    EXPECT_EQ(got.queries[q].passed_on, want.queries[q].passed_on) << q;
    EXPECT_EQ(got.queries[q].filtered, want.queries[q].filtered) << q;
    EXPECT_EQ(got.queries[q].late, want.queries[q].late) << q;
    EXPECT_EQ(got.queries[q].no_window, want.queries[q].no_window) << q;
  }
}

class Core : public testing::Test {
 protected:
  // Runs and compares with the right answer for what was recorded.
  std::unique_ptr<Simulation> check(const Scenario& scenario, const Sequences& input,
                                    const SimulationOptions& options) {
    SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round_
                                    << " workers " << options.workers << " burst " << options.burst
                                    << " budget " << options.results_per_turn);
    auto simulation = std::make_unique<Simulation>(scenario, input, options, rng_.next());
    if (!(threads_ ? simulation->run_threads() : simulation->run())) {
      ADD_FAILURE() << "does not come to an end";
      return simulation;
    }
    simulation->expect_balanced();
    expect_equal(simulation->answer(), right_answer(scenario, simulation->record()));
    return simulation;
  }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + rng_.below(all.size()));
  }
  SimulationOptions random_options() {
    return {.workers = one_of({1u, 2u, 3u}),
            .burst = one_of({1u, 7u, 32u, 256u}),
            .results_per_turn = one_of({1u, 17u, 512u}),
            .rows_per_turn = one_of({1u, 100u, 1024u}),
            .result_blocks = one_of({8u, 16u})};
  }
  Rng rng_{seed()};
  int round_ = 0;
  bool threads_ = false;
};

TEST_F(Core, BurstsWorkersPollingAndBudgetsDoNotChangeAResult) {
#ifdef TIDEWIRE_DEBUG_CHECKS  // the release build, where these tests run too, counts nothing
  ASSERT_TRUE(AllocGuard::enabled());
#endif
  for (round_ = 0; round_ < 50; ++round_) {
    const Scenario scenario = random_scenario(rng_, {.lanes = 8, .events = 60});
    const Answer want = right_answer(scenario, scenario.input);
    EXPECT_FALSE(want.results.empty());
    for (const uint32_t workers : {1u, 2u, 3u}) {
      SimulationOptions options = random_options();
      options.workers = workers;
      check(scenario, scenario.input, options);
      if (HasFailure()) return;
    }
  }
}

TEST_F(Core, EveryBurstAndBudget) {
  const Scenario scenario = random_scenario(rng_, {.lanes = 8, .events = 300});
  for (const uint32_t burst : {1u, 7u, 32u, 256u}) {
    for (const uint32_t budget : {1u, 17u, 512u}) {
      SimulationOptions options = random_options();
      options.burst = burst;
      options.results_per_turn = budget;
      check(scenario, scenario.input, options);
      if (HasFailure()) return;
    }
  }
}

// Lanes and whole workers fall silent and return with the floor they find; their record without the
// silence, on other workers, is the same answer.
TEST_F(Core, SilenceIsRecordedAndReplayedWithoutIt) {
  uint64_t round_trips = 0, floors = 0;
  for (round_ = 0; round_ < 120; ++round_) {
    const Scenario scenario =
        random_scenario(rng_, {.lanes = 1 + static_cast<uint32_t>(rng_.below(5)), .events = 40});
    SimulationOptions options = random_options();
    options.silence = true;
    const auto live = check(scenario, scenario.input, options);
    if (HasFailure()) return;
    round_trips += live->round_trips();
    floors += live->floors();
    const Answer want = live->answer();
    const Sequences record = live->record();
    for (int again = 0; again < 2; ++again) {
      const auto replay = check(scenario, record, random_options());
      expect_equal(replay->answer(), want);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(floors, 300u);
  EXPECT_GT(round_trips, 50u);  // a whole worker was silent
}

// Through egress: the digest over all results in order, and how many there were.
TEST_F(Core, DigestsAreEqualLiveAndReplayed) {
  for (round_ = 0; round_ < 40; ++round_) {
    const Scenario scenario = random_scenario(rng_, {.lanes = 4, .events = 60});
    SimulationOptions options = random_options();
    options.silence = true;
    options.egress = true;
    SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round_);
    Simulation live(scenario, scenario.input, options, rng_.next());
    ASSERT_TRUE(live.run());
    live.expect_balanced();
    const EgressCounts want = live.egress_counts();
    const std::vector<Result> right = right_answer(scenario, live.record()).results;
    EXPECT_EQ(want.results, static_cast<uint64_t>(std::count_if(right.begin(), right.end(),
                                                                [](auto& r) { return !r.late; })));
    EXPECT_EQ(want.results + want.late_rows, right.size());
    EXPECT_EQ(want.flagged, 0u);

    // The same turns, met by neighbours and rings at other times.
    const Sequences unread(scenario.lanes.size());
    Simulation turns(scenario, unread, options, rng_.next(), live.worker_of_lane());
    ASSERT_TRUE(turns.run_turns(live.turns()));
    turns.expect_balanced();
    EXPECT_EQ(turns.egress_counts().digest, want.digest);
    EXPECT_EQ(turns.egress_counts().results, want.results);

    // The same lanes on other workers, in other bursts.
    for (const uint32_t workers : {1u, 2u, 3u}) {
      options = random_options();
      options.egress = true;
      options.workers = workers;
      Simulation replay(scenario, live.record(), options, rng_.next());
      ASSERT_TRUE(replay.run());
      EXPECT_EQ(replay.egress_counts().digest, want.digest) << workers;
      EXPECT_EQ(replay.egress_counts().results, want.results);
    }
    if (HasFailure()) return;
  }
}

// The same with a thread for each worker: what TSan looks at.
TEST_F(Core, WorkersInThreads) {
  threads_ = true;
  for (round_ = 0; round_ < 12; ++round_) {
    const Scenario scenario = random_scenario(rng_, {.lanes = 6, .events = 200});
    SimulationOptions options = random_options();
    options.workers = round_ % 2 ? 2 : 3;
    options.silence = round_ % 3 > 0;
    const auto live = check(scenario, scenario.input, options);
    if (HasFailure()) return;
    options.silence = false;
    expect_equal(check(scenario, live->record(), options)->answer(), live->answer());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tidewire::sim
