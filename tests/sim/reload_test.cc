// Lookup files that are reloaded while lanes run: a row is asked of the tables that its lane's last
// reload before it names, and nothing else decides (core.md rule 2).
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "query/lookup.h"
#include "scenario.h"
#include "simulation.h"

namespace tidewire::sim {
namespace {

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20261207;
}

// kKeyA, which is 0, 1 or 2, becomes what the file calls it.
ColumnProgram program() {
  ColumnProgram out;
  ColumnStep load;
  load.op = ColumnStep::Op::kLoad;
  load.column = kKeyA;
  load.constant = kAbsentNumber;
  ColumnStep find;
  find.op = ColumnStep::Op::kLookup;
  find.number_key = true;
  ColumnStep store;
  store.op = ColumnStep::Op::kStore;
  store.column = kKeyA;
  out.steps = {load, find, store};
  return out;
}

class Reload : public testing::Test {
 protected:
  Reload() {
    spec_.key.type = spec_.value.type = FieldType::kInteger;
    spec_.value.absent = kAbsentNumber;
    spec_.fallback = {7, 0};
    before_ = {*parse_lookup(spec_, "0,10\n1,11\n")};
    after_ = {*parse_lookup(spec_, "0,10\n1..2,12\n")};
    tables_ = std::make_unique<LookupTables>(std::span(&spec_, 1), before_, arena_);
    EXPECT_TRUE(tables_->replace(after_).ok());
  }

  Step reload(uint16_t lane, const std::vector<LookupContent>& contents) const {
    Step s;
    s.is_punctuation = true;
    s.punctuation = {
        .lane = LaneId{lane}, .why = Punctuation::Why::kReload, .content = lookup_hash(contents)};
    return s;
  }
  // By hand: what each row's key is, by its lane's reloads.
  Sequences looked_up(Sequences sequences) const {
    for (std::vector<Step>& steps : sequences) {
      bool reloaded = false;
      for (Step& s : steps) {
        if (s.is_punctuation) {
          if (s.punctuation.why == Punctuation::Why::kReload)
            reloaded = s.punctuation.content == lookup_hash(after_);
          continue;
        }
        const int64_t old_names[] = {10, 11, 7}, new_names[] = {10, 12, 12};
        int64_t& key = s.column[kKeyA];
        key = (reloaded ? new_names : old_names)[key];
      }
    }
    return sequences;
  }

  LookupSpec spec_;
  std::vector<LookupContent> before_, after_;
  Arena arena_{{.fault_in = false}};
  std::unique_ptr<LookupTables> tables_;
};

TEST_F(Reload, IsObeyedAtItsPositionByAnyNumberOfWorkersAndBursts) {
  const uint64_t start = seed();
  std::printf("TIDEWIRE_SEED=%llu\n", static_cast<unsigned long long>(start));
  Rng rng(start);
  const ColumnProgram columns = program();
  uint64_t moved = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Scenario scenario = random_scenario(rng, {.lanes = 3, .events = 60});
    Sequences input = scenario.input;
    for (uint16_t l = 0; l < input.size(); ++l) {
      const auto at = static_cast<std::ptrdiff_t>(rng.below(input[l].size() + 1));
      input[l].insert(input[l].begin() + at, reload(l, after_));
      input[l].insert(input[l].begin(), reload(l, before_));
    }
    Sequences recorded = input;
    for (const uint32_t workers : {1u, 2u, 3u}) {
      SimulationOptions options;
      options.workers = workers;
      options.burst = std::array{1u, 7u, 256u}[rng.below(3)];
      options.silence = round % 2 == 1 && workers == 1;
      options.program = &columns;
      options.tables = tables_.get();
      // The first run's record, silences and returns included, is what the others replay.
      Simulation simulation(scenario, recorded, options, rng.next());
      ASSERT_TRUE(simulation.run());
      simulation.expect_balanced();
      if (workers == 1) recorded = simulation.record();
      const Answer got = simulation.answer();
      const Answer want = right_answer(scenario, looked_up(recorded));
      ASSERT_EQ(got.results.size(), want.results.size()) << workers;
      for (size_t i = 0; i < want.results.size(); ++i)
        ASSERT_TRUE(got.results[i] == want.results[i]) << workers << " result " << i;
      const Answer never = right_answer(scenario, looked_up(scenario.input));
      moved += never.results.size() != want.results.size() || !(never.results == want.results);
    }
  }
  EXPECT_GT(moved, 30u);  // where the reload stands decides
}

}  // namespace
}  // namespace tidewire::sim
