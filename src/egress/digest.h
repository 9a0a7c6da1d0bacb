// One number that says whether two runs gave the same results in the same order (core.md rule 8).
// A chain of mixing steps a query, one a row: a bijection of the state for a given row, and of the
// row's sum for a given state. That sum is over bijections of the row's words, one for each place,
// none of which waits for another. So two result lists that differ in one word never agree. The
// whole is the sum over the queries' finished chains: how the queries are interleaved, which
// depends on the other queries, does not show.
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
    uint64_t place = 0, sum = 0;
    const auto take = [&](uint64_t word) {
      place += 0x9E3779B97F4A7C15u;
      word = (word ^ place) * 0xD6E8FEB86659FD93u;
      sum += (word ^ word >> 32) * 0x9E3779B97F4A7C15u;
    };
    take((row.flags & uint64_t{kFlagPartial | kFlagEmpty}) | uint64_t{row.index} << 16 |
         uint64_t{static_cast<uint8_t>(row.fire)} << 48);
    take(static_cast<uint64_t>(row.start.ns));
    take(static_cast<uint64_t>(row.end.ns));
    for (uint32_t w = 0; w < row.plan->key_words; ++w) take(static_cast<uint64_t>(row.key[w]));
    for (size_t i = 0; i < row.plan->outputs.size(); ++i) {
      const auto number = static_cast<uint128>(row.values[i].number);
      take(static_cast<uint64_t>(number));
      take(static_cast<uint64_t>(number >> 64));
    }
    add(sum);
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
