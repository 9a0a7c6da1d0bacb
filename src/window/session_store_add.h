// SessionStore, the writing side: rows to sessions. Two stages before the rows are joined in turn
// (key line, slot), so that the cache misses overlap. Included by the files that instantiate
// SessionStore.
#pragma once

#include <algorithm>

#include "window/session_store.h"

namespace tidewire {

template <uint32_t W, class Cells>
SessionStore<W, Cells>::SessionStore(const Plan& plan, ShardRange range, Reserve& reserve)
    : query_(plan.id),
      gap_(plan.window.gap.ns),
      cells_(plan),
      keys_(plan, range, reserve),
      deferred_(plan, reserve),
      extra_((plan.max_sessions * range.count + plan.shards - 1) / plan.shards),
      wheel_(gap_, uint64_t{keys_.capacity()} * keys_.shards() + extra_ + 1, reserve),
      row_words_(3 + W + cells_.words()),
      stride_(sizeof(Session) / 8 + cells_.words()),
      values_(static_cast<uint32_t>(plan.values.size())),
      late_rows_(plan.late_rows),
      overflow_slot_(keys_.capacity() * keys_.shards()) {
  CHECK(gap_ > 0 && gap_ <= kWindowLengthMax);
  CHECK(uint64_t{keys_.capacity()} * keys_.shards() + extra_ < (uint64_t{1} << 31));
  const size_t slots = size_t{overflow_slot_} + 1;
  slots_ = reserve.take<int64_t>(slots * stride_, "sessions");
  pool_ = reserve.take<int64_t>((extra_ + 1) * stride_, "sessions");
  heap_ = reserve.take<Due>(slots, "sessions");
  for (size_t at = 0; at < slots_.size(); at += stride_)
    cells_.clear(&slots_[at + sizeof(Session) / 8], 1);
  if (slots_.empty()) return;
  for (uint64_t o = extra_; o > 0; --o) give_pooled(static_cast<uint32_t>(o));
  slot(overflow_slot_).hash = UINT64_MAX;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::add(const Rows& rows) {
  uint32_t good = 0, odd = 0;
  for (uint32_t i = 0; i < rows.count; ++i) {
    DCHECK(rows.stamp[i].ns >= frontier_);  // I1
    line_[i] = keys_.line_of(rows.hash[i]);
    keys_.prefetch(line_[i]);
    const bool natural = rows.time[i] > rows.stamp[i];
    good_[good] = odd_[odd] = static_cast<uint8_t>(i);
    good += static_cast<uint32_t>(natural);
    odd += static_cast<uint32_t>(!natural);
  }
  for (uint32_t k = 0; k < odd; ++k) {
    if (deferred_.push(rows, odd_[k])) continue;
    const int64_t time = rows.time[odd_[k]].ns;
    ++counts_.overflow;
    flagged_.add(time, time + gap_);
  }
  uint32_t missed = 0;
  for (uint32_t j = 0; j < good; ++j) {
    const uint32_t row = good_[j];
    const auto match = keys_.match(rows, row, line_[row]);
    const uint32_t shard = keys_.shard_of(rows.hash[row]);
    at_[j] = shard * keys_.capacity() + match.id;
    const int64_t* at = &slots_.data()[size_t{at_[j]} * stride_];
    __builtin_prefetch(at, 1, 3);
    if (stride_ > 8) __builtin_prefetch(at + 8, 1, 3);
    bool found = match.found;
    if constexpr (!Dictionary<W>::kExact)
      found = found && keys_.confirm(shard, match.id, rows, row);
    missed_[missed] = static_cast<uint8_t>(j);
    missed += static_cast<uint32_t>(!found);
  }
  for (uint32_t k = 0; k < missed; ++k) {
    const uint32_t row = good_[missed_[k]];
    at_[missed_[k]] = slot_of(rows, row, line_[row]);
  }
  uint32_t refused = 0;
  for (uint32_t j = 0; j < good; ++j) {
    if (at_[j] == kNone) [[unlikely]]
      missed_[refused++] = good_[j];
    else
      join(at_[j], rows, good_[j]);
  }
  for (uint32_t k = 0; k < refused; ++k) settle(rows, missed_[k]);
}

template <uint32_t W, class Cells>
uint32_t SessionStore<W, Cells>::slot_of(const Rows& rows, uint32_t row, uint64_t line) {
  const uint32_t id = keys_.find(rows, row, line);
  if (id == Dictionary<W>::kNone) return kNone;
  return keys_.shard_of(rows.hash[row]) * keys_.capacity() + id;
}

// A natural row.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::join(uint32_t g, const Rows& rows, uint32_t row) {
  Session& s = slot(g);
  const int64_t time = rows.time[row].ns;
  if (!empty(s) && time >= s.start && time <= end_of(s)) [[likely]] {
    s.last = std::max(s.last, time);  // the end only grows: nothing to arm
    cells_.add(cell(s), rows, row);
  } else if (merge(g, rows, row, INT64_MIN) == Merge::kNoRoom) {
    overflow(rows, row, INT64_MIN);
    return;
  }
  ++counts_.natural;
}

// A row whose shard was full. Its batch has joined by now, so that ids may be recycled.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::settle(const Rows& rows, uint32_t row) {
  const uint32_t shard = keys_.shard_of(rows.hash[row]);
  if (keys_.may_recycle(shard)) recycle(shard);
  const uint32_t g = slot_of(rows, row, line_[row]);
  if (g == kNone)
    overflow(rows, row, INT64_MIN);
  else
    join(g, rows, row);
}

// Any row against all sessions of its key that end after `alive_after`: what it touches and the row
// become one session; late where that has ended by then.
template <uint32_t W, class Cells>
typename SessionStore<W, Cells>::Merge SessionStore<W, Cells>::merge(uint32_t g, const Rows& rows,
                                                                     uint32_t row,
                                                                     int64_t alive_after) {
  Session& s = slot(g);
  const int64_t time = rows.time[row].ns;
  int64_t start = time, last = time;
  uint32_t touched = 0;
  const auto touches = [&](const Session& x) {
    return x.start <= time + gap_ && end_of(x) >= time && end_of(x) > alive_after;
  };
  const auto look = [&](const Session& x) {
    if (!touches(x)) return;
    start = std::min(start, x.start);
    last = std::max(last, x.last);
    ++touched;
  };
  const bool open = !empty(s);
  if (open) look(s);
  for (uint32_t o = open ? s.older : 0; o; o = pooled(o).older) look(pooled(o));
  if (last + gap_ <= alive_after) return Merge::kLate;
  if (touched == 0) return begin_another(g, rows, row);

  // The newest of them takes the others in; where only older ones are touched, the newest of all
  // stays ahead of them.
  Session* into = touches(s) ? &s : nullptr;
  for (uint32_t* link = &s.older; *link;) {
    const uint32_t o = *link;
    Session& x = pooled(o);
    if (!touches(x) || !into) {
      if (!into && touches(x)) into = &x;
      link = &x.older;
      continue;
    }
    cells_.merge(cell(*into), cell(x));
    *link = x.older;
    give_pooled(o);
    --open_;
  }
  into->start = start;
  into->last = last;
  cells_.add(cell(*into), rows, row);
  return Merge::kJoined;
}

// The row is a session of its own.
template <uint32_t W, class Cells>
typename SessionStore<W, Cells>::Merge SessionStore<W, Cells>::begin_another(uint32_t g,
                                                                             const Rows& rows,
                                                                             uint32_t row) {
  Session& s = slot(g);
  // One place in the wheel is kept for the overflow slot.
  const bool kept = g == overflow_slot_ && s.armed == TimingWheel::kIdle;
  if (!wheel_.has_room(due_count_ + (kept ? 0 : 1))) return Merge::kNoRoom;
  const int64_t time = rows.time[row].ns;
  Session* mine = &s;
  if (!empty(s)) {
    const uint32_t o = free_pooled_;
    if (o == 0) return Merge::kNoRoom;
    Session& spare = pooled(o);
    free_pooled_ = spare.older;
    --free_pooled_count_;
    if (time > s.last) {
      spare.start = s.start;
      spare.last = s.last;
      cells_.copy(cell(spare), cell(s));
    } else {
      mine = &spare;
    }
    spare.older = s.older;
    s.older = o;
  } else {
    s.older = 0;
    if (g != overflow_slot_) s.hash = rows.hash[row];
  }
  mine->start = mine->last = time;
  cells_.clear(cell(*mine), 1);
  cells_.add(cell(*mine), rows, row);
  ++open_;
  arm(g, time + gap_);
  return Merge::kJoined;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::divert(const Rows& rows, LateReason reason) {
  for (uint32_t i = 0; i < rows.count; ++i)
    counts_.unshown += !deferred_.push_outside(rows, i, reason);
}

// False: the row is late.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::overflow(const Rows& rows, uint32_t row, int64_t alive_after) {
  const int64_t time = rows.time[row].ns;
  const Merge merged = merge(overflow_slot_, rows, row, alive_after);
  if (merged == Merge::kLate) return false;
  ++counts_.overflow;
  flagged_.add(time, time + gap_);
  if (merged == Merge::kJoined) return true;
  Session& s = slot(overflow_slot_);
  DCHECK(!empty(s));
  s.start = std::min(s.start, time);
  s.last = std::max(s.last, time);
  cells_.add(cell(s), rows, row);
  return true;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::give_pooled(uint32_t o) {
  pooled(o).older = free_pooled_;
  free_pooled_ = o;
  ++free_pooled_count_;
}

}  // namespace tidewire
