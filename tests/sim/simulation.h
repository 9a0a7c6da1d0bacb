// Several pipelines in one thread, driven in a random order: lanes are polled at random, fall
// silent and return, result rings run full, neighbours lag. Everything that may change a result is
// recorded lane by lane, so that another simulation can replay it on other workers, bursts and
// budgets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/rng.h"
#include "egress/egress.h"
#include "pipeline/pipeline.h"
#include "scenario.h"

namespace tidewire::sim {

struct SimulationOptions {
  uint32_t workers = 1, burst = 32;
  uint32_t results_per_turn = 512, rows_per_turn = 1024;
  bool silence = false;                    // lanes fall silent
  uint32_t result_blocks = 64;             // of each worker's ring; a power of two
  bool egress = false;                     // results leave through src/egress, for their digest
  const ColumnProgram* program = nullptr;  // derived columns of every lane
  const LookupTables* tables = nullptr;
};

struct RecordedTurn {
  std::unique_ptr<EventBatch> batch;  // null: none
  std::vector<Punctuation> punctuations;
};

// A worker as runtime builds it, and what has come out of its result ring.
class SimWorker {
 public:
  SimWorker(const Scenario& scenario, const PipelineOptions& options, ExchangeFabric& fabric,
            Arena& arena, uint32_t result_blocks);
  Pipeline& pipeline() { return *pipeline_; }
  const Pipeline& pipeline() const { return *pipeline_; }
  ResultRing& ring() { return ring_; }
  uint32_t turn(const Turn& in);
  // Takes blocks as egress does; each row must come in order and beyond what had been called fired.
  void drain();
  const std::vector<Result>& results() const { return results_; }
  uint64_t allocations() const { return allocations_; }
  bool finished() const;

 private:
  const Scenario& scenario_;
  ResultRing ring_;
  ResultWriter writer_;
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<Result> results_;
  EventTime promised_ = EventTime::before_all();
  uint64_t allocations_ = 0;
};

// Cuts the next batch out of a lane's sequence; punctuations that stand before it come with it.
class Reader {
 public:
  Reader(const std::vector<Step>& steps, LaneId lane) : steps_(steps), lane_(lane) {}
  bool at_end() const { return at_ == steps_.size(); }
  void read(uint32_t burst, EventBatch& batch, std::vector<Punctuation>& punctuations);
  void skip() { at_ = steps_.size(); }  // the rest never comes

 private:
  const std::vector<Step>& steps_;
  LaneId lane_;
  size_t at_ = 0;
  uint64_t ordinal_ = 0;
};

class Simulation {
 public:
  Simulation(const Scenario& scenario, const Sequences& input, SimulationOptions options,
             uint64_t seed, std::vector<uint32_t> worker_of_lane = {});
  // In this thread, or each worker in a thread of its own with this one taking the results.
  // False: it has not come to an end.
  bool run();
  bool run_threads();
  // In this thread, each worker with the turns that it had in another run.
  bool run_turns(const std::vector<std::vector<RecordedTurn>>& turns);

  Answer answer() const;  // everything that came out, in the order of rule 8
  const Sequences& record() const { return record_; }  // what a replay needs
  const std::vector<std::vector<RecordedTurn>>& turns() const { return turns_; }
  const std::vector<uint32_t>& worker_of_lane() const { return worker_of_lane_; }
  EgressCounts egress_counts() const { return egress_->counts(); }
  uint64_t round_trips() const;  // a wholly silent worker asked for its floor
  uint64_t floors() const;       // a lane returned
  uint64_t crowded() const;      // turns without room in the rings
  // Balances, rest and allocations at the end.
  void expect_balanced() const;

 private:
  struct LaneState {
    Reader reader;
    bool silent = false, ended = false;
  };
  struct Driver {  // of one worker; shares nothing with the others
    Driver(uint32_t w, uint64_t seed) : at(w), rng(seed) {}
    uint32_t at;
    Rng rng;
    std::unique_ptr<SimWorker> worker;
    std::vector<uint32_t> own;  // lanes
    std::optional<uint32_t> waking;
    std::unique_ptr<EventBatch> batch = std::make_unique<EventBatch>();
    std::vector<Punctuation> punctuations;
    uint64_t round_trips = 0, floors = 0, crowded = 0;
  };
  void step(Driver& d);
  void choose(Driver& d, Turn& in);
  void take(Driver& d, uint32_t lane, Turn& in);
  void end(Driver& d, uint32_t lane);
  void note(uint32_t lane, const Punctuation& punctuation);
  bool finished(const Driver& d) const;
  bool all_finished() const;
  void take_results(Driver& d);
  void take_rest();

  const Scenario& scenario_;
  SimulationOptions options_;
  Rng rng_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::unique_ptr<ExchangeFabric> fabric_;
  std::vector<Driver> drivers_;
  std::vector<LaneState> lanes_;
  std::vector<uint32_t> worker_of_lane_;
  std::unique_ptr<Egress> egress_;
  Sequences record_;
  std::vector<std::vector<RecordedTurn>> turns_;  // by worker
};

PipelineOptions pipeline_options(const Scenario& scenario, const SimulationOptions& options,
                                 uint32_t worker, std::span<const uint32_t> worker_of_lane);

}  // namespace tidewire::sim
