#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace tidewire {
namespace {

TEST(Hash, OneWordComesBackFromItsHash) {
  for (const uint64_t multiplier : {HashSeed{}.multiplier, uint64_t{1}, uint64_t{3}, UINT64_MAX})
    for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
      const uint64_t hash = hash_words<1>(&k, {multiplier, 7});
      EXPECT_EQ(static_cast<int64_t>(hash * inverse_of(multiplier)), k);
    }
}

TEST(Hash, EveryWordAndTheSeedMatter) {
  std::set<uint64_t> seen;
  for (int w = 0; w < 4; ++w) {
    int64_t key[4] = {1, 2, 3, 4};
    key[w] = 99;
    seen.insert(hash_words<4>(key, {}));
  }
  const int64_t key[4] = {1, 2, 3, 4};
  seen.insert(hash_words<4>(key, {}));
  seen.insert(hash_words<4>(key, {0x9E3779B97F4A7C17u, 7}));
  EXPECT_EQ(seen.size(), 6u);
}

// A factor that is zero must not swallow the other word: the hash stays injective in it.
TEST(Hash, NoWordIsIgnoredWhateverTheOther) {
  const HashSeed seed;
  for (const uint64_t fixed : {uint64_t{0}, seed.salt, seed.multiplier, ~seed.salt}) {
    std::set<uint64_t> first, second;
    for (uint64_t word = 0; word < 1000; ++word) {
      first.insert(mix_words(word, fixed, seed));
      second.insert(mix_words(fixed, word, seed));
    }
    EXPECT_EQ(first.size(), 1000u) << fixed;
    EXPECT_EQ(second.size(), 1000u) << fixed;
  }
}

}  // namespace
}  // namespace tidewire
