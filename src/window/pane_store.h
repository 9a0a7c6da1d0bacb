// Tumbling, sliding, gapped, cumulating and calendar windows of one query on one worker.
//
//   pane   the piece between two edges or steps (geometry.h), found by number: a far-ahead row is
//          one pane, and nothing ever steps through empty ones
//   chunk  the cells of one (pane, shard), indexed by key id, taken from one pool when the first
//          row comes and given back clean when no window needs the pane any more
//   window the sum of its panes, computed when it fires, shard by shard
//
// Rows (core.md rule 4), with S the row's stamp:
//   natural    S < first fire point after its time            combined at once, in add()
//   deferred   else S < end of its last window + lateness     applied by fire(), at its place
//   late       else
//   no window  between windows and time + lateness >= S; older ones are late
// Where results count a key's rows (early_rows) all that are not late are deferred.
//
// Fire points, clean-up and deferred rows are one timeline with a cursor (place, window, shard,
// rank): fire() may stop anywhere, add() never touches a pane whose first fire point has been
// reached (I2). At one place: points by window end, clean-up, rows. With lateness a pane outlives
// its last window, and deferred rows still join it; what they change in windows that had shown
// their time stands in `changes` (changes.h), so that panes are never purged or taken back.
//
// A full pool (rule 9): no id left: the row goes to its pane's overflow cell, whose row tells only
// its sum, never retracted; no pane, deferred slot or change left: the row is counted and its
// windows are flagged through a bounded list. This store may have nothing to fire there while
// another worker has, so egress is told the list too (kLost).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "window/cell.h"
#include "window/changes.h"
#include "window/deferred.h"
#include "window/dictionary.h"
#include "window/flagged.h"
#include "window/geometry.h"
#include "window/reserve.h"
#include "window/store.h"

namespace tidewire {

template <uint32_t W, class Cells>
class PaneStore final : public WindowStore {
 public:
  PaneStore(const Plan& plan, ShardRange range, Reserve& reserve);

  void add(const Rows& rows) override;
  bool bounds_suffice(const Rows& rows) const override {
    return only_key_and_values_ && in_one_pane(rows);
  }
  void fold(const Rows& rows, std::span<const uint8_t> of, int64_t* cell) const override;
  void divert(const Rows& rows, LateReason reason) override;
  bool has_room() const override {
    return spare_count_ >= batch_panes_ && free_chunk_count_ >= batch_panes_ &&
           deferred_.has_room();
  }
  uint32_t fire(EventTime frontier, EventTime until, uint32_t budget, ResultWriter& out) override;
  std::optional<EventTime> next(EventTime frontier) const override;
  void begin_provisional() override;
  uint32_t provisional(uint32_t budget, ResultWriter& out) override;
  bool is_showing() const override { return show_.busy; }
  StoreCounts counts() const override;
  StoreUse use() const override;

 private:
  struct Pane {
    int64_t start, end;
    int64_t natural_until;  // its first fire point
    int64_t last_end;       // its last
    int64_t** chunk;        // [shard]; null: no row yet
    int64_t* overflow;      // one cell

    bool holds(int64_t time) const { return time >= start && time < end; }
  };
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr uint32_t kNoId = UINT32_MAX;

  // Writing.
  bool in_one_pane(const Rows& rows) const {
    return rows.min_time.ns >= newest_->start && rows.max_time.ns < newest_->end &&
           rows.max_stamp.ns < newest_->natural_until;
  }
  uint32_t find_panes(const Rows& rows);
  void add_mixed(const Rows& rows);
  Pane* pane_of_bounds(const Rows& rows);
  void add_narrow(const Rows& rows);
  void add_folded(const Rows& rows);
  void fold_mixed(const Rows& rows);
  Pane* place_odd(const Rows& rows, uint32_t row);
  void defer_or_drop(const Rows& rows, uint32_t row, int64_t last_end);
  void lose(int64_t stamp, int64_t time, uint64_t rows);
  int64_t first_open_end(int64_t stamp, int64_t time) const;
  void late(const Rows& rows, uint32_t row);
  template <class PaneOf>
  void combine(const Rows& rows, PaneOf pane);
  int64_t* locate(const Rows& rows, uint32_t row, uint64_t line, Pane& pane);
  void settle(const Rows& rows, uint32_t row, uint64_t line, Pane& pane);
  Pane* find_pane(int64_t start) const;
  Pane* open_pane(Span span);
  void remember(Pane* pane);
  void check_invariants(const Rows& rows) const;

  // Firing.
  struct Window {  // the one that is being fired
    int64_t place = 0, start = 0, end = 0;
    FireKind fire = FireKind::kOnTime;
    uint16_t flags = 0;
    uint32_t index = 0;
    // Its panes in open_: [whole, first) were shown before, [first, last) are new. Where all are
    // shown each time, whole == first.
    uint32_t whole = 0, first = 0, last = 0;
    bool busy = false;
    bool by_key = false;                      // changes or old values are looked up, row by row
    uint32_t change = 0;                      // by_key: the next one
    uint32_t shard = 0, rank = 0, ranks = 0;  // rank > 0 or took_back: the shard is half written
    bool took_back = false;                   // the retraction of the key that comes next is out
  };
  struct Update {  // the deferred row whose results are being written
    bool busy = false;
    SingleRow row{};
    uint32_t shard = 0, id = 0;
    int64_t end = 0;  // of the next window
    int64_t last_end = 0;
    uint32_t change = 0;  // that window's, where it is known already
    bool took_back = false;
  };
  struct Show {  // the window and shard being shown provisionally
    bool busy = false;
    bool half_written = false;  // the keys of the shard up to `hash` and `key` are out
    int64_t end = 0, last_end = 0;
    uint32_t shard = 0;
    uint64_t hash = 0;
    std::array<int64_t, W == 0 ? 1 : W> key{};
  };
  // What is due next, at which place; of equal places in this order.
  enum class Due : uint8_t { kLost, kPoint, kCleanUp, kRow, kNothing };
  struct Next {
    Due due;
    int64_t place;
  };
  Next next_due(int64_t frontier) const;
  int64_t lost_place() const;
  bool tell_lost(ResultWriter& out);

  bool next_window(int64_t place, int64_t after);
  void begin_window(int64_t place, Span window);
  uint32_t fire_slice(int64_t place, uint32_t budget, ResultWriter& out);
  void leave_place(int64_t place);
  void find_next_point();
  Run head(uint16_t flags) const;
  bool half_written(uint32_t shard) const {
    return window_.busy && window_.shard == shard && (window_.rank > 0 || window_.took_back);
  }
  uint32_t first_pane_from(int64_t start) const;
  uint16_t flags_of(Span window) const;
  uint32_t chunks_of(uint32_t shard, uint32_t first, uint32_t last);
  bool emit_shard(ResultWriter& out, uint32_t& used);
  const int64_t* sum_of_chunks(uint32_t shard, uint32_t parts, std::span<int64_t> sum);
  bool emit_overflow(ResultWriter& out);
  void write_key(int64_t* row, uint32_t shard, uint32_t id) const;
  bool close_chunk(Pane& pane, uint32_t shard);
  void close_chunks(uint32_t shard, uint32_t& used);
  void closed(uint32_t shard, uint32_t& used);
  void finish_window();
  void give_back_panes(uint32_t count, int64_t place);
  uint32_t clean_up(int64_t place, uint32_t budget);
  bool cleans_up() const;
  int64_t clean_up_place() const;

  // Firing where late rows or old values count.
  bool emit_by_key(ResultWriter& out, uint32_t& used);
  bool emit_key(uint32_t id, const int64_t* fresh, const int64_t* old, ResultWriter& out);
  bool emit_gathered(uint32_t budget, ResultWriter& out, uint32_t& used);
  bool write_cell(const Run& run, uint32_t shard, uint32_t id, const int64_t* cell,
                  ResultWriter& out);
  const int64_t* sum_of_key(uint32_t shard, uint32_t id, Span window, int64_t until);
  bool take_row(ResultWriter& out);
  void apply(const SingleRow& row);
  bool keep_changes(const SingleRow& row, uint32_t shard, uint32_t id);
  bool is_change(Span window, const SingleRow& row) const;
  bool emit_update(ResultWriter& out);
  bool emit_change(uint32_t at, Span window, const Run& run, bool& took_back, ResultWriter& out);
  void tell(typename Changes<W>::Change& change, int64_t* kept, const int64_t* sum);

  int64_t shown_by_firing() const;
  bool next_shown();
  bool show_shard(ResultWriter& out, uint32_t& used);
  void show_overflow(ResultWriter& out);
  uint32_t panes_of(int64_t end, uint32_t& first) const;
  uint32_t forget_keys(int64_t place, uint32_t budget);
  bool alive(uint32_t shard, uint32_t id) const;
  void recycle(uint32_t shard);

  QueryId query_;
  Geometry geometry_;
  Accumulation accumulation_;
  uint64_t early_rows_;
  bool cumulates_, gathers_, answers_rows_;
  bool only_ends_;            // windows show themselves only there
  bool only_key_and_values_;  // of a natural row nothing else counts
  Cells cells_;
  Dictionary<W> keys_;
  Deferred deferred_;
  Changes<W> changes_;
  GatheredWindows gathered_;
  FlaggedIntervals flagged_;
  FlaggedIntervals untold_;           // of those, what egress has not been told
  int64_t untold_stamp_ = INT64_MAX;  // the least of a row among them
  StoreCounts counts_;
  uint32_t row_words_, values_;
  bool late_rows_;
  uint64_t batch_panes_;

  std::span<Pane> panes_;
  std::span<Pane*> open_;   // by start; the first open_count_
  std::span<Pane*> spare_;  // the first spare_count_
  std::span<int64_t*> free_chunks_;
  std::span<const int64_t*> part_;   // chunks of the shard being summed
  std::span<const int64_t*> ahead_;  // of the one behind it
  std::span<int64_t> sum_;           // one chunk
  std::span<int64_t> old_sum_;       // retracting: another
  std::span<int64_t> cell_sum_;      // one cell
  int64_t* trash_ = nullptr;         // a cell for rows that are settled after their batch
  uint32_t open_count_ = 0, spare_count_ = 0;
  size_t free_chunk_count_ = 0;

  Pane none_{};            // for rows that are in no pane, or not yet
  Pane* newest_ = &none_;  // the two panes used last; whole batches fall into the first
  Pane* previous_ = &none_;
  int64_t next_point_ = kNever;
  int64_t fired_ = INT64_MIN;    // every point up to here has fired
  int64_t emptied_ = INT64_MIN;  // the point at which the last open pane went
  uint32_t forget_at_ = 0;
  uint32_t clean_shard_ = 0;      // of the first open pane, which is being cleaned up
  int64_t frontier_ = INT64_MIN;  // what fire() was last told
  Window window_;
  Update update_;
  Show show_;

  // One batch on its way. Zeroed at start: a page must not be new to the first batch.
  std::array<uint64_t, kBatchMax> line_{};
  std::array<int64_t*, kBatchMax> cell_{};
  std::array<uint32_t, kBatchMax> id_{};
  alignas(32) std::array<Pane*, kBatchMax + 4> pane_{};
  std::array<uint8_t, kBatchMax + 1> odd_{}, missed_{};
};

// Instantiated for W in {0, 1, 2, 4} in pane_store_stats.cc and pane_store_wide.cc.
std::unique_ptr<WindowStore> make_pane_store_stats(const Plan& plan, ShardRange range,
                                                   Reserve& reserve);
std::unique_ptr<WindowStore> make_pane_store_wide(const Plan& plan, ShardRange range,
                                                  Reserve& reserve);

}  // namespace tidewire
