// The whole pipeline behind the parser against the floor, in one run: columns in memory -> stamps
// -> select -> store -> timeline in slices -> result blocks that a null sink frees at once. Floor
// and pipeline run on the same events, one after the other, alternating; medians and their ratio
// are printed, and the pipeline's turn latency. CPU time of the thread.
//
//   pipeline_bench [--smoke] [--events N] [--repeat N] [--work tumbling|sliding|session] [--keys N]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "bench/floor/floor.h"
#include "metrics/histogram.h"
#include "pipeline/pipeline.h"

namespace tidewire {
namespace {

using floor_kernel::Event;
using floor_kernel::Sums;
using floor_kernel::Work;

constexpr int64_t kBound = 100 * kMillisecond;

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
uint64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// In common disorder up to the bound; `rate` events per second of event time.
std::vector<Event> make_events(uint64_t keys, size_t count, double rate) {
  std::vector<Event> events(count);
  Rng rng(42);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = Rng(rng.below(keys) + 1).next() | 1;
    const auto now = 1000 * kSecond + static_cast<int64_t>(static_cast<double>(i) * (1e9 / rate));
    events[i] = {key, now - static_cast<int64_t>(rng.below(kBound)),
                 static_cast<int64_t>(rng.below(2001)) - 1000};
  }
  return events;
}

class Subject {
 public:
  Subject(Work work, uint64_t keys, int64_t gap) : arena_({}) {
    Plan plan;
    plan.name = "bench";
    plan.lanes = {LaneId{0}};
    plan.key = {KeyWord{}};
    plan.key_words = 1;
    plan.values = {1};
    plan.placement = Placement::kLocal;
    plan.max_keys = keys;
    while (plan.max_keys / plan.shards > 512) plan.shards *= 2;
    plan.max_panes = 16;
    plan.max_sessions = keys / 4 + 65'536;
    plan.max_deferred = 4096;
    switch (work) {
      case Work::kTumbling:
        plan.window = {.kind = WindowKind::kTumbling, .size = {kSecond}, .slide = {kSecond}};
        break;
      case Work::kSliding:
        plan.window = {.kind = WindowKind::kSliding, .size = {10 * kSecond}, .slide = {kSecond}};
        break;
      case Work::kSession:
        plan.window = {.kind = WindowKind::kSession, .gap = {gap}};
        break;
    }
    options_.plans = {plan};
    options_.lanes = {{LaneId{0}, 0, {.bound = {kBound}, .max_partitions = 1}}};
    ring_.blocks.adopt(arena_.take<ResultBlock>(64, "results"));
    batch_ = std::make_unique<EventBatch>();
    batch_->lane = LaneId{0};
  }
  // A new pipeline on the same arena would grow it run by run, so event time goes on instead: every
  // run is shifted past the one before, the tables stay warm.
  void start() {
    Arena* const arenas[] = {&arena_};
    fabric_ = std::make_unique<ExchangeFabric>(options_.plans, arenas);
    pipeline_ = std::make_unique<Pipeline>(options_, *fabric_, arena_);
  }
  Sums run(const std::vector<Event>& events, LatencyHistogram* turns) {
    const int64_t shift = shift_;
    Sums sums;
    for (size_t at = 0; at < events.size(); at += kBatchMax) {
      const uint64_t begin = turns ? monotonic_ns() : 0;
      const auto n = static_cast<uint32_t>(std::min<size_t>(kBatchMax, events.size() - at));
      batch_->count = n;
      batch_->first = Position{ordinal_};
      batch_->ordinal = Ordinal{ordinal_};
      ordinal_ += n;
      for (uint32_t i = 0; i < n; ++i) {
        const Event& e = events[at + i];
        batch_->time[i] = {e.time + shift};
        batch_->arrival[i] = {e.time + shift};
        batch_->partition[i] = PartitionId{0};
        batch_->column[0][i] = static_cast<int64_t>(e.key);
        batch_->column[1][i] = e.value;
      }
      pipeline_->turn({batch_.get(), {}}, writer_);
      free_blocks(sums);
      if (turns) turns->record(monotonic_ns() - begin);
    }
    // The last windows of the run: one event far enough on, which belongs to the next run's first
    // window.
    int64_t last = 0;
    for (const Event& e : events) last = std::max(last, e.time);
    shift_ += (last - events[0].time) / kSecond * kSecond + 60 * kSecond;
    const Punctuation flush{LaneId{0},
                            Position{ordinal_},
                            {events[0].time - kBound + shift_ - 20 * kSecond},
                            Punctuation::Why::kOperator};
    pipeline_->turn({nullptr, std::span(&flush, 1)}, writer_);
    free_blocks(sums);
    while (pipeline_->turn({}, writer_) > 0) free_blocks(sums);
    free_blocks(sums);
    return sums;
  }

 private:
  void free_blocks(Sums& sums) {  // a null sink that adds up what it is given
    for (; const ResultBlock* block = ring_.blocks.front(); ring_.blocks.pop())
      for (uint32_t at = 0; at < block->used;) {
        Run run;
        std::memcpy(&run, block->bytes.data() + at, sizeof run);
        at += sizeof run;
        const uint32_t cell = run.kind == RunKind::kPlaced ? 4 : 2;
        sums.results += run.rows;
        for (uint32_t r = 0; r < run.rows; ++r, at += block->row_words * 8) {
          const auto* row = reinterpret_cast<const int64_t*>(block->bytes.data() + at);
          sums.count += row[cell], sums.sum += row[cell + 1];
        }
      }
  }

  Arena arena_;
  PipelineOptions options_;
  ResultRing ring_;
  ResultWriter writer_{ring_};
  std::unique_ptr<ExchangeFabric> fabric_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<EventBatch> batch_;
  int64_t shift_ = 0;
  uint64_t ordinal_ = 0;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

const char* name_of(Work work) {
  switch (work) {
    case Work::kTumbling:
      return "tumbling 1 s";
    case Work::kSliding:
      return "sliding 10 s / 1 s";
    case Work::kSession:
      return "session";
  }
  return "";
}

bool measure(Work work, uint64_t keys, size_t count, int repeat) {
  const double rate = work == Work::kTumbling ? 5e6 : 1e6;
  const auto gap = static_cast<int64_t>(2.3 * static_cast<double>(keys) / rate * 1e9);
  const std::vector<Event> events = make_events(keys, count, rate);
  std::unique_ptr<floor_kernel::Kernel> kernel(floor_kernel::make_kernel(work, keys, gap));
  Subject subject(work, keys, gap);
  subject.start();
  const Sums want = kernel->run(events, kBound);  // warms both
  const Sums got = subject.run(events, nullptr);
  if (!(got == want)) {
    std::fprintf(
        stderr, "%s, %lu keys: pipeline %lu results, count %ld, sum %ld; floor %lu, %ld, %ld\n",
        name_of(work), keys, got.results, got.count, got.sum, want.results, want.count, want.sum);
    return false;
  }
  std::vector<double> floor_ns, ours_ns;
  LatencyHistogram turns;
  for (int r = 0; r < repeat; ++r) {
    double begin = cpu_seconds();
    kernel->run(events, kBound);
    floor_ns.push_back((cpu_seconds() - begin) * 1e9 / static_cast<double>(count));
    begin = cpu_seconds();
    subject.run(events, nullptr);
    ours_ns.push_back((cpu_seconds() - begin) * 1e9 / static_cast<double>(count));
  }
  subject.run(events, &turns);
  std::vector<double> ratios;
  for (size_t i = 0; i < floor_ns.size(); ++i) ratios.push_back(ours_ns[i] / floor_ns[i]);
  std::printf("%-20s %9lu  %8.2f  %8.2f  %6.2f  %8.1f %8.1f %8.1f\n", name_of(work), keys,
              median(floor_ns), median(ours_ns), median(ratios),
              static_cast<double>(turns.percentile(50)) / 1e3,
              static_cast<double>(turns.percentile(99)) / 1e3,
              static_cast<double>(turns.percentile(99.99)) / 1e3);
  std::fflush(stdout);
  return true;
}

}  // namespace
}  // namespace tidewire

int main(int argc, char** argv) {
  using tidewire::floor_kernel::Work;
  size_t events = 10'000'000;
  int repeat = 7;
  std::vector<uint64_t> keys = {1'000, 100'000, 1'000'000};
  std::vector<Work> works = {Work::kTumbling, Work::kSliding, Work::kSession};
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--smoke") {
      events = 200'000, repeat = 1, keys = {1'000};
      continue;
    }
    ++i;
    if (flag == "--events")
      events = std::strtoull(value, nullptr, 10);
    else if (flag == "--repeat")
      repeat = static_cast<int>(std::strtol(value, nullptr, 10));
    else if (flag == "--keys")
      keys = {std::strtoull(value, nullptr, 10)};
    else if (flag == "--work" && std::string(value) == "tumbling")
      works = {Work::kTumbling};
    else if (flag == "--work" && std::string(value) == "sliding")
      works = {Work::kSliding};
    else if (flag == "--work" && std::string(value) == "session")
      works = {Work::kSession};
    else {
      std::fprintf(stderr,
                   "pipeline_bench [--smoke] [--events N] [--repeat N] [--work W] [--keys N]\n");
      return 2;
    }
  }
  std::printf("floor: %s; %zu events, %d alternating runs, CPU ns/event, medians\n",
              tidewire::floor_kernel::kernel_isa(), events, repeat);
  std::printf("%-20s %9s  %8s  %8s  %6s  %8s %8s %8s\n", "work", "keys", "floor", "pipeline",
              "ratio", "turn p50", "p99", "p99.99us");
  bool equal = true;
  for (const Work work : works)
    for (const uint64_t k : keys) equal &= tidewire::measure(work, k, events, repeat);
  return equal ? 0 : 1;
}
