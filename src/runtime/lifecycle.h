// The states of the appliance. One function moves between them, so an impossible step is a bug that
// shows at once.
//
//   configured --> started --> running --> draining --> stopped
//        |            |           |            |
//        '------------'-----------'------------'------> failed   (with a reason)
//                                 '-------------------> stopped  (all input ended, or stop at once)
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tidewire {

enum class LifecycleState : uint8_t {
  kConfigured,  // parts are named, no thread runs
  kStarted,     // threads stand on their cores, memory is reserved, sources are open
  kRunning,     // workers turn
  kDraining,    // receive has stopped; what is open fires as partial
  kStopped,     // every thread has left; counts are final
  kFailed,      // start went wrong; why is in the status that start() returned
};

std::string_view to_string(LifecycleState state);

class Lifecycle {
 public:
  // Moves to `next`; CHECKs that the picture above has this edge. Control thread only.
  void move(LifecycleState next);
  LifecycleState state() const { return state_.load(std::memory_order_acquire); }  // any thread

 private:
  std::atomic<LifecycleState> state_{LifecycleState::kConfigured};
};

}  // namespace tidewire
