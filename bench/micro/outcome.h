// What a room has worked out of a fixed input, shown behind its figures: a count of results and a
// digest over them, in order. Two builds that differ there do not do the same work.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/hash.h"

namespace tidewire::bench {

class Outcome {
 public:
  template <class Word>
  void add(const Word* words, size_t count) {
    static_assert(sizeof(Word) == 8);
    for (size_t i = 0; i < count; ++i) {
      uint64_t word;
      std::memcpy(&word, words + i, 8);
      digest_ = mix_words(digest_, word, HashSeed{});
    }
  }
  void count(uint64_t results) { results_ += results; }
  void show(benchmark::State& state, const char* more = "") const {
    std::array<char, 256> text;
    std::snprintf(text.data(), text.size(), "%lu results %016lx %s", results_, digest_, more);
    state.SetLabel(text.data());
  }

 private:
  uint64_t results_ = 0, digest_ = 0;
};

}  // namespace tidewire::bench
