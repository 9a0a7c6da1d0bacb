#include "runtime/rest.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/lifecycle.h"

namespace tidewire {
namespace {

using Reports = std::vector<RestReport>;

RestReport report(uint64_t turns, uint64_t sent, uint64_t taken, int64_t frontier = 50,
                  bool resting = true) {
  return {turns, sent, taken, EventTime{frontier}, resting};
}

TEST(RestDetector, NeedsThreeEqualLooksWithTurnsBetween) {
  RestDetector rest;
  EXPECT_FALSE(rest.observe(Reports{report(10, 5, 2), report(20, 2, 5)}));
  EXPECT_FALSE(rest.observe(Reports{report(10, 5, 2), report(20, 2, 5)}));
  EXPECT_FALSE(rest.observe(Reports{report(11, 5, 2), report(29, 2, 5)}));  // one turn: under way
  EXPECT_EQ(rest.observe(Reports{report(12, 5, 2), report(30, 2, 5)}), EventTime{50});
}

TEST(RestDetector, TurnsBeforeTheSecondLookDoNotCount) {
  RestDetector rest;
  EXPECT_FALSE(rest.observe(Reports{report(10, 0, 0), report(10, 0, 0)}));
  EXPECT_FALSE(rest.observe(Reports{report(99, 0, 0), report(99, 0, 0)}));
  EXPECT_FALSE(rest.observe(Reports{report(100, 0, 0), report(100, 0, 0)}));
  EXPECT_TRUE(rest.observe(Reports{report(101, 0, 0), report(101, 0, 0)}));
}

TEST(RestDetector, RowUnderWayIsNoRest) {
  RestDetector rest;
  for (uint64_t turns = 1; turns < 20; turns += 3)
    EXPECT_FALSE(rest.observe(Reports{report(turns, 3, 0), report(turns, 0, 2)}));
}

TEST(RestDetector, DifferentFrontiersAreNoRest) {
  RestDetector rest;
  for (uint64_t turns = 1; turns < 20; turns += 3)
    EXPECT_FALSE(rest.observe(Reports{report(turns, 0, 0, 50), report(turns, 0, 0, 49)}));
}

TEST(RestDetector, ChangeStartsItAnew) {
  RestDetector rest;
  EXPECT_FALSE(rest.observe(Reports{report(1, 1, 1)}));
  EXPECT_FALSE(rest.observe(Reports{report(2, 1, 1)}));
  EXPECT_FALSE(rest.observe(Reports{report(5, 1, 1, 60)}));  // the frontier has moved
  EXPECT_FALSE(rest.observe(Reports{report(8, 1, 1, 60)}));
  EXPECT_FALSE(rest.observe(Reports{report(9, 1, 1, 60, false)}));  // busy
  EXPECT_FALSE(rest.observe(Reports{report(12, 1, 1, 60)}));
  EXPECT_FALSE(rest.observe(Reports{report(15, 1, 1, 60)}));
  EXPECT_EQ(rest.observe(Reports{report(18, 1, 1, 60)}), EventTime{60});
}

TEST(RestDetector, NobodyIsNoRest) {
  RestDetector rest;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(rest.observe(Reports{}));
}

TEST(Lifecycle, EveryEdgeIsAllowedOrABug) {
  const std::vector<LifecycleState> states{LifecycleState::kConfigured, LifecycleState::kStarted,
                                           LifecycleState::kRunning,    LifecycleState::kDraining,
                                           LifecycleState::kStopped,    LifecycleState::kFailed};
  // allowed[from][to], read off the picture in lifecycle.h.
  const bool allowed[6][6] = {
      {false, true, false, false, false, true},   {false, false, true, false, false, true},
      {false, false, false, true, true, true},    {false, false, false, false, true, true},
      {false, false, false, false, false, false}, {false, false, false, false, false, false}};
  const std::vector<std::vector<LifecycleState>> path{
      {},
      {LifecycleState::kStarted},
      {LifecycleState::kStarted, LifecycleState::kRunning},
      {LifecycleState::kStarted, LifecycleState::kRunning, LifecycleState::kDraining},
      {LifecycleState::kStarted, LifecycleState::kRunning, LifecycleState::kStopped},
      {LifecycleState::kFailed}};
  for (size_t from = 0; from < 6; ++from)
    for (size_t to = 0; to < 6; ++to) {
      SCOPED_TRACE(testing::Message()
                   << to_string(states[from]) << " to " << to_string(states[to]));
      Lifecycle lifecycle;
      for (const LifecycleState state : path[from]) lifecycle.move(state);
      if (allowed[from][to]) {
        lifecycle.move(states[to]);
        EXPECT_EQ(lifecycle.state(), states[to]);
      } else {
        EXPECT_DEATH(lifecycle.move(states[to]), "may_follow");
      }
    }
}

}  // namespace
}  // namespace tidewire
