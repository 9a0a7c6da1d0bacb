// Reports that meet clocks and threads, with the smallest input that their list gives
// (spec/formats.md 5.2).
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/sim/sink.h"
#include "drivers/sim/source.h"
#include "format/catalog.h"
#include "record_rig.h"
#include "runtime/appliance.h"
#include "virtual_clock.h"

namespace tidewire {
namespace {

struct Punctuations final : PunctuationLog {
  void record(const Punctuation& punctuation) override { seen.push_back(punctuation.why); }
  std::vector<Punctuation::Why> seen;
};

// where: gnocchi#307, sonic-buildimage#5007, ringserver#49, trex PR#890, pjproject PR#4140
TEST(Report21, AWallClockThatIsSetBackAnHourStopsNothing) {
  // Packets without a stamp get the wall clock's: their time is that of an event. Silence is judged
  // by the other clock, which nobody sets.
  constexpr int64_t kStart = 1'700'000'000 * kSecond, kHour = 3600 * kSecond;
  const FormatPtr format = open_format("packet").value();
  QuerySource capture;
  capture.name = "in";
  capture.schema = &format->schema();
  capture.lanes = {LaneId{0}};
  QuerySpec spec;
  spec.name = "all";
  spec.source = "in";
  spec.aggregates = {"count"};
  spec.window = {.kind = WindowKind::kTumbling, .size = {10 * kSecond}, .slide = {10 * kSecond}};
  std::vector<QueryProblem> problems;
  Compiled compiled = compile({&spec, 1}, {&capture, 1}, HashSeed{}, problems);
  for (const QueryProblem& problem : problems) ADD_FAILURE() << problem.text;

  PipelineOptions options;
  options.lanes = {{.id = LaneId{0}, .options = {}}};  // bound 0
  options.plans = compiled.plans;
  WorkerParts parts;
  parts.arena =
      std::make_unique<Arena>(ArenaOptions{.node = -1, .require_node = false, .fault_in = false});
  Arena* arenas[] = {parts.arena.get()};
  ExchangeFabric fabric(options.plans, arenas);
  ResultRing ring;
  ring.blocks.adopt(parts.arena->take<ResultBlock>(8, "results"));
  parts.ring = &ring;
  parts.pipeline = std::make_unique<Pipeline>(options, fabric, *parts.arena);
  Pipeline& pipeline = *parts.pipeline;
  auto input = std::make_shared<std::vector<sim::Packet>>(5);
  for (sim::Packet& packet : *input) packet.bytes.resize(60);
  Feed& feed = parts.feeds.emplace_back();
  auto door = std::make_unique<sim::SimSource>(input, sim::SourceOptions{});
  sim::SimSource& source = *door;
  feed.source = std::move(door);
  feed.parser = format->make_parser({}, compiled.columns[0]);
  feed.live = true;
  feed.silent_after = {60 * kSecond};
  VirtualClock clock;
  Punctuations log;
  Worker worker(std::move(parts), clock, &log);

  EventTime frontier = EventTime::before_all();
  const auto turns = [&] {
    for (int i = 0; i < 10; ++i) {
      worker.turn();
      EXPECT_GE(pipeline.frontier(), frontier);
      frontier = pipeline.frontier();
    }
  };
  const auto packet_at = [&](int64_t wall) {
    clock.set_wall({wall});
    source.hold_at(source.handed_out() + 1);
    turns();
  };
  source.hold_at(0);
  packet_at(kStart);
  packet_at(kStart + 11 * kSecond);
  packet_at(kStart + 11 * kSecond - kHour);
  EXPECT_EQ(frontier.ns, kStart + 11 * kSecond);
  EXPECT_TRUE(log.seen.empty());  // an hour by the wall is no silence
  clock.advance({61 * kSecond});
  turns();
  EXPECT_EQ(log.seen, (std::vector{Punctuation::Why::kSilent}));  // 61 s are
  packet_at(kStart + 12 * kSecond - kHour);
  packet_at(kStart + 25 * kSecond);  // set right
  source.hold_at(UINT64_MAX);
  for (int i = 0; i < 1000 && !worker.finished(); ++i) turns();
  ASSERT_TRUE(worker.finished());

  std::vector<std::pair<int64_t, int64_t>> windows;  // start, count
  for (const ResultBlock* b; (b = ring.blocks.front()); ring.blocks.pop())
    for (uint32_t at = 0; at < b->used;) {
      tidewire::Run run;
      std::memcpy(&run, b->bytes.data() + at, sizeof run);
      int64_t row[2];  // hash, count: there is no key
      std::memcpy(row, b->bytes.data() + at + sizeof run, sizeof row);
      windows.push_back({run.start.ns, row[1]});
      at += static_cast<uint32_t>(sizeof run) + run.rows * b->row_words * 8;
    }
  EXPECT_EQ(windows, (std::vector<std::pair<int64_t, int64_t>>{
                         {kStart, 1}, {kStart + 10 * kSecond, 1}, {kStart + 20 * kSecond, 1}}));
  EXPECT_EQ(pipeline.counts(QueryId{0}).store.late, 2u);
}

// where: telegraf#4394
TEST(Report34, NothingIsReadBeforeWindowsAccept) {
  // Packets wait before the start. Each lane's first one is of a window of its own.
  constexpr uint32_t kLanes = 3;
  RecordLanes lanes;
  for (int64_t l = 0; l < kLanes; ++l) lanes.push_back({{{0, l}}, {{250, l}}});
  const WindowShape windows[] = {{.kind = WindowKind::kTumbling, .size = {100}, .slide = {100}}};
  RecordRig rig(kLanes, kLanes, Duration{0}, windows);
  std::vector<sim::SimSource*> sources(kLanes);
  const auto build = [&](WorkerParts& parts) -> absl::Status {
    parts.pipeline = rig.make_pipeline(parts.worker, *parts.ring);
    const LaneId lane{static_cast<uint16_t>(parts.worker)};
    auto source =
        std::make_unique<sim::SimSource>(record_packets(lanes[parts.worker]), sim::SourceOptions{});
    sources[parts.worker] = source.get();
    Feed& feed = parts.feeds.emplace_back();
    feed.lane = lane;
    feed.source = std::move(source);
    feed.parser = std::make_unique<RecordParser>(lane);
    feed.live = true;
    return absl::OkStatus();
  };
  const auto nothing_read = [&] {
    for (const sim::SimSource* source : sources) EXPECT_EQ(source->handed_out(), 0u);
  };
  ApplianceOptions options;
  const auto topology = read_topology();
  ASSERT_TRUE(topology.ok());
  options.placement = *place_workers(*topology, {}, kLanes);
  options.idle.assign(kLanes, IdlePolicy::kYield);
  Appliance appliance(std::move(options), std::vector<BuildWorker>(kLanes, build),
                      [&](EgressParts& parts) -> absl::Status {
                        nothing_read();  // all stores stand, the results' way out does not
                        parts.sinks.push_back(std::make_unique<sim::SimSink>());
                        SinkBinding binding;
                        binding.sink = parts.sinks[0].get();
                        binding.queries = {QueryId{0}};
                        parts.egress = rig.make_egress(parts.rings, {binding});
                        return absl::OkStatus();
                      });
  ASSERT_TRUE(appliance.start().ok());
  nothing_read();
  appliance.run({kSecond}, nullptr);
  std::vector<Pipeline*> pipelines;
  for (size_t w = 0; w < kLanes; ++w) pipelines.push_back(&appliance.worker(w).pipeline());
  EXPECT_EQ(expect_balances(pipelines, rig, 2 * kLanes, 2 * kLanes), 0u);  // late ones
  EXPECT_EQ(appliance.egress().egress->counts().results, 2 * kLanes);
}

}  // namespace
}  // namespace tidewire
