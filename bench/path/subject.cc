#include "subject.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "base/rng.h"
#include "clocks.h"
#include "query/sketch.h"

namespace tidewire::bench {
namespace {

using floor_kernel::Work;

constexpr uint8_t kValue = 4, kSecondValue = 5;  // columns; those of the key are 0 to 3

// Ranks by inversion of the distribution's sum, in a table.
class Zipf {
 public:
  explicit Zipf(uint64_t keys) : sum_(keys) {
    double sum = 0;
    for (uint64_t k = 0; k < keys; ++k)
      sum_[k] = sum += std::pow(static_cast<double>(k + 1), -0.99);
  }
  uint64_t draw(Rng& rng) const {
    const double at = static_cast<double>(rng.below(uint64_t{1} << 53)) / 0x1p53 * sum_.back();
    return static_cast<uint64_t>(std::upper_bound(sum_.begin(), sum_.end(), at) - sum_.begin());
  }

 private:
  std::vector<double> sum_;
};

Plan plan_of(const Workload& work, int query) {
  Plan plan;
  plan.id = QueryId{static_cast<uint16_t>(query)};
  plan.name = "bench" + std::to_string(query);
  plan.lanes = {LaneId{0}};
  plan.key_words = work.key_words;
  for (uint8_t w = 0; w < work.key_words; ++w) plan.key.push_back({.column = w});
  plan.values = {kValue};
  plan.placement = Placement::kLocal;
  plan.max_keys = work.churn ? work.keys * 3 / 2 : work.keys;
  while (plan.max_keys / plan.shards > 512) plan.shards *= 2;
  plan.max_panes = 16;
  plan.max_sessions = work.keys / 4 + 65'536;
  plan.max_deferred = 65'536;
  plan.max_changes = 262'144;
  switch (work.work) {
    case Work::kTumbling:
    case Work::kNoKey:
      plan.window = {.size = {(query + 1) * kSecond}, .slide = {(query + 1) * kSecond}};
      break;
    case Work::kSliding:
      plan.window = {.kind = WindowKind::kSliding, .size = {10 * kSecond}, .slide = {kSecond}};
      break;
    case Work::kSession:
      plan.window = {.kind = WindowKind::kSession, .gap = {work.gap()}};
      break;
  }
  if (work.late) plan.window.lateness = {10 * kSecond};
  switch (work.cell) {
    case Cell::kStats:
      break;
    case Cell::kWide:
      plan.cell = CellKind::kWide;
      plan.values = {kValue, kSecondValue};
      plan.cell_words = 8;
      plan.parts = {{.op = CellOp::kSum64, .value = 0, .word = 1},
                    {.op = CellOp::kMin, .value = 0, .word = 2},
                    {.op = CellOp::kMax, .value = 0, .word = 3},
                    {.op = CellOp::kSum64, .value = 1, .word = 4},
                    {.op = CellOp::kMin, .value = 1, .word = 5},
                    {.op = CellOp::kMax, .value = 1, .word = 6},
                    {.op = CellOp::kNonZero, .value = 0, .word = 7}};
      break;
    case Cell::kQuantile: {
      const ValueRange range{.bits = 10, .non_negative = false};
      plan.cell = CellKind::kWide;
      plan.parts = {{.op = CellOp::kSum64, .value = 0, .word = 1},
                    {.op = CellOp::kHistogram, .value = 0, .word = 4, .range = range}};
      plan.cell_words = 4 + HistogramBuckets(range).words();
      plan.max_panes = 4;
      break;
    }
  }
  return plan;
}

}  // namespace

double Workload::rate() const {
  switch (work) {
    case Work::kTumbling:
    case Work::kNoKey:
      return 5e6;
    case Work::kSliding:
      return 1e6;
    case Work::kSession:  // so that one event in ten opens a session: e^-2.3
      return 10 * static_cast<double>(keys);
  }
  return 0;
}
int64_t Workload::bound() const { return (work == Work::kSession ? 50 : 100) * kMillisecond; }

Events::Events(const Workload& work, size_t count)
    : key_words_(work.key_words),
      time_(arena_.take<int64_t>(count, "events")),
      partition_(arena_.take<uint32_t>(work.partitions > 1 ? count : 0, "events")),
      key_(std::max(1u, work.key_words)),
      value_(work.cell == Cell::kWide ? 2 : 1) {
  for (auto* const columns : {&key_, &value_})
    for (auto& column : *columns) column = arena_.take<int64_t>(count, "events");
  Rng rng(work.seed), side(work.seed + 1);
  const Zipf zipf(work.zipf ? work.keys : 1);
  const auto bound = static_cast<uint64_t>(work.bound());
  for (size_t i = 0; i < count; ++i) {
    const auto now =
        1000 * kSecond + static_cast<int64_t>(static_cast<double>(i) * (1e9 / work.rate()));
    uint64_t key = work.zipf ? zipf.draw(rng) : rng.below(work.keys);
    if (work.hot && side.one_in(2)) key = 0;
    key += work.first_key;
    if (work.churn) key += static_cast<uint64_t>(now / kSecond) * work.keys / 5;
    time_[i] = now;
    if (!work.in_order) time_[i] -= static_cast<int64_t>(rng.below(bound));
    for (size_t w = 0; w < key_.size(); ++w)
      key_[w][i] = static_cast<int64_t>(Rng(key + 1 + (w << 32)).next() | 1);
    for (auto& value : value_) value[i] = static_cast<int64_t>(rng.below(2001)) - 1000;
    if (work.late && side.one_in(100))
      time_[i] -= work.bound() + static_cast<int64_t>(side.below(3 * kSecond));
    last_ = std::max(last_, time_[i]);
    if (work.partitions == 1) continue;
    partition_[i] = static_cast<uint32_t>(side.below(work.partitions));
    if (work.one_behind && partition_[i] == work.partitions - 1) time_[i] -= 60 * kSecond;
  }
}

std::span<const floor_kernel::Event> Events::rows() {
  if (rows_.empty()) {
    rows_ = arena_.take<floor_kernel::Event>(size(), "events");
    for (size_t i = 0; i < size(); ++i)
      rows_[i] = {static_cast<uint64_t>(key_[0][i]), time_[i], value_[0][i]};
  }
  return rows_;
}

int64_t Events::read() const {
  int64_t sum = 0;
  const auto add = [&sum](const auto& column, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) sum += static_cast<int64_t>(column[i]);
  };
  for (size_t at = 0; at < size(); at += kBatchMax) {
    const size_t end = std::min(size(), at + kBatchMax);
    add(time_, at, end);
    for (uint32_t w = 0; w < key_words_; ++w) add(key_[w], at, end);
    for (const auto& value : value_) add(value, at, end);
    if (!partition_.empty()) add(partition_, at, end);
  }
  return sum;
}

// What a receive burst does for the packets behind it: the next part is on its way meanwhile.
void Events::prefetch(size_t at) const {
  if (at + kBatchMax > size()) return;
  const auto fetch = [](const void* from, size_t bytes) {
    for (size_t b = 0; b < bytes; b += 64)
      __builtin_prefetch(static_cast<const char*>(from) + b, 0, 3);
  };
  fetch(&time_[at], kBatchMax * 8);
  for (uint32_t w = 0; w < key_words_; ++w) fetch(&key_[w][at], kBatchMax * 8);
  for (const auto& value : value_) fetch(&value[at], kBatchMax * 8);
  if (!partition_.empty()) fetch(&partition_[at], kBatchMax * 4);
}
void Events::copy(size_t at, uint32_t count, int64_t shift, EventBatch& batch) const {
  batch.count = count;
  const int64_t* const time = &time_[at];
  for (uint32_t i = 0; i < count; ++i) batch.time[i].ns = time[i] + shift;
  std::memcpy(batch.arrival.data(), batch.time.data(), count * 8);
  if (!partition_.empty()) std::memcpy(batch.partition.data(), &partition_[at], count * 4);
  for (uint32_t w = 0; w < key_words_; ++w)
    std::memcpy(batch.column[w].data(), &key_[w][at], count * 8);
  for (size_t v = 0; v < value_.size(); ++v)
    std::memcpy(batch.column[kValue + v].data(), &value_[v][at], count * 8);
}

PipelineOptions options_of(const Workload& work, int only) {
  PipelineOptions options;
  for (int q = 0; q < work.queries; ++q)
    if (only < 0 || only == q) options.plans.push_back(plan_of(work, q));
  if (only > 0) options.plans[0].id = QueryId{0};
  LaneOptions lane{.bound = {work.bound()}, .max_partitions = work.partitions};
  if (work.guards) lane.max_ahead = lane.max_behind = {3600 * kSecond};
  options.lanes = {{LaneId{0}, 0, lane}};
  return options;
}

Subject::Subject(const Workload& work, int only)
    : arena_({}), options_(options_of(work, only)), sink_(arena_) {
  batch_ = std::make_unique<EventBatch>();
  batch_->lane = LaneId{0};
  batch_->partition.fill(PartitionId{0});
  Arena* const arenas[] = {&arena_};
  fabric_ = std::make_unique<ExchangeFabric>(options_.plans, arenas);
  pipeline_ = std::make_unique<Pipeline>(options_, *fabric_, arena_);
}

void Subject::fill(const Events& events) {
  for (size_t at = 0; at < events.size(); at += kBatchMax) {
    const auto n = static_cast<uint32_t>(std::min<size_t>(kBatchMax, events.size() - at));
    events.copy(at, n, shift_, *batch_);
    events.prefetch(at + n);
    asm volatile("" : : "r"(batch_.get()) : "memory");  // somebody may look at it
  }
}

void Subject::run(const Events& events, LatencyHistogram* turns) {
  Outcome none;
  pass<false>(events, turns, none);
}
Outcome Subject::outcome(const Events& events) {
  Outcome outcome;
  pass<true>(events, nullptr, outcome);
  return outcome;
}

template <bool look>
void Subject::pass(const Events& events, LatencyHistogram* turns, Outcome& outcome) {
  for (size_t at = 0; at < events.size(); at += kBatchMax) {
    const double begin = turns ? wall_seconds() : 0;
    const auto n = static_cast<uint32_t>(std::min<size_t>(kBatchMax, events.size() - at));
    events.copy(at, n, shift_, *batch_);
    events.prefetch(at + n);
    batch_->first = Position{ordinal_};
    batch_->ordinal = Ordinal{ordinal_};
    ordinal_ += n;
    pipeline_->turn({batch_.get(), {}}, sink_.writer());
    sink_.take<look>(options_.plans, outcome);
    if (turns) turns->record(static_cast<uint64_t>((wall_seconds() - begin) * 1e9));
  }
  // What is open ends by a punctuation, behind everything of this pass and before all of the next.
  shift_ += (events.last() - events.first()) / kSecond * kSecond + 200 * kSecond;
  const Punctuation flush{LaneId{0},
                          Position{ordinal_},
                          {events.first() + shift_ - 100 * kSecond},
                          Punctuation::Why::kOperator};
  pipeline_->turn({nullptr, std::span(&flush, 1)}, sink_.writer());
  sink_.take<look>(options_.plans, outcome);
  while (pipeline_->turn({}, sink_.writer()) > 0) sink_.take<look>(options_.plans, outcome);
  sink_.take<look>(options_.plans, outcome);
}

template <bool look>
void NullSink::take(std::span<const Plan> plans, Outcome& outcome) {
  for (; const ResultBlock* block = ring_.blocks.front(); ring_.blocks.pop()) {
    const uint32_t key_words = plans[index_of(block->query)].key_words;
    for (uint32_t at = 0; at < block->used;) {
      Run run;
      std::memcpy(&run, block->bytes.data() + at, sizeof run);
      at += sizeof run;
      const uint32_t cell = (run.kind == RunKind::kPlaced ? 3 : 1) + key_words;
      outcome.sums.results += run.rows;
      for (uint32_t r = 0; r < run.rows; ++r, at += block->row_words * 8) {
        const auto* row = reinterpret_cast<const int64_t*>(block->bytes.data() + at);
        outcome.sums.count += row[cell], outcome.sums.sum += row[cell + 1];
        if constexpr (look) {
          uint64_t hash = static_cast<uint64_t>(run.start.ns) ^ run.index;
          for (uint32_t w = 0; w < block->row_words; ++w)
            hash = mix_words(hash, static_cast<uint64_t>(row[w]), HashSeed{});
          outcome.digest += hash;
        }
      }
    }
  }
}

template void NullSink::take<false>(std::span<const Plan>, Outcome&);
template void NullSink::take<true>(std::span<const Plan>, Outcome&);

}  // namespace tidewire::bench
