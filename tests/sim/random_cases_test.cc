// Many small appliances against the model: every kind of window with every timing that it may have,
// 1 to 4 lanes on 1 to 4 workers, bursts, polling order, budgets, full rings, silence with return.
// The first case that differs is shrunk, printed, and named by its seed.
//   random_cases_test --cases=N     a longer run (default 20,000)
//   TIDEWIRE_SEED=n                 one case
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "scenario.h"
#include "simulation.h"

namespace tidewire::sim {
namespace {

uint64_t cases = 20'000;

std::string show(const Result& r) {
  std::string s = "query " + std::to_string(r.query) + " at " + std::to_string(r.place) + " [" +
                  std::to_string(r.start) + ", " + std::to_string(r.end) + ") key " +
                  std::to_string(r.key[0]) + " " + std::to_string(r.key[1]) + " count " +
                  std::to_string(r.count) + " sum " + std::to_string(r.sum) + " fire " +
                  std::to_string(static_cast<int>(r.fire)) + " index " + std::to_string(r.index);
  if (r.update)
    s += " of row " + std::to_string(r.position >> 48) + ":" +
         std::to_string(r.position & ((uint64_t{1} << 48) - 1));
  return s + (r.late ? " late" : "");
}

std::string show(const WindowShape& w) {
  const auto number = [](const char* name, int64_t n) {
    return n ? std::string(" ") + name + " " + std::to_string(n) : std::string();
  };
  const std::string calendar =
      w.kind == WindowKind::kCalendar
          ? " " + w.zone + " unit " + std::to_string(static_cast<int>(w.unit))
          : "";
  return "kind " + std::to_string(static_cast<int>(w.kind)) + calendar + number("size", w.size.ns) +
         number("slide", w.slide.ns) + number("offset", w.offset.ns) + number("gap", w.gap.ns) +
         number("max_duration", w.max_duration.ns) + number("rows", static_cast<int64_t>(w.rows)) +
         number("row_slide", static_cast<int64_t>(w.row_slide)) + number("early", w.early.ns) +
         number("early_rows", static_cast<int64_t>(w.early_rows)) +
         number("lateness", w.lateness.ns) + number("gather", w.gather.ns) +
         number("accumulation", static_cast<int64_t>(w.accumulation));
}

std::string show(const Scenario& scenario) {
  std::string s;
  for (const Plan& plan : scenario.plans)
    s += "  query " + std::to_string(index_of(plan.id)) + ": " + show(plan.window) +
         (plan.gap_value >= 0 ? " own gaps" : "") + (plan.late_rows ? " late rows" : "") + "\n";
  for (size_t l = 0; l < scenario.input.size(); ++l) {
    s += "  lane " + std::to_string(l) + " bound " + std::to_string(scenario.lanes[l].bound.ns) +
         ":";
    for (const Step& step : scenario.input[l])
      s += step.is_punctuation
               ? " w" + std::to_string(step.punctuation.watermark.ns)
               : " " + std::to_string(step.column[kKeyA]) + "@" + std::to_string(step.time.ns) +
                     "=" + std::to_string(step.column[kValue]);
    s += "\n";
  }
  return s;
}

struct Case {
  Scenario scenario;
  SimulationOptions options;
  uint64_t seed = 0;
};

// Empty: the appliance gives what the model gives.
std::string difference(const Case& c) {
  std::string why;
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter quiet(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
    Simulation simulation(c.scenario, c.scenario.input, c.options, c.seed);
    if (!simulation.run()) return "does not come to an end";
    simulation.expect_balanced();
    const Answer got = simulation.answer(), want = right_answer(c.scenario, simulation.record());
    for (size_t i = 0; i < std::max(got.results.size(), want.results.size()) && why.empty(); ++i) {
      const Result* a = i < got.results.size() ? &got.results[i] : nullptr;
      const Result* b = i < want.results.size() ? &want.results[i] : nullptr;
      if (a && b && *a == *b) continue;
      why = "got  " + (a ? show(*a) : "nothing more") + "\nwant " + (b ? show(*b) : "nothing more");
    }
    if (why.empty() && got.queries != want.queries) why = "the accounts of the queries differ";
  }
  if (why.empty() && failures.size() > 0) why = failures.GetTestPartResult(0).message();
  return why;
}

// Leaves out what can be left out while it still differs.
Case shrink(Case c) {
  const auto try_without = [&](auto&& change) {
    Case less = c;
    change(less.scenario);
    if (difference(less).empty()) return false;
    c = less;
    return true;
  };
  bool again = true;
  while (again) {
    again = false;
    if (c.scenario.plans.size() > 1) again |= try_without([](Scenario& s) { s.plans.pop_back(); });
    for (size_t l = 0; l < c.scenario.input.size(); ++l)
      for (size_t at = c.scenario.input[l].size(); at-- > 0;)
        again |= try_without([&](Scenario& s) {
          s.input[l].erase(s.input[l].begin() + static_cast<ptrdiff_t>(at));
        });
  }
  return c;
}

Case random_case(uint64_t seed) {
  Rng rng(seed);
  const auto one_of = [&](std::initializer_list<uint32_t> all) {
    return *(all.begin() + rng.below(all.size()));
  };
  Case c;
  c.scenario = random_scenario(rng, {.lanes = 1 + static_cast<uint32_t>(rng.below(4)),
                                     .events = 4 + static_cast<uint32_t>(rng.below(16)),
                                     .wall_clock = rng.one_in(6)});
  c.options = {.workers = 1 + static_cast<uint32_t>(rng.below(4)),
               .burst = one_of({1, 2, 7, 256}),
               .results_per_turn = one_of({1, 17, 512}),
               .rows_per_turn = one_of({1, 100, 1024}),
               .silence = rng.one_in(2),
               .result_blocks = one_of({8, 16})};
  c.seed = rng.next();
  return c;
}

TEST(RandomCases, GiveWhatTheModelGives) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 0) : 1;
  for (uint64_t seed = first; seed < first + (given ? 1 : cases); ++seed) {
    const Case c = random_case(seed);
    const std::string why = difference(c);
    if (why.empty()) continue;
    const Case least = shrink(c);
    FAIL() << "TIDEWIRE_SEED=" << seed << ": " << why << "\nleast case, " << least.options.workers
           << " workers, bursts of " << least.options.burst << ":\n"
           << show(least.scenario) << difference(least);
  }
}

}  // namespace
}  // namespace tidewire::sim

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i < count; ++i)
    if (std::strncmp(arguments[i], "--cases=", 8) == 0)
      tidewire::sim::cases = std::strtoull(arguments[i] + 8, nullptr, 10);
  return RUN_ALL_TESTS();
}
