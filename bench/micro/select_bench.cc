// select() per event: key words and hash of a whole batch; a range and a prefix that leave half of
// the rows out; an address key cut to its /24.
//
//   select_bench [--benchmark_filter=...]
#include <benchmark/benchmark.h>

#include <memory>

#include "base/rng.h"
#include "outcome.h"
#include "pipeline/select.h"

namespace tidewire {
namespace {

std::unique_ptr<EventBatch> make_batch() {
  auto batch = std::make_unique<EventBatch>();
  Rng rng(42);
  batch->count = kBatchMax;
  for (uint32_t i = 0; i < kBatchMax; ++i) {
    batch->column[0][i] = static_cast<int64_t>(rng.below(100));
    batch->column[1][i] = static_cast<int64_t>(rng.next());
    batch->column[2][i] = 0;  // an IPv4 address: 10.x or 11.x
    batch->column[3][i] =
        static_cast<int64_t>(0xFFFF'0000'0000u | (10 + rng.below(2)) << 24 | rng.below(1 << 24));
  }
  return batch;
}

void run(benchmark::State& state, const Plan& plan) {
  const auto batch = make_batch();
  const auto scratch = std::make_unique<SelectScratch>();
  for (auto _ : state) {
    const Rows rows = select(plan, *batch, *scratch);
    benchmark::DoNotOptimize(rows.hash);
    benchmark::ClobberMemory();
  }
  const Rows rows = select(plan, *batch, *scratch);
  bench::Outcome outcome;
  outcome.count(rows.count);
  outcome.add(rows.hash, rows.count);
  outcome.show(state);
  state.SetItemsProcessed(state.iterations() * kBatchMax);
}

Plan plain() {
  Plan plan;
  plan.key_words = 1;
  plan.key = {{.column = 1}};
  plan.values = {0};
  return plan;
}

void one_word(benchmark::State& state) { run(state, plain()); }
BENCHMARK(one_word);

void half_by_range(benchmark::State& state) {
  Plan plan = plain();
  plan.where = {{.op = PredicateStep::Op::kRange, .column = 0, .low = 0, .high = 49}};
  run(state, plan);
}
BENCHMARK(half_by_range);

void half_by_prefix_or_range(benchmark::State& state) {
  Plan plan = plain();
  plan.where = {{.op = PredicateStep::Op::kPrefix,
                 .column = 2,
                 .low = 0xFFFF'0A00'0000,
                 .high = 0,
                 .mask_low = ~int64_t{0xFF'FFFF},
                 .mask_high = -1},
                {.op = PredicateStep::Op::kRange, .column = 0, .low = 98, .high = 99},
                {.op = PredicateStep::Op::kOr}};
  run(state, plan);
}
BENCHMARK(half_by_prefix_or_range);

void address_cut(benchmark::State& state) {
  Plan plan = plain();
  plan.key_words = 2;
  for (const auto cut : {KeyWord::Cut::kHighWord, KeyWord::Cut::kLowWord}) {
    KeyWord word;
    word.cut = cut;
    word.address = 2;
    word.mask_ipv4 = ~int64_t{0xFF};
    word.mask_ipv6 = cut == KeyWord::Cut::kHighWord ? -1 : 0;
    plan.key.push_back(word);
  }
  plan.key.erase(plan.key.begin());
  run(state, plan);
}
BENCHMARK(address_cut);

}  // namespace
}  // namespace tidewire

BENCHMARK_MAIN();
