#include "runtime/lifecycle.h"

#include "base/check.h"

namespace tidewire {
namespace {

bool may_follow(State from, State next) {
  switch (from) {
    case State::kConfigured:
      return next == State::kStarted || next == State::kFailed;
    case State::kStarted:
      return next == State::kRunning || next == State::kFailed;
    case State::kRunning:
      return next == State::kDraining || next == State::kStopped || next == State::kFailed;
    case State::kDraining:
      return next == State::kStopped || next == State::kFailed;
    case State::kStopped:
    case State::kFailed:
      return false;
  }
  return false;
}

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::kConfigured:
      return "configured";
    case State::kStarted:
      return "started";
    case State::kRunning:
      return "running";
    case State::kDraining:
      return "draining";
    case State::kStopped:
      return "stopped";
    case State::kFailed:
      return "failed";
  }
  return "?";
}

void Lifecycle::move(State next) {
  CHECK(may_follow(state(), next));
  state_.store(next, std::memory_order_release);
}

}  // namespace tidewire
