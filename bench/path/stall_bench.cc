// Does closing a window of a million keys hold a turn up? The pipeline behind the parser, turn by
// turn, over the same events twice: with windows that close, and with windows that never do.
//
//   tumbling, sliding, session    every second (sessions: whenever one ends)
//   late                          1 % of the rows are beyond the bound and deferred, a result each
//   recycling                     keys come and go: a fifth of all are new in each window
//
//   stall_bench [--smoke] [--keys N] [--seconds N] [--repeat N]
//
// p99.99 of a turn against the run that closes nothing (goal 1.5); how long after its fire point a
// window is completely out, the most of all (goal 20 ms); beside them the machine's noise: the same
// loop with the batch written and no turn. Wall time, since a stall is wall time: a shared
// machine's noise is in it, so runs alternate and the least of each side counts. Exit code 1: 10 %
// above a goal, or results differ from run to run.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "clocks.h"
#include "metrics/histogram.h"
#include "subject.h"

namespace tidewire::bench {
namespace {

struct Options {
  uint64_t keys = 1'000'000;
  int seconds = 4;  // of event time, sessions and all
  int repeat = 5;
  bool smoke = false;
};

constexpr int64_t kNever = kWindowLengthMax;

struct Seen {
  double p50 = 0, p99 = 0, p9999 = 0, out = 0;  // us; out: ms
  uint64_t results = 0, digest = 0;
};

// One pass over all events with a pipeline of its own, after one that makes all keys known.
class Run {
 public:
  Run(const PipelineOptions& options, const Events& events) : options_(options), events_(events) {
    Arena* const arenas[] = {&arena_};
    fabric_ = std::make_unique<ExchangeFabric>(options_.plans, arenas);
    pipeline_ = std::make_unique<Pipeline>(options_, *fabric_, arena_);
    batch_->lane = LaneId{0};
    batch_->partition.fill(PartitionId{0});
  }
  Seen pass() {
    LatencyHistogram turns;
    Outcome outcome;
    double due = 0, worst = 0;  // when the frontier passed a point that is not out
    EventTime point;
    for (size_t at = 0; at < events_.size(); at += kBatchMax) {
      const auto n = static_cast<uint32_t>(std::min<size_t>(kBatchMax, events_.size() - at));
      events_.copy(at, n, shift_, *batch_);
      events_.prefetch(at + n);
      batch_->first = Position{ordinal_};
      batch_->ordinal = Ordinal{ordinal_};
      ordinal_ += n;
      const EventTime before = pipeline_->frontier();
      const double begin = wall_seconds();
      pipeline_->turn({batch_.get(), {}}, sink_.writer());
      const double end = wall_seconds();
      turns.record(static_cast<uint64_t>((end - begin) * 1e9));
      sink_.take<false>(options_.plans, outcome);
      // A whole second is a fire point of all aligned windows here.
      const EventTime now = pipeline_->frontier();
      if (due == 0 && before.is_point() && now.ns / kSecond > before.ns / kSecond) {
        due = begin;
        point = {now.ns / kSecond * kSecond};
      }
      if (due != 0 && pipeline_->fired() >= point) {
        worst = std::max(worst, end - due);
        due = 0;
      }
    }
    shift_ += (events_.last() - events_.first()) / kSecond * kSecond + 200 * kSecond;
    const Punctuation flush{LaneId{0},
                            Position{ordinal_},
                            {events_.first() + shift_ - 100 * kSecond},
                            Punctuation::Why::kOperator};
    pipeline_->turn({nullptr, std::span(&flush, 1)}, sink_.writer());
    do sink_.take<true>(options_.plans, outcome);
    while (pipeline_->turn({}, sink_.writer()) > 0);
    sink_.take<true>(options_.plans, outcome);
    const auto micros = [&](double p) { return static_cast<double>(turns.percentile(p)) / 1e3; };
    return {micros(50), micros(99), micros(99.99), worst * 1e3, outcome.sums.results, 0};
  }
  double noise() {  // p99.99 of writing a batch
    LatencyHistogram turns;
    for (size_t at = 0; at + kBatchMax <= events_.size(); at += kBatchMax) {
      const double begin = wall_seconds();
      events_.copy(at, kBatchMax, 0, *batch_);
      turns.record(static_cast<uint64_t>((wall_seconds() - begin) * 1e9));
    }
    return static_cast<double>(turns.percentile(99.99)) / 1e3;
  }

 private:
  Arena arena_{{}};
  PipelineOptions options_;
  const Events& events_;
  NullSink sink_{arena_};
  std::unique_ptr<ExchangeFabric> fabric_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  int64_t shift_ = 0;
  uint64_t ordinal_ = 0;
};

class Table {
 public:
  explicit Table(const Options& options) : options_(options) {
    std::printf("%lu keys, %d alternating runs, the least of each; us\n", options.keys,
                options.repeat);
    std::printf("%-10s %8s %8s %8s %8s | %8s %6s %6s %-6s | %8s %6s %-6s | %8s %10s\n", "name",
                "keys", "p50", "p99", "p99.99", "without", "ratio", "goal", "", "out ms", "goal",
                "", "noise", "results");
  }
  bool failed() const { return failed_; }

  void measure(const char* name, const Workload& work, bool aligned) {
    const auto count = static_cast<size_t>(
        options_.smoke ? 200'000 : work.rate() * static_cast<double>(options_.seconds));
    const Events events(work, count);
    const PipelineOptions closing = options_of(work);
    PipelineOptions open = closing;
    WindowShape& window = open.plans[0].window;
    if (window.kind == WindowKind::kSession)
      window.gap = {kNever};
    else
      window.size = window.slide = {kNever};
    Run with(closing, events), without(open, events);
    with.pass(), without.pass();  // all keys are known then
    Seen best, other;
    double noise = 0;
    std::set<uint64_t> results;
    const auto least = [](double& to, double value) { to = to == 0 ? value : std::min(to, value); };
    for (int r = 0; r < options_.repeat; ++r) {
      const Seen a = with.pass(), b = without.pass();
      least(best.p50, a.p50), least(best.p99, a.p99), least(best.p9999, a.p9999);
      least(best.out, a.out);
      least(other.p9999, b.p9999);
      least(noise, with.noise());
      results.insert(a.results);
    }
    if (results.size() != 1) {
      std::fprintf(stderr, "%s: results differ from run to run\n", name);
      failed_ = true;
    }
    const double ratio = best.p9999 / other.p9999;
    const auto verdict = [this](double value, double goal) {
      if (options_.smoke || value <= goal) return "";
      failed_ |= value > 1.1 * goal;
      return value > 1.1 * goal ? "FAIL" : "above";
    };
    std::array<char, 16> out{"-"};
    if (aligned) std::snprintf(out.data(), out.size(), "%.2f", best.out);
    std::printf(
        "%-10s %8lu %8.1f %8.1f %8.1f | %8.1f %6.2f %6.2f %-6s | %8s %6s %-6s | %8.1f %10lu\n",
        name, work.keys, best.p50, best.p99, best.p9999, other.p9999, ratio, 1.5,
        verdict(ratio, 1.5), out.data(), aligned ? "20" : "-", aligned ? verdict(best.out, 20) : "",
        noise, *results.begin());
    std::fflush(stdout);
  }

 private:
  const Options& options_;
  bool failed_ = false;
};

int run(const Options& options) {
  using floor_kernel::Work;
  Table table(options);
  const uint64_t keys = options.smoke ? 10'000 : options.keys;
  table.measure("tumbling", {.keys = keys}, true);
  table.measure("sliding", {.work = Work::kSliding, .keys = keys}, true);
  table.measure("session", {.work = Work::kSession, .keys = keys}, false);
  table.measure("late", {.late = true, .keys = keys}, true);
  table.measure("recycling", {.keys = keys, .churn = true}, true);
  return table.failed() ? 1 : 0;
}

}  // namespace
}  // namespace tidewire::bench

int main(int argc, char** argv) {
  tidewire::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--smoke") {
      options.smoke = true;
      options.repeat = 1;
      continue;
    }
    const long value = i + 1 < argc ? std::strtol(argv[++i], nullptr, 10) : 0;
    if (value > 0 && flag == "--keys") {
      options.keys = static_cast<uint64_t>(value);
    } else if (value > 0 && flag == "--seconds") {
      options.seconds = static_cast<int>(value);
    } else if (value > 0 && flag == "--repeat") {
      options.repeat = static_cast<int>(value);
    } else {
      std::fprintf(stderr, "stall_bench [--smoke] [--keys N] [--seconds N] [--repeat N]\n");
      return 2;
    }
  }
  return tidewire::bench::run(options);
}
