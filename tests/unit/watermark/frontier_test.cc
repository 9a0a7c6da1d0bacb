#include "watermark/frontier.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidewire {
namespace {

using State = Progress::State;

Progress combine(std::vector<Progress> all) {
  Combined combined;
  for (const Progress& p : all) combined.take(p);
  return combined.result();
}

TEST(Combined, WhoHoldsDecidesAlone) {
  EXPECT_EQ(combine({{State::kHolds, {70}}, {State::kHolds, {40}}, {State::kSilent, {10}}, {}}),
            (Progress{State::kHolds, {40}}));
}

TEST(Combined, SilentOnesGoToTheLargestAndNoFurther) {
  EXPECT_EQ(combine({{State::kSilent, {10}}, {State::kSilent, {30}}}),
            (Progress{State::kSilent, {30}}));
  // An ended neighbour does not make the silent one's future late, but what it had reached stays.
  EXPECT_EQ(combine({{State::kSilent, {10}}, {}}), (Progress{State::kSilent, {10}}));
  EXPECT_EQ(combine({{State::kSilent, {10}}, {State::kEnded, {60}}}),
            (Progress{State::kSilent, {60}}));
}

TEST(Combined, NothingOrOnlyEndedIsTheEnd) {
  EXPECT_EQ(combine({}).frontier(), EventTime::end_of_time());
  EXPECT_EQ(combine({{}, {State::kEnded, {60}}}), (Progress{State::kEnded, {60}}));
  EXPECT_EQ(combine({{}, {State::kEnded, {60}}}).frontier(), EventTime::end_of_time());
}

TEST(Combined, OrderAndGroupingDoNotMatter) {
  const std::vector<Progress> some = {{State::kHolds, {5}},
                                      {State::kHolds, {9}},
                                      {State::kSilent, {3}},
                                      {State::kSilent, {12}},
                                      {}};
  for (unsigned set = 0; set < 1u << some.size(); ++set) {
    Combined all, left, right;
    for (unsigned i = 0; i < some.size(); ++i) {
      if (!(set >> i & 1)) continue;
      all.take(some[i]);
      (i % 2 ? left : right).take(some[i]);
    }
    EXPECT_EQ(combine({left.result(), right.result()}), all.result()) << set;
  }
}

TEST(ProgressOf, ReadsALane) {
  PartitionTracker tracker;
  Lane lane({.bound = {0}}, {&tracker, 1});
  EXPECT_EQ(progress_of(lane), (Progress{State::kHolds, EventTime::before_all()}));
  lane.punctuate({.watermark = {7}, .why = Punctuation::Why::kCaughtUp});
  lane.punctuate({.watermark = {99}, .why = Punctuation::Why::kSilent});
  EXPECT_EQ(progress_of(lane), (Progress{State::kSilent, {7}}));
  lane.punctuate({.watermark = {8}, .why = Punctuation::Why::kReturned});
  EXPECT_EQ(progress_of(lane), (Progress{State::kHolds, {8}}));
  lane.punctuate({.watermark = EventTime::end_of_time(), .why = Punctuation::Why::kEnded});
  EXPECT_EQ(progress_of(lane), (Progress{State::kEnded, {8}}));
}

}  // namespace
}  // namespace tidewire
