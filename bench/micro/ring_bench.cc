// What a message costs through SpscRing: filled and read by one thread, and handed to another core
// and back. The second figure is the machine's cache-line round trip more than ours.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/spsc_ring.h"
#include "outcome.h"

namespace tidewire {
namespace {

struct alignas(64) Line {
  std::array<uint64_t, 8> word;
};

// Each iteration reads the words 0 .. burst - 1.
void show(benchmark::State& state, uint64_t sum) {
  const auto burst = static_cast<uint64_t>(state.range(0));
  const auto times = static_cast<uint64_t>(state.iterations());
  if (sum != times * (burst * (burst - 1) / 2)) state.SkipWithError("words were lost or changed");
  const uint64_t each = sum / times;
  bench::Outcome outcome;
  outcome.count(burst);
  outcome.add(&each, 1);
  outcome.show(state);
}

void ring_same_thread(benchmark::State& state) {
  static std::array<Line, 1024> slots;
  SpscRing<Line> ring{slots};
  const auto burst = static_cast<uint64_t>(state.range(0));
  uint64_t sum = 0;
  for (auto _ : state) {
    for (uint64_t i = 0; i < burst; ++i) ring.free_slot(i)->word[0] = i;
    ring.push(burst);
    for (uint64_t i = 0; i < burst; ++i) {
      sum += ring.front()->word[0];
      ring.pop();
    }
  }
  show(state, sum);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ring_same_thread)->Arg(1)->Arg(32)->Arg(256);

// There and back: one message at a time (range 1), or a burst of them.
void ring_round_trip(benchmark::State& state) {
  static std::array<Line, 1024> there_slots, back_slots;
  SpscRing<Line> there{there_slots}, back{back_slots};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over.load(std::memory_order_relaxed)) {
      const Line* line = there.front();
      Line* answer = line ? back.free_slot() : nullptr;
      if (!answer) {
        std::this_thread::yield();
        continue;
      }
      answer->word[0] = line->word[0];
      there.pop();
      back.push();
    }
  });
  const auto burst = static_cast<uint64_t>(state.range(0));
  uint64_t sum = 0;
  for (auto _ : state) {
    for (uint64_t i = 0; i < burst; ++i) there.free_slot(i)->word[0] = i;
    there.push(burst);
    for (uint64_t i = 0; i < burst;) {
      const Line* line = back.front();
      if (!line) {
        std::this_thread::yield();
        continue;
      }
      sum += line->word[0];
      back.pop();
      ++i;
    }
  }
  over.store(true);
  other.join();
  show(state, sum);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ring_round_trip)->Arg(1)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace tidewire

BENCHMARK_MAIN();
