// What the distance between event times and arrival stamps says about a source's clock. Sentences
// for people: nothing is corrected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace tidewire {

// Events with an arrival stamp.
class ClockHints {
 public:
  void add(EventTime event, EventTime arrival);
  uint64_t events() const { return offsets_.size(); }
  bool any_offset() const;  // false: event time is arrival
  // "arrival less event time: 0.2 s at least, 0.4 s in the middle, 12 s at most"; empty: no events.
  std::string offsets() const;
  // None where nothing is odd.
  std::vector<std::string> hints() const;

 private:
  static constexpr size_t kMost = 4096;  // more would say the same
  int64_t middle() const;

  std::vector<int64_t> offsets_;  // arrival less event time
  EventTime last_event_{}, last_arrival_{};
};

}  // namespace tidewire
