// PaneStore, the firing side: the timeline. Fire points, clean-up and deferred rows in one
// sequence, the points <= S before the row stamped S (core.md rule 4), in slices of about `budget`
// units: a shard is the smallest slice, and even that stops where result blocks run out. What late
// rows have changed is looked up in pane_store_changes.h. Included by the files that instantiate
// PaneStore.
#pragma once

#include <algorithm>

#include "window/pane_store.h"

namespace tidewire {

template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::fire(EventTime frontier, EventTime until, uint32_t budget,
                                   ResultWriter& out) {
  CHECK(frontier.ns >= frontier_);
  frontier_ = frontier.ns;
  const int64_t limit = std::min(frontier.ns, until.ns);
  // Units: a key, a cell and the table of changes, each where nobody has looked lately. While a
  // large window leaves, thousands of rows gather behind it; all at once they would hold a turn up.
  constexpr uint32_t kARow = 16;
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
        slice = fire_slice(next.place, budget - used, out);
        break;
      case Due::kCleanUp:
        slice = clean_up(next.place, budget - used);
        break;
      case Due::kRow:
        slice = take_row(out) ? kARow : 0;
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
  if (update_.busy) return {Due::kRow, update_.row.stamp.ns};
  Next next{Due::kNothing, frontier};
  if (deferred_.due(frontier)) next = {Due::kRow, deferred_.first_stamp()};
  if (const int64_t at = clean_up_place(); at <= next.place && cleans_up())
    next = {Due::kCleanUp, at};
  if (open_count_ > 0 && next_point_ <= next.place && next_point_ > fired_)
    next = {Due::kPoint, next_point_};
  if (gathered_.first_due() <= next.place && !gathered_.empty())
    next = {Due::kPoint, gathered_.first_due()};
  if (!untold_.empty() && lost_place() <= next.place) next = {Due::kLost, lost_place()};
  return next;
}

template <uint32_t W, class Cells>
std::optional<EventTime> PaneStore<W, Cells>::next(EventTime frontier) const {
  const Next next = next_due(frontier.ns);
  if (next.due == Due::kNothing) return std::nullopt;
  return EventTime{next.place};
}

// Before the first result that a lost row could be missing from: its first window's, or where
// windows show themselves earlier or later than at their ends, the first behind its stamp.
template <uint32_t W, class Cells>
int64_t PaneStore<W, Cells>::lost_place() const {
  if (only_ends_) return untold_.first();
  return std::max(untold_stamp_ + static_cast<int64_t>(!answers_rows_), INT64_MIN + 1);
}

template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::tell_lost(ResultWriter& out) {
  if (!out.room_for(1)) return false;
  const int64_t place = lost_place();
  const auto [first, last] = untold_.take_first();
  if (untold_.empty()) untold_stamp_ = INT64_MAX;
  out.begin(query_,
            {.place = {place},
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
  return {.keys = keys_.keys(),
          .max_keys = keys_.max_keys(),
          .panes = open_count_,
          .max_panes = panes_.size(),
          .deferred = deferred_.size(),
          .max_deferred = deferred_.capacity(),
          .changes = changes_.size(),
          .max_changes = changes_.capacity()};
}

template <uint32_t W, class Cells>
Run PaneStore<W, Cells>::head(uint16_t flags) const {
  const bool is_step = cumulates_ && window_.place < window_.end;
  return {.place = {window_.place},
          .start = {window_.start},
          .end = {is_step ? window_.place : window_.end},
          .index = window_.index,
          .fire = window_.fire,
          .flags = flags};
}

// The first open pane that starts there or later.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::first_pane_from(int64_t start) const {
  const auto open = open_.first(open_count_);
  const auto at = std::lower_bound(open.begin(), open.end(), start,
                                   [](const Pane* p, int64_t s) { return p->start < s; });
  return static_cast<uint32_t>(at - open.begin());
}

template <uint32_t W, class Cells>
uint16_t PaneStore<W, Cells>::flags_of(Span window) const {
  bool lost = flagged_.meets(window.end, window.end);
  for (uint32_t p = first_pane_from(window.start); p < open_count_ && open_[p]->start < window.end;
       ++p)
    lost |= !cells_.empty(open_[p]->overflow);
  return lost ? kFlagOverflow : 0;
}

// The next window, by its end, that has a point there and a pane. False: there is none.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::next_window(int64_t place, int64_t after) {
  if (!gathered_.empty()) {  // these end before `place`, the others do not
    const int64_t end = gathered_.next(place, after);
    if (end < place) {
      begin_window(place, {geometry_.start_of(end), end});
      return true;
    }
  }
  for (int64_t end = geometry_.first_end(std::max(after, place - 1));;
       end = geometry_.next_end(end)) {
    const Span window{geometry_.start_of(end), end};
    if (window.start >= place) return false;
    const uint32_t first = first_pane_from(window.start);
    if (first < open_count_ && open_[first]->start < place && geometry_.is_point(window, place)) {
      begin_window(place, window);
      return true;
    }
    if (!geometry_.has_steps() || end == INT64_MAX) return false;
  }
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::begin_window(int64_t place, Span window) {
  const bool gathered = place > window.end;
  window_ = {};
  window_.busy = true;
  window_.place = place;
  window_.start = window.start;
  window_.end = window.end;
  window_.index = geometry_.index_of(window, place);
  window_.flags = flags_of(window);
  window_.fire = gathered                            ? FireKind::kUpdate
                 : place == window.end || cumulates_ ? FireKind::kOnTime
                                                     : FireKind::kEarly;
  window_.whole = window_.first = first_pane_from(window.start);
  window_.last = first_pane_from(std::min(place, window.end));
  if (accumulation_ == Accumulation::kAccumulating && !gathered) return;
  window_.change = changes_.first_of(window.end);
  if (gathered) return;
  int64_t shown = window.start;  // up to there
  if (early_rows_ == 0) shown = geometry_.last_point(window, place - 1);
  window_.first = first_pane_from(shown);
  const bool takes_back = accumulation_ == Accumulation::kRetracting && shown > window.start;
  window_.by_key = takes_back || early_rows_ > 0 || window_.change != Changes<W>::kNone;
}

// Goes on with the place that is due; 0: could do nothing for want of a result block.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::fire_slice(int64_t place, uint32_t budget, ResultWriter& out) {
  if (!window_.busy && !next_window(place, INT64_MIN)) {
    leave_place(place);
    return 1;
  }
  uint32_t used = 0;
  if (window_.fire == FireKind::kUpdate) {
    if (!emit_gathered(budget, out, used)) return used;
  } else {
    for (; window_.shard < keys_.shards(); ++window_.shard) {
      if (used >= budget) return used;
      if (!(window_.by_key ? emit_by_key(out, used) : emit_shard(out, used))) return used;
    }
    if (!emit_overflow(out)) return used;
  }
  finish_window();
  return used + 1;
}

// False: paused inside the shard.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_shard(ResultWriter& out, uint32_t& used) {
  const uint32_t shard = window_.shard, words = cells_.words();
  const uint32_t parts = chunks_of(shard, window_.first, window_.last);
  if (parts == 0) {
    ++used;
    close_chunks(shard, used);
    return true;
  }
  if (window_.rank == 0) window_.ranks = static_cast<uint32_t>(keys_.in_order(shard).size());
  const int64_t* cells = sum_of_chunks(shard, parts, sum_);
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
  const int64_t* next_cells = parts == 1 ? ahead_[0] : cells;
  const int64_t* next_keys = keys_.key(std::min(shard + 1, keys_.shards() - 1), 0);
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

// Into part_; those of the next shard, or whatever else, into ahead_.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::chunks_of(uint32_t shard, uint32_t first, uint32_t last) {
  const uint32_t next = std::min(shard + 1, keys_.shards() - 1);
  uint32_t parts = 0;
  for (uint32_t p = first; p < last; ++p) {
    const int64_t* chunk = open_[p]->chunk[shard];
    if (!chunk) continue;
    const int64_t* after = open_[p]->chunk[next];
    ahead_[parts] = after ? after : chunk;
    part_[parts++] = chunk;
  }
  return parts;
}

// Of the first `parts` in part_. Key by key, so that a sum stays in its register; meanwhile the
// next shard streams in.
template <uint32_t W, class Cells>
const int64_t* PaneStore<W, Cells>::sum_of_chunks(uint32_t shard, uint32_t parts,
                                                  std::span<int64_t> sum) {
  if (parts <= 1) return parts == 0 ? nullptr : part_[0];
  const size_t words = cells_.words(), end = keys_.high(shard) * words;
  for (size_t at = 0; at < end; at += words) {
    if (at % 8 == 0)
      for (uint32_t p = 0; p < parts; ++p) __builtin_prefetch(ahead_[p] + at, 0, 2);
    cells_.sum(&sum[at], part_.data(), parts, at);
  }
  return sum.data();
}

// What the window's last panes held in this shard is cleared in the same pass: it is in L1. With
// lateness they stay.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::close_chunks(uint32_t shard, uint32_t& used) {
  if (geometry_.lateness() > 0) return;
  bool some = false;
  for (uint32_t p = window_.whole; p < window_.last && open_[p]->last_end <= window_.place; ++p)
    some |= close_chunk(*open_[p], shard);
  if (some) closed(shard, used);
}

template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::close_chunk(Pane& pane, uint32_t shard) {
  int64_t*& chunk = pane.chunk[shard];
  if (!chunk) return false;
  cells_.clear(chunk, keys_.high(shard));
  free_chunks_[free_chunk_count_++] = chunk;
  chunk = nullptr;
  return true;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::closed(uint32_t shard, uint32_t& used) {
  keys_.note_closed(shard);
  if (!keys_.pressed(shard)) return;
  used += keys_.used(shard) / 4;
  recycle(shard);
}

// The rows that found no id: one row, last in its place, under a run of its own.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::emit_overflow(ResultWriter& out) {
  int64_t* const sum = cell_sum_.data();
  cells_.clear(sum, 1);
  const bool retracts = accumulation_ == Accumulation::kRetracting;
  for (uint32_t p = retracts ? window_.whole : window_.first; p < window_.last; ++p)
    cells_.merge(sum, open_[p]->overflow);
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

// Every shard is out.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::finish_window() {
  const int64_t place = window_.place, end = window_.end;
  if (window_.flags) ++counts_.flagged;
  if (window_.fire == FireKind::kUpdate) gathered_.remove(end);
  window_.busy = false;
  if (!next_window(place, end)) leave_place(place);
}

// All its windows are out. Without lateness, panes whose last window was among them are free.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::leave_place(int64_t place) {
  if (geometry_.lateness() == 0) {
    uint32_t gone = 0;
    while (gone < open_count_ && open_[gone]->last_end <= place) ++gone;
    give_back_panes(gone, place);
  }
  fired_ = place;
  flagged_.drop_through(subtract_to_edge(place, geometry_.lateness()));
  find_next_point();
}

// The first of all windows that have a pane.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::find_next_point() {
  next_point_ = kNever;
  const auto open = open_.first(open_count_);
  const auto live = std::partition_point(
      open.begin(), open.end(), [this](const Pane* pane) { return pane->last_end <= fired_; });
  auto p = static_cast<uint32_t>(live - open.begin());
  if (p == open_count_) return;
  int64_t end = geometry_.first_end(std::max(fired_, open_[p]->start));
  while (true) {
    const Span window{geometry_.start_of(end), end};
    if (window.start >= next_point_) return;  // so are all its points, and later windows'
    while (p < open_count_ && open_[p]->start < window.start) ++p;
    if (p == open_count_) return;
    if (open_[p]->start < end) {
      next_point_ =
          std::min(next_point_, geometry_.point_after(window, std::max(fired_, open_[p]->start)));
      if (!geometry_.has_steps() || end == INT64_MAX) return;
      end = geometry_.next_end(end);
    } else {
      end = geometry_.first_end(open_[p]->start);
    }
  }
}

// The first `count` open ones, whose chunks are back already.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::give_back_panes(uint32_t count, int64_t place) {
  if (count == 0) return;
  for (uint32_t p = 0; p < count; ++p) {
    Pane* pane = open_[p];
    cells_.clear(pane->overflow, 1);
    if (pane == newest_) {
      newest_ = previous_;
      previous_ = &none_;
    } else if (pane == previous_) {
      previous_ = &none_;
    }
    spare_[spare_count_++] = pane;
  }
  open_count_ -= count;
  std::copy(&open_[count], &open_[count] + open_count_, open_.data());
  if (open_count_ == 0) emptied_ = place;
}

// No row can join the first pane's windows any more: it is given back, shard by shard, and what
// late rows have changed in a window is forgotten with it.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::cleans_up() const {
  return changes_.freeing() || !changes_.empty() || (geometry_.lateness() > 0 && open_count_ > 0);
}

template <uint32_t W, class Cells>
int64_t PaneStore<W, Cells>::clean_up_place() const {
  int64_t place = INT64_MAX;
  if (!changes_.empty()) place = geometry_.gone_at(changes_.first_end());
  if (changes_.freeing()) place = geometry_.gone_at(changes_.freed_end());
  if (geometry_.lateness() > 0 && open_count_ > 0)
    place = std::min(place, geometry_.gone_at(open_[0]->last_end));
  return place;
}

template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::clean_up(int64_t place, uint32_t budget) {
  uint32_t used = 0;
  constexpr uint32_t kFree = 8;  // units: a step is a cache miss or two
  while (changes_.freeing() ||
         (!changes_.empty() && geometry_.gone_at(changes_.first_end()) <= place)) {
    if (used >= budget) return used;
    if (changes_.freeing())
      changes_.free_one();
    else
      changes_.drop_first();
    used += kFree;
  }
  if (geometry_.lateness() == 0 || open_count_ == 0) return used;
  if (geometry_.gone_at(open_[0]->last_end) > place) return used;
  for (; clean_shard_ < keys_.shards(); ++clean_shard_) {
    if (used >= budget) return used;
    if (close_chunk(*open_[0], clean_shard_)) {
      used += keys_.high(clean_shard_) / 8;
      closed(clean_shard_, used);
    }
    ++used;
  }
  clean_shard_ = 0;
  give_back_panes(1, place);
  flagged_.drop_through(subtract_to_edge(place, geometry_.lateness()));
  return used + 1;
}

// Nothing is open: after a window's length of that, the keys are forgotten too, shard by shard. Not
// at once, since a stream with gaps would learn the same keys again and again.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::forget_keys(int64_t place, uint32_t budget) {
  const uint64_t idle = static_cast<uint64_t>(place) - static_cast<uint64_t>(emptied_);
  const auto length = static_cast<uint64_t>(geometry_.pause());
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
