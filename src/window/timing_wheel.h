// When is a key to be looked at again? Entries are small numbers (slots of keys), times are event
// times; an entry comes up in the tick of its time. Lazy: whoever is armed for an earlier time
// stays there, and whoever comes up too early is armed again.
//
//   level 0     4,096 ticks ahead of the cursor, one bucket each, circular
//   level 1..9  64 buckets each, by the highest 6-bit digit in which the entry's round of 4,096
//               ticks differs from the cursor's; a bucket is spread downwards when the cursor
//               enters it
//
// So a jump of the cursor over fifty years is a look at ten bitmaps, for a tick of 1 ns as for one
// of an hour. A tick is gap/64 to gap/1,024 (2^k ns, at least 1 ns): two sessions of one key cannot
// end in one tick.
//
// Bounded: one live entry a slot, and stale ones (armed again for an earlier time) up to `entries`
// in all; has_room() says so before anything is begun.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "window/reserve.h"

namespace tidewire {

class TimingWheel {
 public:
  // What a slot remembers of its entry.
  static constexpr uint32_t kIdle = 0;
  static constexpr uint32_t kQueued = UINT32_MAX;  // not in the wheel: the owner's heap has it

  // `keys` that are armed at once, mostly.
  TimingWheel(int64_t gap, uint64_t keys, uint64_t entries, Reserve& reserve)
      : shift_(shift_for(static_cast<uint64_t>(gap), keys)),
        limit_(entries),
        node_(reserve.take<Node>(std::min(entries + 3, entries / kInNode + kBuckets + 3), "wheel")),
        head_(reserve.take<uint32_t>(kBuckets, "wheel")) {
    for (size_t i = node_.size(); i-- > 1;) {
      node_[i].next = free_;
      free_ = static_cast<uint32_t>(i);
    }
  }

  // UINT64_MAX is no tick: next_tick() says "none" with it.
  uint64_t tick_of(int64_t time) const { return std::min(biased(time) >> shift_, UINT64_MAX - 1); }
  int64_t start_of(uint64_t tick) const {
    return static_cast<int64_t>((tick << shift_) ^ (uint64_t{1} << 63));
  }
  uint64_t now() const { return now_; }
  // No bucket that holds anything starts before this tick; UINT64_MAX: nothing is armed.
  uint64_t next_tick() const { return next_; }
  bool draining() const { return chain_ != 0; }
  // `queued`: slots that have left the wheel for the owner's heap and may come back.
  bool has_room(uint64_t queued) const { return entries_ + queued < limit_; }

  // `armed` is the slot's own word. The tick lies after now().
  void arm(uint32_t slot, uint64_t tick, uint32_t& armed) {
    DCHECK(tick > now_ && armed != kQueued);
    if (armed != kIdle && start_of_bucket(armed - 1) <= tick) return;
    const uint32_t bucket = bucket_of(tick);
    armed = bucket + 1;
    if (!head_[bucket] || node_[head_[bucket]].used == kInNode) {
      const uint32_t n = free_;
      CHECK(n != 0);
      free_ = node_[n].next;
      node_[n].next = head_[bucket];
      node_[n].used = 0;
      head_[bucket] = n;
      mark(bucket);
    }
    Node& node = node_[head_[bucket]];
    node.slot[node.used++] = slot;
    ++entries_;
    next_ = std::min(next_, start_of_bucket(bucket));
  }

  // Will whoever has this word come up in `tick` or before?
  bool covers(uint32_t armed, uint64_t tick) const {
    return armed != kIdle && armed != kQueued && start_of_bucket(armed - 1) <= tick;
  }

  // Moves the cursor to `goal`, or to the first bucket on the way that holds something; that one is
  // then to be drained.
  void advance(uint64_t goal) {
    DCHECK(!draining() && goal >= now_);
    if (next_ > goal) {
      now_ = goal;
      return;
    }
    now_ = std::max(now_, next_);
    open_ = earliest_bucket();
    chain_ = head_[open_];
    head_[open_] = 0;
    unmark(open_);
    find_next();
  }

  // One node of the open bucket: visit(slot) says where the slot's word is, due(slot) is called for
  // those that were not armed elsewhere meanwhile, their word kIdle again. Returns how many.
  template <class Word, class Due>
  uint32_t drain(Word word, Due due) {
    const uint32_t at = chain_;
    chain_ = node_[at].next;
    const uint32_t used = node_[at].used;
    if (chain_) {
      const Node& next = node_[chain_];
      __builtin_prefetch(&node_[next.next], 1, 3);
      for (uint32_t i = 0; i < next.used; ++i) __builtin_prefetch(&word(next.slot[i]), 1, 3);
    }
    entries_ -= used;
    for (uint32_t i = 0; i < used; ++i) {
      const uint32_t slot = node_[at].slot[i];
      if (word(slot) != open_ + 1) continue;
      word(slot) = kIdle;
      due(slot);
    }
    node_[at].next = free_;
    free_ = at;
    return used;
  }

 private:
  static constexpr uint32_t kTicks = 4096, kTickBits = 12;
  static constexpr uint32_t kDigitBits = 6, kDigits = 64, kLevels = 9;  // 12 + 9 * 6 >= 64
  static constexpr uint32_t kBuckets = kTicks + kLevels * kDigits;
  static constexpr uint32_t kInNode = 14;
  struct alignas(64) Node {
    uint32_t next, used, slot[kInNode];
  };
  static_assert(sizeof(Node) == 64);

  // Where few keys share a tick, walking ticks costs more than sorting what is in them; so does it
  // where the buckets' nodes do not stay in the cache.
  static uint32_t shift_for(uint64_t gap, uint64_t keys) {
    const auto bits = static_cast<uint32_t>(std::bit_width(gap));
    const auto parts = std::clamp(static_cast<uint32_t>(std::bit_width(keys / 1024)), 7u, 10u);
    return bits > parts ? bits - parts : 0;
  }
  static uint64_t biased(int64_t time) { return static_cast<uint64_t>(time) ^ (uint64_t{1} << 63); }

  uint32_t bucket_of(uint64_t tick) const {
    if (tick - now_ < kTicks) return static_cast<uint32_t>(tick % kTicks);
    const uint64_t round = tick >> kTickBits, apart = round ^ (now_ >> kTickBits);
    const auto level = static_cast<uint32_t>(std::bit_width(apart) - 1) / kDigitBits;
    return kTicks + level * kDigits +
           static_cast<uint32_t>((round >> (level * kDigitBits)) % kDigits);
  }
  // Its first tick, as seen from the cursor, which has not passed it.
  uint64_t start_of_bucket(uint32_t bucket) const {
    if (bucket < kTicks) return now_ + ((bucket - now_) % kTicks);
    const uint32_t level = (bucket - kTicks) / kDigits, digit = (bucket - kTicks) % kDigits;
    const uint32_t low = level * kDigitBits;
    const uint64_t round = now_ >> kTickBits;
    const uint32_t above = low + kDigitBits;
    const uint64_t high = above >= 64 ? 0 : (round >> above) << above;
    return (high | uint64_t{digit} << low) << kTickBits;
  }
  void mark(uint32_t bucket) { busy_[bucket / 64] |= uint64_t{1} << (bucket % 64); }
  void unmark(uint32_t bucket) { busy_[bucket / 64] &= ~(uint64_t{1} << (bucket % 64)); }

  // Of level 0: the first marked tick in [now, now + 4096), circular.
  uint32_t first_tick_bucket() const {
    const auto from = static_cast<uint32_t>(now_ % kTicks);
    uint64_t bits = busy_[from / 64] & (~uint64_t{0} << (from % 64));
    for (uint32_t i = 0; i <= kTicks / 64; ++i) {
      const uint32_t word = (from / 64 + i) % (kTicks / 64);
      if (i > 0) bits = busy_[word];
      if (bits) return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    }
    return kBuckets;
  }
  // A lower level lies before a higher one, and before the cursor's own digit nothing is left.
  uint32_t first_upper_bucket() const {
    for (uint32_t level = 0; level < kLevels; ++level)
      if (const uint64_t bits = busy_[kTicks / 64 + level])
        return kTicks + level * kDigits + static_cast<uint32_t>(std::countr_zero(bits));
    return kBuckets;
  }
  // Where both start at one tick the upper one goes first: it may hold entries of that tick.
  uint32_t earliest_bucket() const {
    const uint32_t tick = first_tick_bucket(), upper = first_upper_bucket();
    if (upper == kBuckets) return tick;
    if (tick == kBuckets) return upper;
    return start_of_bucket(upper) <= start_of_bucket(tick) ? upper : tick;
  }
  void find_next() {
    const uint32_t bucket = earliest_bucket();
    next_ = bucket == kBuckets ? UINT64_MAX : start_of_bucket(bucket);
    if (bucket != kBuckets) __builtin_prefetch(&node_.data()[head_[bucket]], 1, 3);
  }

  uint32_t shift_;
  uint64_t limit_;
  std::span<Node> node_;
  std::span<uint32_t> head_;
  uint32_t free_ = 0;
  uint32_t chain_ = 0;  // what is left of the open bucket
  uint32_t open_ = 0;
  uint64_t now_ = 0, next_ = UINT64_MAX, entries_ = 0;
  std::array<uint64_t, kBuckets / 64> busy_{};
};

}  // namespace tidewire
