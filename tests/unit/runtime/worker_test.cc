#include "runtime/worker.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/sim/source.h"
#include "fake_pipeline.h"
#include "memory/seal.h"
#include "record_parser.h"
#include "virtual_clock.h"

namespace tidewire {
namespace {

using Why = Punctuation::Why;

struct FeedPlan {
  sim::Packets packets = nullptr;
  sim::SourceOptions source = {};
  bool live = false;
  Duration silent_after{INT64_MAX};
  Duration max_drift{INT64_MAX};
  uint32_t batch = kBatchMax;
  Duration clock_slack{INT64_MAX};
  bool keeps = false;  // record_parser.h
};

struct VectorLog final : PunctuationLog {
  void record(const Punctuation& punctuation) override { seen.push_back(punctuation); }
  std::vector<Punctuation> seen;
};

// One worker with lanes 0, 1, ... over a fake pipeline, a standing clock and sim sources.
class Bench {
 public:
  explicit Bench(std::vector<FeedPlan> plans, PunctuationLog* log = nullptr,
                 std::vector<Duration> show_every = {}, const LookupTables* tables = nullptr) {
    PipelineOptions options;
    WorkerParts parts;
    parts.show_every = std::move(show_every);
    parts.tables = tables;
    for (uint16_t i = 0; i < plans.size(); ++i) {
      options.lanes.push_back({LaneId{i}, 0, {}});  // bound 0: the frontier is the highest time
      Feed feed;
      feed.lane = LaneId{i};
      auto source = std::make_unique<sim::SimSource>(plans[i].packets, plans[i].source);
      auto parser = std::make_unique<RecordParser>(LaneId{i}, plans[i].batch, plans[i].keeps);
      sources.push_back(source.get());
      parsers.push_back(parser.get());
      feed.source = std::move(source);
      feed.parser = std::move(parser);
      feed.live = plans[i].live;
      feed.silent_after = plans[i].silent_after;
      feed.max_drift = plans[i].max_drift;
      feed.clock_slack = plans[i].clock_slack;
      parts.feeds.push_back(std::move(feed));
    }
    blocks_ = std::make_unique<std::vector<ResultBlock>>(2);
    ring_.blocks.adopt(*blocks_);
    parts.ring = &ring_;
    // The fake takes neither rings nor memory: it gets a place where a fabric could stand.
    arena_ =
        std::make_unique<Arena>(ArenaOptions{.node = -1, .require_node = false, .fault_in = false});
    parts.pipeline =
        std::make_unique<Pipeline>(options, reinterpret_cast<ExchangeFabric&>(no_fabric_), *arena_);
    pipeline = parts.pipeline.get();
    worker = std::make_unique<Worker>(std::move(parts), clock, log);
  }
  FakePipeline& state() { return fake(*pipeline); }
  LaneCounts& counts(uint16_t lane) { return pipeline->lane_counts(LaneId{lane}); }
  void turns(int n) {
    for (int i = 0; i < n; ++i) worker->turn();
  }

  VirtualClock clock;
  std::vector<sim::SimSource*> sources;
  std::vector<RecordParser*> parsers;
  Pipeline* pipeline = nullptr;
  std::unique_ptr<Worker> worker;

 private:
  std::unique_ptr<std::vector<ResultBlock>> blocks_;
  ResultRing ring_;
  std::unique_ptr<Arena> arena_;
  alignas(64) std::array<std::byte, 64> no_fabric_{};
};

// n packets of one event each: times first, first + step, ...
sim::Packets steady(uint32_t n, int64_t first = 0, int64_t step = 1,
                    EventTime arrival = EventTime::before_all()) {
  std::vector<std::vector<Record>> packets;
  for (uint32_t i = 0; i < n; ++i) packets.push_back({{first + step * i, 7}});
  return record_packets(packets, arrival);
}

std::vector<int64_t> times(const std::vector<FakePipeline::Event>& events) {
  std::vector<int64_t> out;
  for (const auto& event : events) out.push_back(event.time.ns);
  return out;
}

TEST(Worker, CountsPacketsOnceAndEndsTheLaneAtItsPosition) {
  auto packets = record_packets({{{1, 0}}, {}, {{2, 0}, {3, 0}}, {{4, 0}}, {{5, 0}}});
  VectorLog log;
  Bench bench({{.packets = packets, .source = {.burst = 2}}}, &log);
  while (!bench.worker->finished()) bench.worker->turn();
  EXPECT_EQ(times(bench.state().events()), (std::vector<int64_t>{1, 2, 3, 4, 5}));
  const LaneCounts& counts = bench.counts(0);
  EXPECT_EQ(counts.packets, 5u);
  EXPECT_EQ(counts.packets_parsed, 4u);
  EXPECT_EQ(counts.dropped[static_cast<size_t>(DropReason::kTruncated)], 1u);
  EXPECT_EQ(counts.bytes, 80u);  // five records of 16 bytes
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].why, Why::kEnded);
  EXPECT_EQ(log.seen[0].at, Position{5});
  EXPECT_EQ(log.seen[0].watermark, EventTime::end_of_time());
}

TEST(Worker, ParsesAnOpenBurstOnBeforeItReceivesAgain) {
  // 3 packets of 5 events in batches of 4: 15 events are 4 turns of one burst.
  std::vector<std::vector<Record>> packets(3, std::vector<Record>(5));
  int64_t time = 0;
  for (auto& packet : packets)
    for (Record& record : packet) record.time = time++;
  Bench bench({{.packets = record_packets(packets), .source = {}, .batch = 4}});
  std::vector<uint64_t> calls;
  for (int i = 0; i < 5; ++i) {
    bench.worker->turn();
    calls.push_back(bench.sources[0]->calls());
  }
  EXPECT_EQ(calls, (std::vector<uint64_t>{1, 1, 1, 1, 2}));
  const auto events = bench.state().events();
  ASSERT_EQ(events.size(), 15u);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].time.ns, static_cast<int64_t>(i));
    EXPECT_EQ(events[i].ordinal, i);
  }
}

TEST(Worker, StampsUnstampedPacketsOfLiveLanesByOneReadPerBurst) {
  Bench bench({{.packets = steady(6), .source = {.burst = 3}, .live = true},
               {.packets = steady(6), .source = {.burst = 3}},
               {.packets = steady(6, 0, 1, EventTime{77}), .source = {.burst = 3}, .live = true}});
  bench.clock.set_wall(EventTime{5000});
  while (!bench.worker->finished()) bench.worker->turn();
  EXPECT_EQ(bench.clock.wall_reads(), 2u);  // two bursts of lane 0
  for (const auto& event : bench.state().events()) {
    const EventTime expected[] = {EventTime{5000}, EventTime::before_all(), EventTime{77}};
    EXPECT_EQ(event.arrival, expected[index_of(event.lane)]);
  }
}

TEST(Worker, PollsLiveLanesInTurnAndAllFilesInOneSlot) {
  Bench bench({{.packets = steady(9), .source = {.burst = 1}, .live = true},
               {.packets = steady(9), .source = {.burst = 1}},
               {.packets = steady(9), .source = {.burst = 1}, .live = true},
               {.packets = steady(9), .source = {.burst = 1}}});
  bench.turns(9);
  std::vector<int> read;
  for (const LaneId lane : bench.state().lanes_read()) read.push_back(index_of(lane));
  // Round: 0, 2, then one file. Files in the order of their frontiers: 1 and 3 start level, 1 moves
  // to time 0, 3 follows, then 1 again.
  EXPECT_EQ(read, (std::vector<int>{0, 2, 1, 0, 2, 3, 0, 2, 1}));
}

TEST(Worker, ReceivesNothingWhileANeighbourHasNoRoom) {
  Bench bench({{.packets = steady(4), .source = {.burst = 2}, .live = true}});
  bench.state().room = false;
  bench.turns(3);
  EXPECT_EQ(bench.sources[0]->calls(), 0u);
  EXPECT_EQ(bench.state().turn_count, 3u);  // neighbours' rows are still taken
  bench.worker->publish_samples();
  EXPECT_EQ(bench.worker->sample().crowded_turns, 3u);
  bench.state().room = true;
  bench.turns(1);
  EXPECT_EQ(bench.state().events().size(), 2u);
}

TEST(Worker, ReadsTheFileThatIsFurthestBehind) {
  // Lane 0 stands at 0, 10, 20, ...; lane 1 at 0, 1, 2, ... : ten packets of 1 for each of 0.
  Bench bench({{.packets = steady(4, 0, 10), .source = {.burst = 1}},
               {.packets = steady(40, 0, 1), .source = {.burst = 1}}});
  int64_t at[2] = {INT64_MIN, INT64_MIN};
  for (int i = 0; i < 30; ++i) {
    const size_t before = bench.state().events().size();
    bench.worker->turn();
    const auto events = bench.state().events();
    if (events.size() == before) continue;
    const auto& event = events.back();
    const int lane = index_of(event.lane);
    EXPECT_LE(at[lane], at[1 - lane]) << "turn " << i;
    at[lane] = event.time.ns;
  }
}

TEST(Worker, FileWaitsWhileItIsTooFarAheadOfTheFrontier) {
  Bench bench({{.packets = steady(100, 0, 10), .source = {.burst = 1}, .max_drift = {50}}});
  bench.state().frontier = EventTime{20};  // somebody else holds G
  bench.turns(50);
  // Read while the lane stands at or below 20 + 50: times 0 to 70, then one more step to 80.
  EXPECT_EQ(bench.state().events().back().time.ns, 80);
  const uint64_t calls = bench.sources[0]->calls();
  bench.turns(10);
  EXPECT_EQ(bench.sources[0]->calls(), calls);
  bench.state().frontier = EventTime{30};
  bench.turns(10);
  EXPECT_EQ(bench.state().events().back().time.ns, 90);
}

TEST(Worker, NoFileRunsAheadBeforeEveryLaneHasBegun) {
  Bench bench({{.packets = steady(100, 0, 10), .source = {.burst = 1}, .max_drift = {50}}});
  bench.state().frontier = EventTime::before_all();
  bench.turns(10);
  EXPECT_EQ(bench.state().events().size(), 1u);  // its own beginning
}

TEST(Worker, DryFileHoldsNoOtherUpAndIsAskedAgain) {
  Bench bench({{.packets = steady(4), .source = {.burst = 1}},
               {.packets = steady(4, 100), .source = {.burst = 1}}});
  bench.sources[0]->hold_at(1);  // lane 0 has one packet, then nothing: a read is under way
  bench.turns(8);
  std::vector<int> read;
  for (const LaneId lane : bench.state().lanes_read()) read.push_back(index_of(lane));
  EXPECT_EQ(read, (std::vector<int>{0, 1, 1, 1, 1}));
  bench.sources[0]->hold_at(UINT64_MAX);
  bench.turns(4);
  EXPECT_EQ(index_of(bench.state().lanes_read().back()), 0);
}

TEST(Worker, SilenceOfALaneIsPunctuatedOnceByTheClock) {
  VectorLog log;
  Bench bench(
      {{.packets = steady(5), .source = {.burst = 2}, .live = true, .silent_after = {1000}}}, &log);
  bench.sources[0]->hold_at(3);
  bench.turns(3);  // two bursts, then the first question in vain
  bench.clock.advance({999});
  bench.turns(2);
  EXPECT_TRUE(log.seen.empty());
  bench.clock.advance({1});
  bench.turns(5);  // the clock is read at the end of a turn
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].why, Why::kSilent);
  EXPECT_EQ(log.seen[0].at, Position{3});
  EXPECT_TRUE(bench.pipeline->lane(LaneId{0}).silent());
}

// A lane with a good clock that has nothing is caught up with the moment before it was asked, said
// once a millisecond; so it is never silent.
TEST(Worker, AnEmptyPollOfALaneWithAClockIsAMark) {
  VectorLog log;
  Bench bench({{.packets = steady(3),
                .source = {.burst = 2},
                .live = true,
                .silent_after = {1000},
                .clock_slack = {400}}},
              &log);
  bench.clock.set_wall(EventTime{5'000'000});
  bench.sources[0]->hold_at(2);
  bench.turns(3);
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].why, Why::kCaughtUp);
  EXPECT_EQ(log.seen[0].at, Position{2});
  EXPECT_EQ(log.seen[0].watermark.ns, 4'999'600);
  EXPECT_EQ(bench.pipeline->lane(LaneId{0}).frontier().ns, 4'999'600);
  bench.clock.advance({kMillisecond - 1});
  bench.turns(3);
  EXPECT_EQ(log.seen.size(), 1u);
  bench.clock.set_wall(EventTime{6'000'000});
  bench.clock.advance({1});
  bench.turns(3);  // the clock is read at the end of a turn
  ASSERT_EQ(log.seen.size(), 2u);
  EXPECT_EQ(log.seen[1].watermark.ns, 6'000'001 - 400);
  EXPECT_FALSE(bench.pipeline->lane(LaneId{0}).silent());
}

// By the clock, whatever comes or not; not made up for where the clock has jumped.
TEST(Worker, AsksForProvisionalResultsByTheClock) {
  Bench bench({{.packets = steady(1), .source = {}, .live = true}}, nullptr, {{0}, {1000}, {300}});
  bench.turns(5);
  EXPECT_TRUE(bench.state().shown.empty());
  bench.clock.advance({300});
  bench.turns(3);
  EXPECT_EQ(bench.state().shown, (std::vector<QueryId>{QueryId{2}}));
  bench.clock.advance({5000});
  bench.turns(3);
  EXPECT_EQ(bench.state().shown, (std::vector<QueryId>{QueryId{2}, QueryId{1}, QueryId{2}}));
}

// Between two bursts, in every lane that goes on, and written down before the events behind it.
TEST(Worker, LookupTablesComeIntoForceBetweenBursts) {
  LookupSpec spec;
  const auto content = [&](const char* text) {
    return std::vector<LookupContent>{*parse_lookup(spec, text)};
  };
  const auto first = content("1,1\n"), second = content("1,2\n");
  Arena arena({.fault_in = false});
  LookupTables tables(std::span(&spec, 1), first, arena);
  VectorLog log;
  // Lane 0 has ended when the second version comes. Lane 1: a burst of 6 events in batches of 2.
  Bench bench({{.packets = steady(0), .source = {}, .live = true},
               {.packets = steady(12), .source = {.burst = 6}, .live = true, .batch = 2}},
              &log, {}, &tables);
  EXPECT_NE(bench.worker->tables_version(), 0u);
  bench.turns(2);
  ASSERT_EQ(log.seen.size(), 3u);
  for (uint16_t lane = 0; lane < 2; ++lane) {
    EXPECT_EQ(log.seen[lane].why, Why::kReload);
    EXPECT_EQ(log.seen[lane].lane, LaneId{lane});
    EXPECT_EQ(log.seen[lane].at, Position{0});
    EXPECT_EQ(log.seen[lane].content, lookup_hash(first));
  }
  EXPECT_EQ(log.seen[2].why, Why::kEnded);
  EXPECT_EQ(bench.worker->tables_version(), 0u);
  ASSERT_TRUE(tables.replace(second).ok());
  bench.turns(2);  // batches of the open burst
  EXPECT_EQ(log.seen.size(), 3u);
  EXPECT_EQ(bench.worker->tables_version(), 0u);
  while (bench.worker->tables_version() == 0) bench.turns(1);
  ASSERT_EQ(log.seen.size(), 4u);
  EXPECT_EQ(log.seen[3].why, Why::kReload);
  EXPECT_EQ(log.seen[3].lane, LaneId{1});
  EXPECT_EQ(log.seen[3].at, Position{6});
  EXPECT_EQ(log.seen[3].content, lookup_hash(second));
  while (!bench.worker->finished()) bench.worker->turn();
  EXPECT_EQ(bench.state().events().size(), 12u);
}

TEST(Worker, NobodyIsSilentUnlessConfigured) {
  Bench bench({{.packets = steady(5), .source = {}, .live = true}});
  bench.sources[0]->hold_at(0);
  for (int i = 0; i < 10; ++i) {
    bench.clock.advance({3600 * kSecond});
    bench.turns(1);
  }
  EXPECT_TRUE(bench.state().punctuations().empty());
}

TEST(Worker, ReturningLaneWaitsUnparsedForItsFloor) {
  VectorLog log;
  Bench bench({{.packets = steady(9), .source = {.burst = 2}, .live = true, .silent_after = {1000}},
               {.packets = steady(9), .source = {.burst = 1}, .live = true}},
              &log);
  bench.sources[0]->hold_at(2);
  bench.sources[1]->hold_at(0);
  bench.turns(4);
  bench.clock.advance({1000});
  bench.turns(4);
  ASSERT_EQ(log.seen.size(), 1u);
  const uint64_t turns = bench.state().turn_count;

  bench.sources[0]->hold_at(6);
  bench.sources[1]->hold_at(9);
  bench.turns(6);
  EXPECT_EQ(bench.parsers[0]->bursts(), 1u);       // nothing of it is parsed
  EXPECT_EQ(bench.state().turn_count, turns + 6);  // but it answers the others
  EXPECT_GE(bench.state().wakes, 4u);
  EXPECT_EQ(bench.counts(0).packets, 4u);  // received, counted once

  bench.state().floor = EventTime{500};
  bench.turns(1);
  const FakePipeline::Taken& turn = bench.state().turns.back();
  ASSERT_EQ(turn.punctuations.size(), 1u);  // in the turn of its first event, and before it
  EXPECT_EQ(turn.punctuations[0].why, Why::kReturned);
  EXPECT_EQ(turn.punctuations[0].at, Position{2});
  EXPECT_EQ(turn.punctuations[0].watermark, EventTime{500});
  ASSERT_EQ(turn.events.size(), 2u);
  EXPECT_EQ(turn.events[0].time.ns, 2);
  EXPECT_FALSE(bench.pipeline->lane(LaneId{0}).silent());

  bench.turns(4);
  EXPECT_EQ(log.seen.size(), 2u);  // the next burst needs no floor
}

TEST(Worker, FailedLaneEndsAndTheOthersGoOn) {
  sim::SourceOptions failing{.burst = 2, .faults = {{1, 1, sim::SourceFault::Kind::kFailed}}};
  Bench bench({{.packets = steady(10), .source = failing},
               {.packets = steady(10), .source = {.burst = 2}}});
  while (!bench.worker->finished()) bench.worker->turn();
  bench.worker->publish_samples();
  EXPECT_TRUE(bench.worker->sample_lane(0).failed);
  EXPECT_FALSE(bench.worker->sample_lane(1).failed);
  EXPECT_EQ(bench.worker->sample_lane(0).packets, 2u);
  EXPECT_EQ(bench.worker->sample_lane(1).packets, 10u);
  EXPECT_TRUE(bench.worker->sample_lane(0).ended);
}

TEST(Worker, HoldFinishesTheOpenBurstThenRestsThenEnds) {
  std::vector<std::vector<Record>> packets(8, std::vector<Record>(3));
  VectorLog log;
  Bench bench({{.packets = record_packets(packets), .source = {.burst = 2}, .batch = 4},
               {.packets = steady(1), .source = {}}},
              &log);
  bench.turns(1);  // 4 of the 6 events of the first burst
  bench.worker->set_phase(Worker::Phase::kHold);
  EXPECT_FALSE(bench.worker->rest_report().resting);
  bench.turns(1);
  EXPECT_EQ(bench.state().events().size(), 6u);
  EXPECT_FALSE(bench.worker->rest_report().resting);  // it has just worked
  bench.turns(1);
  EXPECT_TRUE(bench.worker->rest_report().resting);
  EXPECT_EQ(bench.sources[0]->calls(), 1u);
  EXPECT_EQ(bench.sources[1]->calls(), 0u);

  bench.state().at_rest = false;
  bench.turns(1);
  EXPECT_FALSE(bench.worker->rest_report().resting);
  bench.state().at_rest = true;
  bench.state().sent = 12;
  bench.state().taken = 11;
  bench.turns(1);
  const RestReport report = bench.worker->rest_report();
  EXPECT_EQ(report.rows_sent, 12u);
  EXPECT_EQ(report.rows_taken, 11u);
  EXPECT_EQ(report.turns, 4u);

  EXPECT_FALSE(bench.worker->finished());
  bench.worker->set_phase(Worker::Phase::kEnd);
  bench.turns(2);
  EXPECT_TRUE(bench.worker->finished());
  ASSERT_EQ(log.seen.size(), 2u);
  EXPECT_EQ(log.seen[0].at, Position{2});
  EXPECT_EQ(log.seen[1].at, Position{0});
  EXPECT_EQ(log.seen[0].why, Why::kEnded);
}

TEST(Worker, HoldWaitsForTheFloorOfALaneThatIsReturning) {
  Bench bench({{.packets = steady(2), .source = {}, .live = true, .silent_after = {10}}});
  bench.sources[0]->hold_at(0);
  bench.turns(1);
  bench.clock.advance({10});
  bench.turns(2);
  bench.sources[0]->hold_at(2);
  bench.turns(1);
  bench.worker->set_phase(Worker::Phase::kHold);
  bench.turns(3);
  EXPECT_FALSE(bench.worker->rest_report().resting);
  bench.state().floor = EventTime{0};
  bench.turns(2);
  EXPECT_TRUE(bench.worker->rest_report().resting);
  EXPECT_EQ(bench.state().events().size(), 2u);
}

TEST(Worker, TurnsOnUntilTheOthersHaveEndedToo) {
  Bench bench({{.packets = steady(2)}});
  bench.state().frontier = EventTime{50};
  bench.state().fired = EventTime::end_of_time();  // its own windows, local to its lanes
  bench.turns(5);
  EXPECT_TRUE(bench.pipeline->lane(LaneId{0}).ended());
  EXPECT_FALSE(bench.worker->finished());
  bench.state().frontier = EventTime::end_of_time();
  EXPECT_TRUE(bench.worker->finished());
  bench.state().fired = EventTime{50};
  EXPECT_FALSE(bench.worker->finished());
}

TEST(Worker, MeasuresOnlyTurnsThatDidSomething) {
  Bench bench({{.packets = steady(4), .source = {.burst = 1}, .live = true}});
  bench.sources[0]->hold_at(3);
  bench.turns(10);  // 3 with a packet, 7 idle
  bench.worker->publish_samples();
  EXPECT_EQ(bench.worker->turn_latency().count(), 3u);
  EXPECT_EQ(bench.worker->sample().turns, 10u);
  EXPECT_EQ(bench.worker->sample().idle_turns, 7u);
  bench.state().extra_work = 5;  // a neighbour's rows are work too
  bench.turns(1);
  EXPECT_EQ(bench.worker->turn_latency().count(), 4u);
}

TEST(Worker, SamplesAreCurrentWhenItTurnsIdle) {
  Bench bench({{.packets = steady(10, 100), .source = {.burst = 4}, .live = true}});
  bench.sources[0]->hold_at(10);
  bench.turns(4);  // 4 + 4 + 2 packets, then the end
  bench.turns(1);
  const LaneSample sample = bench.worker->sample_lane(0);
  EXPECT_EQ(sample.packets, 10u);
  EXPECT_EQ(sample.events, 10u);
  EXPECT_EQ(sample.bytes, 160u);
  EXPECT_EQ(sample.highest, EventTime{109});
  EXPECT_TRUE(sample.ended);
}

// What a parser holds back stands before the word that nothing is still to come, in a turn before
// it: punctuations come first in a turn.
uint64_t turn_of_last_event(const FakePipeline& state) {
  uint64_t last = 0;
  for (uint64_t t = 0; t < state.turns.size(); ++t)
    if (!state.turns[t].events.empty()) last = t;
  return last;
}
uint64_t turn_of_first(const FakePipeline& state, Why why) {
  for (uint64_t t = 0; t < state.turns.size(); ++t)
    for (const Punctuation& p : state.turns[t].punctuations)
      if (p.why == why) return t;
  return UINT64_MAX;
}

TEST(Worker, WhatWasHeldBackStandsBeforeTheEnd) {
  VectorLog log;
  Bench bench({{.packets = steady(5), .source = {.burst = 2}, .keeps = true}}, &log);
  bench.turns(12);
  EXPECT_EQ(bench.state().events().size(), 5u);
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].why, Why::kEnded);
  EXPECT_EQ(log.seen[0].at, Position{5});
  EXPECT_LT(turn_of_last_event(bench.state()), turn_of_first(bench.state(), Why::kEnded));
}

TEST(Worker, WhatWasHeldBackStandsBeforeSilence) {
  VectorLog log;
  Bench bench({{.packets = steady(5),
                .source = {.burst = 2},
                .live = true,
                .silent_after = {1000},
                .keeps = true}},
              &log);
  bench.sources[0]->hold_at(4);
  bench.turns(4);
  EXPECT_EQ(bench.state().events().size(), 3u);
  bench.clock.advance({1000});
  bench.turns(5);
  EXPECT_EQ(bench.state().events().size(), 4u);
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].why, Why::kSilent);
  EXPECT_LT(turn_of_last_event(bench.state()), turn_of_first(bench.state(), Why::kSilent));
}

TEST(Worker, ALaneWithAClockHasNotCaughtUpWhileItHoldsBack) {
  VectorLog log;
  Bench bench({{.packets = steady(3),
                .source = {.burst = 2},
                .live = true,
                .silent_after = {10 * kMillisecond},
                .clock_slack = {400},
                .keeps = true}},
              &log);
  bench.clock.set_wall(EventTime{5'000'000});
  bench.sources[0]->hold_at(2);
  bench.turns(4);
  bench.clock.advance({2 * kMillisecond});
  bench.turns(4);
  EXPECT_TRUE(log.seen.empty());
  bench.clock.advance({8 * kMillisecond});
  bench.turns(4);
  EXPECT_EQ(bench.state().events().size(), 2u);
  ASSERT_GE(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].why, Why::kCaughtUp);
  EXPECT_LT(turn_of_last_event(bench.state()), turn_of_first(bench.state(), Why::kCaughtUp));
}

TEST(Worker, AHeldWorkerGivesWhatItHoldsBack) {
  VectorLog log;
  Bench bench({{.packets = steady(5), .source = {.burst = 2}, .live = true, .keeps = true}}, &log);
  bench.sources[0]->hold_at(4);
  bench.turns(4);
  bench.worker->set_phase(Worker::Phase::kHold);
  bench.turns(1);
  EXPECT_FALSE(bench.worker->rest_report().resting);
  bench.turns(2);
  EXPECT_TRUE(bench.worker->rest_report().resting);
  EXPECT_EQ(bench.state().events().size(), 4u);
  bench.worker->set_phase(Worker::Phase::kEnd);
  bench.turns(1);
  ASSERT_EQ(log.seen.size(), 1u);
  EXPECT_EQ(log.seen[0].why, Why::kEnded);
}

TEST(Worker, AllocatesNothingOnceItTurns) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "needs a build with debug checks";
  Bench bench({{.packets = steady(500), .source = {.burst = 7}, .live = true, .silent_after = {5}},
               {.packets = steady(500), .source = {.burst = 5}, .max_drift = {50}}});
  bench.state().record = false;
  bench.state().floor = EventTime{0};
  bench.sources[0]->hold_at(100);
  AllocGuard guard;
  for (int i = 0; i < 2000; ++i) {
    bench.clock.advance({1});
    bench.worker->turn();
    if (i == 500) bench.sources[0]->hold_at(UINT64_MAX);
  }
  EXPECT_EQ(guard.count(), 0u);
  EXPECT_TRUE(bench.worker->finished());
}

}  // namespace
}  // namespace tidewire
