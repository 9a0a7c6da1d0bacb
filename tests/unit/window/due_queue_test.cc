// The queue of sessions that end soon against a sorted set: equal places, equal ends, more than a
// run holds, and pushes between the pops.
#include "window/due_queue.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/rng.h"

namespace tidewire {
namespace {

bool after(const DueSession& a, const DueSession& b) {
  return std::tie(a.place, a.end, a.hash) > std::tie(b.place, b.end, b.hash);
}

struct Earlier {
  bool operator()(const DueSession& a, const DueSession& b) const { return after(b, a); }
};

class Queue {
 public:
  Queue() : reserve_(&arena_, "q"), queue_(20'000, reserve_) {}
  void push(const DueSession& due) {
    queue_.push(due, after);
    want_.insert(due);
  }
  void expect_first() {
    const DueSession want = *want_.begin();
    ASSERT_EQ(queue_.size(), want_.size());
    EXPECT_EQ(queue_.first_place(), want.place);
    const DueSession got = queue_.first(after);
    EXPECT_EQ(queue_.first_place(), want.place);
    EXPECT_EQ(std::tie(got.place, got.end, got.hash, got.slot),
              std::tie(want.place, want.end, want.hash, want.slot));
    queue_.pop(after);
    want_.erase(want_.begin());
  }
  bool empty() const { return want_.empty(); }
  bool says_empty() const { return queue_.empty(); }

 private:
  Arena arena_{{}};
  Reserve reserve_;
  DueQueue queue_;
  std::multiset<DueSession, Earlier> want_;
};

TEST(DueQueue, EarliestFirstWhateverComesBetween) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Queue queue;
    const uint64_t places = rng.one_in(3) ? 1 + rng.below(4) : uint64_t{1} << rng.below(62);
    const int64_t base = rng.one_in(4) ? INT64_MIN : static_cast<int64_t>(rng.next() >> 2);
    uint32_t slot = 0;
    for (int round = 0; round < 6; ++round) {
      for (uint64_t i = rng.below(rng.one_in(20) ? 3 * DueQueue::kRun : 40); i > 0; --i) {
        const int64_t place = base + static_cast<int64_t>(rng.below(places));
        queue.push({place, place + static_cast<int64_t>(rng.below(2)), rng.next(), ++slot});
      }
      for (uint64_t i = rng.below(60); i > 0 && !queue.empty(); --i) {
        queue.expect_first();
        if (HasFatalFailure()) return;
      }
    }
    while (!queue.empty()) {
      queue.expect_first();
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(queue.says_empty());
  }
}

// A coarse clock: a million sessions may end at one point.
TEST(DueQueue, OnePlaceIsOrderedByHash) {
  Queue queue;
  Rng rng(7);
  for (uint32_t i = 0; i < 2 * DueQueue::kRun; ++i) queue.push({5, 5, rng.next(), i});
  for (uint32_t i = 0; i < 2 * DueQueue::kRun; ++i) queue.expect_first();
}

}  // namespace
}  // namespace tidewire
