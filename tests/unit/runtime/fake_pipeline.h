// Pipeline with the answers in the test's hand, linked in place of the real one: the shell around
// it can then be shown a full ring, a floor that is not known yet, or a frontier that stands still.
// Lanes are real ones, so that frontiers and silence are what punctuations and events make them.
#pragma once

#include <optional>
#include <vector>

#include "pipeline/pipeline.h"

namespace tidewire {

struct FakePipeline {
  // Answers.
  bool room = true;
  std::optional<EventTime> floor;     // of wake(); empty: not known yet
  std::optional<EventTime> frontier;  // G; empty: the least of the lanes that are not silent
  std::optional<EventTime> fired;     // empty: as the frontier
  bool at_rest = true;
  uint64_t sent = 0, taken = 0;
  uint32_t extra_work = 0;  // rows of neighbours, so to say

  // What came in.
  struct Event {
    LaneId lane{};
    uint64_t ordinal = 0;
    EventTime time, arrival;
  };
  struct Taken {
    std::vector<Punctuation> punctuations;
    std::vector<Event> events;
  };
  bool record = true;
  std::vector<Taken> turns;
  uint64_t turn_count = 0, wakes = 0;
  std::vector<QueryId> shown;

  // All events, or all punctuations, in the order in which they came.
  std::vector<Event> events() const;
  std::vector<Punctuation> punctuations() const;
  std::vector<LaneId> lanes_read() const;  // of turns with events
};

FakePipeline& fake(Pipeline& pipeline);

}  // namespace tidewire
