// Seeded pseudo-random numbers for tests, simulation and benches (SplitMix64). Nothing in the data
// path draws.
#pragma once

#include <cstdint>

#include "base/int128.h"

namespace tidewire {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<uint128>(next()) * n) >> 64);
  }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace tidewire
