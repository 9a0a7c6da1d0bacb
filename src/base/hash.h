// The one hash function of the program: of a key's words, seeded per deployment. Its top bits
// choose the shard, the owner and the dictionary line, and order results (core.md rule 8), so the
// seed is part of a query's identity: kept with the state, equal on all workers.
//
// One word: a product with an odd number, a bijection, so equal hash = equal key. The dictionary
// relies on it.
#pragma once

#include <bit>
#include <cstdint>

#include "base/int128.h"

namespace tidewire {

inline constexpr uint32_t kMaxKeyWords = 4;

struct HashSeed {
  uint64_t multiplier = 0x9E3779B97F4A7C15u;  // odd
  uint64_t salt = 0x243F6A8885A308D3u;
};

// Both factors are seeded, and both words enter once more beside the product: where one factor is
// zero the other word still counts, and a sender cannot know the word for which it is.
constexpr uint64_t mix_words(uint64_t a, uint64_t b, const HashSeed& seed) {
  const uint128 m = static_cast<uint128>(a ^ seed.salt) * (b ^ seed.multiplier);
  const uint64_t folded = static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
  return (folded * seed.multiplier) ^ std::rotl(a, 32) ^ b;
}

template <uint32_t W>
constexpr uint64_t hash_words(const int64_t* word, const HashSeed& seed) {
  if constexpr (W == 0) return 0;
  const auto w = [&](uint32_t i) { return static_cast<uint64_t>(word[i]); };
  if constexpr (W == 1) return w(0) * seed.multiplier;
  if constexpr (W == 2) return mix_words(w(0), w(1), seed);
  if constexpr (W == 4)
    return mix_words(mix_words(w(0), w(1), seed), mix_words(w(2), w(3), seed), seed);
}

// One word: back from its hash. An odd number is its own inverse modulo 8, and each step of
// Newton's doubles the bits that are right.
constexpr uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

}  // namespace tidewire
