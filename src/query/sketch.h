// How the parts of a cell lie in its words: widths, and the layout of the two approximate parts.
// Both are exact in the sense of core.md rule 7: the same rows give the same words, whatever the
// order in which they are combined; only what is read from them is an estimate.
//
//   histogram   32-bit counters that saturate, one a bucket: 32 buckets an octave, so that a value
//               is at most 1/64 (1.6 %) away from the middle of its bucket; below 64 each value has
//               its own. Buckets of negative values lie below those of 0, mirrored.
//                 ... | -2 | -1 | 0 | 1 | 2 | ... | 63 | 64, 65 | 66, 67 | ... | 124..127 ...
//   distinct    HyperLogLog (Flajolet et al. 2007): 1,024 registers of a byte, chosen by the top
//               bits of the value's hash; a register holds the most leading zeros that the rest of
//               the hash has shown, plus one. Standard error 1.04 / sqrt(1,024) = 3.25 %.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/hash.h"
#include "query/plan.h"

namespace tidewire {

// ---- histogram
inline constexpr uint32_t kSubBucketBits = 5;

class HistogramBuckets {
 public:
  constexpr explicit HistogramBuckets(ValueRange range) {
    constexpr uint32_t kExactBits = kSubBucketBits + 1;
    const auto side = static_cast<int32_t>(
        range.bits <= kExactBits ? 1u << range.bits
                                 : (range.bits - kSubBucketBits + 1u) << kSubBucketBits);
    zero_ = range.non_negative ? 0 : side - 1;
    last_ = zero_ + side - 1;
  }
  constexpr uint32_t count() const { return static_cast<uint32_t>(last_) + 1; }
  // A multiple of 32 B.
  constexpr uint32_t words() const { return (count() + 7) / 8 * 4; }
  // What lies outside the range counts in the bucket next to it.
  constexpr uint32_t of(int64_t value) const {
    const auto bits = static_cast<uint64_t>(value), sign = static_cast<uint64_t>(value >> 63);
    const uint64_t magnitude = (bits ^ sign) - sign;
    const auto octave = static_cast<uint32_t>(std::bit_width(magnitude | (1u << kSubBucketBits)));
    const uint32_t shift = octave - 1 - kSubBucketBits;
    const auto at = static_cast<int32_t>((shift << kSubBucketBits) + (magnitude >> shift));
    const auto mask = static_cast<int32_t>(sign);
    return static_cast<uint32_t>(std::clamp(zero_ + ((at ^ mask) - mask), 0, last_));
  }
  // The middle of a bucket, away from zero where it has two.
  constexpr int64_t middle(uint32_t bucket) const {
    const int32_t at = static_cast<int32_t>(bucket) - zero_;
    const auto magnitude = static_cast<uint32_t>(at < 0 ? -at : at);
    const uint32_t octave = magnitude >> kSubBucketBits;
    const uint32_t shift = octave == 0 ? 0 : octave - 1;
    const uint64_t first = static_cast<uint64_t>(magnitude - (shift << kSubBucketBits)) << shift;
    const auto middle = static_cast<int64_t>(first + ((uint64_t{1} << shift) >> 1));
    return at < 0 ? -middle : middle;
  }

 private:
  int32_t zero_, last_;  // buckets of 0 and of the largest value
};

// ---- distinct
inline constexpr uint32_t kRegisterBits = 10;
inline constexpr uint32_t kRegisters = 1u << kRegisterBits;
inline constexpr uint32_t kRankMax = 64 - kRegisterBits + 1;

// Every bit of the words reaches every bit of the hash (the last steps are SplitMix64's). Seeded:
// else a sender could choose values that count for nothing.
constexpr uint64_t distinct_hash(int64_t first, int64_t second, const HashSeed& seed) {
  uint64_t x = mix_words(static_cast<uint64_t>(first), static_cast<uint64_t>(second), seed);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
constexpr uint32_t register_of(uint64_t hash) {
  return static_cast<uint32_t>(hash >> (64 - kRegisterBits));
}
constexpr uint8_t rank_of(uint64_t hash) {
  const uint64_t rest = hash << kRegisterBits | uint64_t{1} << (kRegisterBits - 1);
  return static_cast<uint8_t>(std::countl_zero(rest) + 1);
}

// ---- top and bottom
// Turns the order of values into that of unsigned words, the best one largest, so that a cleared
// word is the worst there is.
constexpr uint64_t top_flip(CellOp op) {
  return op == CellOp::kTop ? uint64_t{1} << 63 : ~(uint64_t{1} << 63);
}

constexpr uint32_t words_of(const CellPart& part) {
  switch (part.op) {
    case CellOp::kSum64:
    case CellOp::kMin:
    case CellOp::kMax:
    case CellOp::kNonZero:
      return 1;
    case CellOp::kSum128:
      return 2;
    case CellOp::kFirst:
    case CellOp::kLast:
    case CellOp::kSumProducts:
      return 3;
    case CellOp::kTop:
    case CellOp::kBottom:
      return part.size;
    case CellOp::kHistogram:
      return HistogramBuckets(part.range).words();
    case CellOp::kDistinct:
      return kRegisters / 8;
  }
  return 0;
}

}  // namespace tidewire
