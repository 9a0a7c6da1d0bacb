// Sessions that end soon, earliest first: by (place, end, hash, key), the order of core.md rule 8.
//
//   run    what a tick of the wheel brings at once: gathered unordered, put in order when the first
//          of them is asked for, which costs a few ns an entry where a heap costs fifty
//   heap   what comes while a run is being read, and what no run has room for
//
// So the work of one call is bounded by kRun, however many sessions end in one tick.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "window/reserve.h"

namespace tidewire {

struct DueSession {
  int64_t place, end;
  uint64_t hash;
  uint32_t slot;
};

class DueQueue {
 public:
  static constexpr uint32_t kRun = 1024, kStripes = 256;

  DueQueue(size_t entries, Reserve& reserve)
      : heap_(reserve.take<DueSession>(entries, "sessions")),
        run_(reserve.take<DueSession>(kRun, "sessions")),
        order_(reserve.take<uint16_t>(kRun, "sessions")) {}

  uint64_t size() const { return heaped_ + gathered_ - at_; }
  bool empty() const { return size() == 0; }

  // `after(a, b)`: a comes after b. The same in every call.
  template <class After>
  void push(const DueSession& due, const After& after) {
    if (!ordered_ && gathered_ < kRun) {
      least_ = std::min(least_, due.place);
      run_[gathered_++] = due;
      return;
    }
    DCHECK(heaped_ < heap_.size());
    heap_[heaped_++] = due;
    std::push_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(heaped_), after);
  }
  // Which slot will most likely be asked for next but one, so that it can be fetched.
  uint32_t second_slot() const { return run_[order_[std::min(at_ + 1, kRun - 1)]].slot; }
  // Of the first. Not empty.
  int64_t first_place() const {
    const int64_t of_run = at_ == gathered_ ? INT64_MAX
                           : ordered_       ? run_[order_[at_]].place
                                            : least_;
    return heaped_ == 0 ? of_run : std::min(of_run, heap_[0].place);
  }
  template <class After>
  const DueSession& first(const After& after) {
    if (!ordered_ && gathered_ > 0) put_in_order(after);
    return in_run(after) ? run_[order_[at_]] : heap_[0];
  }
  template <class After>
  void pop(const After& after) {
    if (!in_run(after)) {
      std::pop_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(heaped_), after);
      --heaped_;
      return;
    }
    if (++at_ < gathered_) return;
    at_ = gathered_ = 0;
    ordered_ = false;
    least_ = INT64_MAX;
  }

 private:
  template <class After>
  bool in_run(const After& after) const {
    return at_ < gathered_ && (heaped_ == 0 || !after(run_[order_[at_]], heap_[0]));
  }
  // Spread over stripes of places, about one for each, then sorted within: few are left to do.
  template <class After>
  void put_in_order(const After& after) {
    ordered_ = true;
    const uint32_t stripes = std::min(std::bit_ceil(gathered_), kStripes);
    uint16_t* from = order_.data();
    const auto sort_to = [&](uint16_t* to) {
      if (to - from > 1)
        std::sort(from, to, [&](uint16_t a, uint16_t b) { return after(run_[b], run_[a]); });
      from = to;
    };
    if (gathered_ <= 8) {
      for (uint32_t i = 0; i < gathered_; ++i) order_[i] = static_cast<uint16_t>(i);
      return sort_to(order_.data() + gathered_);
    }
    const auto above = [this](int64_t place) {
      return static_cast<uint64_t>(place) - static_cast<uint64_t>(least_);
    };
    uint64_t most = 0;
    for (uint32_t i = 0; i < gathered_; ++i) most = std::max(most, above(run_[i].place));
    const int shift = std::max(
        static_cast<int>(std::bit_width(most)) - static_cast<int>(std::countr_zero(stripes)), 0);
    std::array<uint16_t, kStripes + 1> at;  // a stripe's start, then its end
    std::fill_n(at.begin(), stripes + 1, uint16_t{0});
    for (uint32_t i = 0; i < gathered_; ++i) ++at[(above(run_[i].place) >> shift) + 1];
    for (uint32_t s = 1; s <= stripes; ++s) at[s] = static_cast<uint16_t>(at[s] + at[s - 1]);
    for (uint32_t i = 0; i < gathered_; ++i)
      order_[at[above(run_[i].place) >> shift]++] = static_cast<uint16_t>(i);
    for (uint32_t s = 0; s < stripes; ++s) sort_to(order_.data() + at[s]);
  }

  std::span<DueSession> heap_, run_;
  std::span<uint16_t> order_;
  uint64_t heaped_ = 0;
  uint32_t gathered_ = 0, at_ = 0;  // run_[order_[at_, gathered_)] are left
  bool ordered_ = false;
  int64_t least_ = INT64_MAX;  // place in the run, while it is not in order
};

}  // namespace tidewire
