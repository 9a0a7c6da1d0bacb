// What a loop does when a turn found nothing: the first empty turns cost a pause each, then
//
//   spin    goes on so: the core is this thread's alone
//   yield   gives the core to whoever waits for it. Two spinning threads on shared cores collapse
//           to a tenth of their rate, two yielding ones do not
//   sleep   yields as long again, then sleeps 50 us (the kernel's slack makes it 50 to 110)
#pragma once

#include <sched.h>

#include <cstdint>
#include <ctime>
#include <string_view>

namespace tidewire {

enum class IdlePolicy : uint8_t { kSpin, kYield, kSleep };

constexpr std::string_view to_string(IdlePolicy policy) {
  switch (policy) {
    case IdlePolicy::kSpin:
      return "spin";
    case IdlePolicy::kYield:
      return "yield";
    case IdlePolicy::kSleep:
      return "sleep";
  }
  return "?";
}

class Idle {
 public:
  enum class Step : uint8_t { kPause, kYield, kSleep };

  // `patience`: empty turns before the policy sets in; at least one for each lane that is polled.
  explicit Idle(IdlePolicy policy, uint32_t patience = 64) : policy_(policy), patience_(patience) {}

  void worked() { empty_ = 0; }

  // What this empty turn asks for.
  Step next() {
    if (empty_ < 2 * patience_) ++empty_;
    if (policy_ == IdlePolicy::kSpin || empty_ <= patience_) return Step::kPause;
    if (policy_ == IdlePolicy::kYield || empty_ < 2 * patience_) return Step::kYield;
    return Step::kSleep;
  }

  // Does it. True: the core was given up, so time has passed.
  static bool take(Step step) {
    switch (step) {
      case Step::kPause:
        __builtin_ia32_pause();
        return false;
      case Step::kYield:
        sched_yield();
        return true;
      case Step::kSleep: {
        const timespec nap{0, 50'000};
        nanosleep(&nap, nullptr);
        return true;
      }
    }
    return false;
  }

 private:
  IdlePolicy policy_;
  uint32_t patience_;
  uint32_t empty_ = 0;
};

}  // namespace tidewire
