// What a guard of a lane ends reaches no window, and the late sinks of the queries that have one:
// with the reason, the row's own columns, at the stamp that was in force.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "memory/arena.h"
#include "pipeline/exchange.h"
#include "pipeline/pipeline.h"

namespace tidewire {
namespace {

struct Late {
  LateReason reason;
  int64_t time, stamp, key;
  uint64_t ordinal;
  auto operator<=>(const Late&) const = default;
};

// One worker, one lane, two queries by column 0 over windows of 100: 0 is shown what is late, of
// keys above 1 only; 1 is not.
class Guards : public testing::Test {
 protected:
  void make(LaneOptions lane, bool late_rows = true) {
    lane.max_partitions = 3;
    options_.lanes = {{.id = LaneId{0}, .options = lane, .progress = progress_}};
    for (uint16_t q = 0; q < 2; ++q) {
      Plan& plan = options_.plans.emplace_back();
      plan.id = QueryId{q};
      plan.lanes = {LaneId{0}};
      plan.window = {.kind = WindowKind::kTumbling, .size = {100}, .slide = {100}};
      plan.key = {{.column = 0}};
      plan.key_words = 1;
      plan.placement = Placement::kLocal;
      plan.max_keys = plan.max_panes = plan.batch_panes = plan.max_deferred = 16;
    }
    options_.plans[0].late_rows = late_rows;
    options_.plans[0].where = {{.op = PredicateStep::Op::kRange, .column = 0, .low = 2, .high = 9}};
    std::vector<Arena*> arenas = {&arena_};
    fabric_ = std::make_unique<ExchangeFabric>(options_.plans, arenas);
    ring_.blocks.adopt(arena_.take<ResultBlock>(64, "results"));
    writer_ = std::make_unique<ResultWriter>(ring_);
    pipeline_ = std::make_unique<Pipeline>(options_, *fabric_, arena_);
  }
  struct Event {
    int64_t time, arrival;
    uint32_t partition;
    int64_t key;
  };
  void send(const std::vector<Event>& events) {
    batch_->count = 0;
    batch_->ordinal = Ordinal{ordinal_};
    for (const Event& e : events) {
      const uint32_t i = batch_->count++;
      batch_->time[i] = {e.time};
      batch_->arrival[i] = {e.arrival};
      batch_->partition[i] = PartitionId{e.partition};
      batch_->column[0][i] = e.key;
    }
    ordinal_ += batch_->count;
    LaneCounts& counts = pipeline_->lane_counts(LaneId{0});
    counts.events += batch_->count;  // the parser's part
    counts.ended.passed_on += batch_->count;
    turn({.batch = batch_.get(), .punctuations = {}});
  }
  void end() {
    const Punctuation end{.watermark = EventTime::end_of_time(), .why = Punctuation::Why::kEnded};
    turn({.batch = nullptr, .punctuations = {&end, 1}});
    while (pipeline_->fired() != EventTime::end_of_time()) turn({});
    const LaneCounts& counts = pipeline_->lane_counts(LaneId{0});
    EXPECT_EQ(counts.events, counts.ended.sum());
  }
  void turn(const Turn& in) {
    pipeline_->turn(in, *writer_);
    while (const ResultBlock* block = ring_.blocks.front()) {
      for (uint32_t at = 0; at < block->used;) {
        tidewire::Run run;
        std::memcpy(&run, block->bytes.data() + at, sizeof run);
        at += sizeof run;
        for (uint32_t i = 0; i < run.rows; ++i, at += block->row_words * 8) {
          int64_t word[3];
          std::memcpy(word, block->bytes.data() + at, sizeof word);
          if (run.kind != RunKind::kLate) continue;
          EXPECT_EQ(block->query, QueryId{0});
          late_.push_back({static_cast<LateReason>(run.index), word[0], run.place.ns, word[2],
                           run.position & ((uint64_t{1} << 48) - 1)});
        }
      }
      ring_.blocks.pop();
    }
  }
  const EventCounts& ended() { return pipeline_->lane_counts(LaneId{0}).ended; }
  static size_t at(LateReason reason) { return static_cast<size_t>(reason); }

  Predicate progress_;
  PipelineOptions options_;
  Arena arena_{ArenaOptions{.node = -1, .require_node = false, .fault_in = false}};
  std::unique_ptr<ExchangeFabric> fabric_;
  ResultRing ring_;
  std::unique_ptr<ResultWriter> writer_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  uint64_t ordinal_ = 0;
  std::vector<Late> late_;
};

TEST_F(Guards, DivertedRowsAreShownWithTheirReason) {
  make({.bound = {0},
        .max_ahead = {50},
        .max_behind = {200},
        .min_time = {1000},
        .beyond_max_ahead = GuardPolicy::kDivert,
        .beyond_max_behind = GuardPolicy::kDivert,
        .before_min_time = GuardPolicy::kDivert});
  send({{1500, 1500, 1, 5},
        {1600, 1500, 1, 6},  // 100 ahead
        {1600, 1500, 1, 1},  // also, but query 0 does not want this key
        {7, 1501, 1, 7},     // a clock that was never set
        {1510, 1510, 1, 5},
        {1200, 1511, 2, 8}});  // 310 behind
  end();
  EXPECT_EQ(late_, (std::vector<Late>{{LateReason::kTooFarAhead, 1600, 1500, 6, 1},
                                      {LateReason::kBeforeMinTime, 7, 1500, 7, 3},
                                      {LateReason::kTooFarBehind, 1200, 1510, 8, 5}}));
  EXPECT_EQ(ended().diverted[at(LateReason::kTooFarAhead)], 2u);
  EXPECT_EQ(ended().diverted[at(LateReason::kTooFarBehind)], 1u);
  EXPECT_EQ(ended().diverted[at(LateReason::kBeforeMinTime)], 1u);
  EXPECT_EQ(ended().passed_on, 2u);
  for (uint16_t q = 0; q < 2; ++q) {
    const QueryCounts counts = pipeline_->counts(QueryId{q});
    EXPECT_EQ(counts.passed_on, 2u);
    EXPECT_EQ(counts.filtered, 0u);
    EXPECT_EQ(counts.store.natural, 2u);
    EXPECT_EQ(counts.store.late, 0u);
    EXPECT_EQ(counts.store.unshown, 0u);
  }
  const auto offences = pipeline_->lane_record(LaneId{0}).offences;
  EXPECT_EQ(offences[1][at(LateReason::kTooFarAhead)], 2u);
  EXPECT_EQ(offences[2][at(LateReason::kTooFarBehind)], 1u);
}

TEST_F(Guards, WithoutALateSinkTheyAreDroppedAndCountedSo) {
  make({.bound = {0}, .max_ahead = {50}, .beyond_max_ahead = GuardPolicy::kDivert}, false);
  send({{1500, 1500, 1, 5}, {1600, 1500, 1, 6}});
  end();
  EXPECT_TRUE(late_.empty());
  EXPECT_EQ(ended().dropped[at(LateReason::kTooFarAhead)], 1u);
  EXPECT_EQ(ended().diverted[at(LateReason::kTooFarAhead)], 0u);
}

TEST_F(Guards, AcceptedOnesJoinTheirWindows) {
  make({.bound = {0}, .max_ahead = {50}, .max_behind = {200}, .min_time = {1000}});
  send({{1500, 1500, 1, 5}, {1600, 1500, 1, 6}, {7, 1501, 1, 7}, {1200, 1511, 2, 8}});
  end();
  EXPECT_EQ(ended().passed_on, 4u);
  EXPECT_EQ(pipeline_->lane_counts(LaneId{0}).met, (GuardCounts{0, 1, 1, 1}));
  EXPECT_EQ(pipeline_->counts(QueryId{1}).passed_on, 4u);
  EXPECT_EQ(pipeline_->counts(QueryId{1}).store.late, 2u);  // by their stamp: 7 and 1200 under 1500
}

// Events of key 9 mark: only they move the frontier, and a batch of a mark alone does.
TEST_F(Guards, ProgressIsWhatThePredicateSays) {
  progress_.steps = {{.op = PredicateStep::Op::kRange, .column = 0, .low = 9, .high = 9}};
  make({.bound = {10}, .watermark_by = WatermarkBy::kMarks});
  send({{1500, 1500, 1, 5}, {1600, 1600, 1, 6}});
  EXPECT_EQ(pipeline_->frontier(), EventTime::before_all());
  send({{1550, 1600, 1, 9}, {1700, 1700, 1, 5}});
  EXPECT_EQ(pipeline_->frontier().ns, 1550);
  batch_->count = 0;
  batch_->marks = 1;
  batch_->mark[0] = {.at = 0, .time = {1700}};
  turn({.batch = batch_.get(), .punctuations = {}});
  EXPECT_EQ(pipeline_->frontier().ns, 1690);
  batch_->marks = 0;
  end();
}

}  // namespace
}  // namespace tidewire
