// One number that says whether two runs gave the same results in the same order (core.md rule 8).
// A chain of mixing steps a query; each step is a bijection of the state for a given word and of
// the word for a given state, so two result lists that differ in one word never agree. The whole is
// the sum over the queries' finished chains: how the queries are interleaved, which depends on the
// other queries, does not show.
//
// Rows of flagged windows stand outside: which row met a full pool is timing (core.md rule 9). So
// do provisional and late rows, which are no results.
#pragma once

#include <cstdint>
#include <string_view>

#include "egress/result.h"

namespace tidewire {

class Digest {
 public:
  // Seeded by the query's name: the same results under another name are other results.
  explicit Digest(std::string_view query) {
    for (const char c : query) add(static_cast<unsigned char>(c));
    add(query.size());
  }
  void add(uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15u;
    state_ = (state_ ^ (state_ >> 32)) * 0xD6E8FEB86659FD93u;
    state_ ^= state_ >> 29;
  }
  void add(const Result& row) {
    add((row.flags & uint64_t{kFlagPartial | kFlagEmpty}) | uint64_t{row.index} << 16 |
        uint64_t{static_cast<uint8_t>(row.fire)} << 48);
    add(static_cast<uint64_t>(row.start.ns));
    add(static_cast<uint64_t>(row.end.ns));
    for (uint32_t w = 0; w < row.plan->key_words; ++w) add(static_cast<uint64_t>(row.key[w]));
    for (size_t i = 0; i < row.plan->outputs.size(); ++i) {
      const auto number = static_cast<uint128>(row.values[i].number);
      add(static_cast<uint64_t>(number));
      add(static_cast<uint64_t>(number >> 64));
    }
    ++rows_;
  }
  // 0 without rows, so that a query that gave none leaves no trace.
  uint64_t finish() const {
    if (rows_ == 0) return 0;
    Digest last = *this;
    last.add(rows_);
    return last.state_;
  }

 private:
  uint64_t state_ = 0x243F6A8885A308D3u;
  uint64_t rows_ = 0;
};

}  // namespace tidewire
