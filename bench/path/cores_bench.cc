// What a second core brings: the whole pipeline behind the parser on two workers, each a thread
// with a lane of its own, against the same two lanes on one worker.
//
//   local       the lane determines the key: nothing crosses
//   exchange    half of all rows belong to the other worker
//   hot key     as exchange, but every second row is of one key; against uniform keys
//
//   cores_bench [--smoke] [--events N] [--repeat N]
//
// CPU time of the workers' threads per event, while both run; for the hot key, of the busier one,
// twice: it says when the run ends. Medians of alternating runs. From the cost of a row that stays
// and of one that crosses follows what more workers would bring. Exit code 1: a figure is 10 %
// above its goal, or results differ between placements.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "arguments.h"
#include "clocks.h"
#include "subject.h"

namespace tidewire::bench {
namespace {

struct Options {
  size_t events = 4'000'000;  // of each lane
  uint64_t repeat = 7;
  bool smoke = false;
};

struct Cost {
  double ns = 0;       // CPU time per event, less idle turns
  double busiest = 0;  // as if all workers had done what the busiest one has
  Outcome outcome;
  uint64_t crossed = 0;
};

// Two lanes on `workers` workers. Event time goes on from pass to pass.
class Crew {
 public:
  Crew(const Workload& work, Placement placement, uint32_t workers,
       const std::array<const Events*, 2>& lanes)
      : events_(lanes), options_(options_of(work)) {
    std::vector<Arena*> arenas;
    for (uint32_t w = 0; w < workers; ++w) {
      arenas_.push_back(std::make_unique<Arena>(ArenaOptions{}));
      arenas.push_back(arenas_.back().get());
    }
    options_.workers = workers;
    options_.plans[0].placement = placement;
    options_.plans[0].lanes = {LaneId{0}, LaneId{1}};
    const LaneOptions lane = options_.lanes[0].options;
    options_.lanes = {{LaneId{0}, 0, lane}, {LaneId{1}, workers - 1, lane}};
    fabric_ = std::make_unique<ExchangeFabric>(options_.plans, arenas);
    for (uint32_t w = 0; w < workers; ++w) {
      options_.worker = w;
      workers_.push_back(std::make_unique<One>(options_, *fabric_, *arenas_[w]));
    }
    for (uint32_t l = 0; l < 2; ++l) workers_[options_.lanes[l].worker]->lanes.push_back(l);
  }

  template <bool look>
  Cost pass() {
    std::vector<std::thread> threads;
    ready_ = done_ = 0;
    for (uint32_t w = 0; w < workers_.size(); ++w)
      threads.emplace_back([this, w] { run<look>(*workers_[w], w); });
    for (std::thread& thread : threads) thread.join();
    Cost cost;
    double seconds = 0, most = 0;
    for (auto& worker : workers_) {
      seconds += worker->seconds;
      most = std::max(most, worker->seconds);
      cost.outcome.sums.results += worker->outcome.sums.results;
      cost.outcome.sums.count += worker->outcome.sums.count;
      cost.outcome.sums.sum += worker->outcome.sums.sum;
      cost.outcome.digest += worker->outcome.digest;
      cost.crossed += worker->pipeline.rows_sent() - worker->crossed;
      worker->crossed = worker->pipeline.rows_sent();
    }
    const double scale = 1e9 / static_cast<double>(2 * events_[0]->size());
    cost.ns = seconds * scale;
    cost.busiest = most * static_cast<double>(workers_.size()) * scale;
    shift_ += kPassApart + last() - events_[0]->first();
    return cost;
  }

 private:
  static constexpr int64_t kPassApart = 200 * kSecond;
  struct One {
    One(const PipelineOptions& options, ExchangeFabric& fabric, Arena& arena)
        : sink(arena), pipeline(options, fabric, arena) {
      batch.partition.fill(PartitionId{0});
    }
    NullSink sink;
    Pipeline pipeline;
    EventBatch batch;
    std::vector<uint32_t> lanes;
    std::array<uint64_t, 2> ordinal{};
    uint64_t crossed = 0;
    double seconds = 0, idle = 0;
    Outcome outcome;
  };

  int64_t last() const { return std::max(events_[0]->last(), events_[1]->last()); }

  template <bool look>
  void turn(One& one, const Turn& in) {
    const double begin = in.batch ? 0 : wall_seconds();
    const uint32_t work = one.pipeline.turn(in, one.sink.writer());
    one.sink.take<look>(options_.plans, one.outcome);
    if (!in.batch && work == 0) one.idle += wall_seconds() - begin;
  }

  template <bool look>
  void run(One& one, uint32_t core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    one.outcome = {};
    one.idle = 0;
    ready_.fetch_add(1);
    while (ready_.load() < workers_.size()) {
    }
    const double begin = cpu_seconds();
    for (size_t at = 0; at < events_[0]->size(); at += kBatchMax)
      for (const uint32_t l : one.lanes) {
        while (!one.pipeline.has_room()) turn<look>(one, {});  // the other one is behind
        const auto n = static_cast<uint32_t>(std::min<size_t>(kBatchMax, events_[l]->size() - at));
        events_[l]->copy(at, n, shift_, one.batch);
        events_[l]->prefetch(at + n);
        one.batch.lane = LaneId{static_cast<uint16_t>(l)};
        one.batch.first = Position{one.ordinal[l]};
        one.batch.ordinal = Ordinal{one.ordinal[l]};
        one.ordinal[l] += n;
        turn<look>(one, {&one.batch, {}});
      }
    // What is open ends by a punctuation, behind all of this pass and before all of the next.
    const EventTime end{last() + shift_ + kPassApart / 2};
    for (const uint32_t l : one.lanes) {
      const Punctuation flush{LaneId{static_cast<uint16_t>(l)}, Position{one.ordinal[l]}, end,
                              Punctuation::Why::kOperator};
      turn<look>(one, {nullptr, std::span(&flush, 1)});
    }
    while (one.pipeline.fired() < end) turn<look>(one, {});
    done_.fetch_add(1);
    while (done_.load() < workers_.size()) turn<look>(one, {});  // it may still have to be told
    one.seconds = cpu_seconds() - begin - one.idle;
  }

  const std::array<const Events*, 2> events_;
  PipelineOptions options_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::unique_ptr<ExchangeFabric> fabric_;
  std::vector<std::unique_ptr<One>> workers_;
  std::atomic<size_t> ready_{0}, done_{0};
  int64_t shift_ = 0;
};

class Table {
 public:
  explicit Table(const Options& options) : options_(options) {
    std::printf("two lanes of %zu events, %lu alternating runs; CPU ns/event, medians\n",
                options.events, options.repeat);
    std::printf("%-12s %8s %6s %6s %-6s %8s %8s %8s %9s %s\n", "name", "keys", "ratio", "goal", "",
                "against", "two", "crossed", "results", "digest");
  }
  bool failed() const { return failed_; }

  // `two` workers against `other`; which must give the same results where they see the same events.
  double compare(const char* name, uint64_t keys, Crew& two, Crew& other, double goal,
                 bool same_events, double Cost::*what = &Cost::ns) {
    const Cost seen = two.pass<true>(), want = other.pass<true>();
    if (same_events &&
        !(seen.outcome.sums == want.outcome.sums && seen.outcome.digest == want.outcome.digest)) {
      std::fprintf(stderr, "%s, %lu keys: two workers %lu results %016lx, otherwise %lu %016lx\n",
                   name, keys, seen.outcome.sums.results, seen.outcome.digest,
                   want.outcome.sums.results, want.outcome.digest);
      failed_ = true;
    }
    std::vector<double> ours, theirs, ratio;
    for (uint64_t r = 0; r < options_.repeat; ++r) {
      theirs.push_back(other.pass<false>().*what);
      ours.push_back(two.pass<false>().*what);
      ratio.push_back(ours.back() / theirs.back());
    }
    const double found = median(ratio);
    const bool judged = goal > 0 && !options_.smoke;
    const bool far = judged && found > 1.1 * goal;
    failed_ |= far;
    std::array<char, 16> text{'-', 0};
    if (goal > 0) std::snprintf(text.data(), text.size(), "%.2f", goal);
    std::printf(
        "%-12s %8lu %6.2f %6s %-6s %8.2f %8.2f %7.0f%% %9lu %016lx\n", name, keys, found,
        text.data(),
        far                      ? "FAIL"
        : judged && found > goal ? "above"
                                 : "",
        median(theirs), median(ours),
        100.0 * static_cast<double>(seen.crossed) / static_cast<double>(2 * options_.events),
        seen.outcome.sums.results, seen.outcome.digest);
    std::fflush(stdout);
    return median(ours);
  }

 private:
  const Options& options_;
  bool failed_ = false;
};

// Of N workers whose rows belong to all of them alike (N - 1) / N cross.
void model(double local, double exchange) {
  const double crossing = 2 * (exchange - local);  // half of the rows cross on two workers
  std::printf(
      "  a row costs %.1f ns where it stays, %.1f ns more where it crosses; so N workers "
      "are worth",
      local, crossing);
  for (const double n : {2.0, 4.0, 8.0, 16.0})
    std::printf("%s %.1f (N = %.0f)", n > 2 ? "," : "",
                n * local / (local + crossing * (n - 1) / n), n);
  std::printf(" local ones\n");
}

int run(const Options& options) {
  Table table(options);
  constexpr std::array<uint64_t, 3> kKeys = {1'000, 100'000, 1'000'000};
  constexpr std::array<double, 3> kGoal = {1.7, 1.7, 1.4};
  for (size_t k = 0; k < (options.smoke ? 1 : kKeys.size()); ++k) {
    const uint64_t keys = kKeys[k];
    // Local: each lane has keys of its own, half of all. They lie side by side on one worker.
    const Workload half{.keys = keys / 2};
    Workload other_half = half, all{.keys = keys}, all_again = all;
    other_half.first_key = keys / 2;
    other_half.seed = all_again.seed = 77;
    double local = 0;
    {
      const Events a(half, options.events), b(other_half, options.events);
      Crew two(all, Placement::kLocal, 2, {&a, &b}), one(all, Placement::kLocal, 1, {&a, &b});
      local = table.compare("local", keys, two, one, 0, true);
    }
    const Events a(all, options.events), b(all_again, options.events);
    {
      Crew two(all, Placement::kExchange, 2, {&a, &b}), one(all, Placement::kExchange, 1, {&a, &b});
      table.compare("exchange-one", keys, two, one, 0, true);
    }
    {
      const Events c(half, options.events), d(other_half, options.events);
      Crew two(all, Placement::kExchange, 2, {&a, &b}), apart(all, Placement::kLocal, 2, {&c, &d});
      model(local, table.compare("exchange", keys, two, apart, kGoal[k], false));
    }
    Workload hot = all, hot_again = all_again;
    hot.hot = hot_again.hot = true;
    const Events e(hot, options.events), f(hot_again, options.events);
    Crew skewed(all, Placement::kExchange, 2, {&e, &f}),
        uniform(all, Placement::kExchange, 2, {&a, &b});
    table.compare("hot-key", keys, skewed, uniform, 1 / 0.7, false, &Cost::busiest);
  }
  return table.failed() ? 1 : 0;
}

}  // namespace
}  // namespace tidewire::bench

int main(int argc, char** argv) {
  using tidewire::bench::Flag;
  tidewire::bench::Options options;
  const Flag flags[] = {{"--events", &options.events}, {"--repeat", &options.repeat}};
  tidewire::bench::parse_arguments(argc, argv, "cores_bench [--smoke] [--events N] [--repeat N]",
                                   options.smoke, flags);
  if (options.smoke) {
    options.events = 100'000;
    options.repeat = 1;
  }
  if (std::thread::hardware_concurrency() < 2) {
    std::printf("skipped: two workers need two cores\n");
    return 0;
  }
  return tidewire::bench::run(options);
}
