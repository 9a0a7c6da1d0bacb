// When has a drained pipeline come to rest? Workers run on, each on its own time, so no single look
// at all of them is a moment. Their counts never go back, so looks one after the other are enough:
//
//   look 1   all rest, all know the same frontier, as many rows were taken out of the rings as were
//            put in (Mattern's counters, "Algorithms for distributed termination detection", 1987).
//            Receive has stopped, so no row can follow. A frontier may still be under way.
//   look 2   still so. Says how many turns each has made *after* look 1 was complete.
//   look 3   still so, and each has made a whole turn since look 2: it has taken what lay in its
//            rings at look 1, and nothing came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"

namespace tidewire {

struct RestReport {
  uint64_t turns = 0;  // made since receive stopped
  uint64_t rows_sent = 0, rows_taken = 0;
  EventTime frontier;    // G as this worker knows it
  bool resting = false;  // receives nothing more, no open burst, its pipeline is at rest

  bool same_but_turns(const RestReport& other) const {
    return rows_sent == other.rows_sent && rows_taken == other.rows_taken &&
           frontier == other.frontier && resting == other.resting;
  }
};

class RestDetector {
 public:
  // One look at all workers. The frontier at which all have come to rest, or nothing yet.
  std::optional<EventTime> observe(std::span<const RestReport> reports);

 private:
  uint32_t looks_ = 0;  // that were equal in a row, 2 at most
  std::vector<RestReport> last_;
};

}  // namespace tidewire
