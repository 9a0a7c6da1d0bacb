// Latencies as counts in log-linear buckets: every power of two is cut into 32 equal parts, so a
// percentile is at most 1/32 (3.1 %) above the true value, from 1 ns to 2^40 ns (18 minutes; longer
// ones join the last bucket, `max` stays exact). Fixed size, no allocation, one writer.
//
//   value    0 .. 31 | 32 33 .. 63 | 64 66 .. 126 | 128 132 .. 252 | ...     lower edges
//   bucket   0 .. 31 | 32 33 .. 63 | 64 65 ..  95 |  96  97 .. 127 | ...
//
// The writer's stores and a reader's loads are relaxed: a reader on another thread sees a moment's
// sample whose buckets may be a few records apart, and never stops the writer.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tidewire {

class LatencyHistogram {
 public:
  static constexpr uint32_t kPartBits = 5;
  static constexpr uint32_t kParts = 1u << kPartBits;
  static constexpr uint32_t kTopBit = 40;
  static constexpr uint32_t kBuckets = kParts * (kTopBit - kPartBits + 1);

  void record(uint64_t ns, uint64_t times = 1) {
    add(buckets_[bucket_of(ns)], times);
    add(sum_, ns * times);
    if (ns > max_.load(std::memory_order_relaxed)) max_.store(ns, std::memory_order_relaxed);
  }

  // Many at once, each `times` times: the buckets are found by a loop that vectorises. A double's
  // exponent and first bits are the power of two and the part; below 2^52 the conversion is exact,
  // and what is longer than all buckets has been cut before.
  template <size_t N>
  void record_all(const std::array<uint64_t, N>& values, uint32_t count, uint64_t times) {
    constexpr auto kTwoTo52 = uint64_t{0x433} << 52;  // as a double, 1 in its last bit
    std::array<uint64_t, N> bucket;
    uint64_t sum = 0, largest = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t value = values[i];
      sum += value;
      largest = std::max(largest, value);
      const uint64_t cut = std::min(value, (uint64_t{1} << kTopBit) - 1);
      const double exact = std::bit_cast<double>(cut | kTwoTo52) - std::bit_cast<double>(kTwoTo52);
      const uint64_t part = (std::bit_cast<uint64_t>(exact) >> (52 - kPartBits)) -
                            (uint64_t{1023 + kPartBits - 1} << kPartBits);
      bucket[i] = value < kParts ? value : part;
    }
    for (uint32_t i = 0; i < count; ++i) add(buckets_[bucket[i]], times);
    add(sum_, sum * times);
    if (largest > max_.load(std::memory_order_relaxed))
      max_.store(largest, std::memory_order_relaxed);
  }

  // Adds another one's records; the caller is this histogram's writer.
  void merge(const LatencyHistogram& other) {
    for (uint32_t i = 0; i < kBuckets; ++i)
      add(buckets_[i], other.buckets_[i].load(std::memory_order_relaxed));
    add(sum_, other.sum_.load(std::memory_order_relaxed));
    max_.store(std::max(max(), other.max()), std::memory_order_relaxed);
  }

  uint64_t count() const {
    uint64_t n = 0;
    for (const auto& bucket : buckets_) n += bucket.load(std::memory_order_relaxed);
    return n;
  }
  uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  uint64_t max() const { return max_.load(std::memory_order_relaxed); }

  // The least bucket edge that at least `percent` of all records do not exceed; 0 when empty.
  uint64_t percentile(double percent) const {
    const uint64_t n = count();
    if (n == 0) return 0;
    const double exact = std::clamp(percent, 0.0, 100.0) / 100.0 * static_cast<double>(n);
    const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(exact)), 1, n);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i].load(std::memory_order_relaxed);
      if (seen >= rank) return i + 1 == kBuckets ? max() : std::min(last_of(i), max());
    }
    return max();
  }

  static constexpr uint32_t bucket_of(uint64_t ns) {
    if (ns < kParts) return static_cast<uint32_t>(ns);
    const auto top = static_cast<uint32_t>(std::bit_width(ns)) - 1;
    if (top >= kTopBit) return kBuckets - 1;
    const uint32_t shift = top - kPartBits;
    return (shift + 1) * kParts + (static_cast<uint32_t>(ns >> shift) - kParts);
  }
  static constexpr uint64_t first_of(uint32_t bucket) {
    if (bucket < kParts) return bucket;
    const uint32_t shift = bucket / kParts - 1;
    return static_cast<uint64_t>(kParts + bucket % kParts) << shift;
  }
  static constexpr uint64_t last_of(uint32_t bucket) {
    if (bucket < kParts) return bucket;
    return first_of(bucket) + (uint64_t{1} << (bucket / kParts - 1)) - 1;
  }

 private:
  // One writer: a plain add whose store cannot tear, not a locked instruction.
  static void add(std::atomic<uint64_t>& to, uint64_t n) {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> max_{0};
};

}  // namespace tidewire
