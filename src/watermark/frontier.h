// How promises combine: lanes to a worker, workers to G, lanes to a store that they alone feed. The
// same rule at each step, so that the answer does not depend on how lanes are spread over workers:
//
//   some hold           the minimum of those that do
//   none, some silent   the largest watermark that any of them has reached, those that have ended
//                       included, and no further: nobody has promised more (core.md, "Frontier")
//   all ended           end_of_time()
//
// What has ended leaves: it must not lift a silent neighbour, whose events may still come, to the
// end of time. What it had reached stays, so that the result depends on what each one said and not
// on whose word came first; all workers agree on G once nothing is under way. Who keeps a frontier
// takes the maximum with what it had.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "watermark/lane.h"

namespace tidewire {

struct Progress {
  enum class State : uint8_t {
    kHolds,   // nothing below the watermark is still to come
    kSilent,  // do not wait; what comes takes a floor first
    kEnded,   // nothing is to come; the watermark is what had been reached before
  } state = State::kEnded;
  EventTime watermark = EventTime::before_all();

  EventTime frontier() const {
    return state == State::kEnded ? EventTime::end_of_time() : watermark;
  }
  bool operator==(const Progress&) const = default;
};

inline Progress progress_of(const Lane& lane) {
  using State = Progress::State;
  const State state = lane.ended() ? State::kEnded : lane.silent() ? State::kSilent : State::kHolds;
  return {state, lane.reached()};
}

class Combined {
 public:
  void take(const Progress& p) {
    largest_ = std::max(largest_, p.watermark);
    switch (p.state) {
      case Progress::State::kHolds:
        holds_ = true;
        least_ = std::min(least_, p.watermark);
        break;
      case Progress::State::kSilent:
        silent_ = true;
        break;
      case Progress::State::kEnded:
        break;
    }
  }
  Progress result() const {
    if (holds_) return {Progress::State::kHolds, least_};
    return {silent_ ? Progress::State::kSilent : Progress::State::kEnded, largest_};
  }

 private:
  bool holds_ = false, silent_ = false;
  EventTime least_ = EventTime::end_of_time();
  EventTime largest_ = EventTime::before_all();  // of all: used where none holds
};

}  // namespace tidewire
