// One store with its ring, fed by hand: rows as {time, stamp, key, value}, results as plain
// structs.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "window/store.h"

namespace tidewire {

inline Plan small_plan(WindowKind kind, int64_t size, int64_t slide) {
  Plan plan;
  plan.name = "small";
  plan.lanes = {LaneId{0}};
  plan.key_words = 1;
  plan.values = {0};
  plan.window.kind = kind;
  plan.window.size = plan.window.gap = {size};
  plan.window.slide = {slide};
  plan.max_keys = 16;
  plan.max_panes = 16;
  plan.max_sessions = 16;
  plan.max_deferred = 16;
  return plan;
}
inline Plan tumbling(int64_t size) { return small_plan(WindowKind::kTumbling, size, size); }
inline Plan sliding(int64_t size, int64_t slide) {
  return small_plan(WindowKind::kSliding, size, slide);
}
inline Plan session(int64_t gap) { return small_plan(WindowKind::kSession, gap, gap); }

// With this seed two words hash to rotl(first, 32) ^ second, so that keys collide on request. Not
// for keys of one word, whose multiplier must be odd.
inline constexpr HashSeed kCollidingSeed{0, 0};
// The second word that gives every first one the same hash.
inline int64_t colliding_with(int64_t first) {
  return static_cast<int64_t>(std::rotl(static_cast<uint64_t>(first), 32));
}

struct Row {
  int64_t time, stamp, key = 1, value = 1;
};
struct Result {
  int64_t start, end, key, count, sum, min, max;
  uint16_t flags = 0;
  bool operator==(const Result&) const = default;
};

// The same with what kind of result it is.
struct Told {
  int64_t place, start, end, key, count, sum;
  FireKind fire;
  uint32_t index;
  bool update = false;  // of one row
  bool operator==(const Told&) const = default;
};

class StoreHarness {
 public:
  explicit StoreHarness(const Plan& plan, uint32_t blocks = 8)
      : plan_(plan), blocks_(blocks), arena_(ArenaOptions{-1, false, false}) {
    ring_.blocks.adopt(blocks_);
    store_ = make_store(plan_, {0, plan_.shards}, arena_);
  }
  void add(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const EventTime time{row.time}, stamp{row.stamp};
      const uint64_t hash = hash_words<1>(&row.key, plan_.seed);
      Rows one;
      one.count = 1;
      one.lane = plan_.lanes[0];
      one.first = Ordinal{ordinal_++};
      one.time = &time;
      one.stamp = &stamp;
      one.hash = &hash;
      one.key[0] = &row.key;
      one.value[0] = &row.value;
      one.min_time = one.max_time = time;
      one.max_stamp = stamp;
      store_->add(one);
    }
  }
  // Up to `frontier`, with an egress that takes every block. Returns the units that it took.
  uint64_t fire(int64_t frontier) {
    uint64_t units = 0;
    for (uint32_t used = 1; used > 0; units += used) {
      used = store_->fire({frontier}, {frontier}, 64, out_);
      out_.close();
      take();
    }
    return units;
  }
  uint64_t finish() { return fire(INT64_MAX); }
  std::vector<Result> take_results() { return std::exchange(results_, {}); }
  std::vector<Told> take_told() { return std::exchange(told_, {}); }
  // Window ends of which egress was told that rows are lost.
  std::vector<std::pair<int64_t, int64_t>> take_lost() { return std::exchange(lost_, {}); }
  WindowStore& store() { return *store_; }
  StoreCounts counts() const { return store_->counts(); }
  Arena& arena() { return arena_; }
  ResultRing& ring() { return ring_; }
  ResultWriter& out() { return out_; }

  void take() {
    for (const ResultBlock* b; (b = ring_.blocks.front()); ring_.blocks.pop()) {
      for (uint32_t at = 0; at < b->used;) {
        Run run;
        std::memcpy(&run, b->bytes.data() + at, sizeof run);
        at += sizeof run;
        if (run.kind == RunKind::kLost) lost_.push_back({run.start.ns, run.end.ns});
        for (uint32_t i = 0; i < run.rows; ++i, at += b->row_words * 8) {
          int64_t word[16];
          std::memcpy(word, b->bytes.data() + at, b->row_words * 8);
          const bool placed = run.kind == RunKind::kPlaced;
          const int64_t* cell = word + (placed ? 4 : 2);
          if (keep_results_)
            results_.push_back({placed ? word[0] : run.start.ns, placed ? word[1] : run.end.ns,
                                cell[-1], cell[0], cell[1], cell[2], cell[3], run.flags});
          if (keep_results_)
            told_.push_back({run.place.ns, results_.back().start, results_.back().end, cell[-1],
                             cell[0], cell[1], run.fire, run.index, run.kind == RunKind::kUpdate});
          rows_ += 1;
          sum_of_counts_ += static_cast<uint64_t>(cell[0]);
        }
      }
    }
  }
  void keep_results(bool keep) { keep_results_ = keep; }
  uint64_t rows() const { return rows_; }
  uint64_t sum_of_counts() const { return sum_of_counts_; }

 private:
  Plan plan_;
  std::vector<ResultBlock> blocks_;
  ResultRing ring_;
  ResultWriter out_{ring_};
  Arena arena_;
  std::unique_ptr<WindowStore> store_;
  std::vector<Result> results_;
  std::vector<Told> told_;
  std::vector<std::pair<int64_t, int64_t>> lost_;
  uint64_t ordinal_ = 0, rows_ = 0, sum_of_counts_ = 0;
  bool keep_results_ = true;
};

}  // namespace tidewire
