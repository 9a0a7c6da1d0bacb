#include "metrics/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/rng.h"

namespace tidewire {
namespace {

TEST(LatencyHistogram, BucketsCoverAllValuesWithoutGapOrOverlap) {
  // Each bucket begins where the one before it ended, and no value is further than 1/32 from its
  // bucket's far edge.
  EXPECT_EQ(LatencyHistogram::first_of(0), 0u);
  for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    const uint64_t first = LatencyHistogram::first_of(i), last = LatencyHistogram::last_of(i);
    ASSERT_LE(first, last);
    ASSERT_EQ(LatencyHistogram::bucket_of(first), i);
    ASSERT_EQ(LatencyHistogram::bucket_of(last), i);
    ASSERT_LE((last - first) * 32, first);
    if (i > 0) {
      ASSERT_EQ(first, LatencyHistogram::last_of(i - 1) + 1);
    }
  }
  EXPECT_EQ(LatencyHistogram::last_of(LatencyHistogram::kBuckets - 1), (uint64_t{1} << 40) - 1);
}

TEST(LatencyHistogram, SmallValuesAreExact) {
  auto h = std::make_unique<LatencyHistogram>();
  EXPECT_EQ(h->percentile(50), 0u);
  for (uint64_t v = 1; v <= 20; ++v) h->record(v);
  EXPECT_EQ(h->count(), 20u);
  EXPECT_EQ(h->sum(), 210u);            // 20 * 21 / 2
  EXPECT_EQ(h->percentile(0), 1u);      // rank is never below the first
  EXPECT_EQ(h->percentile(50), 10u);    // rank 10 of 20
  EXPECT_EQ(h->percentile(50.1), 11u);  // rank ceil(10.02)
  EXPECT_EQ(h->percentile(100), 20u);
  EXPECT_EQ(h->max(), 20u);
}

TEST(LatencyHistogram, LongestIsExactBeyondTheLastBucket) {
  auto h = std::make_unique<LatencyHistogram>();
  const uint64_t day = uint64_t{86'400} * 1'000'000'000;  // above 2^40 ns
  h->record(5);
  h->record(day);
  EXPECT_EQ(h->max(), day);
  EXPECT_EQ(h->percentile(100), day);
  EXPECT_EQ(h->percentile(50), 5u);
}

TEST(LatencyHistogram, PercentilesAreWithinOneThirtySecondOfSortedValues) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 11;
  SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed);
  Rng rng(seed);
  auto one = std::make_unique<LatencyHistogram>();
  auto two = std::make_unique<LatencyHistogram>();
  std::vector<uint64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t v = rng.next() >> (25 + rng.below(38));  // below 2^39, all magnitudes
    all.push_back(v);
    (rng.one_in(3) ? *one : *two).record(v);
  }
  one->merge(*two);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(one->count(), all.size());
  EXPECT_EQ(one->max(), all.back());
  for (const double p : {0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
    const auto rank = static_cast<size_t>(std::ceil(p / 100.0 * static_cast<double>(all.size())));
    const uint64_t exact = all[rank - 1];
    EXPECT_GE(one->percentile(p), exact) << p;
    EXPECT_LE(one->percentile(p), exact + exact / 32) << p;
  }
}

}  // namespace
}  // namespace tidewire
