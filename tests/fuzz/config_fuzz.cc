// Any text is a configuration or a list of problems, each with its place inside the text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tidewire;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const int cpus[] = {0, 1, 2, 3};
  const Loaded loaded = load_config(text, "fuzz.conf", cpus);
  for (const Problem& problem : loaded.problems) {
    CHECK(!problem.text.empty());
    CHECK(problem.place.line <= size + 1);
    CHECK(problem.place.column <= size + 2);
  }
  if (!loaded.ok()) return 0;
  // What check accepts, start can compile.
  const Config& config = loaded.config;
  CHECK(!config.sources.empty() && !config.queries.empty() && !config.sinks.empty());
  const std::vector<uint32_t> lanes(config.sources.size(), 1);
  const std::vector<QuerySource> sources = query_sources(config, lanes);
  const std::vector<QuerySpec> specs = query_specs(config);
  std::vector<QueryProblem> problems;
  const Compiled compiled = compile(specs, sources, hash_seed(config), problems);
  CHECK(problems.empty());
  for (const Plan& plan : compiled.plans) {
    CHECK(plan.key.size() <= plan.key_words && plan.key_words <= kMaxKeyWords);
    CHECK(!plan.outputs.empty() && plan.values.size() <= kValueMax);
    CHECK(plan.shards > 0 && (plan.shards & (plan.shards - 1)) == 0);
    CHECK(plan.max_keys <= uint64_t{plan.shards} * 512);
    for (const PredicateStep& step : plan.where) CHECK(step.column < kColumnMax);
    for (const KeyWord& word : plan.key) CHECK(word.column < kColumnMax);
    for (const uint8_t column : plan.values) CHECK(column < kColumnMax);
  }
  return 0;
}
