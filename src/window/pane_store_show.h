// PaneStore, provisional results: window by window, shard by shard, whatever is in its panes now.
// The cursor is a window's end and a key, so panes may open and close under it. Included by the
// files that instantiate PaneStore.
#pragma once

#include <algorithm>

#include "window/pane_store.h"

namespace tidewire {

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::begin_provisional() {
  show_ = {};
  show_.busy = true;
  show_.end = fired_;
  show_.last_end = open_count_ > 0 ? open_[open_count_ - 1]->last_end : INT64_MIN;
  next_shown();
}

// Windows that end there or before have fired or are doing so.
template <uint32_t W, class Cells>
int64_t PaneStore<W, Cells>::shown_by_firing() const {
  return window_.busy ? std::max(fired_, window_.place) : fired_;
}

// Moves on to the next open window that holds a pane. False: there is none.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::next_shown() {
  show_.shard = 0;
  show_.half_written = false;
  const int64_t after = std::max(show_.end, shown_by_firing());
  for (uint32_t p = 0; p < open_count_; ++p) {
    if (open_[p]->last_end <= after) continue;
    show_.end = geometry_.first_end(std::max(after, open_[p]->start));
    show_.busy = show_.end <= show_.last_end;
    return show_.busy;
  }
  return show_.busy = false;
}

// How many open panes the window that ends there has, from `first` on.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::panes_of(int64_t end, uint32_t& first) const {
  first = first_pane_from(geometry_.start_of(end));
  const uint32_t last = first_pane_from(end);
  return last - first;
}

template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::provisional(uint32_t budget, ResultWriter& out) {
  uint32_t used = 0;
  while (show_.busy && used < budget) {
    // It fires, or has fired, since the cursor stood there.
    if (show_.end <= shown_by_firing()) {
      next_shown();
      continue;
    }
    if (show_.shard < keys_.shards()) {
      if (!show_shard(out, used)) break;
      continue;
    }
    if (!out.room_for(1)) break;
    show_overflow(out);
    ++used;
    next_shown();
  }
  return used;
}

// One shard of the window, or what the free blocks hold of it. False: nothing could be done.
template <uint32_t W, class Cells>
bool PaneStore<W, Cells>::show_shard(ResultWriter& out, uint32_t& used) {
  const uint32_t shard = show_.shard, words = cells_.words();
  // The order of a shard that firing has half written must not be made anew under its cursor.
  if (half_written(shard)) return false;
  uint32_t first = 0;
  const uint32_t panes = panes_of(show_.end, first);
  bool lost = flagged_.meets(show_.end, show_.end);
  for (uint32_t p = first; p < first + panes; ++p) lost |= !cells_.empty(open_[p]->overflow);
  const uint32_t parts = chunks_of(shard, first, first + panes);
  if (parts > 0) {
    const int64_t* cells = sum_of_chunks(shard, parts, sum_);
    const auto order = keys_.in_order(shard);
    const auto done = [&](uint16_t id) {
      const int64_t* key = keys_.key(shard, id);
      const uint64_t hash = keys_.hash_of(key);
      if (hash != show_.hash) return hash < show_.hash;
      return !std::lexicographical_compare(show_.key.begin(), show_.key.begin() + W, key, key + W);
    };
    auto at = order.begin();
    if (show_.half_written) at = std::partition_point(order.begin(), order.end(), done);
    const Run run{.place = {fired_},
                  .start = {geometry_.start_of(show_.end)},
                  .end = {show_.end},
                  .kind = RunKind::kProvisional,
                  .fire = FireKind::kProvisional,
                  .flags = static_cast<uint16_t>(lost ? kFlagOverflow : 0)};
    uint32_t room = 0;  // rows that surely fit
    for (; at != order.end(); ++at) {
      const int64_t* cell = cells + size_t{*at} * words;
      if (cells_.empty(cell)) continue;
      if (room == 0) {
        if (!out.room_for(1)) return false;
        out.begin(query_, run, row_words_);
        room = ResultWriter::rows_in(1, row_words_);
      }
      --room;
      int64_t* row = out.row();
      write_key(row, shard, *at);
      cells_.copy(row + 1 + W, cell);
      ++used;
      show_.half_written = true;
      show_.hash = static_cast<uint64_t>(row[0]);
      std::copy_n(row + 1, W, show_.key.begin());
    }
  }
  ++used;
  ++show_.shard;
  show_.half_written = false;
  return true;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::show_overflow(ResultWriter& out) {
  uint32_t first = 0;
  const uint32_t panes = panes_of(show_.end, first);
  int64_t* const sum = cell_sum_.data();
  cells_.clear(sum, 1);
  for (uint32_t p = first; p < first + panes; ++p) cells_.merge(sum, open_[p]->overflow);
  if (cells_.empty(sum)) return;
  out.begin(query_,
            {.place = {fired_},
             .start = {geometry_.start_of(show_.end)},
             .end = {show_.end},
             .kind = RunKind::kProvisional,
             .fire = FireKind::kProvisional,
             .flags = kFlagOverflow | kFlagOverflowRow},
            row_words_);
  int64_t* row = out.row();
  row[0] = -1;
  std::fill(row + 1, row + 1 + W, 0);
  cells_.copy(row + 1 + W, sum);
}

}  // namespace tidewire
