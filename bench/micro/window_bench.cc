// The window stores alone: columns of 256 events -> stamps -> hash -> store -> result blocks, ns
// per event. One partition, 4 M events a second of event time, 100 ms of disorder, 4 aggregates
// (count, sum, min, max); keys uniform. Blocks are handed back at once, as an egress that never
// lags does.
//
//   window_bench --benchmark_filter=tumbling
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "outcome.h"
#include "window/dictionary.h"
#include "window/store.h"

namespace tidewire {
namespace {

constexpr int64_t kStep = 250, kDisorder = 100 * kMillisecond;
constexpr size_t kEvents = size_t{1} << 22;  // then the keys repeat, with later times

struct Input {
  explicit Input(uint64_t keys) : key(kEvents), value(kEvents), behind(kEvents) {
    Rng rng(42);
    for (size_t i = 0; i < kEvents; ++i) {
      key[i] = static_cast<int64_t>(Rng(rng.below(keys)).next());
      value[i] = static_cast<int64_t>(rng.below(2001)) - 1000;
      behind[i] = static_cast<int64_t>(rng.below(kDisorder));
    }
  }
  std::vector<int64_t> key, value, behind;
};

Plan plan_for(WindowKind kind, uint64_t keys, uint32_t key_words, CellKind cell) {
  Plan plan;
  plan.name = "bench";
  plan.lanes = {LaneId{0}};
  plan.key_words = key_words;
  plan.values = {0};
  plan.window.kind = kind;
  plan.window.slide = {kSecond};
  plan.window.size = {kind == WindowKind::kSliding ? 10 * kSecond : kSecond};
  plan.window.gap = {230 * kMillisecond};
  while (keys / plan.shards > 512) plan.shards *= 2;
  plan.max_keys = keys;
  plan.max_panes = 14;
  plan.max_sessions = keys / 4 + 8192;
  plan.max_deferred = 1024;
  plan.cell = cell;
  if (cell == CellKind::kWide) {
    plan.parts = {{CellOp::kSum64, 0, 1},
                  {CellOp::kMin, 0, 2},
                  {CellOp::kMax, 0, 3},
                  {CellOp::kSum128, 0, 4}};
    plan.cell_words = 8;
  }
  return plan;
}

void store(benchmark::State& state, WindowKind kind, uint32_t key_words, CellKind cell) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const Input input(keys);
  const Plan plan = plan_for(kind, keys, key_words, cell);
  Arena arena(ArenaOptions{});
  const auto window_store = make_store(plan, {0, plan.shards}, arena);
  ResultRing ring;
  ring.blocks.adopt(arena.take<ResultBlock>(64, "results"));
  ResultWriter out(ring);

  alignas(64) std::array<EventTime, kBatchMax> time, stamp;
  alignas(64) std::array<uint64_t, kBatchMax> hash;
  int64_t watermark = INT64_MIN, now = 1000 * kSecond;
  size_t at = 0;
  bench::Outcome outcome;  // of the warm pass
  const auto turn = [&](bool look) {
    Rows rows;
    rows.count = kBatchMax;
    rows.min_time = EventTime::end_of_time();
    rows.max_time = EventTime::before_all();
    const int64_t* key = &input.key[at];
    const int64_t* behind = &input.behind[at];
    for (uint32_t i = 0; i < kBatchMax; ++i, now += kStep) {
      time[i] = {now - behind[i]};
      rows.min_time = std::min(rows.min_time, time[i]);
      rows.max_time = std::max(rows.max_time, time[i]);
    }
    for (uint32_t i = 0; i < kBatchMax; ++i) {
      stamp[i] = {watermark};
      watermark = std::max(watermark, time[i].ns - kDisorder);
    }
    rows.max_stamp = {watermark};
    for (uint32_t i = 0; i < kBatchMax; ++i) {
      const std::array<int64_t, 4> words{key[i], key[i], key[i], key[i]};
      hash[i] = key_words == 1   ? hash_words<1>(words.data(), plan.seed)
                : key_words == 2 ? hash_words<2>(words.data(), plan.seed)
                                 : hash_words<4>(words.data(), plan.seed);
    }
    rows.time = time.data();
    rows.stamp = stamp.data();
    rows.hash = hash.data();
    rows.key = {key, key, key, key};
    rows.value[0] = &input.value[at];
    window_store->add(rows);
    window_store->fire({watermark}, {watermark}, 512, out);
    out.close();
    for (; const ResultBlock* block = ring.blocks.front(); ring.blocks.pop()) {
      if (!look) continue;
      outcome.count(block->rows);
      outcome.add(reinterpret_cast<const uint64_t*>(block->bytes.data()), block->used / 8);
    }
    at = (at + kBatchMax) % kEvents;
  };
  for (size_t i = 0; i < kEvents / kBatchMax; ++i) turn(true);
  for (auto _ : state) turn(false);
  outcome.show(state);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBatchMax);
  state.counters["ns_per_event"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBatchMax * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void find(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const Input input(keys);
  const Plan plan = plan_for(WindowKind::kTumbling, keys, 1, CellKind::kStats);
  Arena arena(ArenaOptions{});
  Reserve reserve(&arena, "bench");
  Dictionary<1> dictionary(plan, {0, plan.shards}, reserve);
  alignas(64) std::array<uint64_t, kBatchMax> hash, line;
  size_t at = 0;
  uint64_t sum = 0;
  bench::Outcome outcome;
  const auto batch = [&](bool insert) {
    Rows rows;
    rows.count = kBatchMax;
    rows.hash = hash.data();
    rows.key[0] = &input.key[at];
    for (uint32_t i = 0; i < kBatchMax; ++i) {
      hash[i] = hash_words<1>(&input.key[at + i], plan.seed);
      line[i] = dictionary.line_of(hash[i]);
      dictionary.prefetch(line[i]);
    }
    for (uint32_t i = 0; i < kBatchMax; ++i)
      sum += insert ? dictionary.find(rows, i, line[i]) : dictionary.match(rows, i, line[i]).id;
    at = (at + kBatchMax) % kEvents;
  };
  for (size_t i = 0; i < kEvents / kBatchMax; ++i) batch(true);
  outcome.count(dictionary.keys());
  outcome.add(&sum, 1);  // of all ids
  outcome.show(state);
  for (auto _ : state) batch(false);
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBatchMax);
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int64_t keys : {1'000, 100'000, 1'000'000}) b->Arg(keys);
}

BENCHMARK_CAPTURE(store, tumbling, WindowKind::kTumbling, 1, CellKind::kStats)->Apply(sizes);
BENCHMARK_CAPTURE(store, sliding, WindowKind::kSliding, 1, CellKind::kStats)->Apply(sizes);
BENCHMARK_CAPTURE(store, session, WindowKind::kSession, 1, CellKind::kStats)->Apply(sizes);
BENCHMARK_CAPTURE(store, tumbling_two_words, WindowKind::kTumbling, 2, CellKind::kStats)
    ->Apply(sizes);
BENCHMARK_CAPTURE(store, tumbling_four_words, WindowKind::kTumbling, 4, CellKind::kStats)
    ->Apply(sizes);
BENCHMARK_CAPTURE(store, tumbling_wide, WindowKind::kTumbling, 1, CellKind::kWide)->Apply(sizes);
BENCHMARK(find)->Apply(sizes);

}  // namespace
}  // namespace tidewire

BENCHMARK_MAIN();
