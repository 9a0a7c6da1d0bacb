// What is made of results between the merge and their numbers. One pass over the canonical stream,
// so that nothing here depends on workers or timing:
//
//   merge -> lower      cells become values (lower.h)
//         -> fill       windows without rows, of keys that had some
//         -> compare    delta and rate, against the key's window before
//         -> having     which results leave
//         -> top        the best few of a window
//         -> numbers, digest, sinks
//
// fill     The `fill_windows` windows behind a key's last one with rows are shown on time, each
//          where it stands in the canonical order, without any worker having a row there: its place
//          has passed. kZero: counts and sums are 0, all else is absent; kCarry: the last values
//          again. Only windows that were shown on time count; a late row does not start a fill.
//
//            rows of key a    [10 20)   -         -         -         [50 60)
//            fill, 2 windows            [20 30)   [30 40)
//
// compare  Against the last window of the key that left on time, filled ones included. A later
//          result of that same window (an update, a retraction) is compared with what it was; one
//          of an older window with nothing: absent. rate: the delta a second between the two window
//          ends, six decimals more, rounded half to even.
// having   Of every result on its own: a retraction by the value it takes back.
// top      Of the results of one window at one point. Best first, ties by (hash, key); the
//          __overflow__ row behind them. A result that a single row or session brings about, and a
//          provisional one, has no others beside it and passes.
//
// Flags: which rows met a full pool is timing, and a key may have been among them. So what is
// filled or compared across a flagged window is flagged as well, and stands outside the digest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "egress/key_table.h"
#include "egress/lower.h"
#include "egress/merge.h"
#include "egress/ranking.h"
#include "memory/arena.h"
#include "window/geometry.h"

namespace tidewire {

struct ShapeCounts {
  uint64_t empty = 0;           // windows filled in
  uint64_t having = 0;          // results that `having` held back
  uint64_t below_top = 0;       // results that were not among the best
  uint64_t keys_forgotten = 0;  // the table of keys was full: fills ended early, or no comparison
};

class Shaper {
 public:
  // plans[i] is query i. All outlive the shaper.
  Shaper(const std::vector<const Plan*>& plans, std::vector<ResultRing*> rings);

  // The next row with its values, valid until the next call; false: none may leave now.
  bool next(Result& out);
  // Everything at or below this place has been returned.
  EventTime passed() const;
  const ShapeCounts& counts() const { return counts_; }
  // Bytes that the stages above reserve, query by query; none where nothing is asked for.
  static std::vector<ArenaTerm> memory(const std::vector<const Plan*>& plans);

 private:
  struct Query {
    const Plan* plan = nullptr;
    bool compares = false;
    std::vector<uint16_t> kept;      // outputs whose values the table of keys holds
    std::vector<uint16_t> kept_for;  // by output, kDelta and kRate: which of `kept`
    std::optional<Geometry> geometry;
    std::unique_ptr<KeyTable> keys;
    std::vector<Value> values, filled;  // of its row on the way, and of a window filled in
  };
  // A window that is to be filled in. A heap by (end, query, hash, key), the first on top.
  struct Fill {
    int64_t end = 0;
    uint64_t hash = 0;
    uint32_t entry = 0;
    uint16_t query = 0;
  };

  bool fetch();
  bool shape(Result& row);
  void make_fill(Result& out);
  void compare(Query& query, Result& row, KeyTable::Entry& entry, uint32_t at, bool advances);
  void remember(Query& query, Result& row);
  void plan_fill(Query& query, const Result& row, uint32_t at);
  void forget(Query& query, uint32_t at);
  bool fill_is_due() const;
  bool stands_before(const Fill& fill, const Result& row) const;
  bool is_of_open_window(const Fill& fill) const;

  // The heap of fills.
  bool comes_first(const Fill& a, const Fill& b) const;
  void put(size_t at, const Fill& fill);
  void sift_up(size_t at);
  void sift_down(size_t at);
  void remove_fill(size_t at);

  Merge merge_;
  std::vector<Query> queries_;
  bool plain_ = true;  // no query asks for anything
  Ranking ranking_;
  Result row_;  // from the merge, not yet taken
  bool held_ = false;
  std::vector<Fill> fills_;
  size_t fills_used_ = 0;
  ShapeCounts counts_;
};

// `having` of one result.
bool passes(const std::vector<HavingStep>& having, const Value* values);
// delta * 10^9 / ns with six decimals more, rounded half to even; absent where ns is not above 0
// or the number would not fit.
int128 rate_of(int128 delta, int64_t ns);

}  // namespace tidewire
