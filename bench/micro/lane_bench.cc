// Lane::stamp per event, lateness recorded: one partition in common disorder, and more of them, in
// disorder and each in order (then nearly every event moves a watermark).
//
//   lane_bench [--benchmark_filter=...]
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "outcome.h"
#include "watermark/lane.h"

namespace tidewire {
namespace {

constexpr uint32_t kBatches = 64;

void stamp(benchmark::State& state) {
  const auto partitions = static_cast<uint32_t>(state.range(0));
  const bool in_order = state.range(1) != 0;
  std::vector<PartitionTracker> trackers(partitions);
  const LaneOptions options{.bound = {100 * kMillisecond},
                            .idle_after = {60 * kSecond},
                            .max_ahead = {60 * kSecond},
                            .max_partitions = partitions};
  Rng rng(42);
  std::vector<std::unique_ptr<EventBatch>> batches;
  int64_t now = 1000 * kSecond;
  for (uint32_t b = 0; b < kBatches; ++b) {
    EventBatch& batch = *batches.emplace_back(std::make_unique<EventBatch>());
    batch.count = kBatchMax;
    for (uint32_t i = 0; i < kBatchMax; ++i) {
      now += 100;
      batch.arrival[i] = {now};
      batch.time[i] = {in_order ? now : now - static_cast<int64_t>(rng.below(100 * kMillisecond))};
      batch.partition[i] = PartitionId{static_cast<uint32_t>(rng.below(partitions))};
    }
  }
  LaneCounts counts;
  std::vector<GuardCounts> offences(partitions);
  LaneRecord record;
  record.offences = offences;
  for (auto _ : state) {
    Lane lane(options, trackers, &record);  // time must go on within one pass
    for (auto& batch : batches) lane.stamp(*batch, counts);
    benchmark::DoNotOptimize(lane.frontier());
  }
  bench::Outcome outcome;  // each pass gives the same stamps
  for (const auto& batch : batches) {
    outcome.count(batch->count);
    outcome.add(batch->stamp.data(), batch->count);
  }
  outcome.show(state);
  state.SetItemsProcessed(state.iterations() * kBatches * kBatchMax);
}
BENCHMARK(stamp)->ArgNames({"partitions", "in_order"})->ArgsProduct({{1, 4, 64, 1024}, {0, 1}});

}  // namespace
}  // namespace tidewire

BENCHMARK_MAIN();
