// A pipeline over events in memory, for benches: what stands behind the parser and before the
// sinks. Events lie in columns; a turn's part of them is copied into its batch, as a parser would
// write it. That is the parser's work and not the pipeline's, so it is measured alone as well.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/floor/floor.h"
#include "memory/arena.h"
#include "metrics/histogram.h"
#include "pipeline/pipeline.h"

namespace tidewire::bench {

enum class Cell : uint8_t { kStats, kWide, kQuantile };

// Events of `keys` keys, in disorder up to the bound, and what is asked of them.
struct Workload {
  floor_kernel::Work work = floor_kernel::Work::kTumbling;
  bool zipf = false;  // exponent 0.99; otherwise all keys are equally frequent
  uint32_t partitions = 1;
  bool in_order = false;    // each partition, so that every row moves its watermark
  bool one_behind = false;  // the last partition, by a minute
  uint32_t key_words = 1;
  Cell cell = Cell::kStats;
  bool late = false;  // 1 % of the rows are beyond the bound, and give a result each
  bool guards = false;
  int queries = 1;
  uint64_t keys = 1;
  uint64_t first_key = 0;  // keys are first_key, first_key + 1, ...
  bool hot = false;        // every second row is of the first key
  bool churn = false;      // a fifth of the keys is new in each second
  uint64_t seed = 42;

  double rate() const;    // events per second of event time
  int64_t bound() const;  // ns
  int64_t gap() const { return 230 * kMillisecond; }
};

class Events {
 public:
  Events(const Workload& work, size_t count);
  size_t size() const { return time_.size(); }
  int64_t first() const { return time_[0]; }
  int64_t last() const { return last_; }
  std::span<const floor_kernel::Event> rows();  // for the floor
  int64_t read() const;                         // all columns once; a sum of them
  void prefetch(size_t at) const;               // of a whole batch
  void copy(size_t at, uint32_t count, int64_t shift, EventBatch& batch) const;

 private:
  Arena arena_{{}};  // large pages, as those that packets are received in
  uint32_t key_words_;
  int64_t last_ = 0;
  std::span<int64_t> time_;
  std::span<uint32_t> partition_;  // empty: one
  std::vector<std::span<int64_t>> key_;
  std::vector<std::span<int64_t>> value_;
  std::span<floor_kernel::Event> rows_;
};

struct Outcome {
  floor_kernel::Sums sums;
  uint64_t digest = 0;  // of all results' words, whatever their order
};

// The pipeline that is asked for it, one worker; `only` >= 0: that query of several.
PipelineOptions options_of(const Workload& work, int only = -1);

// A null sink that adds up what it is given.
class NullSink {
 public:
  explicit NullSink(Arena& arena) { ring_.blocks.adopt(arena.take<ResultBlock>(64, "results")); }
  ResultWriter& writer() { return writer_; }
  template <bool look>  // with a digest
  void take(std::span<const Plan> plans, Outcome& outcome);

 private:
  ResultRing ring_;
  ResultWriter writer_{ring_};
};

class Subject {
 public:
  // `only` >= 0: that query of several.
  explicit Subject(const Workload& work, int only = -1);
  // Event time goes on from pass to pass, so that the tables stay warm.
  void run(const Events& events, LatencyHistogram* turns);
  void fill(const Events& events);        // the batches of such a pass, and no turn
  Outcome outcome(const Events& events);  // of one pass, which is dearer for the digest

 private:
  template <bool look>
  void pass(const Events& events, LatencyHistogram* turns, Outcome& outcome);

  Arena arena_;
  PipelineOptions options_;
  NullSink sink_;
  std::unique_ptr<ExchangeFabric> fabric_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<EventBatch> batch_;
  int64_t shift_ = 0;
  uint64_t ordinal_ = 0;
};

}  // namespace tidewire::bench
