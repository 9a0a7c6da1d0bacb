#include "app/summary_lanes.h"

#include <gtest/gtest.h>

#include <memory>

namespace tidewire {
namespace {

constexpr Duration kBound{100 * kMillisecond};

std::string advice(uint64_t in_order, uint64_t late, int64_t by, uint64_t last, int64_t last_by,
                   uint64_t beyond) {
  const auto lateness = std::make_unique<LatencyHistogram>();
  lateness->record(0, in_order);
  if (late > 0) lateness->record(static_cast<uint64_t>(by), late);
  if (last > 0) lateness->record(static_cast<uint64_t>(last_by), last);
  return lateness_advice(*lateness, beyond, kBound);
}

// 9,870 + 125 of 10,000 are above 99.9 %. 200 ms lies in a bucket of 2^22 ns that ends at 48 * 2^22
// = 201.3 ms, which is 202 in three figures.
TEST(LatenessAdvice, NamesTheBoundThatWouldHaveKeptNearlyAll) {
  EXPECT_EQ(advice(9'870, 125, 200 * kMillisecond, 5, 3 * kSecond, 130),
            "out_of_orderness 202 ms would have kept 99.9 % (now 100 ms kept 98.7 %)");
}

TEST(LatenessAdvice, OrTheOneForAllWhereNearlyAllWasKept) {
  EXPECT_EQ(advice(9'999, 0, 0, 1, kSecond, 1),
            "out_of_orderness 1 s would have kept all (now 100 ms kept 99.99 %)");
  EXPECT_EQ(advice(10, 5, 3 * kMillisecond, 0, 0, 0),
            "out_of_orderness 3 ms would have kept all (now 100 ms kept all)");
}

TEST(LatenessAdvice, SaysNothingOfInputInOrder) {
  EXPECT_EQ(advice(10, 0, 0, 0, 0, 0), "");
  EXPECT_EQ(advice(0, 0, 0, 0, 0, 0), "");
}

}  // namespace
}  // namespace tidewire
