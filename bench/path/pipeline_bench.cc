// The whole pipeline behind the parser, one worker: columns in memory -> stamps -> select -> store
// -> timeline in slices -> result blocks that a null sink frees at once. Each row of the table is
// measured against the floor kernel for the same work, or against the plain tumbling row, on the
// same events and in the same run, one after the other, alternating. CPU time of the thread,
// medians, and the median of the paired ratios; beside them the pipeline's turn latency, and the
// number of results with a digest of them.
//
//   pipeline_bench [--smoke] [--events N] [--repeat N] [--row NAME] [--keys N]
//
// Exit code: 1 where results are not the floor's, or a ratio is 10 % above its goal.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "bench/floor/floor.h"
#include "clocks.h"
#include "subject.h"

namespace tidewire::bench {
namespace {

using floor_kernel::Sums;
using floor_kernel::Work;

enum class Against { kFloor, kPlain, kSumOfBoth };

struct Row {
  const char* name;
  Workload work;
  Against against = Against::kFloor;
  std::array<double, 3> goal{};  // at 1k, 100k, 1M keys; 0: none
};

// The goals are those of the project's issue "At the floor".
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"tumbling", {}, Against::kFloor, {1.4, 1.4, 1.3}},
      {"tumbling-zipf", {.zipf = true}, Against::kFloor, {1.4, 1.4, 1.3}},
      {"sliding", {.work = Work::kSliding}, Against::kFloor, {1.4, 1.2, 1.05}},
      {"session", {.work = Work::kSession}, Against::kFloor, {1.4, 1.3, 1.2}},
      {"no-key", {.work = Work::kNoKey, .key_words = 0}, Against::kFloor, {2, 0, 0}},
      {"partitions-64", {.partitions = 64}, Against::kPlain, {1.2, 1.2, 1.1}},
      {"partitions-1024", {.partitions = 1024}, Against::kPlain, {1.2, 1.2, 1.1}},
      {"partitions-64-in-order",
       {.partitions = 64, .in_order = true},
       Against::kPlain,
       {1.4, 1.3, 1.25}},
      {"one-of-4-minute-behind",
       {.partitions = 4, .one_behind = true},
       Against::kPlain,
       {1.35, 1.3, 1.25}},
      {"key-2-words", {.key_words = 2}, Against::kPlain, {1.27, 1.28, 1.35}},
      {"wide-8", {.cell = Cell::kWide}, Against::kPlain, {1.4, 1.6, 1.8}},
      {"late-1-percent", {.late = true}, Against::kPlain, {1.4, 1.4, 1.4}},
      {"two-queries", {.queries = 2}, Against::kSumOfBoth, {1, 1, 1}},
      {"wide-quantile", {.cell = Cell::kQuantile}, Against::kPlain, {}},
      {"guards", {.guards = true}, Against::kPlain, {}},
      {"key-4-words", {.key_words = 4}, Against::kPlain, {}},
  };
  return kRows;
}

struct Options {
  size_t events = 5'000'000;
  uint64_t repeat = 7;
  bool smoke = false;
  std::string row;
  uint64_t keys = 0;  // 0: all
};

// One side of a comparison. Seconds of CPU time of one pass.
class Side {
 public:
  virtual ~Side() = default;
  virtual double pass() = 0;
};
class FloorSide final : public Side {
 public:
  FloorSide(const Workload& work, Events& events)
      : events_(events.rows()),
        bound_(work.bound()),
        kernel_(floor_kernel::make_kernel(work.work, work.keys, work.gap())) {}
  double pass() override {
    const double begin = cpu_seconds();
    sums = kernel_->run(events_, bound_);
    return cpu_seconds() - begin;
  }
  Sums sums;

 private:
  std::span<const floor_kernel::Event> events_;
  int64_t bound_;
  std::unique_ptr<floor_kernel::Kernel> kernel_;
};
class PipelineSide final : public Side {
 public:
  PipelineSide(const Workload& work, const Events& events, int only = -1)
      : subject_(work, only), events_(events) {}
  // Less what writing the batches costs beyond reading the events, which the floor pays as well:
  // that is what a parser does, and its own cost is measured elsewhere (micro/format_bench).
  double pass() override {
    const double begin = cpu_seconds();
    sum_ = sum_ + events_.read();
    const double read = cpu_seconds();
    subject_.fill(events_);
    const double filled = cpu_seconds();
    subject_.run(events_, nullptr);
    const double end = cpu_seconds();
    parser_ = (filled - read) - (read - begin);
    return (end - filled) - parser_;
  }
  double parser() const { return parser_; }  // what was taken off the last pass
  Subject& subject() { return subject_; }

 private:
  Subject subject_;
  const Events& events_;
  double parser_ = 0;
  volatile int64_t sum_ = 0;
};

class Table {
 public:
  explicit Table(const Options& options) : options_(options) {
    std::printf("floor %s; %zu events, %lu alternating runs; CPU ns/event, medians; turns in us\n",
                floor_kernel::kernel_isa(), options.events, options.repeat);
    std::printf("%-24s %8s %6s %6s %-6s %8s %8s %8s %7s %7s %7s %9s %s\n", "name", "keys", "ratio",
                "goal", "", "against", "pipeline", "(parser)", "p50", "p99", "p99.99", "results",
                "digest");
  }
  bool failed() const { return failed_; }

  void measure(const Row& row, uint64_t keys, double goal) {
    Workload work = row.work;
    work.keys = keys;
    Events events(work, options_.events);
    PipelineSide ours(work, events);
    const Outcome got = ours.subject().outcome(events);
    std::vector<std::unique_ptr<Side>> others;
    std::unique_ptr<Events> plain_events;
    switch (row.against) {
      case Against::kFloor: {
        auto floor = std::make_unique<FloorSide>(work, events);
        floor->pass();
        if (!(floor->sums == got.sums)) differ(row, keys, got.sums, floor->sums);
        others.push_back(std::move(floor));
        break;
      }
      case Against::kPlain: {
        Workload plain;
        plain.keys = keys;
        plain_events = std::make_unique<Events>(plain, options_.events);
        others.push_back(std::make_unique<PipelineSide>(plain, *plain_events));
        break;
      }
      case Against::kSumOfBoth:
        for (int q = 0; q < 2; ++q)
          others.push_back(std::make_unique<PipelineSide>(work, events, q));
        break;
    }
    for (const auto& other : others) other->pass();  // warm
    std::vector<double> against, pipeline, parser, ratio;
    const double scale = 1e9 / static_cast<double>(options_.events);
    for (uint64_t r = 0; r < options_.repeat; ++r) {
      double sum = 0;
      for (const auto& other : others) sum += other->pass();
      against.push_back(sum * scale);
      pipeline.push_back(ours.pass() * scale);
      parser.push_back(ours.parser() * scale);
      ratio.push_back(pipeline.back() / against.back());
    }
    LatencyHistogram turns;
    ours.subject().run(events, &turns);
    const auto micros = [&](double p) { return static_cast<double>(turns.percentile(p)) / 1e3; };
    const double found = median(ratio);
    const bool judged = goal > 0 && !options_.smoke;
    const bool above = judged && found > goal, far = judged && found > 1.1 * goal;
    failed_ |= far;
    std::array<char, 16> text{'-', 0};
    if (goal > 0) std::snprintf(text.data(), text.size(), "%.2f", goal);
    std::printf("%-24s %8lu %6.2f %6s %-6s %8.2f %8.2f %8.2f %7.1f %7.1f %7.1f %9lu %016lx\n",
                row.name, keys, found, text.data(),
                far     ? "FAIL"
                : above ? "above"
                        : "",
                median(against), median(pipeline), median(parser), micros(50), micros(99),
                micros(99.99), got.sums.results, got.digest);
    std::fflush(stdout);
  }

 private:
  void differ(const Row& row, uint64_t keys, const Sums& got, const Sums& want) {
    std::fprintf(
        stderr, "%s, %lu keys: pipeline %lu results, count %ld, sum %ld; floor %lu, %ld, %ld\n",
        row.name, keys, got.results, got.count, got.sum, want.results, want.count, want.sum);
    failed_ = true;
  }

  const Options& options_;
  bool failed_ = false;
};

constexpr std::array<uint64_t, 3> kKeys = {1'000, 100'000, 1'000'000};

int run(const Options& options) {
  Table table(options);
  for (const Row& row : rows()) {
    if (!options.row.empty() && options.row != row.name) continue;
    if (row.work.key_words == 0) {
      table.measure(row, 1, row.goal[0]);
      continue;
    }
    for (size_t i = 0; i < kKeys.size(); ++i) {
      if (options.keys != 0 && options.keys != kKeys[i]) continue;
      if (row.work.cell == Cell::kQuantile && kKeys[i] > 100'000) continue;  // 1.5 KiB a cell
      table.measure(row, kKeys[i], row.goal[i]);
    }
  }
  return table.failed() ? 1 : 0;
}

}  // namespace
}  // namespace tidewire::bench

int main(int argc, char** argv) {
  using tidewire::bench::Flag;
  tidewire::bench::Options options;
  const Flag flags[] = {{"--events", &options.events},
                        {"--repeat", &options.repeat},
                        {"--row", nullptr, &options.row},
                        {"--keys", &options.keys}};
  tidewire::bench::parse_arguments(
      argc, argv, "pipeline_bench [--smoke] [--events N] [--repeat N] [--row NAME] [--keys N]",
      options.smoke, flags);
  if (options.smoke) {
    options.events = 100'000;
    options.repeat = 1;
    options.keys = 1'000;
  }
  using tidewire::bench::kKeys;
  using tidewire::bench::rows;
  const auto unknown = [&](const auto& row) { return options.row != row.name; };
  if (!options.row.empty() && std::all_of(rows().begin(), rows().end(), unknown)) {
    std::fprintf(stderr, "pipeline_bench: no such row; there are:");
    for (const auto& row : rows()) std::fprintf(stderr, " %s", row.name);
    std::fputc('\n', stderr);
    return 2;
  }
  if (options.keys != 0 && std::find(kKeys.begin(), kKeys.end(), options.keys) == kKeys.end()) {
    std::fprintf(stderr, "pipeline_bench: --keys takes 1000, 100000 or 1000000\n");
    return 2;
  }
  return tidewire::bench::run(options);
}
