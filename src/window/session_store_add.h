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
      shape_(plan),
      plain_(shape_.is_plain() && plan.window.early_rows == 0),
      retracts_(!plain_ && plan.window.accumulation == Accumulation::kRetracting),
      discards_(!plain_ && plan.window.accumulation == Accumulation::kDiscarding),
      early_rows_(plan.window.early_rows),
      cells_(plan),
      keys_(plan, range, reserve),
      deferred_(plan, reserve),
      extra_((plan.max_sessions * range.count + plan.shards - 1) / plan.shards),
      overflow_slot_(keys_.capacity() * keys_.shards()),
      watched_max_(uint64_t{overflow_slot_} + 1 + (plain_ ? 0 : extra_ + plan.max_changes + 2)),
      wheel_(shape_.usual_gap(), overflow_slot_,
             uint64_t{overflow_slot_} + extra_ + 1 + (plain_ ? 0 : watched_max_ + extra_), reserve),
      due_(watched_max_, reserve),
      old_(retracts_ ? plan.max_changes : 0, cells_.words(), reserve),
      row_words_(3 + W + cells_.words()),
      stride_(static_cast<uint32_t>((sizeof(Session) + (plain_ ? 0 : sizeof(Kept))) / 8) +
              cells_.words()),
      values_(static_cast<uint32_t>(plan.values.size())),
      late_rows_(plan.late_rows) {
  CHECK(uint64_t{overflow_slot_} + extra_ < (uint64_t{1} << 31));
  CHECK(early_rows_ < UINT32_MAX);
  const size_t slots = size_t{overflow_slot_} + 1;
  slots_ = reserve.take<int64_t>(slots * stride_, "sessions");
  pool_ = reserve.take<int64_t>((extra_ + 1) * stride_, "sessions");
  if (!plain_) watch_ = reserve.take<Watch>(slots, "sessions");
  if (slots_.empty()) return;
  for (uint32_t g = 0; g <= overflow_slot_; ++g) make_empty(slot(g));
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
    const bool natural = rows.time[i] > rows.stamp[i] && early_rows_ == 0;
    good_[good] = odd_[odd] = static_cast<uint8_t>(i);
    good += static_cast<uint32_t>(natural);
    odd += static_cast<uint32_t>(!natural);
  }
  for (uint32_t k = 0; k < odd; ++k) defer(rows, odd_[k]);
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
  const uint32_t refused = plain_ ? join_all<true>(rows, good) : join_all<false>(rows, good);
  for (uint32_t k = 0; k < refused; ++k) settle(rows, missed_[k]);
}

// The rows in good_, each to its slot; returns how many have none: those stand in missed_.
template <uint32_t W, class Cells>
template <bool kPlain>
uint32_t SessionStore<W, Cells>::join_all(const Rows& rows, uint32_t good) {
  const int64_t gap = shape_.usual_gap();
  uint32_t refused = 0;
  for (uint32_t j = 0; j < good; ++j) {
    const uint32_t row = good_[j];
    if (at_[j] == kNone) [[unlikely]] {
      missed_[refused++] = good_[j];
      continue;
    }
    Session& s = slot(at_[j]);
    const int64_t time = rows.time[row].ns;
    if (time < s.start || time > s.end || !(kPlain || shape_.same_cell(s.start, time))) {
      join_another(at_[j], rows, row);
      continue;
    }
    const int64_t end = kPlain ? later(EventTime{time}, Duration{gap}).ns : end_of(rows, row);
    s.end = std::max(s.end, end);  // it only grows: nothing to arm
    cells_.add(cell(s), rows, row);
    ++counts_.natural;
  }
  return refused;
}

template <uint32_t W, class Cells>
uint32_t SessionStore<W, Cells>::slot_of(const Rows& rows, uint32_t row, uint64_t line) {
  const uint32_t id = keys_.find(rows, row, line);
  if (id == Dictionary<W>::kNone) return kNone;
  return keys_.shard_of(rows.hash[row]) * keys_.capacity() + id;
}

// Only its place tells what the row meets. Where no session outlives its cell and the cell is
// closed, that is known.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::defer(const Rows& rows, uint32_t row) {
  const int64_t time = rows.time[row].ns, stamp = rows.stamp[row].ns;
  if (shape_.has_cells() && shape_.leaves(shape_.cell_end(time)) <= stamp) {
    ++counts_.late;
    if (late_rows_) counts_.unshown += !deferred_.push_outside(rows, row, LateReason::kLate);
    return;
  }
  if (deferred_.push(rows, row)) return;
  ++counts_.overflow;
  flagged_.add(time, end_of(rows, row));
  last_lost_ = std::max(last_lost_, stamp);
}

// A natural row that does not lie in its key's newest session.
template <uint32_t W, class Cells>
[[gnu::noinline]] void SessionStore<W, Cells>::join_another(uint32_t g, const Rows& rows,
                                                            uint32_t row) {
  Session* into = nullptr;
  if (merge(g, rows, row, kNatural, into) == Merge::kNoRoom)
    overflow(rows, row, kNatural, into);
  else
    ++counts_.natural;
}

// A row whose shard was full. Its batch has joined by now, so that ids may be recycled.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::settle(const Rows& rows, uint32_t row) {
  const uint32_t shard = keys_.shard_of(rows.hash[row]);
  if (keys_.may_recycle(shard)) recycle(shard);
  const uint32_t g = slot_of(rows, row, line_[row]);
  Session* into = nullptr;
  if (g == kNone)
    overflow(rows, row, kNatural, into);
  else
    join_another(g, rows, row);
}

// A row at its place, or a natural one, against all sessions of its key that are kept beyond that
// place: what it touches and the row become one session; late where that is done with by then.
// Natural rows touch open sessions only: whatever has fired ends at or before their stamp.
template <uint32_t W, class Cells>
typename SessionStore<W, Cells>::Merge SessionStore<W, Cells>::merge(uint32_t g, const Rows& rows,
                                                                     uint32_t row, int64_t place,
                                                                     Session*& into) {
  Session& s = slot(g);
  const int64_t time = rows.time[row].ns, row_end = end_of(rows, row);
  int64_t start = time, end = row_end;
  uint32_t touched = 0, said = 0;
  const auto touches = [&](const Session& x) {
    return x.start <= row_end && x.end >= time && shape_.same_cell(x.start, time) &&
           (place == kNatural || shape_.leaves(x.end) > place);
  };
  each(g, [&](Session& x) {
    if (!touches(x)) return;
    start = std::min(start, x.start);
    end = std::max(end, x.end);
    ++touched;
    said += static_cast<uint32_t>(retracts_ && kept(x).said);
  });
  if (place != kNatural && shape_.leaves(end) <= place) return Merge::kLate;
  if (touched == 0) return begin_another(g, rows, row, place, into);
  if (!plain_ && place != kNatural && !(old_.has_room(said) && room_to_watch(g)))
    return Merge::kNoRoom;

  // The newest of them takes the others in; where only older ones are touched, the newest of all
  // stays ahead of them.
  into = touches(s) ? &s : nullptr;
  for (uint32_t* link = &s.older; *link;) {
    const uint32_t o = *link;
    Session& x = pooled(o);
    if (!touches(x) || !into) {
      if (!into && touches(x)) into = &x;
      link = &x.older;
      continue;
    }
    take_in(*into, x);
    *link = x.older;
    give_pooled(o);
    --open_;
  }
  if (retracts_) keep_old(*into);
  into->start = start;
  into->end = end;
  cells_.add(cell(*into), rows, row);
  if (place != kNatural) move_past(*into, place);
  if (place != kNatural) arm(g, *into, true);
  return Merge::kJoined;
}

// `other` ends before `into` begins, or the row lies between them; what it has said is kept.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::take_in(Session& into, Session& other) {
  if (!plain_) {
    if (retracts_) {
      keep_old(into);
      keep_old(other);
    }
    Kept &a = kept(into), &b = kept(other);
    a.old = old_.join(a.old, b.old);
    a.since += b.since;
    a.index = std::max(a.index, b.index);
  }
  cells_.merge(cell(into), cell(other));
}

// The row is a session of its own.
template <uint32_t W, class Cells>
typename SessionStore<W, Cells>::Merge SessionStore<W, Cells>::begin_another(
    uint32_t g, const Rows& rows, uint32_t row, int64_t place, Session*& into) {
  Session& s = slot(g);
  if (!room_to_watch(g)) return Merge::kNoRoom;
  const int64_t time = rows.time[row].ns;
  Session* mine = &s;
  if (!empty(s)) {
    const uint32_t o = free_pooled_;
    if (o == 0) return Merge::kNoRoom;
    Session& spare = pooled(o);
    free_pooled_ = spare.older;
    --free_pooled_count_;
    if (time > s.start)
      copy(spare, s);
    else
      mine = &spare;
    spare.older = s.older;
    s.older = o;
  } else {
    s.older = 0;
    if (g != overflow_slot_) s.hash = rows.hash[row];
  }
  into = mine;
  into->start = time;
  into->end = end_of(rows, row);
  cells_.clear(cell(*into), 1);
  cells_.add(cell(*into), rows, row);
  if (!plain_) kept(*into) = {kNever, 0, 0, 0, false, false, false};
  ++open_;
  if (place != kNatural) move_past(*into, place);
  arm(g, *into, false);
  return Merge::kJoined;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::copy(Session& to, Session& from) {
  to.start = from.start;
  to.end = from.end;
  cells_.copy(cell(to), cell(from));
  if (!plain_) kept(to) = kept(from);
}

// May a key be looked at once more, in the wheel or in due_? One place is kept for the overflow
// slot.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::room_to_watch(uint32_t g) const {
  const bool own = g == overflow_slot_;
  if (plain_) {
    const auto* s = reinterpret_cast<const Session*>(&slots_.data()[size_t{g} * stride_]);
    return wheel_.has_room(due_.size() + (own && s->armed == TimingWheel::kIdle ? 0 : 1));
  }
  return wheel_.has_room(due_.size() + (own ? 0 : 1)) &&
         due_.size() + armed_count_ + (own ? 0 : 1) < watched_max_;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::divert(const Rows& rows, LateReason reason) {
  for (uint32_t i = 0; i < rows.count; ++i)
    counts_.unshown += !deferred_.push_outside(rows, i, reason);
}

// False: the row is late. `into` is the session that has it, if any does.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::overflow(const Rows& rows, uint32_t row, int64_t place,
                                      Session*& into) {
  into = nullptr;
  const Merge merged = merge(overflow_slot_, rows, row, place, into);
  if (merged == Merge::kLate) return false;
  const int64_t time = rows.time[row].ns, end = end_of(rows, row);
  ++counts_.overflow;
  flagged_.add(time, end);
  last_lost_ = std::max(last_lost_, rows.stamp[row].ns);
  if (merged == Merge::kJoined) return true;
  Session& s = slot(overflow_slot_);
  if (empty(s) || (!plain_ && (kept(s).fired || kept(s).said))) return true;
  s.start = std::min(s.start, time);
  s.end = std::max(s.end, end);
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
