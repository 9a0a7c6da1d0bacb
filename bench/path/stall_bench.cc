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
// window is completely out (of sessions: all that ended before a whole second), the most of all
// (goal 20 ms); beside them the machine's noise: the same loop with the batch written and no turn.
//
// By CPU time, since what the thread does is what may be unbounded; wall time stands beside it,
// with what a shared machine takes away. Runs alternate and the least of each side counts. Exit
// code 1: 10 % above a goal; results differ from run to run, or do not count every event.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include "arguments.h"
#include "clocks.h"
#include "metrics/histogram.h"
#include "subject.h"

namespace tidewire::bench {
namespace {

struct Options {
  uint64_t keys = 1'000'000;
  uint64_t seconds = 4;  // of event time, sessions and all
  uint64_t repeat = 5;
  bool smoke = false;
};

constexpr int64_t kNever = kWindowLengthMax;

// Turns or a window's way out, by both clocks; us.
struct Clocked {
  double cpu = 0, wall = 0;
  void least(const Clocked& other) {
    cpu = cpu == 0 ? other.cpu : std::min(cpu, other.cpu);
    wall = wall == 0 ? other.wall : std::min(wall, other.wall);
  }
};
struct Moment {
  double cpu = cpu_seconds(), wall = wall_seconds();
  Clocked since(const Moment& begin) const {
    return {(cpu - begin.cpu) * 1e6, (wall - begin.wall) * 1e6};
  }
};
class Turns {
 public:
  void record(const Clocked& turn) {
    cpu_.record(static_cast<uint64_t>(turn.cpu * 1e3));
    wall_.record(static_cast<uint64_t>(turn.wall * 1e3));
  }
  Clocked percentile(double p) const {
    return {static_cast<double>(cpu_.percentile(p)) / 1e3,
            static_cast<double>(wall_.percentile(p)) / 1e3};
  }

 private:
  LatencyHistogram cpu_, wall_;
};

struct Seen {
  Clocked p50, p99, p9999, out;
  Outcome outcome;
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
  template <bool look>
  Seen pass() {
    Turns turns;
    Seen seen;
    Moment due;          // when the frontier passed a point
    bool waits = false;  // for that point to be out
    EventTime point;
    for (size_t at = 0; at < events_.size(); at += kBatchMax) {
      const auto n = static_cast<uint32_t>(std::min<size_t>(kBatchMax, events_.size() - at));
      events_.copy(at, n, shift_, *batch_);
      events_.prefetch(at + n);
      batch_->first = Position{ordinal_};
      batch_->ordinal = Ordinal{ordinal_};
      ordinal_ += n;
      const EventTime before = pipeline_->frontier();
      const Moment begin;
      pipeline_->turn({batch_.get(), {}}, sink_.writer());
      const Moment end;
      turns.record(end.since(begin));
      sink_.take<look>(options_.plans, seen.outcome);
      const EventTime now = pipeline_->frontier();
      if (!waits && before.is_point() && now.ns / kSecond > before.ns / kSecond) {
        due = begin;
        waits = true;
        point = {now.ns / kSecond * kSecond};
      }
      if (waits && pipeline_->fired() >= point) {
        const Clocked out = end.since(due);
        seen.out = {std::max(seen.out.cpu, out.cpu), std::max(seen.out.wall, out.wall)};
        waits = false;
      }
    }
    shift_ += (events_.last() - events_.first()) / kSecond * kSecond + 200 * kSecond;
    const Punctuation flush{LaneId{0},
                            Position{ordinal_},
                            {events_.first() + shift_ - 100 * kSecond},
                            Punctuation::Why::kOperator};
    pipeline_->turn({nullptr, std::span(&flush, 1)}, sink_.writer());
    do sink_.take<look>(options_.plans, seen.outcome);
    while (pipeline_->turn({}, sink_.writer()) > 0);
    sink_.take<look>(options_.plans, seen.outcome);
    seen.p50 = turns.percentile(50);
    seen.p99 = turns.percentile(99);
    seen.p9999 = turns.percentile(99.99);
    return seen;
  }
  Clocked noise() {  // p99.99 of writing a batch
    Turns turns;
    for (size_t at = 0; at + kBatchMax <= events_.size(); at += kBatchMax) {
      const Moment begin;
      events_.copy(at, kBatchMax, 0, *batch_);
      turns.record(Moment().since(begin));
    }
    return turns.percentile(99.99);
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
    std::printf("%lu keys, %lu alternating runs, the least of each; us, by CPU time / wall time\n",
                options.keys, options.repeat);
    std::printf("%-10s %8s %13s %13s %15s %15s | %11s %5s %-5s | %13s %5s %-5s | %13s %9s %s\n",
                "name", "keys", "p50", "p99", "p99.99", "none closes", "ratio", "goal", "",
                "out, ms", "goal", "", "noise", "results", "digest");
  }
  bool failed() const { return failed_; }

  // `once`: each event is in one result.
  void measure(const char* name, const Workload& work, bool once) {
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
    const Outcome first = with.pass<true>().outcome;
    without.pass<false>();  // all keys are known then
    if (once && first.sums.count != static_cast<int64_t>(events.size())) {
      std::fprintf(stderr, "%s: results count %ld events of %zu\n", name, first.sums.count,
                   events.size());
      failed_ = true;
    }
    Seen best;
    Clocked other, noise;
    std::set<uint64_t> results;
    for (uint64_t r = 0; r < options_.repeat; ++r) {
      const Seen a = with.pass<false>(), b = without.pass<false>();
      best.p50.least(a.p50), best.p99.least(a.p99), best.p9999.least(a.p9999);
      best.out.least(a.out);
      other.least(b.p9999);
      noise.least(with.noise());
      results.insert(a.outcome.sums.results);
    }
    if (results.size() != 1) {
      std::fprintf(stderr, "%s: results differ from run to run\n", name);
      failed_ = true;
    }
    const auto verdict = [this](double value, double goal) {
      if (options_.smoke || value <= goal) return "";
      failed_ |= value > 1.1 * goal;
      return value > 1.1 * goal ? "FAIL" : "above";
    };
    const double ratio = best.p9999.cpu / other.cpu, out = best.out.cpu / 1e3;
    const auto pair = [](const Clocked& c) {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%.1f / %.1f", c.cpu, c.wall);
      return text;
    };
    const Clocked out_ms{out, best.out.wall / 1e3};
    std::printf(
        "%-10s %8lu %13s %13s %15s %15s | %4.2f / %4.2f %5.1f %-5s | %13s %5s %-5s | %13s "
        "%9lu %016lx\n",
        name, work.keys, pair(best.p50).data(), pair(best.p99).data(), pair(best.p9999).data(),
        pair(other).data(), ratio, best.p9999.wall / other.wall, 1.5, verdict(ratio, 1.5),
        pair(out_ms).data(), "20", verdict(out, 20), pair(noise).data(), *results.begin(),
        first.digest);
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
  table.measure("sliding", {.work = Work::kSliding, .keys = keys}, false);
  table.measure("session", {.work = Work::kSession, .keys = keys}, true);
  table.measure("late", {.late = true, .keys = keys}, false);
  table.measure("recycling", {.keys = keys, .churn = true}, true);
  return table.failed() ? 1 : 0;
}

}  // namespace
}  // namespace tidewire::bench

int main(int argc, char** argv) {
  using tidewire::bench::Flag;
  tidewire::bench::Options options;
  const Flag flags[] = {
      {"--keys", &options.keys}, {"--seconds", &options.seconds}, {"--repeat", &options.repeat}};
  tidewire::bench::parse_arguments(argc, argv,
                                   "stall_bench [--smoke] [--keys N] [--seconds N] [--repeat N]",
                                   options.smoke, flags);
  if (options.smoke) options.repeat = 1;
  return tidewire::bench::run(options);
}
