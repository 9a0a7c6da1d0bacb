#include "runtime/idle.h"

#include <gtest/gtest.h>

#include <string>

namespace tidewire {
namespace {

// "p" pause, "y" yield, "s" sleep, over n empty turns.
std::string steps(Idle& idle, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) switch (idle.next()) {
      case Idle::Step::kPause:
        out += 'p';
        break;
      case Idle::Step::kYield:
        out += 'y';
        break;
      case Idle::Step::kSleep:
        out += 's';
        break;
    }
  return out;
}

TEST(Idle, PolicySetsInAfterItsPatience) {
  Idle spin(IdlePolicy::kSpin, 3), yield(IdlePolicy::kYield, 3), sleep(IdlePolicy::kSleep, 3);
  EXPECT_EQ(steps(spin, 9), "ppppppppp");
  EXPECT_EQ(steps(yield, 9), "pppyyyyyy");
  EXPECT_EQ(steps(sleep, 9), "pppyyssss");
}

TEST(Idle, WorkStartsItAnew) {
  Idle sleep(IdlePolicy::kSleep, 2);
  EXPECT_EQ(steps(sleep, 5), "ppyss");
  sleep.worked();
  EXPECT_EQ(steps(sleep, 5), "ppyss");
}

TEST(Idle, SaysWhetherTimePassed) {
  EXPECT_FALSE(Idle::take(Idle::Step::kPause));
  EXPECT_TRUE(Idle::take(Idle::Step::kYield));
  EXPECT_TRUE(Idle::take(Idle::Step::kSleep));
}

}  // namespace
}  // namespace tidewire
