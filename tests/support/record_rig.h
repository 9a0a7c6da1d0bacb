// Pipelines of one appliance over lanes of records (record_parser.h): everything behind the doors,
// real. Queries go by exchange, so that workers meet. One rig serves one run.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "egress/egress.h"
#include "memory/arena.h"
#include "pipeline/exchange.h"
#include "pipeline/pipeline.h"
#include "query/compile.h"
#include "record_parser.h"

namespace tidewire {

using RecordLanes = std::vector<std::vector<std::vector<Record>>>;  // [lane][packet][record]

inline uint64_t seed_or(uint64_t otherwise) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 10) : otherwise;
}

// Packets of 0 to 3 records, some lanes further on than others, times up to `disorder` back.
inline RecordLanes random_lanes(Rng& rng, uint32_t lanes, uint32_t packets, int64_t disorder) {
  RecordLanes out(lanes);
  for (auto& lane : out) {
    auto time = static_cast<int64_t>(rng.below(50));
    for (uint32_t p = 0; p < packets; ++p) {
      std::vector<Record> records;
      for (uint64_t r = rng.below(4); r > 0; --r) {
        time += static_cast<int64_t>(rng.below(20));
        const auto back =
            disorder > 0 ? static_cast<int64_t>(rng.below(static_cast<uint64_t>(disorder))) : 0;
        records.push_back({time - back, static_cast<int64_t>(rng.below(40))});
      }
      lane.push_back(std::move(records));
    }
  }
  return out;
}

inline uint64_t events_of(const RecordLanes& lanes) {
  uint64_t n = 0;
  for (const auto& lane : lanes)
    for (const auto& packet : lane) n += packet.size();
  return n;
}

class RecordRig {
 public:
  // Lane l belongs to worker l % workers. Windows: one query for each shape, counting by key.
  RecordRig(uint32_t lanes, uint32_t workers, Duration bound, std::span<const WindowShape> windows,
            uint32_t results_per_turn = 512) {
    schema_.format = "record";
    schema_.fields.push_back({.name = "key", .help = "a number"});
    QuerySource source;
    source.name = "sim";
    source.schema = &schema_;
    source.bound = bound;
    source.max_ahead = source.max_behind = source.max_drift = {INT64_MAX};
    for (uint16_t i = 0; i < lanes; ++i) source.lanes.push_back(LaneId{i});
    std::vector<QuerySpec> specs;
    for (const WindowShape& window : windows) {
      QuerySpec& spec = specs.emplace_back();
      spec.name = "q" + std::to_string(specs.size());
      spec.source = "sim";
      spec.key = {"key"};
      spec.aggregates = {"count", "min(key)"};
      spec.window = window;
      spec.max_keys = 64;
      spec.max_panes = 1024;
      spec.max_sessions = 4096;
      spec.placement = PlacementChoice::kExchange;
    }
    std::vector<QueryProblem> problems;
    compiled_ = compile(specs, std::span(&source, 1), HashSeed{}, problems);
    for (const QueryProblem& problem : problems) ADD_FAILURE() << problem.text;
    EXPECT_EQ(compiled_.columns[0].column[0], 0);  // where RecordParser writes the key
    for (uint16_t i = 0; i < lanes; ++i) {
      LaneSpec lane;
      lane.id = LaneId{i};
      lane.worker = i % workers;
      lane.options.bound = bound;
      options_.lanes.push_back(lane);
    }
    options_.workers = workers;
    options_.plans = compiled_.plans;
    options_.results_per_turn = results_per_turn;
    std::vector<Arena*> arenas;
    for (uint32_t w = 0; w < workers; ++w) {
      arenas_.push_back(std::make_unique<Arena>(
          ArenaOptions{.node = -1, .require_node = false, .fault_in = false}));
      arenas.push_back(arenas_.back().get());
    }
    fabric_ = std::make_unique<ExchangeFabric>(options_.plans, arenas);
  }

  std::unique_ptr<Pipeline> make_pipeline(uint32_t worker, ResultRing& ring) {
    ring.blocks.adopt(arenas_[worker]->take<ResultBlock>(64, "result blocks"));
    PipelineOptions options = options_;
    options.worker = worker;
    return std::make_unique<Pipeline>(options, *fabric_, *arenas_[worker]);
  }
  std::unique_ptr<Egress> make_egress(std::vector<ResultRing*> rings,
                                      std::vector<SinkBinding> sinks) {
    std::vector<const Plan*> plans;
    for (const Plan& plan : compiled_.plans) plans.push_back(&plan);
    return std::make_unique<Egress>(EgressOptions{}, std::move(plans), std::move(rings),
                                    std::move(sinks));
  }
  const std::vector<LaneSpec>& lanes() const { return options_.lanes; }
  const std::vector<Plan>& plans() const { return compiled_.plans; }

 private:
  Schema schema_;
  Compiled compiled_;
  PipelineOptions options_;
  std::vector<std::unique_ptr<Arena>> arenas_;  // after a run the pipelines are gone before them
  std::unique_ptr<ExchangeFabric> fabric_;
};

// The three balances, over all workers' pipelines at rest. Returns how many rows were late.
inline uint64_t expect_balances(std::span<Pipeline* const> pipelines, const RecordRig& rig,
                                uint64_t packets, uint64_t events) {
  LaneCounts lanes;
  uint64_t dropped = 0, late = 0;
  for (const LaneSpec& lane : rig.lanes()) {
    const LaneCounts& counts = pipelines[lane.worker]->lane_counts(lane.id);
    lanes.packets += counts.packets;
    lanes.packets_parsed += counts.packets_parsed;
    for (const uint64_t n : counts.dropped) dropped += n;
    lanes.events += counts.events;
    lanes.ended.passed_on += counts.ended.passed_on;
  }
  EXPECT_EQ(lanes.packets, packets);
  EXPECT_EQ(lanes.packets_parsed + dropped, packets);
  EXPECT_EQ(lanes.events, events);
  EXPECT_EQ(lanes.ended.passed_on, events);
  for (const Plan& plan : rig.plans()) {
    uint64_t passed_on = 0, ended = 0;
    for (Pipeline* const pipeline : pipelines) {
      const QueryCounts counts = pipeline->counts(plan.id);
      passed_on += counts.passed_on;
      ended += counts.filtered + counts.store.natural + counts.store.deferred + counts.store.late +
               counts.store.overflow + counts.store.no_window;
      late += counts.store.late;
      EXPECT_EQ(counts.store.still_deferred, 0u);
      EXPECT_EQ(counts.store.overflow, 0u);
    }
    EXPECT_EQ(passed_on, events);
    EXPECT_EQ(ended, events);
  }
  return late;
}

}  // namespace tidewire
