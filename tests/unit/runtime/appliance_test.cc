// Real threads, real pipelines, egress and sim doors. Nothing here depends on how long something
// takes: sources hold packets back until the test lets them go.
#include "runtime/appliance.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/sim/sink.h"
#include "drivers/sim/source.h"
#include "record_rig.h"
#include "virtual_clock.h"

namespace tidewire {
namespace {

constexpr int64_t kWindow = 100;
const WindowShape kTumbling{
    .kind = WindowKind::kTumbling, .size = {kWindow}, .slide = {kWindow}, .offset = {}, .gap = {}};

// Distinct (window, key) of lanes without disorder, so that nothing is late: as many results as
// there must be when every window has fired.
uint64_t groups_of(const RecordLanes& lanes) {
  std::set<std::pair<int64_t, int64_t>> groups;
  for (const auto& lane : lanes)
    for (const auto& packet : lane)
      for (const Record& record : packet)
        groups.insert({floor_div(record.time, kWindow), record.key});
  return groups.size();
}

struct RigOptions {
  uint32_t workers = 1;
  uint32_t burst = 16;
  bool live = false;
  Duration silent_after{INT64_MAX};
  Duration max_drift{INT64_MAX};
  uint64_t hold_at = UINT64_MAX;
  Clock* clock = &system_clock();
};

// The appliance over these lanes: count by key in tumbling windows, one sim sink.
class Rig {
 public:
  Rig(const RecordLanes& lanes, RigOptions options)
      : options_(options),
        parts_(static_cast<uint32_t>(lanes.size()), options.workers, Duration{0},
               std::span(&kTumbling, 1)),
        sources_(lanes.size()) {
    for (const auto& lane : lanes) packets_.push_back(record_packets(lane));
    const auto topology = read_topology();
    EXPECT_TRUE(topology.ok());
    ApplianceOptions appliance;
    appliance.placement = *place_workers(*topology, {}, options_.workers);
    appliance.idle.assign(options_.workers, IdlePolicy::kYield);
    appliance.clock = options_.clock;
    std::vector<BuildWorker> builders(options_.workers,
                                      [this](WorkerParts& parts) { return build_worker(parts); });
    appliance_ =
        std::make_unique<Appliance>(std::move(appliance), std::move(builders),
                                    [this](EgressParts& parts) { return build_egress(parts); });
  }

  Appliance& appliance() { return *appliance_; }
  sim::SimSource& source(size_t lane) { return *sources_[lane]; }
  void let_go() {
    for (sim::SimSource* source : sources_) source->hold_at(UINT64_MAX);
  }
  // Waits until every source has handed out n packets: the workers take them on their own.
  void await_handed_out(uint64_t n) {
    for (sim::SimSource* source : sources_)
      while (source->handed_out() < n) std::this_thread::yield();
  }
  EgressCounts counts() const { return appliance_->egress().egress->counts(); }
  // When stopped; returns how many rows were late.
  uint64_t expect_balances(uint64_t packets, uint64_t events) {
    std::vector<Pipeline*> pipelines;
    for (size_t w = 0; w < appliance_->workers(); ++w)
      pipelines.push_back(&appliance_->worker(w).pipeline());
    return tidewire::expect_balances(pipelines, parts_, packets, events);
  }

 private:
  absl::Status build_worker(WorkerParts& parts) {
    parts.pipeline = parts_.make_pipeline(parts.worker, *parts.ring);
    for (const LaneSpec& lane : parts_.lanes()) {
      if (lane.worker != parts.worker) continue;
      const size_t at = index_of(lane.id);
      auto source = std::make_unique<sim::SimSource>(packets_[at],
                                                     sim::SourceOptions{.burst = options_.burst});
      source->hold_at(options_.hold_at);
      sources_[at] = source.get();
      Feed feed;
      feed.lane = lane.id;
      feed.source = std::move(source);
      feed.parser = std::make_unique<RecordParser>(lane.id);
      feed.live = options_.live;
      feed.silent_after = options_.silent_after;
      feed.max_drift = options_.max_drift;
      parts.feeds.push_back(std::move(feed));
    }
    return absl::OkStatus();
  }

  absl::Status build_egress(EgressParts& parts) {
    parts.sinks.push_back(std::make_unique<sim::SimSink>());
    SinkBinding binding;
    binding.sink = parts.sinks[0].get();
    binding.queries = {QueryId{0}};
    parts.egress = parts_.make_egress(parts.rings, {binding});
    return absl::OkStatus();
  }

  RigOptions options_;
  RecordRig parts_;
  std::vector<sim::Packets> packets_;
  std::vector<sim::SimSource*> sources_;
  std::unique_ptr<Appliance> appliance_;
};

// ---------------------------------------------------------------- to the end of input

TEST(Appliance, AnyNumberOfWorkersAndAnyBurstGivesTheSameResults) {
  const uint64_t seed = seed_or(3);
  SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed);
  Rng rng(seed);
  const RecordLanes lanes = random_lanes(rng, 8, 400, 0);
  std::set<uint64_t> digests;
  for (const uint32_t workers : {1u, 2u, 3u})
    for (const uint32_t burst : {1u, 7u, 256u}) {
      SCOPED_TRACE(testing::Message() << workers << " workers, burst " << burst);
      Rig rig(lanes, {.workers = workers, .burst = burst});
      ASSERT_TRUE(rig.appliance().start().ok());
      rig.appliance().run({kSecond}, nullptr);
      EXPECT_EQ(rig.appliance().state(), LifecycleState::kStopped);
      rig.expect_balances(8 * 400, events_of(lanes));
      EXPECT_EQ(rig.counts().results, groups_of(lanes));
      EXPECT_EQ(rig.counts().partial, 0u);
      digests.insert(rig.counts().digest);
    }
  EXPECT_EQ(digests.size(), 1u);
}

TEST(Appliance, DriftLimitChangesNoResult) {
  Rng rng(seed_or(4));
  const RecordLanes lanes = random_lanes(rng, 5, 300, 0);
  std::set<uint64_t> digests;
  for (const Duration drift : {Duration{0}, Duration{kWindow}, Duration{INT64_MAX}}) {
    Rig rig(lanes, {.workers = 2, .max_drift = drift});
    ASSERT_TRUE(rig.appliance().start().ok());
    rig.appliance().run({kSecond}, nullptr);
    rig.expect_balances(5 * 300, events_of(lanes));
    digests.insert(rig.counts().digest);
  }
  EXPECT_EQ(digests.size(), 1u);
}

TEST(Appliance, EverythingIsWrittenAndFlushedAtTheEnd) {
  Rng rng(seed_or(5));
  const RecordLanes lanes = random_lanes(rng, 2, 100, 0);
  Rig rig(lanes, {.workers = 2});
  ASSERT_TRUE(rig.appliance().start().ok());
  rig.appliance().run({kSecond}, nullptr);
  const auto& sink = static_cast<const sim::SimSink&>(*rig.appliance().egress().sinks[0]);
  EXPECT_EQ(sink.records().size(), groups_of(lanes));
  EXPECT_GE(sink.flushes(), 1u);
  EXPECT_EQ(rig.appliance().egress().egress->emitted(), EventTime::end_of_time());
}

TEST(Appliance, ProgressSeesLanesAndTheHolder) {
  // Lane 1 stops at time 30 while lane 0 has gone on: lane 1 holds.
  RecordLanes lanes(2);
  for (int64_t t = 0; t < 20; ++t) {
    lanes[0].push_back({{t * 100, 1}});
    lanes[1].push_back({{t * 10, 1}});
  }
  Rig rig(lanes, {.workers = 1, .burst = 4, .live = true, .hold_at = 4});
  ASSERT_TRUE(rig.appliance().start().ok());
  int seen = 0;
  bool drifted = false;
  rig.appliance().run({0}, [&](const ApplianceSample& sample) {
    if (seen == 2 || sample.frontier != EventTime{30}) return;
    if (++seen == 1) return;  // nothing moves any more: drift is looked at once more
    EXPECT_EQ(sample.lanes[0].frontier, EventTime{300});
    EXPECT_EQ(sample.lanes[1].frontier, EventTime{30});
    EXPECT_EQ(sample.lanes[0].packets, 4u);
    EXPECT_EQ(sample.holder, 1);
    EXPECT_EQ(sample.lanes[1].holder, PartitionId{0});
    EXPECT_EQ(sample.sources[1].bytes_read, 4 * sizeof(Record));
    EXPECT_EQ(sample.sources[1].bytes_total, 20 * sizeof(Record));
    for (const LaneDrift& drift : rig.appliance().drifts()) {
      if (drift.lane != LaneId{0}) continue;  // the other may have begun first
      EXPECT_GE(drift.most, Duration{300 - 30});
      EXPECT_LE(drift.most, Duration{300});
      drifted = true;
    }
    rig.let_go();
  });
  EXPECT_EQ(seen, 2);
  EXPECT_TRUE(drifted);
  ASSERT_FALSE(rig.appliance().holders().empty());
}

// ---------------------------------------------------------------- drain and stop

TEST(Appliance, DrainComesToRestAndMarksWhatWasOpen) {
  // Every lane has times 0, 10, ..., and gives 36 packets up to time 350: windows up to 300 are
  // complete at G = 350, [300, 400) is open and leaves as partial.
  for (const uint32_t workers : {1u, 2u, 3u}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    RecordLanes lanes(6);
    for (auto& lane : lanes)
      for (int64_t i = 0; i < 100; ++i) lane.push_back({{i * 10, i % 5}});
    Rig rig(lanes, {.workers = workers, .burst = 9, .live = true, .hold_at = 36});
    ASSERT_TRUE(rig.appliance().start().ok());
    std::thread signal([&] {
      rig.await_handed_out(36);
      rig.appliance().request_drain();
    });
    rig.appliance().run({kSecond}, nullptr);
    signal.join();
    EXPECT_EQ(rig.appliance().state(), LifecycleState::kStopped);
    EXPECT_FALSE(rig.appliance().stopped_early());
    rig.expect_balances(6 * 36, 6 * 36);
    EXPECT_EQ(rig.counts().results, 4u * 5);  // four windows of five keys
    EXPECT_EQ(rig.counts().partial, 5u);
  }
}

TEST(Appliance, DrainWithoutAnyInputEnds) {
  Rng rng(1);
  Rig rig(random_lanes(rng, 3, 10, 0), {.workers = 3, .live = true, .hold_at = 0});
  ASSERT_TRUE(rig.appliance().start().ok());
  rig.appliance().request_drain();
  rig.appliance().run({kSecond}, nullptr);
  EXPECT_EQ(rig.appliance().state(), LifecycleState::kStopped);
  EXPECT_EQ(rig.counts().results, 0u);
  rig.expect_balances(0, 0);
}

TEST(Appliance, DrainAtAnyMomentKeepsTheBalances) {
  const uint64_t seed = seed_or(6);
  SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed);
  Rng rng(seed);
  const RecordLanes lanes = random_lanes(rng, 6, 3000, 0);
  for (int round = 0; round < 6; ++round) {
    Rig rig(lanes, {.workers = 1 + static_cast<uint32_t>(rng.below(3)), .burst = 5});
    ASSERT_TRUE(rig.appliance().start().ok());
    const uint64_t after = rng.below(2500);
    std::thread signal([&] {
      while (rig.source(0).handed_out() < after) std::this_thread::yield();
      rig.appliance().request_drain();
    });
    rig.appliance().run({kSecond}, nullptr);
    signal.join();
    uint64_t packets = 0, events = 0;
    for (size_t l = 0; l < lanes.size(); ++l) {
      const uint64_t n = rig.source(l).handed_out();
      packets += n;
      for (uint64_t p = 0; p < n; ++p) events += lanes[l][p].size();
    }
    rig.expect_balances(packets, events);
  }
}

TEST(Appliance, SecondRequestStopsAtOnce) {
  Rng rng(1);
  Rig rig(random_lanes(rng, 2, 10, 0), {.workers = 2, .live = true, .hold_at = 5});
  ASSERT_TRUE(rig.appliance().start().ok());
  rig.appliance().request_drain();
  rig.appliance().request_drain();
  rig.appliance().run({kSecond}, nullptr);
  EXPECT_EQ(rig.appliance().state(), LifecycleState::kStopped);
  EXPECT_TRUE(rig.appliance().stopped_early());
}

// ---------------------------------------------------------------- silence

TEST(Appliance, SilentLaneLetsTheOthersFireAndReturnsWithItsFloor) {
  for (const uint32_t workers : {1u, 2u}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    // Lane 0 goes silent at time 0; lane 1 goes on to 990. When lane 0 returns, it is late below
    // the floor, which is G at that moment.
    RecordLanes lanes(2);
    for (int64_t i = 0; i < 100; ++i) {
      lanes[0].push_back({{i * 10, 1}});
      lanes[1].push_back({{i * 10, 2}});
    }
    VirtualClock clock;
    Rig rig(lanes, {.workers = workers,
                    .burst = 10,
                    .live = true,
                    .silent_after = {1000},
                    .hold_at = 1,
                    .clock = &clock});
    ASSERT_TRUE(rig.appliance().start().ok());
    bool silent = false, let_go = false;
    rig.appliance().run({0}, [&](const ApplianceSample& sample) {
      clock.advance({400});
      if (!let_go) rig.source(1).hold_at(99);  // all but the last: it stays there
      silent |= sample.lanes[0].silent;
      // Lane 1 has fired what lane 0 held back: G is at its own frontier.
      if (!let_go && silent && sample.frontier == EventTime{980}) {
        let_go = true;
        rig.let_go();
      }
    });
    EXPECT_TRUE(let_go);
    // Lane 0: its first event at 0 was in time; of the others those below 900, the end of the last
    // window that had fired at 980, are late: 10, 20, ... 890.
    EXPECT_EQ(rig.expect_balances(200, 200), 89u);
  }
}

// ---------------------------------------------------------------- what goes wrong

TEST(Appliance, StartCollectsTheErrorsOfAllThreads) {
  const auto topology = read_topology();
  ASSERT_TRUE(topology.ok());
  ApplianceOptions options;
  options.placement = *place_workers(*topology, {}, 3);
  options.idle.assign(3, IdlePolicy::kYield);
  std::atomic<int> built{0};
  const auto refuse = [&](WorkerParts& parts) -> absl::Status {
    ++built;
    return absl::NotFoundError("port " + std::to_string(parts.worker) + " is missing");
  };
  const auto no_memory = [&](WorkerParts&) -> absl::Status {
    ++built;
    throw std::bad_alloc();
  };
  Appliance appliance(std::move(options), {refuse, no_memory, refuse}, [](EgressParts&) {
    ADD_FAILURE() << "egress reads rings that were not built";
    return absl::OkStatus();
  });
  const absl::Status status = appliance.start();
  EXPECT_EQ(status.message(),
            "worker 0: port 0 is missing\nworker 1: out of memory\nworker 2: port 2 is missing");
  EXPECT_EQ(built, 3);
  EXPECT_EQ(appliance.state(), LifecycleState::kFailed);
}

// The worker is built only when progress has been told, so a start that says nothing hangs here.
TEST(Appliance, AStartThatLastsSaysSo) {
  const auto topology = read_topology();
  ASSERT_TRUE(topology.ok());
  ApplianceOptions options;
  options.placement = *place_workers(*topology, {}, 1);
  options.idle.assign(1, IdlePolicy::kYield);
  std::atomic<uint32_t> told{0};
  const auto build = [&](WorkerParts&) -> absl::Status {
    while (told < 2) std::this_thread::yield();
    return absl::NotFoundError("done");
  };
  Appliance appliance(std::move(options), {build}, [](EgressParts&) { return absl::OkStatus(); });
  EXPECT_EQ(appliance.start({kMillisecond}, [&] { ++told; }).message(), "worker 0: done");
  EXPECT_GE(told, 2u);
}

TEST(Appliance, StartedButNeverRunIsTakenDown) {
  Rng rng(1);
  Rig rig(random_lanes(rng, 2, 10, 0), {.workers = 2});
  ASSERT_TRUE(rig.appliance().start().ok());
  EXPECT_EQ(rig.appliance().state(), LifecycleState::kStarted);
}

}  // namespace
}  // namespace tidewire
