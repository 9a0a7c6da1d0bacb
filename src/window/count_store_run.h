// CountStore: rows to slots, and results at their rows' places. Included by the files that
// instantiate CountStore.
#pragma once

#include <algorithm>
#include <numeric>

#include "window/count_store.h"
#include "window/late_row.h"

namespace tidewire {

template <uint32_t W, class Cells>
CountStore<W, Cells>::CountStore(const Plan& plan, ShardRange range, Reserve& reserve)
    : query_(plan.id),
      shape_(plan.window),
      cells_(plan),
      keys_(plan, range, reserve),
      deferred_(plan, reserve),
      row_words_(1 + W + cells_.words()),
      values_(static_cast<uint32_t>(plan.values.size())),
      piece_words_(sizeof(Piece) / 8 + cells_.words()),
      overflow_slot_(keys_.capacity() * keys_.shards()) {
  if (is_global()) {
    piece_rows_ = UINT64_MAX;
    pieces_ = shape_.accumulation == Accumulation::kRetracting ? 2 : 1;
  } else {
    CHECK(shape_.rows > 0 && shape_.row_slide > 0);
    piece_rows_ = std::gcd(shape_.rows, shape_.row_slide);
    pieces_ = shape_.rows / piece_rows_;
  }
  slot_words_ = sizeof(Slot) / 8 + pieces_ * piece_words_;
  slots_ = reserve.take<int64_t>((size_t{overflow_slot_} + 1) * slot_words_, "windows");
  sum_ = reserve.take<int64_t>(cells_.words(), "windows");
  for (size_t at = 0; at < slots_.size(); at += slot_words_) {
    const auto g = static_cast<uint32_t>(at / slot_words_);
    slot(g).rows = 0;
    for (uint64_t p = 0; p < pieces_; ++p) clear(piece(g, p));
  }
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::clear(Piece& piece) const {
  piece.least = INT64_MAX;
  piece.greatest = INT64_MIN;
  cells_.clear(cell(piece), 1);
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::join(Piece& piece, const Rows& rows, uint32_t row) const {
  piece.least = std::min(piece.least, rows.time[row].ns);
  piece.greatest = std::max(piece.greatest, rows.time[row].ns);
  cells_.add(cell(piece), rows, row);
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::add(const Rows& rows) {
  if (!is_global() || shape_.early_rows > 0) {
    for (uint32_t i = 0; i < rows.count; ++i) {
      DCHECK(rows.stamp[i].ns >= frontier_);  // I1
      if (deferred_.push(rows, i)) continue;
      ++counts_.overflow;
      lost_from_ = std::min(lost_from_, rows.stamp[i].ns);
    }
    return;
  }
  for (uint32_t i = 0; i < rows.count; ++i) {
    line_[i] = keys_.line_of(rows.hash[i]);
    keys_.prefetch(line_[i]);
  }
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t g = slot_of(rows, i, line_[i]);
    ++(g == overflow_slot_ ? counts_.overflow : counts_.natural);
    ++slot(g).rows;
    join(piece(g, 0), rows, i);
  }
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::divert(const Rows& rows, LateReason reason) {
  for (uint32_t i = 0; i < rows.count; ++i)
    counts_.unshown += !deferred_.push_outside(rows, i, reason);
}

// The reserved one where the shard is full.
template <uint32_t W, class Cells>
uint32_t CountStore<W, Cells>::slot_of(const Rows& rows, uint32_t row, uint64_t line) {
  const uint32_t shard = keys_.shard_of(rows.hash[row]);
  uint32_t id = keys_.find(rows, row, line);
  if (id == Dictionary<W>::kNone && keys_.may_recycle(shard)) {
    recycle(shard);
    id = keys_.find(rows, row, line);
  }
  return id == Dictionary<W>::kNone ? overflow_slot_ : shard * keys_.capacity() + id;
}

// A key without rows in an open window is forgotten: its next row begins anew either way.
template <uint32_t W, class Cells>
void CountStore<W, Cells>::recycle(uint32_t shard) {
  keys_.recycle(
      shard, [this, shard](uint32_t id) { return slot(shard * keys_.capacity() + id).rows > 0; });
}

template <uint32_t W, class Cells>
uint32_t CountStore<W, Cells>::fire(EventTime frontier, EventTime until, uint32_t budget,
                                    ResultWriter& out) {
  CHECK(frontier.ns >= frontier_);
  frontier_ = frontier.ns;
  uint32_t used = 0;
  while (used < budget) {
    if (deferred_.due(frontier.ns) && deferred_.first_stamp() <= until.ns) {
      if (!out.room_for(2)) break;  // a retraction, and what replaces it
      apply(deferred_.pop(), out);
      used += 1;
    } else if (ends() && frontier.ns == INT64_MAX && until.ns == INT64_MAX) {
      const uint32_t step = finish(budget - used, out);
      if (step == 0) break;
      used += step;
    } else {
      break;
    }
  }
  return used;
}

template <uint32_t W, class Cells>
std::optional<EventTime> CountStore<W, Cells>::next(EventTime frontier) const {
  if (deferred_.due(frontier.ns)) return EventTime{deferred_.first_stamp()};
  if (ends() && frontier == EventTime::end_of_time()) return frontier;
  return std::nullopt;
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::apply(const SingleRow& single, ResultWriter& out) {
  if (single.outside) return write_late(query_, W, values_, single, out);
  const Rows rows = single.rows();
  const uint32_t g = slot_of(rows, 0, keys_.line_of(single.hash));
  ++(g == overflow_slot_ ? counts_.overflow : counts_.deferred);
  Slot& s = slot(g);
  Piece& open = piece(g, is_global() ? 0 : s.rows / piece_rows_ % pieces_);
  if (!is_global() && s.rows % piece_rows_ == 0) clear(open);
  join(open, rows, 0);
  ++s.rows;
  if (is_global()) {
    if (s.rows % shape_.early_rows == 0) emit_early(g, single, out);
  } else if (s.rows % shape_.row_slide == 0) {
    emit_count(g, single, out);
  }
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::emit_count(uint32_t g, const SingleRow& single, ResultWriter& out) {
  Slot& s = slot(g);
  const uint64_t full = std::min(s.rows / piece_rows_, pieces_);
  int64_t least = INT64_MAX, greatest = INT64_MIN;
  cells_.clear(sum_.data(), 1);
  for (uint64_t p = 0; p < full; ++p) {
    Piece& one = piece(g, p);
    least = std::min(least, one.least);
    greatest = std::max(greatest, one.greatest);
    cells_.merge(sum_.data(), cell(one));
  }
  write(g,
        {.place = single.stamp,
         .start = {least},
         .end = {greatest + static_cast<int64_t>(greatest < INT64_MAX)},
         .position = position_of(single.rows(), 0),
         .kind = RunKind::kUpdate},
        sum_.data(), out);
  if (shape_.rows > shape_.row_slide) return;
  s.rows = 0;  // nothing of this window is in the next
  if (g != overflow_slot_) keys_.note_closed(g / keys_.capacity());
}

// Each `early_rows` rows of a global window.
template <uint32_t W, class Cells>
void CountStore<W, Cells>::emit_early(uint32_t g, const SingleRow& single, ResultWriter& out) {
  const uint64_t number = slot(g).rows / shape_.early_rows;
  Run head{.place = single.stamp,
           .start = EventTime::before_all(),
           .end = EventTime::end_of_time(),
           .position = position_of(single.rows(), 0),
           .index = static_cast<uint32_t>(std::min<uint64_t>(number - 1, UINT32_MAX)),
           .kind = RunKind::kUpdate,
           .fire = FireKind::kEarly};
  Piece& all = piece(g, 0);
  switch (shape_.accumulation) {
    case Accumulation::kAccumulating:
      return write(g, head, cell(all), out);
    case Accumulation::kDiscarding:
      write(g, head, cell(all), out);
      return clear(all);
    case Accumulation::kRetracting:
      if (!Cells::empty(told(g))) {
        Run back = head;
        back.fire = FireKind::kRetraction;
        write(g, back, told(g), out);
      }
      write(g, head, cell(all), out);
      return cells_.copy(told(g), cell(all));
  }
}

// The end of the input, shard by shard; 0: no result block is free.
template <uint32_t W, class Cells>
uint32_t CountStore<W, Cells>::finish(uint32_t budget, ResultWriter& out) {
  uint32_t used = 0;
  for (; shard_ < keys_.shards(); ++shard_, rank_ = 0) {
    const auto order = keys_.in_order(shard_);  // no key comes any more
    for (; rank_ < order.size(); ++rank_, ++used) {
      if (used >= budget) return used;
      if (!finish_one(shard_ * keys_.capacity() + order[rank_], out)) return used;
    }
    ++used;
  }
  if (!finish_one(overflow_slot_, out)) return used;
  finished_ = true;
  return used + 1;
}

template <uint32_t W, class Cells>
bool CountStore<W, Cells>::finish_one(uint32_t g, ResultWriter& out) {
  Piece& all = piece(g, 0);
  if (Cells::empty(cell(all))) return true;
  if (!out.room_for(2)) return false;
  Run head{.place = EventTime::end_of_time(),
           .start = EventTime::before_all(),
           .end = EventTime::end_of_time()};
  if (shape_.accumulation == Accumulation::kRetracting && !Cells::empty(told(g))) {
    Run back = head;
    back.fire = FireKind::kRetraction;
    write(g, back, told(g), out);
  }
  write(g, head, cell(all), out);
  return true;
}

// Slot by slot; an empty one costs little.
template <uint32_t W, class Cells>
uint32_t CountStore<W, Cells>::provisional(uint32_t budget, ResultWriter& out) {
  constexpr uint32_t kEmptyAUnit = 16;
  uint64_t work = 0;  // in sixteenths
  for (; show_at_ <= overflow_slot_ && work < uint64_t{budget} * kEmptyAUnit; ++show_at_) {
    ++work;
    if (slot(show_at_).rows == 0) continue;
    if (!show(show_at_, out)) break;
    work += kEmptyAUnit;
  }
  if (finished_ || show_at_ > overflow_slot_) show_at_ = kNone;
  return static_cast<uint32_t>(work / kEmptyAUnit);
}

// The rows that the next result of the slot will hold. False: no result block is free.
template <uint32_t W, class Cells>
bool CountStore<W, Cells>::show(uint32_t g, ResultWriter& out) {
  if (!out.room_for(1)) return false;
  Run head{.place = {frontier_},
           .start = EventTime::before_all(),
           .end = EventTime::end_of_time(),
           .kind = RunKind::kProvisional,
           .fire = FireKind::kProvisional};
  int64_t least = INT64_MAX, greatest = INT64_MIN;
  cells_.clear(sum_.data(), 1);
  const uint64_t begun = is_global() ? 1 : (slot(g).rows + piece_rows_ - 1) / piece_rows_;
  for (uint64_t p = 0; p < std::min(begun, pieces_); ++p) {
    Piece& one = piece(g, p);
    least = std::min(least, one.least);
    greatest = std::max(greatest, one.greatest);
    cells_.merge(sum_.data(), cell(one));
  }
  if (cells_.empty(sum_.data())) return true;
  if (!is_global()) {
    head.start = {least};
    head.end = {greatest + static_cast<int64_t>(greatest < INT64_MAX)};
  }
  head.flags = flags_of(g, frontier_);
  write_row(g, head, sum_.data(), out);
  return true;
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::write(uint32_t g, Run head, const int64_t* cell, ResultWriter& out) {
  head.flags = flags_of(g, head.place.ns);
  write_row(g, head, cell, out);
  ++counts_.results;
  counts_.flagged += head.flags != 0;
}

template <uint32_t W, class Cells>
void CountStore<W, Cells>::write_row(uint32_t g, const Run& head, const int64_t* cell,
                                     ResultWriter& out) {
  out.begin(query_, head, row_words_);
  int64_t* row = out.row();
  if (g == overflow_slot_) {
    row[0] = -1;
    std::fill(row + 1, row + 1 + W, 0);
  } else {
    const int64_t* key = keys_.key(g / keys_.capacity(), g % keys_.capacity());
    row[0] = static_cast<int64_t>(keys_.hash_of(key));
    std::copy(key, key + W, row + 1);
  }
  cells_.copy(row + 1 + W, cell);
}

template <uint32_t W, class Cells>
uint16_t CountStore<W, Cells>::flags_of(uint32_t g, int64_t place) const {
  if (g == overflow_slot_) return kFlagOverflow | kFlagOverflowRow;
  const bool lost_before = lost_from_ < INT64_MAX && place >= lost_from_;
  const bool lost_here = is_global() && place == INT64_MAX && counts_.overflow > 0;
  return lost_before || lost_here ? kFlagOverflow : 0;
}

template <uint32_t W, class Cells>
StoreCounts CountStore<W, Cells>::counts() const {
  StoreCounts counts = counts_;
  counts.still_deferred = deferred_.size();
  return counts;
}

template <uint32_t W, class Cells>
StoreUse CountStore<W, Cells>::use() const {
  StoreUse use;
  use.keys = keys_.keys();
  use.max_keys = keys_.max_keys();
  use.panes = keys_.keys();  // one open window a key
  use.max_panes = keys_.max_keys();
  use.deferred = deferred_.size();
  use.max_deferred = deferred_.capacity();
  return use;
}

}  // namespace tidewire
