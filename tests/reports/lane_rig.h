// One worker with a few lanes and one query, fed by hand and read as plain structs: stamps, guards,
// windows and late rows are the real ones. Columns: 0 the key, 1 the value.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "pipeline/pipeline.h"
#include "store_harness.h"

namespace tidewire {

struct Event {
  int64_t time, arrival;
  uint32_t partition = 0;
  uint16_t lane = 0;
  int64_t key = 1, value = 1;
};
struct Window {
  int64_t start, end, count;
  FireKind fire = FireKind::kOnTime;
  bool operator==(const Window&) const = default;
};
inline void PrintTo(const Window& w, std::ostream* out) {
  *out << "[" << w.start << "," << w.end << ")=" << w.count << " fire " << static_cast<int>(w.fire);
}
struct Outside {  // of all windows
  LateReason reason;
  int64_t time, stamp;
  bool operator==(const Outside&) const = default;
};
inline void PrintTo(const Outside& o, std::ostream* out) {
  *out << to_string(o.reason) << " " << o.time << " at " << o.stamp;
}

// Of the windows of store_harness.h, as a pipeline runs them.
inline Plan with_columns(Plan plan) {
  plan.key = {{.column = 0}};
  plan.values = {1};
  plan.placement = Placement::kLocal;
  plan.max_panes = plan.batch_panes = kBatchMax;
  plan.max_sessions = plan.max_deferred = plan.max_changes = kBatchMax;
  return plan;
}
// With a late sink: what a row at the watermark gives stands before the windows that end there, so
// those leave when it is passed.
inline Plan with_late_rows(Plan plan) {
  plan.late_rows = true;
  return plan;
}

class LaneRig {
 public:
  LaneRig(const LaneOptions& lane, Plan plan, uint16_t lanes = 1, uint32_t burst = kBatchMax)
      : burst_(burst), plan_(with_columns(std::move(plan))), ordinal_(lanes, 0) {
    plan_.lanes.clear();
    for (uint16_t i = 0; i < lanes; ++i) {
      plan_.lanes.push_back(LaneId{i});
      options_.lanes.push_back({.id = LaneId{i}, .options = lane});
    }
    options_.plans = {plan_};
    Arena* arenas[] = {&arena_};
    fabric_ = std::make_unique<ExchangeFabric>(options_.plans, arenas);
    ring_.blocks.adopt(arena_.take<ResultBlock>(64, "results"));
    writer_ = std::make_unique<ResultWriter>(ring_);
    pipeline_ = std::make_unique<Pipeline>(options_, *fabric_, arena_);
  }

  // In their order; those of a lane that stand side by side come in one batch, up to a burst.
  void send(const std::vector<Event>& events) {
    for (size_t at = 0; at < events.size();) {
      const uint16_t lane = events[at].lane;
      begin(lane);
      for (; at < events.size() && events[at].lane == lane && batch_->count < burst_; ++at) {
        const uint32_t i = batch_->count++;
        batch_->time[i] = {events[at].time};
        batch_->arrival[i] = {events[at].arrival};
        batch_->partition[i] = PartitionId{events[at].partition};
        batch_->column[0][i] = events[at].key;
        batch_->column[1][i] = events[at].value;
      }
      ordinal_[lane] += batch_->count;
      LaneCounts& counts = pipeline_->lane_counts(LaneId{lane});
      counts.events += batch_->count;  // the parser's part
      counts.ended.passed_on += batch_->count;
      turn({batch_.get(), {}});
    }
  }
  // A packet without an event that says: all sent before `time` has come.
  void mark(int64_t time) {
    begin(0);
    mark_progress(*batch_, {time});
    turn({batch_.get(), {}});
  }
  void say(uint16_t lane, Punctuation::Why why, EventTime watermark) {
    const Punctuation p{LaneId{lane}, Position{ordinal_[lane]}, watermark, why};
    turn({nullptr, {&p, 1}});
  }
  void end() {
    for (uint16_t i = 0; i < ordinal_.size(); ++i)
      say(i, Punctuation::Why::kEnded, EventTime::end_of_time());
    while (pipeline_->fired() != EventTime::end_of_time()) turn({});
    const StoreCounts n = store();
    EXPECT_EQ(n.overflow + n.unshown + n.still_deferred, 0u);
    EXPECT_EQ(n.natural + n.deferred + n.late + n.no_window, passed_on());
  }

  std::vector<Window> take() { return std::exchange(windows_, {}); }
  std::vector<Outside> take_outside() { return std::exchange(outside_, {}); }
  EventTime frontier() const { return pipeline_->frontier(); }
  StoreCounts store() const { return pipeline_->counts(QueryId{0}).store; }
  const LaneCounts& lane() { return pipeline_->lane_counts(LaneId{0}); }
  const LaneRecord& record() const { return pipeline_->lane_record(LaneId{0}); }

 private:
  uint64_t passed_on() {
    uint64_t n = 0;
    for (const LaneSpec& l : options_.lanes) n += pipeline_->lane_counts(l.id).ended.passed_on;
    return n;
  }
  void begin(uint16_t lane) {
    batch_->lane = LaneId{lane};
    batch_->count = batch_->marks = 0;
    batch_->first = Position{ordinal_[lane]};
    batch_->ordinal = Ordinal{ordinal_[lane]};
  }
  void turn(const Turn& in) {
    uint32_t work = pipeline_->turn(in, *writer_);
    for (; work > 0; work = pipeline_->turn({}, *writer_)) read();
    read();
  }
  void read() {
    for (const ResultBlock* block; (block = ring_.blocks.front()); ring_.blocks.pop())
      for (uint32_t at = 0; at < block->used;) {
        tidewire::Run run;
        std::memcpy(&run, block->bytes.data() + at, sizeof run);
        at += sizeof run;
        for (uint32_t i = 0; i < run.rows; ++i, at += block->row_words * 8) {
          int64_t word[5];  // kLate {time, ...}, kPlaced {start, end, hash, key, count}
          std::memcpy(word, block->bytes.data() + at, sizeof word);
          if (run.kind == RunKind::kLate)
            outside_.push_back({static_cast<LateReason>(run.index), word[0], run.place.ns});
          else if (run.kind == RunKind::kPlaced)
            windows_.push_back({word[0], word[1], word[4], run.fire});
          else
            windows_.push_back({run.start.ns, run.end.ns, word[2], run.fire});
        }
      }
  }

  uint32_t burst_;
  Plan plan_;
  PipelineOptions options_;
  std::vector<uint64_t> ordinal_;  // by lane
  Arena arena_{ArenaOptions{.node = -1, .require_node = false, .fault_in = false}};
  std::unique_ptr<ExchangeFabric> fabric_;
  ResultRing ring_;
  std::unique_ptr<ResultWriter> writer_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  std::vector<Window> windows_;
  std::vector<Outside> outside_;
};

}  // namespace tidewire
