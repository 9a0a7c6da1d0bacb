// The shell around Pipeline::turn on a pinned core: the only place on the data path with a clock
// and doors. A turn receives at most one burst or parses on in the open one, turns what a clock has
// to say (silence, return, end) into punctuations, and hands everything to the pipeline as data.
//
//   has room? -> receive -> stamp -> silence? -> parse one batch -> Pipeline::turn -> samples
//
// Which lane is read next does not change a result (core.md rule 3), only how much is open at once:
//   live lanes       round robin; what is not read in time the NIC counts as missed
//   waiting lanes    (files) one at a time, the lowest frontier first; none while it is more than
//                    max_drift above G, so that open panes stay bounded
//
// No thread of its own: Appliance runs it on a pinned thread, tests call turn() directly. After
// construction it allocates nothing. Other threads only read the samples and set the phase.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "event/event_batch.h"
#include "format/parser.h"
#include "io/source.h"
#include "memory/arena.h"
#include "metrics/histogram.h"
#include "pipeline/pipeline.h"
#include "runtime/clock.h"
#include "runtime/rest.h"
#include "watermark/lane.h"
#include "window/result_block.h"

namespace tidewire {

// One lane as the worker sees it.
struct Feed {
  LaneId lane{};
  std::unique_ptr<Source> source;
  std::unique_ptr<Parser> parser;
  bool live = false;  // cannot be made to wait; packets that come unstamped get our wall clock
  Duration silent_after{INT64_MAX};  // by the clock; INT64_MAX: its silence is waited for
  Duration max_drift{INT64_MAX};     // a waiting lane's frontier above G; INT64_MAX: unlimited
  // Where arrivals are stamped by a good clock, asking in vain says that everything older than now,
  // less this, has come (kCaughtUp, each millisecond at most; such a lane is never silent).
  // INT64_MAX: it says nothing.
  Duration clock_slack{INT64_MAX};
};

// What a worker is made of. Built on the worker's own thread (see Appliance).
struct WorkerParts {
  uint32_t worker = 0;
  int core = -1;
  int node = -1;               // for the arena
  uint32_t burst = kBurstMax;  // packets that a source is asked for at once
  ResultRing* ring = nullptr;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Pipeline> pipeline;
  std::vector<Duration> show_every;  // by query: provisional results; 0 or none: never
  // Lookup tables that may be reloaded; null: none. The pipeline has the same.
  const LookupTables* tables = nullptr;
  std::vector<Feed> feeds;  // the lanes that LaneSpec gives to this worker, in that order
};

// Told of every punctuation before it takes effect: its lane, the position it stands at, and what
// it says are what a replay needs. On the worker's thread: no allocation, no lock.
class PunctuationLog {
 public:
  virtual ~PunctuationLog() = default;
  virtual void record(const Punctuation& punctuation) = 0;
};

// A moment's sample of one lane, for the control thread.
struct LaneSample {
  LaneId lane{};
  uint64_t packets = 0, events = 0, bytes = 0;
  EventTime frontier, highest;
  PartitionId holder{};  // which partition holds the lane's frontier
  bool silent = false, ended = false, failed = false;
  bool live = false;  // cannot wait: how far it runs ahead is what it is
};

struct WorkerSample {
  uint64_t turns = 0;
  uint64_t idle_turns = 0;     // nothing was done
  uint64_t crowded_turns = 0;  // nothing was received because a neighbour's ring was full
  EventTime frontier;          // G as this worker knows it
  EventTime fired;
};

class Worker {
 public:
  enum class Phase : uint8_t {
    kRun,
    kHold,  // receives nothing more; the open burst is finished
    kEnd,   // every lane gets the punctuation end_of_time
    kStop,  // leave at once: for whoever drives turn()
  };

  Worker(WorkerParts parts, Clock& clock, PunctuationLog* log = nullptr);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // One turn; how much was done, 0 = nothing.
  uint32_t turn();
  // All lanes have ended, those of the other workers too, and everything has fired.
  bool finished() const;
  // The caller gave up the core since the last turn: the time that passed is nobody's latency.
  void idled() { now_ = clock_.now(); }
  // Before a long pause, and at the end: samples that are exact up to here.
  void publish_samples();
  // Empty turns that mean that every lane was asked.
  uint32_t lanes() const { return static_cast<uint32_t>(lanes_.size()); }

  // ---- any thread
  void set_phase(Phase phase) { phase_.store(phase, std::memory_order_release); }
  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  LaneSample sample_lane(uint32_t index) const;
  WorkerSample sample() const;
  RestReport rest_report() const;
  // Version of the lookup tables that every lane of this worker uses, or has ended with.
  uint32_t tables_version() const { return seen_tables_.load(std::memory_order_acquire); }
  const LatencyHistogram& turn_latency() const {
    return turn_latency_;
  }  // turns that did something
  const Source& source(uint32_t index) const { return *lanes_[index].feed.source; }

  // ---- when the worker is at rest
  const Parser& parser(uint32_t index) const { return *lanes_[index].feed.parser; }
  Pipeline& pipeline() { return *parts_.pipeline; }
  const Pipeline& pipeline() const { return *parts_.pipeline; }
  const Arena* arena() const { return parts_.arena.get(); }

 private:
  struct Gauges {  // one lane's LaneSample, written by the worker, read by anyone
    std::atomic<uint64_t> packets{0}, events{0}, bytes{0};
    std::atomic<int64_t> frontier{INT64_MIN}, highest{INT64_MIN};
    std::atomic<uint32_t> holder{0};
    std::atomic<bool> silent{false}, ended{false}, failed{false};
  };
  struct LaneState {
    Feed feed;
    LaneCounts* counts = nullptr;
    uint64_t position = 0;  // of the next packet
    bool quiet = false;     // asked in vain since its last packets
    MonotonicTime quiet_since;
    MonotonicTime caught_up{INT64_MIN};  // when it said so last
    bool ended = false;
    bool failed = false;
    bool dry = false;  // a waiting lane that had nothing since another one was read
    std::unique_ptr<Gauges> gauges;
  };

  void take_input(Turn& in);
  void receive(LaneState& lane);
  void nothing_from(LaneState& lane, EventTime asked);
  void close(LaneState& lane, Punctuation::Why why, EventTime watermark);
  void release_any_held();
  void release_held(LaneState& lane);
  bool may_catch_up(const LaneState& lane) const;
  void open(LaneState& lane);
  void parse(Turn& in);
  void end_lanes();
  LaneState* next_lane();
  LaneState* next_waiting();
  void reload();
  void punctuate(const LaneState& lane, Punctuation::Why why, EventTime watermark,
                 uint64_t content = 0);
  void publish_rest(uint32_t work);
  void show_due();

  WorkerParts parts_;
  Clock& clock_;
  PunctuationLog* log_;
  ResultWriter writer_;
  std::vector<LaneState> lanes_;
  std::vector<uint32_t> live_;     // indices of live lanes
  std::vector<uint32_t> waiting_;  // of the others
  uint32_t at_ = 0;                // slot of the round: live lanes, then one for all waiting ones
  LaneState* open_ = nullptr;      // whose burst is open
  bool waking_ = false;            // the open burst waits for the floor of its lane's return
  bool begun_ = false;             // the parser has the open burst
  bool lanes_ended_ = false;
  LaneState* closing_ = nullptr;  // whose held packets are given before this punctuation
  Punctuation::Why closing_why_{};
  EventTime closing_at_;
  std::unique_ptr<Burst> burst_;
  std::unique_ptr<EventBatch> batch_;
  std::vector<Punctuation> punctuations_;  // of this turn; room for two of each lane
  // Version of the lookup tables in force; none before the first turn, so that a record says by
  // which each lane began.
  uint32_t tables_ = UINT32_MAX;
  MonotonicTime now_;                   // end of the last turn
  std::vector<MonotonicTime> show_at_;  // by query: when it is shown next
  uint32_t received_ = 0;               // packets, in this turn
  bool worked_ = false;                 // the last turn did something

  uint64_t turns_ = 0, idle_turns_ = 0, crowded_turns_ = 0, held_turns_ = 0;
  LatencyHistogram turn_latency_;
  alignas(64) std::atomic<Phase> phase_{Phase::kRun};
  alignas(64) std::atomic<uint64_t> seen_turns_{0};
  std::atomic<uint64_t> seen_idle_{0}, seen_crowded_{0};
  std::atomic<int64_t> seen_frontier_{INT64_MIN}, seen_fired_{INT64_MIN};
  std::atomic<uint32_t> seen_tables_{UINT32_MAX};
  std::atomic<uint64_t> rest_turns_{0}, rest_sent_{0}, rest_taken_{0};
  std::atomic<int64_t> rest_frontier_{INT64_MIN};
  std::atomic<bool> rest_resting_{false};
};

}  // namespace tidewire
