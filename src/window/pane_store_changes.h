// PaneStore, the firing side where a result depends on those before it: deferred rows at their
// places, results of single rows, gathered ones, and points that discard or take back. Key by key,
// a result is the sum of panes and of what `changes` holds. Included by the files that instantiate
// PaneStore.
#pragma once

#include <algorithm>

#include "window/late_row.h"
#include "window/pane_store.h"

namespace tidewire {

// One row of a run. False: no result block is free.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::write_cell(const Run& run, uint32_t shard, uint32_t id,
                                     const int64_t* cell, ResultWriter& out) {
  if (!out.room_for(1)) return false;
  out.begin(query_, run, row_words_);
  int64_t* row = out.row();
  write_key(row, shard, id);
  cells_.copy(row + 1 + W, cell);
  ++counts_.results;
  return true;
}

// What the window's panes that start before `until` hold of the key; in cell_sum_.
template <uint32_t W, class Cells>
const int64_t* PaneStore<W, Cells>::sum_of_key(uint32_t shard, uint32_t id, Span window,
                                               int64_t until) {
  int64_t* const sum = cell_sum_.data();
  cells_.clear(sum, 1);
  for (uint32_t p = first_pane_from(window.start); p < open_count_ && open_[p]->start < until; ++p)
    if (const int64_t* chunk = open_[p]->chunk[shard])
      cells_.merge(sum, chunk + size_t{id} * cells_.words());
  return sum;
}

// ---------------------------------------------------------------- points
// A shard of a window some of whose keys have changes, or an old value to take back. False: paused
// inside the shard.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_by_key(ResultWriter& out, uint32_t& used) {
  const uint32_t shard = window_.shard, words = cells_.words();
  const bool retracts = accumulation_ == Accumulation::kRetracting;
  if (!half_written(shard)) window_.ranks = static_cast<uint32_t>(keys_.in_order(shard).size());
  const int64_t *fresh = nullptr, *old = nullptr;
  if (retracts || early_rows_ == 0)
    fresh = sum_of_chunks(shard, chunks_of(shard, window_.first, window_.last), sum_);
  if (retracts)
    old = sum_of_chunks(shard, chunks_of(shard, window_.whole, window_.first), old_sum_);
  const uint16_t* order = keys_.as_sorted(shard);
  for (; window_.rank < window_.ranks; ++window_.rank) {
    const uint32_t id = order[window_.rank];
    const size_t at = size_t{id} * words;
    if (!emit_key(id, fresh ? fresh + at : nullptr, old ? old + at : nullptr, out)) return false;
    ++used;
  }
  window_.rank = 0;
  ++used;
  close_chunks(shard, used);
  return true;
}

// `fresh`: what the panes hold that no point has shown; `old`: the others. Null: nothing.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_key(uint32_t id, const int64_t* fresh, const int64_t* old,
                                   ResultWriter& out) {
  const uint32_t shard = window_.shard;
  typename Changes<W>::Change* change = nullptr;
  if (window_.change != Changes<W>::kNone) {
    auto& next = changes_[window_.change];
    if (next.shard == shard && next.id == id) change = &next;
  }
  int64_t* const kept = change ? changes_.cell(window_.change) : nullptr;
  int64_t* const sum = cell_sum_.data();
  cells_.clear(sum, 1);
  if (old) cells_.merge(sum, old);
  if (fresh) cells_.merge(sum, fresh);
  if (accumulation_ == Accumulation::kDiscarding) {
    if (change && change->has_cell) cells_.merge(sum, kept);
    if (!cells_.empty(sum) && !write_cell(head(window_.flags), shard, id, sum, out)) return false;
    if (change) change->has_cell = false;
  } else if (!cells_.empty(sum)) {
    const int64_t* told = change && change->has_cell ? kept : old;
    if (told && !cells_.empty(told) && !window_.took_back) {
      Run back = head(window_.flags);
      back.fire = FireKind::kRetraction;
      if (!write_cell(back, shard, id, told, out)) return false;
      window_.took_back = true;
    }
    if (!write_cell(head(window_.flags), shard, id, sum, out)) return false;
    window_.took_back = false;
    if (change) tell(*change, kept, sum);
  }
  if (change) window_.change = changes_.next(window_.change);
  return true;
}

// Retracting: this was said now. Where steps decide what was said, the panes know it as well.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::tell(typename Changes<W>::Change& change, int64_t* kept,
                               const int64_t* sum) {
  change.has_cell = early_rows_ > 0;
  if (change.has_cell) cells_.copy(kept, sum);
}

// The keys of a window that rows have changed since its last gathered point. False: paused.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_gathered(uint32_t budget, ResultWriter& out, uint32_t& used) {
  const Span window{window_.start, window_.end};
  while (window_.change != Changes<W>::kNone) {
    if (used >= budget) return false;
    const uint32_t at = window_.change;
    if (changes_[at].due && !emit_change(at, window, head(window_.flags), window_.took_back, out))
      return false;
    changes_[at].due = false;
    ++used;
    window_.change = changes_.next(at);
  }
  return true;
}

// What the window's new value of a key is, under the head `run`, its old one taken back before.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_change(uint32_t at, Span window, const Run& run, bool& took_back,
                                      ResultWriter& out) {
  auto& change = changes_[at];
  int64_t* const kept = changes_.cell(at);
  const int64_t* value = kept;
  if (accumulation_ != Accumulation::kDiscarding)
    value = sum_of_key(change.shard, change.id, window, window.end);
  if (accumulation_ == Accumulation::kRetracting && change.has_cell && !cells_.empty(kept) &&
      !took_back) {
    Run back = run;
    back.fire = FireKind::kRetraction;
    if (!write_cell(back, change.shard, change.id, kept, out)) return false;
    took_back = true;
  }
  if (!write_cell(run, change.shard, change.id, value, out)) return false;
  took_back = false;
  if (accumulation_ == Accumulation::kRetracting)
    tell(change, kept, value);
  else
    change.has_cell = false;
  return true;
}

// ---------------------------------------------------------------- deferred rows
// The first deferred row, or one result of the one that is on its way. False: no result block is
// free.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::take_row(ResultWriter& out) {
  if (update_.busy) return emit_update(out);
  if (!out.room_for(1)) return false;
  const SingleRow single = deferred_.pop();
  if (single.outside)
    write_late(query_, W, values_, single, out);
  else
    apply(single);
  return true;
}

// At its place: every point <= its stamp has fired, none above.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::apply(const SingleRow& single) {
  const int64_t stamp = single.stamp.ns, time = single.time.ns;
  fired_ = std::max(fired_, stamp);
  const Rows rows = single.rows();
  const Span span = geometry_.pane_of(time);
  Pane* pane = find_pane(span.start);
  if (!pane) pane = open_pane(span);
  if (!pane) return lose(stamp, time, 1);
  const uint64_t line = keys_.line_of(single.hash);
  const uint32_t shard = keys_.shard_of(single.hash);
  int64_t* cell = locate(rows, 0, line, *pane);
  if (!cell && keys_.may_recycle(shard)) {
    recycle(shard);
    cell = locate(rows, 0, line, *pane);
  }
  const int64_t first = first_open_end(stamp, time), last = geometry_.last_end(time);
  if (!cell) {
    ++counts_.overflow;
    cells_.add(pane->overflow, rows, 0);
    if (first > stamp) return;
    untold_.add(first, last);  // nothing else will say that a result is missing here
    untold_stamp_ = std::min(untold_stamp_, stamp);
    return;
  }
  const auto id = static_cast<uint32_t>((cell - pane->chunk[shard]) / cells_.words());
  update_ = {false, single, shard, id, first, last, Changes<W>::kNone, false};
  if (!keep_changes(single, shard, id)) return lose(stamp, time, 1);
  cells_.add(cell, rows, 0);
  ++counts_.deferred;
  update_.busy = early_rows_ > 0 || (first <= stamp && !gathers_);
}

// Does the row join what a result of the window has said already?
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::is_change(Span window, const SingleRow& row) const {
  if (window.end <= row.stamp.ns) return true;
  if (accumulation_ == Accumulation::kAccumulating) return false;  // it shows at the next point
  return early_rows_ > 0 || geometry_.last_point(window, row.stamp.ns) > row.time.ns;
}

// Before the row joins its pane: what its windows have said, or have still to say. False: the table
// is full.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::keep_changes(const SingleRow& row, uint32_t shard, uint32_t id) {
  const int64_t stamp = row.stamp.ns, last = geometry_.last_end(row.time.ns);
  const int64_t* key = keys_.key(shard, id);
  const auto each = [&](auto visit) {
    for (int64_t end = first_open_end(stamp, row.time.ns);; end = geometry_.next_end(end)) {
      const Span window{geometry_.start_of(end), end};
      if (is_change(window, row)) visit(window);
      if (end >= last) return;
    }
  };
  uint64_t asked = 0, missing = 0;  // what is there already is looked for where room is scarce
  each([&](Span) { ++asked; });
  if (asked > changes_.left()) {
    each([&](Span window) {
      missing += changes_.find(window.end, row.hash, key) == Changes<W>::kNone;
    });
    if (missing > changes_.left()) return false;
  }
  each([&](Span window) {
    const uint32_t at = changes_.find_or_add(window.end, row.hash, shard, id);
    if (window.end == update_.end) update_.change = at;
    auto& change = changes_[at];
    int64_t* const kept = changes_.cell(at);
    switch (accumulation_) {
      case Accumulation::kAccumulating:
        break;
      case Accumulation::kDiscarding:
        if (!change.has_cell) cells_.clear(kept, 1);
        cells_.add(kept, row.rows(), 0);
        change.has_cell = true;
        break;
      case Accumulation::kRetracting:
        if (early_rows_ > 0 || change.has_cell) break;
        cells_.copy(kept, sum_of_key(shard, id, window, geometry_.last_point(window, stamp)));
        change.has_cell = true;
        break;
    }
    if (!gathers_ || window.end > stamp) return;
    change.due = true;
    gathered_.add(window.end, geometry_.gathered_after(window.end, stamp));
  });
  return true;
}

// The row's next window: one that has ended says what the row has changed, one that is open where
// the row makes a full number of the key's.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_update(ResultWriter& out) {
  const SingleRow& row = update_.row;
  const Span window{geometry_.start_of(update_.end), update_.end};
  const bool behind = window.end <= row.stamp.ns;
  Run run{.place = row.stamp,
          .start = {window.start},
          .end = {window.end},
          .position = position_of(row.rows(), 0),
          .kind = RunKind::kUpdate,
          .fire = behind ? FireKind::kUpdate : FireKind::kEarly,
          .flags = flags_of(window)};
  uint32_t at = update_.change;
  if (at == Changes<W>::kNone)
    at = changes_.find(window.end, row.hash, keys_.key(update_.shard, update_.id));
  if (behind && !gathers_) {
    const uint64_t index =
        uint64_t{geometry_.index_of(window, window.end)} + changes_[at].updates + 1;
    run.index = static_cast<uint32_t>(std::min<uint64_t>(index, UINT32_MAX));
    if (!emit_change(at, window, run, update_.took_back, out)) return false;
    changes_[at].updates += changes_[at].updates < UINT32_MAX;
    counts_.flagged += run.flags != 0;
  } else if (!behind && early_rows_ > 0) {
    const int64_t* all = sum_of_key(update_.shard, update_.id, window, window.end);
    const auto rows = static_cast<uint64_t>(all[0]);
    if (rows % early_rows_ == 0) {
      run.index = static_cast<uint32_t>(std::min<uint64_t>(rows / early_rows_ - 1, UINT32_MAX));
      const bool written = at == Changes<W>::kNone
                               ? write_cell(run, update_.shard, update_.id, all, out)
                               : emit_change(at, window, run, update_.took_back, out);
      if (!written) return false;
      counts_.flagged += run.flags != 0;
    }
  }
  update_.busy = window.end < update_.last_end;
  update_.end = geometry_.next_end(window.end);
  update_.change = Changes<W>::kNone;
  if (update_.end > row.stamp.ns && early_rows_ == 0) update_.busy = false;
  return true;
}

}  // namespace tidewire
