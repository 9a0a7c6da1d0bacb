// PaneStore, the firing side: the timeline. Fire points and deferred rows in one sequence, the
// points <= S before the row stamped S (core.md rule 4), in slices of about `budget` units: a shard
// is the smallest slice, and even that stops where result blocks run out. Included by the files
// that instantiate PaneStore.
#pragma once

#include <algorithm>

#include "window/late_row.h"
#include "window/pane_store.h"

namespace tidewire {

template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::fire(EventTime frontier, EventTime until, uint32_t budget,
                                   ResultWriter& out) {
  CHECK(frontier.ns >= frontier_);
  frontier_ = frontier.ns;
  const int64_t limit = std::min(frontier.ns, until.ns);
  uint32_t used = 0;
  while (used < budget) {
    const Next next = next_due(frontier.ns);
    if (next.due == Due::kNothing || next.place > limit) {
      if (open_count_ == 0 && keys_.keys() > 0) used += forget_keys(limit, budget - used);
      fired_ = std::max(fired_, limit);
      break;
    }
    uint32_t slice = 1;  // 0: no result block is free
    switch (next.due) {
      case Due::kLost:
        slice = static_cast<uint32_t>(tell_lost(out));
        break;
      case Due::kPoint:
        slice = fire_slice(budget - used, out);
        break;
      case Due::kRow:
        slice = static_cast<uint32_t>(take_row(out));
        break;
      case Due::kNothing:
        break;
    }
    if (slice == 0) break;
    used += slice;
  }
  return used;
}

template <uint32_t W, class Cells>
typename PaneStore<W, Cells>::Next PaneStore<W, Cells>::next_due(int64_t frontier) const {
  Next next{Due::kNothing, frontier};
  if (deferred_.due(frontier)) next = {Due::kRow, deferred_.first_stamp()};
  if (open_count_ > 0 && next_point_ <= next.place) next = {Due::kPoint, next_point_};
  if (!untold_.empty() && untold_.first() <= next.place) next = {Due::kLost, untold_.first()};
  return next;
}

template <uint32_t W, class Cells>
std::optional<EventTime> PaneStore<W, Cells>::next(EventTime frontier) const {
  const Next next = next_due(frontier.ns);
  if (next.due == Due::kNothing) return std::nullopt;
  return EventTime{next.place};
}

template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::tell_lost(ResultWriter& out) {
  if (!out.room_for(1)) return false;
  const auto [first, last] = untold_.take_first();
  out.begin(query_,
            {.place = {first},
             .start = {first},
             .end = {last},
             .kind = RunKind::kLost,
             .flags = kFlagOverflow},
            row_words_);
  return true;
}

template <uint32_t W, class Cells>
StoreCounts PaneStore<W, Cells>::counts() const {
  StoreCounts counts = counts_;
  counts.still_deferred = deferred_.size();
  return counts;
}

template <uint32_t W, class Cells>
StoreUse PaneStore<W, Cells>::use() const {
  return {keys_.keys(),  keys_.max_keys(), open_count_,
          panes_.size(), deferred_.size(), deferred_.capacity()};
}

template <uint32_t W, class Cells>
Run PaneStore<W, Cells>::head(uint16_t flags) const {
  return {.place = {window_.end},
          .start = {window_.end - geometry_.size()},
          .end = {window_.end},
          .flags = flags};
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::begin_window() {
  window_ = {};
  window_.busy = true;
  window_.end = next_point_;
  const int64_t start = next_point_ - geometry_.size();
  while (window_.first < open_count_ && open_[window_.first]->start < start) ++window_.first;
  window_.last = window_.first;
  bool lost = flagged_.meets(window_.end, window_.end);
  for (; window_.last < open_count_ && open_[window_.last]->start < window_.end; ++window_.last)
    lost |= !cells_.empty(open_[window_.last]->overflow);
  if (lost) window_.flags = kFlagOverflow;
}

// Goes on with the point at next_point_; 0: could do nothing for want of a result block.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::fire_slice(uint32_t budget, ResultWriter& out) {
  if (!window_.busy) begin_window();
  uint32_t used = 0;
  for (; window_.shard < keys_.shards(); ++window_.shard) {
    if (used >= budget || !emit_shard(out, used)) return used;
  }
  if (!emit_overflow(out)) return used;
  finish_window();
  return used + 1;
}

// False: paused inside the shard.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_shard(ResultWriter& out, uint32_t& used) {
  const uint32_t shard = window_.shard, words = cells_.words();
  uint32_t parts = 0;
  for (uint32_t p = window_.first; p < window_.last; ++p)
    if (const int64_t* chunk = open_[p]->chunk[shard]) part_[parts++] = chunk;
  if (parts == 0) {
    ++used;
    return true;
  }
  if (window_.rank == 0) window_.ranks = static_cast<uint32_t>(keys_.in_order(shard).size());
  const bool more = shard + 1 < keys_.shards();
  const int64_t* cells =
      parts == 1
          ? part_[0]
          : sum_of_chunks(shard, parts, more ? open_[window_.first]->chunk[shard + 1] : nullptr);
  const uint16_t* order = keys_.as_sorted(shard);
  const auto empty = [&](uint32_t rank) {
    return cells_.empty(cells + size_t{order[rank]} * words);
  };
  while (window_.rank < window_.ranks && empty(window_.rank)) ++window_.rank;
  const uint32_t wanted = window_.ranks - window_.rank;
  const uint32_t a_block = ResultWriter::rows_in(1, row_words_);
  uint32_t blocks = (wanted + a_block - 1) / a_block;
  while (blocks > 0 && !out.room_for(blocks)) --blocks;
  if (blocks == 0 && wanted > 0) return false;
  const uint32_t room = blocks * a_block;

  // What comes next streams in while this is written.
  const int64_t* next_cells =
      more && parts == 1 ? open_[window_.last - 1]->chunk[shard + 1] : cells;
  if (!next_cells) next_cells = cells;
  const int64_t* next_keys = keys_.key(more ? shard + 1 : shard, 0);
  if (wanted > 0) out.begin(query_, head(window_.flags), row_words_);
  uint32_t written = 0, rank = window_.rank;
  while (written < room) {
    while (rank < window_.ranks && empty(rank)) ++rank;  // else a run could stay without a row
    if (rank == window_.ranks) break;
    const auto space = out.space();
    const uint32_t most = std::min(space.rows, room - written);
    int64_t* row = space.at;
    uint32_t rows = 0;
    for (; rank < window_.ranks && rows < most; ++rank) {
      const uint32_t id = order[rank];
      __builtin_prefetch(next_cells + size_t{rank} * words, 1, 3);
      if (W > 0 && rank % (8 / (W ? W : 1)) == 0) __builtin_prefetch(next_keys + size_t{rank} * W);
      const int64_t* cell = cells + size_t{id} * words;
      if (cells_.empty(cell)) continue;
      write_key(row, shard, id);
      cells_.copy(row + 1 + W, cell);
      row += row_words_;
      ++rows;
    }
    out.took(rows);
    written += rows;
  }
  counts_.results += written;
  used += (rank - window_.rank) + written / 8;
  window_.rank = rank;
  if (rank < window_.ranks) return false;
  window_.rank = 0;
  close_chunks(shard, used);
  return true;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::write_key(int64_t* row, uint32_t shard, uint32_t id) const {
  const int64_t* key = keys_.key(shard, id);
  row[0] = static_cast<int64_t>(keys_.hash_of(key));
  for (uint32_t w = 0; w < W; ++w) row[1 + w] = key[w];
}

// Pane by pane: each chunk is one stream, the sum stays in L1.
template <uint32_t W, class Cells>
const int64_t* PaneStore<W, Cells>::sum_of_chunks(uint32_t shard, uint32_t parts,
                                                  const int64_t* after) {
  const uint32_t words = cells_.words(), ids = keys_.high(shard);
  for (uint32_t id = 0; id < ids; ++id)
    cells_.copy(&sum_[size_t{id} * words], part_[0] + size_t{id} * words);
  for (uint32_t p = 1; p < parts; ++p) {
    const int64_t* from = part_[p];
    const int64_t* ahead = p + 1 < parts ? part_[p + 1] : after;
    if (!ahead) ahead = from;
    for (uint32_t id = 0; id < ids; ++id) {
      __builtin_prefetch(ahead + size_t{id} * words);
      cells_.merge(&sum_[size_t{id} * words], from + size_t{id} * words);
    }
  }
  return sum_.data();
}

// What the window's last panes held in this shard is cleared in the same pass: it is in L1.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::close_chunks(uint32_t shard, uint32_t& used) {
  bool closed = false;
  for (uint32_t p = window_.first; p < window_.last && open_[p]->last_end <= window_.end; ++p) {
    int64_t*& chunk = open_[p]->chunk[shard];
    if (!chunk) continue;
    cells_.clear(chunk, keys_.high(shard));
    free_chunks_[free_chunk_count_++] = chunk;
    chunk = nullptr;
    closed = true;
  }
  if (!closed) return;
  keys_.note_closed(shard);
  if (!keys_.pressed(shard)) return;
  used += keys_.used(shard);
  recycle(shard);
}

// The rows that found no id: one row, last in its place, under a run of its own.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_overflow(ResultWriter& out) {
  int64_t* const sum = sum_.data();
  cells_.clear(sum, 1);
  for (uint32_t p = window_.first; p < window_.last; ++p) cells_.merge(sum, open_[p]->overflow);
  if (cells_.empty(sum)) return true;
  if (!out.room_for(1)) return false;
  out.begin(query_, head(kFlagOverflow | kFlagOverflowRow), row_words_);
  int64_t* row = out.row();
  row[0] = -1;
  std::fill(row + 1, row + 1 + W, 0);
  cells_.copy(row + 1 + W, sum);
  ++counts_.results;
  return true;
}

// Every shard is out: panes whose last window this was are free.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::finish_window() {
  const int64_t point = window_.end;
  if (window_.flags) ++counts_.flagged;
  uint32_t gone = 0;
  for (; gone < open_count_ && open_[gone]->last_end <= point; ++gone) {
    Pane* pane = open_[gone];
    cells_.clear(pane->overflow, 1);
    if (pane == newest_) {
      newest_ = previous_;
      previous_ = &none_;
    } else if (pane == previous_) {
      previous_ = &none_;
    }
    spare_[spare_count_++] = pane;
  }
  open_count_ -= gone;
  std::copy(&open_[gone], &open_[gone] + open_count_, open_.data());
  window_.busy = false;
  fired_ = point;
  flagged_.drop_through(point);
  if (open_count_ == 0) emptied_ = point;
  // The earliest pane has the earliest point, and its last one is still to come.
  next_point_ =
      open_count_ == 0 ? kNever : std::max(open_[0]->natural_until, geometry_.first_end(point));
}

// The first deferred row. False: no result block is free.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::take_row(ResultWriter& out) {
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
  fired_ = std::max(fired_, single.stamp.ns);
  const Rows rows = single.rows();
  const int64_t start = geometry_.pane_start(single.time.ns);
  Pane* pane = find_pane(start);
  if (!pane) pane = open_pane(start);
  if (!pane) {
    lose(geometry_.first_end(single.stamp.ns), geometry_.last_end(single.time.ns));
    return;
  }
  line_[0] = keys_.line_of(single.hash);
  const uint64_t natural = counts_.natural;
  combine(
      rows, 1, [](uint32_t i) { return i; }, [pane](uint32_t) { return pane; });
  counts_.deferred += counts_.natural - natural;
  counts_.natural = natural;
}

// Nothing is open: after a window's length of that, the keys are forgotten too, shard by shard. Not
// at once, since a stream with gaps would learn the same keys again and again.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::forget_keys(int64_t place, uint32_t budget) {
  const uint64_t idle = static_cast<uint64_t>(place) - static_cast<uint64_t>(emptied_);
  const auto length = static_cast<uint64_t>(geometry_.size() + geometry_.slide());
  if (place != INT64_MAX && (place < emptied_ || idle < length)) return 0;
  uint32_t used = 0;
  for (; keys_.keys() > 0 && used < budget; forget_at_ = (forget_at_ + 1) % keys_.shards()) {
    used += 1 + keys_.used(forget_at_) / 8;
    recycle(forget_at_);
  }
  return used;
}

template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::alive(uint32_t shard, uint32_t id) const {
  const size_t at = size_t{id} * cells_.words();
  for (uint32_t p = 0; p < open_count_; ++p) {
    const int64_t* chunk = open_[p]->chunk[shard];
    if (chunk && !cells_.empty(chunk + at)) return true;
  }
  return false;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::recycle(uint32_t shard) {
  keys_.recycle(shard, [this, shard](uint32_t id) { return alive(shard, id); });
}

}  // namespace tidewire
