// The best few results of one window, best first: `top` of a query. Rows are copied in, since the
// merge goes on; all memory at construction.
#pragma once

#include <cstdint>
#include <vector>

#include "egress/result.h"
#include "query/plan.h"

namespace tidewire {

class Ranking {
 public:
  // For windows of any of these queries, one at a time.
  explicit Ranking(const std::vector<const Plan*>& plans);

  // A window is collected, or rows of a closed one are still to be taken.
  bool is_busy() const { return busy_; }
  bool is_closed() const { return closed_; }
  EventTime place() const { return window_.place; }
  // Does a result belong to that window? The end tells the windows of a query apart at one place.
  bool is_of_window(uint16_t query, EventTime place, EventTime end) const {
    return query == window_.query && place == window_.place && end == window_.end;
  }
  bool is_of_window(const Result& row) const {
    return row.kind == RunKind::kPoint && !row.is_overflow_row() &&
           is_of_window(row.query, row.place, row.end);
  }
  // Opens the row's window if none is open. False: a row is out, this one or one taken before.
  bool add(const Result& row);
  // No row of the window comes any more.
  void close();
  // The next best of a closed window, valid until the next add(); false: it is done.
  bool pop(Result& out);

  static uint64_t bytes(const std::vector<const Plan*>& plans);

 private:
  bool better(uint32_t a, uint32_t b) const;
  void keep(uint32_t slot, const Result& row);

  struct Row {
    Result result;
    int128 by = 0;
  };
  uint32_t key_words_ = 0, outputs_ = 0;
  std::vector<Row> rows_;
  std::vector<int64_t> keys_;
  std::vector<Value> values_;
  // Slots that are taken: a heap with the worst on top; closed: sorted, the best first.
  std::vector<uint32_t> order_;
  uint32_t used_ = 0, next_ = 0;
  Result window_;
  bool busy_ = false, closed_ = false;
};

}  // namespace tidewire
