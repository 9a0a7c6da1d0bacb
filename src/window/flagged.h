// Where rows were lost because a pool was full: intervals of event time, so that every window which
// would have held such a row is flagged when it fires (core.md "Full pools"). Bounded: when the
// list is full the two nearest intervals become one, which flags the windows between them too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace tidewire {

class FlaggedIntervals {
 public:
  // Both ends count. Intervals that touch become one.
  void add(int64_t low, int64_t high) {
    if (count_ > 0 && low >= low_[last_] && high <= high_[last_]) return;
    uint32_t at = 0;
    while (at < count_ && high_[at] < low) ++at;
    if (at < count_ && low_[at] <= high) {  // meets one, perhaps several
      uint32_t end = at + 1;
      while (end < count_ && low_[end] <= high) ++end;
      low_[at] = std::min(low_[at], low);
      high_[at] = std::max(high_[end - 1], high);
      erase(at + 1, end);
    } else {
      if (count_ == kMax) {
        const uint32_t near = nearest();
        high_[near] = high_[near + 1];
        erase(near + 1, near + 2);
        return add(low, high);
      }
      std::copy_backward(&low_[at], &low_[count_], &low_[count_ + 1]);
      std::copy_backward(&high_[at], &high_[count_], &high_[count_ + 1]);
      low_[at] = low;
      high_[at] = high;
      ++count_;
    }
    last_ = at;
  }
  bool meets(int64_t low, int64_t high) const {
    for (uint32_t i = 0; i < count_; ++i)
      if (low_[i] <= high && low <= high_[i]) return true;
    return false;
  }
  // Nothing at or before `place` will be asked for again.
  void drop_through(int64_t place) {
    uint32_t gone = 0;
    while (gone < count_ && high_[gone] <= place) ++gone;
    if (gone > 0) erase(0, gone);
    last_ = 0;
  }
  // The first interval; there is one.
  int64_t first() const { return low_[0]; }
  std::pair<int64_t, int64_t> take_first() {
    const std::pair<int64_t, int64_t> taken(low_[0], high_[0]);
    erase(0, 1);
    last_ = 0;
    return taken;
  }
  bool empty() const { return count_ == 0; }
  uint32_t size() const { return count_; }

  static constexpr uint32_t kMax = 64;

 private:
  void erase(uint32_t from, uint32_t to) {
    std::copy(&low_[to], &low_[count_], &low_[from]);
    std::copy(&high_[to], &high_[count_], &high_[from]);
    count_ -= to - from;
  }
  uint32_t nearest() const {
    uint32_t best = 0;
    auto distance = [&](uint32_t i) {  // unsigned: the two may lie on either side of 1970
      return static_cast<uint64_t>(low_[i + 1]) - static_cast<uint64_t>(high_[i]);
    };
    for (uint32_t i = 1; i + 1 < count_; ++i)
      if (distance(i) < distance(best)) best = i;
    return best;
  }

  std::array<int64_t, kMax + 1> low_{}, high_{};
  uint32_t count_ = 0;
  uint32_t last_ = 0;  // hit most recently: lost rows come in crowds
};

}  // namespace tidewire
