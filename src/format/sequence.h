// Sequence numbers of one session of a feed: what is new, what had come, what is missing.
//
//      forgotten   |  a bit each: had it come?                  | next
//   ---------------+--------------------------------------------+--------------->
//        restart    duplicate (bit set) or reordered (clear)    in order | a gap
//
// The highest number counts, not the last one: 1 3 2 4 is one gap of one message, and a reordered
// one that fills it. Both lines of an A/B pair run through one window, so the second copy is the
// duplicate whichever line it came on. Numbers far from the highest, either way, are a restart of
// the numbering. All distances are modulo 2^64.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "event/drop_reason.h"

namespace tidewire {

class SequenceWindow {
 public:
  // How far the second line may be behind: at 1 M messages/s, 131 ms.
  static constexpr uint64_t kWindow = 1 << 17;
  // A jump over more than this is no loss that a feed can have.
  static constexpr int64_t kGapMax = int64_t{1} << 32;

  void start(uint64_t next) {
    come_.fill(0);
    next_ = next;
  }

  // One message. False: it had come before.
  bool take(uint64_t sequence, LaneCounts& counts) {
    if (sequence != next_ && !find(sequence, counts)) return false;
    come_[word_of(sequence)] |= bit_of(sequence);
    if (sequence == next_) {
      ++next_;
      come_[word_of(next_)] &= ~bit_of(next_);  // the oldest is forgotten
    }
    return true;
  }

  // So many messages, of which the first is next().
  void take_next(uint64_t count) {
    while (count > 0) {
      const uint64_t bit = next_ % 64, taken = std::min(count, 64 - bit);
      come_[word_of(next_)] |= ~uint64_t{0} >> (64 - taken) << bit;
      next_ += taken;
      count -= taken;
    }
    come_[word_of(next_)] &= ~bit_of(next_);  // those before it were written over
  }

  uint64_t next() const { return next_; }

  // Whether a number so far beyond next() is no loss and no delay.
  static bool is_restart(int64_t ahead) {
    return ahead > kGapMax || ahead <= -static_cast<int64_t>(kWindow);
  }

  // What a heartbeat says: the number that comes next.
  void expect(uint64_t next, LaneCounts& counts) {
    const auto ahead = static_cast<int64_t>(next - next_);
    if (ahead > kGapMax || ahead < -static_cast<int64_t>(kWindow)) return restart(next, counts);
    if (ahead > 0) skip_to(next, counts);
  }

 private:
  static size_t word_of(uint64_t sequence) { return sequence % kWindow / 64; }
  static uint64_t bit_of(uint64_t sequence) { return uint64_t{1} << sequence % 64; }

  // A message out of order. False: a duplicate.
  bool find(uint64_t sequence, LaneCounts& counts) {
    const auto ahead = static_cast<int64_t>(sequence - next_);
    if (is_restart(ahead)) {
      restart(sequence, counts);
    } else if (ahead > 0) {
      skip_to(sequence, counts);
    } else if ((come_[word_of(sequence)] & bit_of(sequence)) != 0) {
      counts.note(Note::kDuplicateMessage);
      return false;
    } else {
      counts.note(Note::kReordered);
    }
    return true;
  }

  void restart(uint64_t next, LaneCounts& counts) {
    counts.note(Note::kSequenceRestart);
    start(next);
  }
  void skip_to(uint64_t next, LaneCounts& counts) {
    counts.note(Note::kGap, next - next_);
    if (next - next_ >= kWindow) return start(next);
    while (next_ != next) {
      ++next_;
      if (next_ % 64 == 0 && next - next_ >= 64) {  // a word at once
        come_[word_of(next_)] = 0;
        next_ += 63;
      } else {
        come_[word_of(next_)] &= ~bit_of(next_);
      }
    }
  }

  uint64_t next_ = 0;                          // the highest seen, and one
  std::array<uint64_t, kWindow / 64> come_{};  // of numbers in (next_ - kWindow, next_)
};

}  // namespace tidewire
