// HdrHistogram's log format by a decoder of its own. Indices by hand: with 2,048 sub-buckets a
// value below 2,048 is its own index; 2,048 to 4,095 share one by pairs from index 2,048 on, and so
// on: index = 1,024 * (bucket + 1) + (value >> bucket) - 1,024.
#include "bench/wire/hdr_log.h"

#include <absl/strings/escaping.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <map>

namespace tidewire::bench {
namespace {

uint64_t number(const std::string& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return value;
}

std::map<size_t, uint64_t> decoded(const std::string& text) {
  std::string outer;
  EXPECT_TRUE(absl::Base64Unescape(text, &outer));
  EXPECT_EQ(number(outer, 0, 4), 0x1C849314u);
  EXPECT_EQ(number(outer, 4, 4), outer.size() - 8);
  std::string plain(1 << 20, '\0');
  uLongf size = plain.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(plain.data()), &size,
                       reinterpret_cast<const Bytef*>(outer.data()) + 8, outer.size() - 8),
            Z_OK);
  plain.resize(size);
  EXPECT_EQ(number(plain, 0, 4), 0x1C849313u);
  EXPECT_EQ(number(plain, 4, 4), plain.size() - 40);
  EXPECT_EQ(number(plain, 12, 4), 3u);
  EXPECT_EQ(number(plain, 16, 8), 1u);
  EXPECT_EQ(number(plain, 24, 8), 3'600'000'000'000u);
  EXPECT_EQ(number(plain, 32, 8), 0x3FF0000000000000u);
  std::map<size_t, uint64_t> counts;
  size_t index = 0;
  for (size_t at = 40; at < plain.size();) {
    uint64_t zigzag = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(plain[at++]);
      zigzag |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (!(byte & 0x80)) break;
    }
    const auto value = static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
    if (value < 0)
      index += static_cast<size_t>(-value);
    else
      counts[index++] = static_cast<uint64_t>(value);
  }
  return counts;
}

TEST(HdrLog, EveryValueStandsAtItsIndex) {
  const std::vector<int64_t> values{0, 1, 1, 2047, 2048, 2049, 4095, 4096, 1'000'000};
  // 1,000,000 has 20 bits: bucket 9, sub-bucket 1,000,000 >> 9 = 1,953; 10 * 1,024 + 1,953 - 1,024.
  const std::map<size_t, uint64_t> want{{0, 1},    {1, 2},    {2047, 1}, {2048, 2},
                                        {3071, 1}, {3072, 1}, {11169, 1}};
  EXPECT_EQ(decoded(hdr_encoded(values)), want);
}

TEST(HdrLog, LongCountsAndNothingAtAll) {
  EXPECT_EQ(decoded(hdr_encoded({})), (std::map<size_t, uint64_t>{}));
  const std::vector<int64_t> many(100'000, 77);
  EXPECT_EQ(decoded(hdr_encoded(many)), (std::map<size_t, uint64_t>{{77, 100'000}}));
}

TEST(HdrLog, ALineOfALog) {
  const std::vector<int64_t> values{1'500'000};
  const std::string log = hdr_log(values, "leg", 12.5, 3);
  EXPECT_NE(log.find("#[StartTime: 12.500 (seconds since epoch)]\n"), std::string::npos);
  EXPECT_NE(log.find("\nTag=leg,0.000,3.000,1.500," + hdr_encoded(values) + "\n"),
            std::string::npos);
}

}  // namespace
}  // namespace tidewire::bench
