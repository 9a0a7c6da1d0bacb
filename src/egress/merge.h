// The workers' rings as one stream in the order of core.md rule 8:
//
//   (place, query, points before row updates)
//     points        (window end, hash, key), the window's __overflow__ row behind its keys
//     row updates   (lane, ordinal, window end); late rows stand among them
//
//   ring 0   | 10 a | 10 c | 20 b |             fired 10
//   ring 1   | 10 b |                           fired 10      ->  10 a, 10 b, 10 c; then 20 b waits
//                                                                 until ring 1 has fired 20
//
// The smallest head leaves once every other ring has a head or has fired at or beyond its place: so
// what leaves never depends on how far a worker happens to be. A retraction stands just before what
// replaces it, by whose window it is ordered.
// Provisional rows are outside the order: they leave as soon as they are at the head of a ring.
//
// __overflow__ rows of one window, one a worker, leave as one row. kFlagOverflow on any worker's
// run of a kPoint window holds for the whole window: the runs of a window are all at the heads
// before its first row leaves. A worker that lost rows may have no run there: it says so with kLost
// before the first of those windows. Such windows are remembered while they may still be updated.
// Windows of kPlaced rows belong to one key and so to one worker.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "egress/result.h"
#include "window/flagged.h"

namespace tidewire {

class Merge {
 public:
  // plans[i] is query i. All outlive the merge.
  Merge(std::vector<const Plan*> plans, std::vector<ResultRing*> rings);

  // The next row, valid until the next call; false: none may leave now. Sequence is left 0, values
  // null.
  bool next(Result& out);
  // All rows at or below this place have been returned.
  EventTime passed() const { return passed_; }
  // Has a window of this query that ends in [from, through] lost rows, as far as is known at the
  // row returned last?
  bool flagged(uint16_t query, int64_t from, int64_t through) const {
    return !flagged_[query].empty() && flagged_[query].meets(from, through);
  }

 private:
  struct Order {
    int64_t place = 0;
    uint64_t after = 0;  // 0: a point; a row update: position + 1
    int64_t end = 0;
    int64_t start = 0;
    uint64_t hash = 0;
    const int64_t* key = nullptr;
    uint32_t key_words = 0;
    uint16_t query = 0;
    // 0: a run without rows (kLost), 1: rows, 2: __overflow__
    uint8_t rank = 0;
    bool replaces = true;  // false: a retraction
    bool same_window(const Order& o) const {
      return place == o.place && query == o.query && end == o.end && start == o.start &&
             after == o.after;
    }
    bool operator<(const Order& o) const;
  };
  struct Head {
    ResultRing* ring = nullptr;
    const ResultBlock* block = nullptr;  // null: nothing at the head
    const Run* run = nullptr;
    uint32_t offset = 0;        // of the row, in the block's bytes; no rows: behind the run
    uint32_t rows_left = 0;     // the row at `offset` counted
    int64_t fired = INT64_MIN;  // read before the ring was found empty
    Order order;
    bool is(RunKind kind) const { return run->kind == kind; }
  };

  bool refill(Head& head);
  bool open_run(Head& head);
  void read_row(Head& head);
  void advance(Head& head);
  bool choose();
  void leave_row();
  void enter_window(const Order& window);
  void combine_overflow(Head& first);
  void describe(const Head& head, Result& out) const;
  // A ring that has fired nothing yet may still bring a row before all time.
  bool may_leave(int64_t place) const { return place <= least_fired_ && least_fired_ > INT64_MIN; }

  std::vector<const Plan*> plans_;
  std::vector<Head> heads_;
  Head* current_ = nullptr;          // its row was returned last
  const Head* runner_up_ = nullptr;  // the next smallest head when `current_` was chosen
  int64_t least_fired_ = INT64_MAX;  // of the rings that were empty then
  EventTime passed_ = EventTime::before_all();
  Order window_;
  bool in_window_ = false;
  uint16_t window_flags_ = 0;
  std::vector<FlaggedIntervals> flagged_;  // by query: window ends
  std::vector<int64_t> keep_;              // by query: how long behind the place they are asked for
  std::vector<int64_t> overflow_row_;      // the combined cell
  std::array<int64_t, kMaxKeyWords> no_key_{};
#ifdef TIDEWIRE_DEBUG_CHECKS
  Order last_;
  std::array<int64_t, kMaxKeyWords> last_key_{};
  bool any_ = false;
#endif
};

}  // namespace tidewire
