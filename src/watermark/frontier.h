// How promises combine: lanes to a worker, workers to G, lanes to a store that they alone feed. The
// same rule at each step, so that the answer does not depend on how lanes are spread over workers:
//
//   some hold           the minimum of those that do
//   none, some silent   the largest watermark among the silent ones, and no further: nobody has
//                       promised more (core.md, "Frontier")
//   all ended           end_of_time()
//
// What has ended leaves: it must not lift a silent neighbour, whose events may still come, to the
// end of time. The result may be lower than before when the last holder ends; who keeps a frontier
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
    kEnded,   // nothing is to come
  } state = State::kEnded;
  EventTime watermark = EventTime::end_of_time();
  bool operator==(const Progress&) const = default;
};

inline Progress progress_of(const Lane& lane) {
  if (lane.ended()) return {};
  return {lane.silent() ? Progress::State::kSilent : Progress::State::kHolds, lane.frontier()};
}

class Combined {
 public:
  void take(const Progress& p) {
    switch (p.state) {
      case Progress::State::kHolds:
        holds_ = true;
        least_ = std::min(least_, p.watermark);
        break;
      case Progress::State::kSilent:
        silent_ = true;
        largest_ = std::max(largest_, p.watermark);
        break;
      case Progress::State::kEnded:
        break;
    }
  }
  Progress result() const {
    if (holds_) return {Progress::State::kHolds, least_};
    if (silent_) return {Progress::State::kSilent, largest_};
    return {};
  }

 private:
  bool holds_ = false, silent_ = false;
  EventTime least_ = EventTime::end_of_time();
  EventTime largest_ = EventTime::before_all();
};

}  // namespace tidewire
