// Tidewire's pipeline and C++ containers on the same events, one after the other, alternating, and
// those events in a file for peers in other languages. bench/peers/run runs it and judges what it
// prints, one line for each side:
//
//   NAME ns-of-thread ns-of-process passes results count sum
//
//   containers_bench WORK KEYS EVENTS PASSES SECONDS [FILE]
//
// Each side runs once to be warm and then PASSES times, fewer where it has had SECONDS before. With
// a FILE the events are written to it in rows of three 8-byte words, the first one bound, gap and
// number of events, the others key, time and value; and only Tidewire runs, beside whom the peer
// that reads the file is put.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/path/clocks.h"
#include "bench/path/subject.h"
#include "containers.h"

namespace tidewire::bench {
namespace {

using floor_kernel::Kernel;
using floor_kernel::Sums;
using floor_kernel::Work;

struct Side {
  const char* name;
  std::function<double()> pass;  // seconds of CPU time of this thread
  Sums sums;
  double spent = 0;  // also on the pass that warms
  std::vector<double> passes{};
};

// What is taken off is the parser's: writing a batch, beyond reading the events, which every side
// pays. As in path/pipeline_bench.
double pipeline_pass(Subject& subject, const Events& events) {
  const double begin = cpu_seconds();
  asm volatile("" : : "r"(events.read()));  // somebody may look at it
  const double read = cpu_seconds();
  subject.fill(events);
  const double filled = cpu_seconds();
  subject.run(events, nullptr);
  const double end = cpu_seconds();
  return (end - filled) - ((filled - read) - (read - begin));
}

void measure(std::vector<Side>& sides, size_t events, size_t passes, double seconds) {
  for (Side& side : sides) side.spent += side.pass();
  for (size_t i = 0; i < passes; ++i)
    for (Side& side : sides) {
      if (i > 0 && side.spent > seconds) continue;
      side.passes.push_back(side.pass());
      side.spent += side.passes.back();
    }
  for (Side& side : sides) {
    const double ns = median(side.passes) * 1e9 / static_cast<double>(events);
    std::printf("%s %.2f %.2f %zu %lu %ld %ld\n", side.name, ns, ns, side.passes.size(),
                side.sums.results, side.sums.count, side.sums.sum);
  }
}

bool write(const Workload& work, std::span<const floor_kernel::Event> rows, const char* path) {
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  const std::array<int64_t, 3> head = {work.bound(), work.gap(), static_cast<int64_t>(rows.size())};
  const bool all = std::fwrite(head.data(), sizeof head, 1, file) == 1 &&
                   std::fwrite(rows.data(), sizeof rows[0], rows.size(), file) == rows.size();
  return (std::fclose(file) == 0) && all;
}

int run(const Workload& work, size_t count, size_t passes, double seconds, const char* file) {
  Events events(work, count);
  Subject subject(work);
  std::vector<Side> sides;
  sides.push_back(
      {"tidewire", [&] { return pipeline_pass(subject, events); }, subject.outcome(events).sums});
  const auto rows = events.rows();
  std::vector<std::unique_ptr<Kernel>> kernels;
  if (file != nullptr) {
    if (!write(work, rows, file)) {
      std::fprintf(stderr, "containers_bench: %s: cannot be written; is there room for %zu MB?\n",
                   file, rows.size_bytes() >> 20);
      return 1;
    }
  } else {
    for (const auto& [name, make] : {std::pair{"absl", &make_absl}, std::pair{"std", &make_std}}) {
      Kernel* const kernel = kernels.emplace_back(make(work.work, work.gap())).get();
      sides.push_back({name,
                       [&sides, at = sides.size(), kernel, rows, bound = work.bound()] {
                         const double begin = cpu_seconds();
                         sides[at].sums = kernel->run(rows, bound);
                         return cpu_seconds() - begin;
                       },
                       {}});
    }
  }
  measure(sides, count, passes, seconds);
  return 0;
}

}  // namespace
}  // namespace tidewire::bench

int main(int argc, char** argv) {
  using tidewire::floor_kernel::Work;
  tidewire::bench::Workload work;
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0; };
  const size_t events = number(3), passes = number(4);
  work.keys = number(2);
  if (name == "tumbling") {
    work.work = Work::kTumbling;
  } else if (name == "sliding") {
    work.work = Work::kSliding;
  } else if (name == "session") {
    work.work = Work::kSession;
  } else {
    work.keys = 0;
  }
  if (argc < 6 || argc > 7 || work.keys == 0 || events == 0 || passes == 0) {
    std::fprintf(stderr,
                 "containers_bench tumbling|sliding|session KEYS EVENTS PASSES SECONDS [FILE]\n");
    return 2;
  }
  return tidewire::bench::run(work, events, passes, static_cast<double>(number(5)),
                              argc > 6 ? argv[6] : nullptr);
}
