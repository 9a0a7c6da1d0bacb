#include "runtime/lifecycle.h"

#include "base/check.h"

namespace tidewire {
namespace {

bool may_follow(LifecycleState from, LifecycleState next) {
  switch (from) {
    case LifecycleState::kConfigured:
      return next == LifecycleState::kStarted || next == LifecycleState::kFailed;
    case LifecycleState::kStarted:
      return next == LifecycleState::kRunning || next == LifecycleState::kFailed;
    case LifecycleState::kRunning:
      return next == LifecycleState::kDraining || next == LifecycleState::kStopped ||
             next == LifecycleState::kFailed;
    case LifecycleState::kDraining:
      return next == LifecycleState::kStopped || next == LifecycleState::kFailed;
    case LifecycleState::kStopped:
    case LifecycleState::kFailed:
      return false;
  }
  return false;
}

}  // namespace

std::string_view to_string(LifecycleState state) {
  switch (state) {
    case LifecycleState::kConfigured:
      return "configured";
    case LifecycleState::kStarted:
      return "started";
    case LifecycleState::kRunning:
      return "running";
    case LifecycleState::kDraining:
      return "draining";
    case LifecycleState::kStopped:
      return "stopped";
    case LifecycleState::kFailed:
      return "failed";
  }
  return "?";
}

void Lifecycle::move(LifecycleState next) {
  CHECK(may_follow(state(), next));
  state_.store(next, std::memory_order_release);
}

}  // namespace tidewire
