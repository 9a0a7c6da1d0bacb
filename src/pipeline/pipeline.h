// What one worker runs: lanes, queries, exchange, timeline. Logic only: no clock, no door, no
// allocation after construction; everything that may change a result comes in as a Turn, so a
// recorded sequence of turns gives the same results again, on any number of workers (core.md
// section 3).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "event/drop_reason.h"
#include "event/event_batch.h"
#include "memory/arena.h"
#include "pipeline/exchange.h"
#include "query/column_program.h"
#include "query/lookup.h"
#include "query/plan.h"
#include "watermark/lane.h"
#include "window/result_block.h"
#include "window/store.h"

namespace tidewire {

// All that may enter in one turn, as data. runtime gathers it; replay supplies it again.
struct Turn {
  EventBatch* batch = nullptr;  // null: nothing received
  std::span<const Punctuation> punctuations;
};

struct LaneSpec {
  LaneId id{};
  uint32_t worker = 0;  // who polls it
  LaneOptions options;
  Predicate progress{};  // WatermarkBy::kMarks: the events that mark; empty: none does
  uint32_t program = 0;  // index into PipelineOptions::programs, if there are any
};

struct PipelineOptions {
  uint32_t worker = 0, workers = 1;
  std::vector<LaneSpec> lanes;           // of the whole appliance
  std::vector<Plan> plans;               // plans[i].id == i
  std::vector<ColumnProgram> programs;   // derived columns; none: no lane has any
  const LookupTables* tables = nullptr;  // what they look into
  uint32_t results_per_turn = 1536;      // budget of the timeline
  uint32_t rows_per_turn = 1024;         // neighbours' rows taken in one turn
};

// One query's account on one worker: select's side (rows of own lanes) and the store's side (keys
// owned).
struct QueryCounts {
  uint64_t passed_on = 0;  // events of own lanes offered to the query
  uint64_t filtered = 0;
  StoreCounts store;
};

class Pipeline {
 public:
  // `fabric`: the rings between the workers, made once for all of them.
  Pipeline(const PipelineOptions& options, ExchangeFabric& fabric, Arena& arena);
  ~Pipeline();

  // A whole batch fits every outgoing ring. False: the burst stays unread (a file waits, a NIC
  // counts missed).
  bool has_room() const;
  // The timeline is not so far behind that a batch might find no pane, session or key free which it
  // is about to give back. Lanes that can wait are not read meanwhile; a port is, and what does not
  // fit is counted and flagged.
  bool keeps_up() const;
  // One turn; returns how much was done, 0 = idle turn.
  uint32_t turn(const Turn& in, ResultWriter& out);
  // A clock asks what the query's open windows hold: shown in slices over the next turns, unless a
  // walk is still on its way. Changes no result.
  void show(QueryId query);
  // A silent lane of this worker has received something: what floor does it return with? False: not
  // known yet, turn on and ask again with the burst unparsed. True: put kReturned with that floor
  // into the next turn, before its first event; a turn later the floor no longer holds.
  bool wake(LaneId lane, EventTime& floor);

  const Lane& lane(LaneId id) const;
  LaneCounts& lane_counts(LaneId id);  // the parser of the lane counts into it
  const LaneRecord& lane_record(LaneId id) const;
  EventTime frontier() const;  // G as this worker knows it
  // Place up to which all its queries have run. end_of_time(): every lane of every worker has ended
  // and all is out.
  EventTime fired() const;
  bool at_rest()
      const;  // nothing waits in the incoming rings, nothing is due, nobody is being woken
  uint64_t rows_sent() const;   // rows put into rings by this worker, and
  uint64_t rows_taken() const;  // rows taken out: equal sums over all workers = the rings are empty
  QueryCounts counts(QueryId id) const;
  StoreUse use(QueryId id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Bytes that worker options.worker's pipeline and its ends of the fabric take from its arena,
// beside its stores (window/store.h): what `explain` prints.
std::vector<ArenaTerm> pipeline_memory(const PipelineOptions& options);

}  // namespace tidewire
