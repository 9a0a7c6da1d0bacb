// PaneStore, the writing side: rows to cells. A batch goes through three stages so that its cache
// misses overlap: key line, cell, combine. None of them branches on data: what is not in its line
// or has no chunk yet is listed and looked up in full afterwards. Included by the files that
// instantiate PaneStore.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "window/pane_store.h"

namespace tidewire {

template <uint32_t W, class Cells>
PaneStore<W, Cells>::PaneStore(const Plan& plan, ShardRange range, Reserve& reserve)
    : query_(plan.id),
      geometry_(plan.window),
      accumulation_(plan.window.accumulation),
      early_rows_(plan.window.early_rows),
      cumulates_(plan.window.kind == WindowKind::kCumulate),
      gathers_(plan.window.gather.ns > 0 && plan.window.lateness.ns > 0),
      answers_rows_(plan.answers_rows()),
      only_ends_(!geometry_.has_steps() && geometry_.lateness() == 0 && early_rows_ == 0),
      only_key_and_values_(plan.only_key_and_values()),
      cells_(plan),
      keys_(plan, range, reserve),
      deferred_(plan, reserve),
      changes_(plan, cells_.words(), keys_, reserve),
      gathered_(plan, reserve),
      row_words_(1 + W + cells_.words()),
      values_(static_cast<uint32_t>(plan.values.size())),
      late_rows_(plan.late_rows),
      batch_panes_(plan.batch_panes) {
  // Both at once would need to know which rows a step has shown.
  CHECK(early_rows_ == 0 || !geometry_.has_steps());
  CHECK(plan.max_panes > 0 && plan.max_panes < (uint64_t{1} << 31));
  const size_t panes = plan.max_panes + plan.batch_panes;
  const size_t chunks = plan.max_panes * keys_.shards() + plan.batch_panes;
  const size_t chunk_words = size_t{keys_.capacity()} * cells_.words();
  panes_ = reserve.take<Pane>(panes, "panes");
  open_ = reserve.take<Pane*>(panes, "panes");
  spare_ = reserve.take<Pane*>(panes, "panes");
  part_ = reserve.take<const int64_t*>(panes, "panes");
  ahead_ = reserve.take<const int64_t*>(panes, "panes");
  free_chunks_ = reserve.take<int64_t*>(chunks, "panes");
  sum_ = reserve.take<int64_t>(chunk_words, "panes");
  if (accumulation_ == Accumulation::kRetracting)
    old_sum_ = reserve.take<int64_t>(chunk_words, "panes");
  cell_sum_ = reserve.take<int64_t>(cells_.words(), "panes");
  const auto tables = reserve.take<int64_t*>((panes + 1) * keys_.shards(), "panes");
  const auto overflow = reserve.take<int64_t>((panes + 1) * cells_.words(), "panes");
  const auto memory = reserve.take<int64_t>(chunks * chunk_words, "panes");
  cells_.clear(overflow.data(), overflow.size() / cells_.words());
  cells_.clear(memory.data(), memory.size() / cells_.words());
  for (size_t at = memory.size(); at > 0; at -= chunk_words)
    free_chunks_[free_chunk_count_++] = &memory[at - chunk_words];
  for (Pane& pane : panes_) {
    const size_t i = static_cast<size_t>(&pane - panes_.data());
    pane.chunk = &tables[i * keys_.shards()];
    pane.overflow = &overflow[i * cells_.words()];
    spare_[spare_count_++] = &pane;
  }
  if (!overflow.empty()) trash_ = &overflow[panes * cells_.words()];
  if (!tables.empty()) none_.chunk = &tables[panes * keys_.shards()];
  none_.start = INT64_MAX;  // holds no row: no time is that late, no stamp that early
  none_.end = none_.natural_until = none_.last_end = INT64_MIN;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::add(const Rows& rows) {
  if (rows.count == 0) return;
  check_invariants(rows);
  for (uint32_t i = 0; i < rows.count; ++i) {
    line_[i] = keys_.line_of(rows.hash[i]);
    keys_.prefetch(line_[i]);
  }
  if (rows.cell) return add_folded(rows);
  if (!rows.time && !in_one_pane(rows)) return add_narrow(rows);
  if (!in_one_pane(rows)) [[unlikely]]
    return add_mixed(rows);
  Pane* const pane = newest_;
  DCHECK(pane->natural_until > fired_);  // I2
  if constexpr (W == 0 && Cells::kFolds) {
    counts_.natural +=
        cells_.add_run(locate(rows, 0, line_[0], *pane), rows, [](uint32_t) { return true; });
    return;
  }
  combine(rows, [pane](uint32_t) { return pane; });
}

// Rows of several panes, or some that are not natural: these go to the pane that holds nothing.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::add_mixed(const Rows& rows) {
  if (early_rows_ > 0) {
    for (uint32_t i = 0; i < rows.count; ++i) {
      Pane* const taken = place_odd(rows, i);
      DCHECK(taken == nullptr);
    }
    return;
  }
  const uint32_t odd = find_panes(rows);
  for (uint32_t k = 0; k < odd; ++k) {
    Pane* const pane = place_odd(rows, odd_[k]);
    pane_[odd_[k]] = pane ? pane : &none_;
  }
  if (previous_ != &none_ && previous_->start > newest_->start) std::swap(newest_, previous_);
  for (uint32_t i = 0; i < rows.count; ++i)
    DCHECK(pane_[i] == &none_ || pane_[i]->natural_until > fired_);  // I2
  if constexpr (W == 0 && Cells::kFolds) return fold_mixed(rows);
  combine(rows, [this](uint32_t i) { return pane_[i]; });
}

// No key: what each pane has of the batch is folded first. There are few panes in one.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::fold_mixed(const Rows& rows) {
  const Pane* const* const at = pane_.data();
  const auto rows_in = [&](const Pane* pane) {
    uint64_t found = 0;
    for (uint32_t i = 0; i < rows.count; ++i) found += static_cast<uint64_t>(at[i] == pane);
    return found;
  };
  uint64_t left = rows.count - rows_in(&none_);
  counts_.natural += left;
  for (Pane* pane : {newest_, previous_}) {
    if (pane == &none_ || rows_in(pane) == 0) continue;  // it may be closed already
    left -= cells_.add_run(locate(rows, 0, line_[0], *pane), rows,
                           [at, pane](uint32_t i) { return at[i] == pane; });
  }
  for (uint32_t i = 0; left > 0; ++i) {
    Pane* const pane = pane_[i];
    if (pane == &none_ || pane == newest_ || pane == previous_) continue;
    cells_.add(locate(rows, i, line_[i], *pane), rows, i);
    --left;
  }
}

// Of rows that come by their bounds. Null: no pane is free.
template <uint32_t W, class Cells>
typename PaneStore<W, Cells>::Pane* PaneStore<W, Cells>::pane_of_bounds(const Rows& rows) {
  if (in_one_pane(rows)) return newest_;
  const Span span = geometry_.pane_of(rows.min_time.ns);
  DCHECK(rows.max_time.ns < span.end);
  Pane* pane = find_pane(span.start);
  if (!pane) pane = open_pane(span);
  if (!pane) return nullptr;
  DCHECK(rows.max_stamp.ns < pane->natural_until && pane->natural_until > fired_);  // I2
  remember(pane);
  return pane;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::add_narrow(const Rows& rows) {
  Pane* const pane = pane_of_bounds(rows);
  if (pane) return combine(rows, [pane](uint32_t) { return pane; });
  for (uint32_t i = 0; i < rows.count; ++i) lose(rows.max_stamp.ns, rows.min_time.ns, 1);
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::fold(const Rows& rows, std::span<const uint8_t> of, int64_t* cell) const {
  cells_.clear(cell, 1);
  for (const uint8_t row : of) cells_.add(cell, rows, row);
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::add_folded(const Rows& rows) {
  Pane* const pane = pane_of_bounds(rows);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const int64_t* const from = rows.cell + size_t{i} * cells_.words();
    const auto folded = static_cast<uint64_t>(from[0]);
    if (!pane) {
      lose(rows.max_stamp.ns, rows.min_time.ns, folded);
      continue;
    }
    const uint64_t line = keys_.line_of(rows.hash[i]);
    const uint32_t shard = keys_.shard_of(rows.hash[i]);
    int64_t* cell = locate(rows, i, line, *pane);
    if (!cell && keys_.may_recycle(shard) && !half_written(shard)) {
      recycle(shard);
      cell = locate(rows, i, line, *pane);
    }
    (cell ? counts_.natural : counts_.overflow) += folded;
    cells_.merge(cell ? cell : pane->overflow, from);
  }
}

// Each row's pane, if it is natural in one of the two used last; the others are listed in odd_.
// Four rows at a time: as a plain loop it branches, which costs 4 ns a row where two panes
// alternate.
template <uint32_t W, class Cells>
uint32_t PaneStore<W, Cells>::find_panes(const Rows& rows) {
  const auto all = [](int64_t x) { return _mm256_set1_epi64x(x); };
  struct Bounds {
    __m256i before, after, until, pane;
  };
  const auto bounds = [&](Pane* p) {  // no start is INT64_MIN
    return Bounds{all(p->start - 1), all(p->end), all(p->natural_until),
                  all(static_cast<int64_t>(reinterpret_cast<intptr_t>(p)))};
  };
  const Bounds a = bounds(newest_), b = bounds(previous_);
  const auto holds = [](const Bounds& p, __m256i time, __m256i stamp) {
    return _mm256_and_si256(
        _mm256_and_si256(_mm256_cmpgt_epi64(time, p.before), _mm256_cmpgt_epi64(p.after, time)),
        _mm256_cmpgt_epi64(p.until, stamp));
  };
  uint32_t odd = 0;
  const auto four = [&](__m256i time, __m256i stamp, uint32_t i, uint32_t rows_there) {
    const __m256i in_a = holds(a, time, stamp), in_b = holds(b, time, stamp);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&pane_[i]),
                       _mm256_blendv_epi8(a.pane, b.pane, in_b));
    const int in_either = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_or_si256(in_a, in_b)));
    for (uint32_t none = ~static_cast<uint32_t>(in_either) & rows_there; none; none &= none - 1)
      odd_[odd++] = static_cast<uint8_t>(i + static_cast<uint32_t>(std::countr_zero(none)));
  };
  const auto load = [](const EventTime* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  };
  uint32_t i = 0;
  for (; i + 4 <= rows.count; i += 4) four(load(rows.time + i), load(rows.stamp + i), i, 0xF);
  if (i < rows.count) {  // the last few, filled up with the last row
    alignas(32) int64_t time[4], stamp[4];
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t row = std::min(i + k, rows.count - 1);
      time[k] = rows.time[row].ns;
      stamp[k] = rows.stamp[row].ns;
    }
    const auto full = [](const int64_t* at) {
      return _mm256_load_si256(reinterpret_cast<const __m256i*>(at));
    };
    four(full(time), full(stamp), i, (1u << (rows.count - i)) - 1);
  }
  return odd;
}

// A row that is not natural in one of the two panes used last. Null: it has been dealt with.
template <uint32_t W, class Cells>
typename PaneStore<W, Cells>::Pane* PaneStore<W, Cells>::place_odd(const Rows& rows, uint32_t row) {
  const int64_t time = rows.time[row].ns, stamp = rows.stamp[row].ns;
  for (Pane* pane : {newest_, previous_})
    if (pane->holds(time)) {
      if (stamp < pane->natural_until) return pane;
      defer_or_drop(rows, row, pane->last_end);
      return nullptr;
    }
  const int64_t last_end = geometry_.last_end(time);
  if (last_end <= time) {
    if (geometry_.gone_at(time) < stamp)
      late(rows, row);
    else
      ++counts_.no_window;
    return nullptr;
  }
  const Span span = geometry_.pane_of(time);
  Pane* pane = find_pane(span.start);
  const int64_t natural_until =
      pane ? pane->natural_until : geometry_.pane_point_after(span.start, span.start);
  if (stamp >= natural_until || early_rows_ > 0) {
    defer_or_drop(rows, row, last_end);
    return nullptr;
  }
  if (!pane) pane = open_pane(span);
  if (!pane) {
    lose(stamp, time, 1);
    return nullptr;
  }
  remember(pane);
  return pane;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::defer_or_drop(const Rows& rows, uint32_t row, int64_t last_end) {
  if (rows.stamp[row].ns >= geometry_.gone_at(last_end)) {
    late(rows, row);
  } else if (!deferred_.push(rows, row)) {
    lose(rows.stamp[row].ns, rows.time[row].ns, 1);
  }
}

// Nobody takes it. Whoever wants to see it does so at its place.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::late(const Rows& rows, uint32_t row) {
  ++counts_.late;
  if (late_rows_) counts_.unshown += !deferred_.push_outside(rows, row, LateReason::kLate);
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::divert(const Rows& rows, LateReason reason) {
  for (uint32_t i = 0; i < rows.count; ++i)
    counts_.unshown += !deferred_.push_outside(rows, i, reason);
}

// A row, or several of one pane, that find no room.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::lose(int64_t stamp, int64_t time, uint64_t rows) {
  counts_.overflow += rows;
  const int64_t first = first_open_end(stamp, time), last = geometry_.last_end(time);
  flagged_.add(first, last);
  untold_.add(first, last);
  untold_stamp_ = std::min(untold_stamp_, stamp);
}

// Of the windows that take a row with this time and stamp; they go on to its last one.
template <uint32_t W, class Cells>
int64_t PaneStore<W, Cells>::first_open_end(int64_t stamp, int64_t time) const {
  return geometry_.first_end(std::max(time, subtract_to_edge(stamp, geometry_.lateness())));
}

// Adds each row to its cell in pane(row). Rows of the pane that holds nothing are dealt with.
template <uint32_t W, class Cells>
template <class PaneOf>
void PaneStore<W, Cells>::combine(const Rows& rows, PaneOf pane) {
  const uint32_t words = cells_.words(), count = rows.count;
  uint32_t missed = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto match = keys_.match(rows, i, line_[i]);
    int64_t* const chunk = pane(i)->chunk[keys_.shard_of(rows.hash[i])];
    // As an integer: the chunk may be null and the id of a miss is no id.
    const uintptr_t cell = reinterpret_cast<uintptr_t>(chunk) + uint64_t{match.id} * words * 8;
    cell_[i] = reinterpret_cast<int64_t*>(cell);
    __builtin_prefetch(cell_[i], 1, 3);
    if (words > 8) __builtin_prefetch(cell_[i] + 8, 1, 3);
    if constexpr (!Dictionary<W>::kExact) {
      id_[i] = match.found ? match.id : kNoId;
      __builtin_prefetch(keys_.key(keys_.shard_of(rows.hash[i]), match.id), 0, 3);
    }
    missed_[missed] = static_cast<uint8_t>(i);
    missed += static_cast<uint32_t>(!match.found | (chunk == nullptr));
  }
  if constexpr (!Dictionary<W>::kExact) {
    missed = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t shard = keys_.shard_of(rows.hash[i]);
      const bool same = id_[i] != kNoId && keys_.confirm(shard, id_[i], rows, i);
      missed_[missed] = static_cast<uint8_t>(i);
      missed += static_cast<uint32_t>(!same | (pane(i)->chunk[shard] == nullptr));
    }
  }
  for (uint32_t k = 0; k < missed; ++k) keys_.prefetch(line_[missed_[k]] + 1);
  uint32_t refused = 0, elsewhere = 0;
  for (uint32_t k = 0; k < missed; ++k) {
    const uint32_t row = missed_[k];
    Pane* const p = pane(row);
    if (p == &none_) {
      ++elsewhere;
    } else if (int64_t* const cell = locate(rows, row, line_[row], *p)) {
      cell_[row] = cell;
      continue;
    } else {
      missed_[refused++] = static_cast<uint8_t>(row);
    }
    cell_[row] = trash_;
  }
  cells_.add_all(cell_.data(), rows, count, [](uint32_t i) { return i; });
  counts_.natural += count - refused - elsewhere;
  for (uint32_t k = 0; k < refused; ++k) {
    const uint32_t row = missed_[k];
    settle(rows, row, line_[row], *pane(row));
  }
}

// Null: the shard is full.
template <uint32_t W, class Cells>
int64_t* PaneStore<W, Cells>::locate(const Rows& rows, uint32_t row, uint64_t line, Pane& pane) {
  const uint32_t shard = keys_.shard_of(rows.hash[row]);
  const uint32_t id = keys_.find(rows, row, line);
  if (id == Dictionary<W>::kNone) return nullptr;
  int64_t*& chunk = pane.chunk[shard];
  if (!chunk) {
    DCHECK(free_chunk_count_ > 0);  // one for each (pane, shard)
    chunk = free_chunks_[--free_chunk_count_];
  }
  return chunk + size_t{id} * cells_.words();
}

// A row whose shard was full. Its batch is combined by now, so that every id in use has a cell in
// use, and ids may be recycled; not while the cursor stands inside this shard.
template <uint32_t W, class Cells>
void PaneStore<W, Cells>::settle(const Rows& rows, uint32_t row, uint64_t line, Pane& pane) {
  const uint32_t shard = keys_.shard_of(rows.hash[row]);
  if (keys_.may_recycle(shard) && !half_written(shard)) recycle(shard);
  int64_t* cell = locate(rows, row, line, pane);
  ++(cell ? counts_.natural : counts_.overflow);
  cells_.add(cell ? cell : pane.overflow, rows, row);
}

template <uint32_t W, class Cells>
typename PaneStore<W, Cells>::Pane* PaneStore<W, Cells>::find_pane(int64_t start) const {
  const auto open = open_.first(open_count_);
  const auto at = std::lower_bound(open.begin(), open.end(), start,
                                   [](const Pane* p, int64_t s) { return p->start < s; });
  return at != open.end() && (*at)->start == start ? *at : nullptr;
}

// Null: no pane is free.
template <uint32_t W, class Cells>
typename PaneStore<W, Cells>::Pane* PaneStore<W, Cells>::open_pane(Span span) {
  if (spare_count_ == 0) return nullptr;
  Pane* const pane = spare_[--spare_count_];
  pane->start = span.start;
  pane->end = span.end;
  pane->natural_until = geometry_.pane_point_after(span.start, span.start);
  pane->last_end = geometry_.last_end(span.start);
  uint32_t at = open_count_++;
  for (; at > 0 && open_[at - 1]->start > span.start; --at) open_[at] = open_[at - 1];
  open_[at] = pane;
  DCHECK(!window_.busy || at >= window_.last);
  const int64_t point = pane->natural_until > fired_
                            ? pane->natural_until
                            : geometry_.pane_point_after(span.start, fired_);
  next_point_ = std::min(next_point_, point);
  return pane;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::remember(Pane* pane) {
  if (pane == newest_ || pane == previous_) return;
  previous_ = newest_;
  newest_ = pane;
}

template <uint32_t W, class Cells>
void PaneStore<W, Cells>::check_invariants([[maybe_unused]] const Rows& rows) const {
#ifdef TIDEWIRE_DEBUG_CHECKS
  if (!rows.time) return CHECK(rows.max_stamp.ns >= frontier_);
  for (uint32_t i = 0; i < rows.count; ++i) {
    CHECK(rows.stamp[i].ns >= frontier_);  // I1
    CHECK(rows.time[i] >= rows.min_time && rows.time[i] <= rows.max_time);
    CHECK(rows.stamp[i] <= rows.max_stamp);
  }
#endif
}

}  // namespace tidewire
