// Windows that are not cut by time, of one query on one worker: every `row_slide` rows of a key the
// last `rows` of them (kCount), or all rows of a key until the input ends (kGlobal).
//
//   slot      one a key id: how many rows have come, then `panes` pieces of gcd(rows, row_slide)
//             rows each, used in turn
//
//             rows = 6, row_slide = 4, so pieces of 2:     | 1 2 | 3 4 | 5 6 |
//             behind row 4 the result holds 1..4           | 7 8 | 3 4 | 5 6 |
//             behind row 8 it holds 3..8
//
// A row's number decides what it joins, so rows are numbered in canonical order: all of them are
// deferred and applied at their place (core.md rule 6). Only a global window without early results
// takes its rows at once: they commute. Nothing is ever late here (Flink: GlobalWindow is not event
// time), and a count window that is not full when the input ends gives nothing.
//
// A count window is [least, greatest + 1 ns) of its rows' times; a global one is all of time.
//
// A full pool (core.md rule 9): no id left: the row joins a reserved slot, which gives __overflow__
// rows; no deferred slot left: the row is lost, and since every later number of its key is wrong by
// one, all results from there on are flagged.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "window/cell.h"
#include "window/deferred.h"
#include "window/dictionary.h"
#include "window/reserve.h"
#include "window/store.h"

namespace tidewire {

template <uint32_t W, class Cells>
class CountStore final : public WindowStore {
 public:
  CountStore(const Plan& plan, ShardRange range, Reserve& reserve);

  void add(const Rows& rows) override;
  void divert(const Rows& rows, LateReason reason) override;
  bool has_room() const override { return deferred_.has_room(); }
  uint32_t fire(EventTime frontier, EventTime until, uint32_t budget, ResultWriter& out) override;
  std::optional<EventTime> next(EventTime frontier) const override;
  void begin_provisional() override { show_at_ = 0; }
  uint32_t provisional(uint32_t budget, ResultWriter& out) override;
  bool is_showing() const override { return show_at_ != kNone; }
  StoreCounts counts() const override;
  StoreUse use() const override;

 private:
  struct alignas(32) Slot {
    uint64_t rows;  // that have come; tumbling: since the last result
    uint64_t reserved[3];
  };
  struct alignas(32) Piece {  // in front of its cell
    int64_t least, greatest;  // times of its rows
    int64_t reserved[2];
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  Slot& slot(uint32_t g) {
    return *reinterpret_cast<Slot*>(&slots_.data()[size_t{g} * slot_words_]);
  }
  Piece& piece(uint32_t g, uint64_t p) {
    return *reinterpret_cast<Piece*>(
        &slots_.data()[size_t{g} * slot_words_ + sizeof(Slot) / 8 + p * piece_words_]);
  }
  static int64_t* cell(Piece& piece) { return reinterpret_cast<int64_t*>(&piece + 1); }
  bool is_global() const { return shape_.kind == WindowKind::kGlobal; }
  // What the last result said, of a global window that takes it back.
  int64_t* told(uint32_t g) { return cell(piece(g, 1)); }

  uint32_t slot_of(const Rows& rows, uint32_t row, uint64_t line);
  void clear(Piece& piece) const;
  void join(Piece& piece, const Rows& rows, uint32_t row) const;
  void apply(const SingleRow& row, ResultWriter& out);
  void emit_count(uint32_t g, const SingleRow& row, ResultWriter& out);
  void emit_early(uint32_t g, const SingleRow& row, ResultWriter& out);
  void write(uint32_t g, Run head, const int64_t* cell, ResultWriter& out);
  uint32_t finish(uint32_t budget, ResultWriter& out);
  bool finish_one(uint32_t g, ResultWriter& out);
  bool show(uint32_t g, ResultWriter& out);
  void write_row(uint32_t g, const Run& head, const int64_t* cell, ResultWriter& out);
  uint16_t flags_of(uint32_t g, int64_t place) const;
  void recycle(uint32_t shard);
  bool ends() const { return is_global() && !finished_; }

  QueryId query_;
  WindowShape shape_;
  Cells cells_;
  Dictionary<W> keys_;
  Deferred deferred_;
  StoreCounts counts_;
  uint32_t row_words_, values_;
  uint64_t piece_rows_, pieces_;  // of a slot
  size_t piece_words_, slot_words_;
  uint32_t overflow_slot_;
  std::span<int64_t> slots_;
  std::span<int64_t> sum_;         // one cell
  int64_t lost_from_ = INT64_MAX;  // the least stamp of a row that was lost
  uint32_t shard_ = 0, rank_ = 0;  // the cursor of the end
  bool finished_ = false;
  uint32_t show_at_ = kNone;      // the next slot to be shown
  int64_t frontier_ = INT64_MIN;  // what fire() was last told

  std::array<uint64_t, kBatchMax> line_{};  // zeroed at start, so that its pages are there
};

// Instantiated for W in {0, 1, 2, 4} in count_store_stats.cc and count_store_wide.cc.
std::unique_ptr<WindowStore> make_count_store_stats(const Plan& plan, ShardRange range,
                                                    Reserve& reserve);
std::unique_ptr<WindowStore> make_count_store_wide(const Plan& plan, ShardRange range,
                                                   Reserve& reserve);

}  // namespace tidewire
