// SessionStore, deferred rows at their place: what they change, and what that is answered by.
// Included by the files that instantiate SessionStore.
#pragma once

#include <algorithm>

#include "window/late_row.h"
#include "window/session_store.h"

namespace tidewire {

// Every place at or before the row's stamp is done.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::apply(const SingleRow& single, ResultWriter& out) {
  if (single.outside) return write_late(query_, W, values_, single, out);
  const Rows rows = single.rows();
  const int64_t stamp = single.stamp.ns;
  fired_ = std::max(fired_, stamp);
  const uint64_t line = keys_.line_of(single.hash);
  const uint32_t shard = keys_.shard_of(single.hash);
  if (shape_.leaves(end_of(rows, 0)) <= stamp &&
      keys_.lookup(rows, 0, line) == Dictionary<W>::kNone) {
    return late(single, out);  // it would meet nothing; and a late row makes no key known
  }
  uint32_t g = slot_of(rows, 0, line);
  if (g == kNone && keys_.may_recycle(shard)) {
    recycle(shard);
    g = slot_of(rows, 0, line);
  }
  Session* into = nullptr;
  switch (g == kNone ? Merge::kNoRoom : merge(g, rows, 0, stamp, into)) {
    case Merge::kJoined:
      ++counts_.deferred;
      break;
    case Merge::kLate:
      return late(single, out);
    case Merge::kNoRoom:
      g = overflow_slot_;
      if (!overflow(rows, 0, stamp, into)) return late(single, out);
      break;
  }
  if (!plain_ && into) answer(g, *into, single);
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::late(const SingleRow& single, ResultWriter& out) {
  ++counts_.late;
  if (late_rows_) write_late(query_, W, values_, single, out);
}

// The session is about to change: what it has said is set aside.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::keep_old(Session& session) {
  Kept& state = kept(session);
  if (!state.said) return;
  state.said = false;
  const uint32_t o = old_.take();
  old_.at(o) = {session.start, session.end, 0};
  cells_.copy(old_.cell(o), cell(session));
  state.old = old_.join(state.old, o);
}

// A row at `place` has joined it. Open again where it now ends behind that place.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::move_past(Session& session, int64_t place) {
  if (plain_) return;
  Kept& state = kept(session);
  state.fired = session.end <= place;
  state.changed = state.fired && shape_.gathers();
  state.due = state.changed ? shape_.point_after(session.end, place) : kNever;
}

// Results that the row itself asks for: a late one its update, one that makes a multiple of
// early_rows an early one.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::answer(uint32_t g, Session& session, const SingleRow& row) {
  Kept& state = kept(session);
  bool full = false;
  if (early_rows_ > 0) {
    const uint64_t since = uint64_t{state.since} + 1;
    full = since >= early_rows_;
    state.since = static_cast<uint32_t>(since % early_rows_);
  }
  if (state.fired ? shape_.gathers() : !full) return;
  answer_ = {.slot = g,
             .start = session.start,
             .place = row.stamp.ns,
             .position = position_of(row.rows(), 0),
             .fire = state.fired ? FireKind::kUpdate : FireKind::kEarly};
}

template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::finish_answer(ResultWriter& out) {
  Session* session = nullptr;
  each(answer_.slot, [&](Session& x) {
    if (x.start == answer_.start) session = &x;
  });
  DCHECK(session != nullptr);
  Kept& state = kept(*session);
  const bool early = answer_.fire == FireKind::kEarly;
  if (!say(answer_.slot, *session,
           {.place = {answer_.place},
            .start = {session->start},
            .end = {session->end},
            .position = answer_.position,
            .index = early ? state.index : state.index + 1,
            .kind = RunKind::kUpdate,
            .fire = answer_.fire},
           out))
    return false;
  ++state.index;
  answer_.slot = kNone;
  return true;
}

// What the session has said and takes back, then what it has to say. False: no result block is
// free, or it is much; what has been written is not written again.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::say(uint32_t g, Session& session, Run head, ResultWriter& out) {
  Kept& state = kept(session);
  rows_left_ = 0;
  head.flags = flags_of(g, session);
  constexpr uint32_t kAtOnce = 16;
  for (uint32_t taken = 0; state.old; state.old = old_.give(state.old)) {
    if (taken++ == kAtOnce) return false;
    const auto& old = old_.at(state.old);
    if (!take_back(g, head, session, old.start, old.end, old_.cell(state.old), out)) return false;
  }
  if (state.said) {  // and unchanged since
    if (!take_back(g, head, session, session.start, session.end, cell(session), out)) return false;
    state.said = false;
  }
  if (discards_ && Cells::empty(cell(session))) return true;
  if (!out.room_for(1)) return false;
  put(g, head, session.start, session.end, cell(session), out);
  ++counts_.results;
  counts_.flagged += static_cast<uint64_t>(head.flags != 0);
  if (discards_) cells_.clear(cell(session), 1);
  state.said = retracts_;
  return true;
}

template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::take_back(uint32_t g, Run head, const Session& by, int64_t start,
                                       int64_t end, const int64_t* cell, ResultWriter& out) {
  if (!out.room_for(1)) return false;
  head.fire = FireKind::kRetraction;
  // A placed row has its own window, and stands in the order where its successor does.
  const bool placed = head.kind == RunKind::kPlaced;
  head.start = {placed ? by.start : start};
  head.end = {placed ? by.end : end};
  put(g, head, start, end, cell, out);
  ++counts_.results;
  return true;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::put(uint32_t g, const Run& head, int64_t start, int64_t end,
                                 const int64_t* cell, ResultWriter& out) {
  const bool placed = head.kind == RunKind::kPlaced;
  out.begin(query_, head, placed ? row_words_ : row_words_ - 2);
  int64_t* row = out.row();
  if (placed) {
    *row++ = start;
    *row++ = end;
  }
  *row++ = static_cast<int64_t>(slot(g).hash);
  write_key(row, g);
  cells_.copy(row + W, cell);
}

}  // namespace tidewire
