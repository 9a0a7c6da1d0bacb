// Random input for the core as one whole: lanes with events and punctuations, queries over them,
// and what the right answer is by rule 3 of core.md, computed without stores, workers or bursts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "model.h"
#include "query/plan.h"
#include "watermark/lane.h"

namespace tidewire::sim {

inline constexpr uint32_t kColumns = 6;
enum Column : uint8_t { kKeyA, kKeyB, kValue, kLaneNumber, kFilter, kGap };

struct Step {  // of one lane's sequence: an event or a punctuation
  bool is_punctuation = false;
  Punctuation punctuation;
  EventTime time, arrival;
  uint32_t partition = 0;
  std::array<int64_t, kColumns> column{};
  EventTime mark = EventTime::before_all();  // of a packet just before the event
};
using Sequences = std::vector<std::vector<Step>>;  // by lane

struct Scenario {
  std::vector<LaneOptions> lanes;
  Predicate progress;  // of all lanes that marks move
  std::vector<Plan> plans;
  Sequences input;  // without ends: who drives it says when a lane has ended
};
struct ScenarioShape {
  uint32_t lanes = 4, events = 60;
  bool wall_clock = false;  // calendar windows as well: hours pass, and clocks are changed
};
Scenario random_scenario(Rng& rng, ScenarioShape shape);

struct QueryAccount {
  uint64_t passed_on = 0, filtered = 0, late = 0, no_window = 0;
  bool operator==(const QueryAccount&) const = default;
};
struct Answer {
  std::vector<Result> results;
  std::vector<QueryAccount> queries;
};
Answer right_answer(const Scenario& scenario, const Sequences& sequences);

}  // namespace tidewire::sim
