#include "base/units.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/rng.h"

namespace tidewire {
namespace {

int64_t duration(std::string_view text) {
  Duration d{-77};
  std::string error;
  EXPECT_TRUE(parse_duration(text, d, error)) << error;
  return d.ns;
}
std::string duration_error(std::string_view text) {
  Duration d{-77};
  std::string error;
  EXPECT_FALSE(parse_duration(text, d, error)) << d.ns;
  EXPECT_EQ(d.ns, -77) << "an error must leave the value alone";
  return error;
}
uint64_t size(std::string_view text) {
  uint64_t bytes = 0;
  std::string error;
  EXPECT_TRUE(parse_size(text, bytes, error)) << error;
  return bytes;
}

TEST(Units, ReadsDurations) {
  EXPECT_EQ(duration("250 ms"), 250'000'000);
  EXPECT_EQ(duration("5m"), 300'000'000'000);
  EXPECT_EQ(duration("1 h"), 3'600'000'000'000);
  EXPECT_EQ(duration("2d"), 172'800'000'000'000);
  EXPECT_EQ(duration("7 ns"), 7);
  EXPECT_EQ(duration("7 us"), 7'000);
  EXPECT_EQ(duration("0 s"), 0);
  EXPECT_EQ(duration("1.5 s"), 1'500'000'000);
  EXPECT_EQ(duration("0.000000001 s"), 1);
  EXPECT_EQ(duration("-8 h"), -28'800'000'000'000);
  EXPECT_EQ(duration("9223372036854775807 ns"), INT64_MAX);
}

TEST(Units, RefusesDurationsWithTheReason) {
  EXPECT_EQ(duration_error("250"), "'250' has no unit; valid are: ns, us, ms, s, m, h, d");
  EXPECT_EQ(duration_error("0"), "'0' has no unit; valid are: ns, us, ms, s, m, h, d");
  EXPECT_EQ(duration_error("3 sec"),
            "'3 sec' has an unknown unit 'sec'; valid are: ns, us, ms, s, m, h, d");
  EXPECT_EQ(duration_error("0.5 ns"), "'0.5 ns' is not a whole number of ns");
  EXPECT_EQ(duration_error("9223372036854775808 ns"), "'9223372036854775808 ns' is too large");
  EXPECT_EQ(duration_error("106752 d"), "'106752 d' is too large");  // 2^63 ns = 106,751.99 d
  EXPECT_EQ(duration_error(std::string(40, '9') + " s"),
            "'" + std::string(40, '9') + " s' is too large");
  for (const char* text :
       {"", " ", "s", "ms 5", ".5 s", "5. s", "1.2.3 s", "--5 s", "1 s 2 ms", "+5 s", "1e3 s"})
    EXPECT_NE(duration_error(text), "") << text;
}

TEST(Units, ReadsSizesOfBothKinds) {
  EXPECT_EQ(size("64 KiB"), 65'536u);
  EXPECT_EQ(size("2 GiB"), uint64_t{2} << 30);
  EXPECT_EQ(size("10 MB"), 10'000'000u);
  EXPECT_EQ(size("1.5KiB"), 1'536u);
  EXPECT_EQ(size("512 B"), 512u);
  uint64_t bytes = 0;
  std::string error;
  EXPECT_FALSE(parse_size("64 K", bytes, error));
  EXPECT_EQ(error,
            "'64 K' has an unknown unit 'K'; valid are: B, KiB, MiB, GiB, TiB, kB, MB, GB, TB");
  EXPECT_FALSE(parse_size("-1 B", bytes, error));
  EXPECT_FALSE(parse_size("16777216 TiB", bytes, error));  // 2^24 * 2^40 = 2^64
  EXPECT_EQ(size("16777215 TiB"), UINT64_MAX - (uint64_t{1} << 40) + 1);
}

TEST(Units, ReadsRates) {
  uint64_t rate = 0;
  std::string error;
  EXPECT_TRUE(parse_rate("2.5 M/s", rate, error));
  EXPECT_EQ(rate, 2'500'000u);
  EXPECT_TRUE(parse_rate("100/s", rate, error));
  EXPECT_EQ(rate, 100u);
  EXPECT_FALSE(parse_rate("100", rate, error));
  EXPECT_EQ(error, "'100' has no unit; valid are: /s, k/s, M/s, G/s");
}

TEST(Units, PrintsTheLargestWholeUnit) {
  EXPECT_EQ(format_duration({0}), "0 s");
  EXPECT_EQ(format_duration({90 * kSecond}), "90 s");
  EXPECT_EQ(format_duration({120 * kSecond}), "2 m");
  EXPECT_EQ(format_duration({-kMillisecond}), "-1 ms");
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(262'144), "256 KiB");
  EXPECT_EQ(format_size(10'000'000), "10000000 B");
  EXPECT_EQ(format_rate(1'500), "1500 /s");
}

TEST(Units, WhatIsPrintedIsReadBack) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : 1;
  SCOPED_TRACE("TIDEWIRE_SEED=" + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 2'000; ++i) {
    const uint64_t value = rng.next() >> rng.below(64);
    std::string error;
    uint64_t bytes = 0, rate = 0;
    ASSERT_TRUE(parse_size(format_size(value), bytes, error)) << error;
    ASSERT_EQ(bytes, value);
    ASSERT_TRUE(parse_rate(format_rate(value), rate, error)) << error;
    ASSERT_EQ(rate, value);
    const Duration d{static_cast<int64_t>(value >> 1) * (rng.one_in(2) ? 1 : -1)};
    Duration back;
    ASSERT_TRUE(parse_duration(format_duration(d), back, error)) << error;
    ASSERT_EQ(back, d);
  }
}

}  // namespace
}  // namespace tidewire
