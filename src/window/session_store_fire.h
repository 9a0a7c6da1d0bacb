// SessionStore, the firing side: the timeline of session ends and deferred rows, in units of one
// result, one wheel entry or one deferred row. Included by the files that instantiate SessionStore.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "window/session_store.h"

namespace tidewire {

template <uint32_t W, class Cells>
uint32_t SessionStore<W, Cells>::fire(EventTime frontier, EventTime until, uint32_t budget,
                                      ResultWriter& out) {
  CHECK(frontier.ns >= frontier_);
  frontier_ = frontier.ns;
  rows_left_ = 0;
  const int64_t limit = std::min(frontier.ns, until.ns);
  // A session's cell and key stand where nobody has looked since its last event; a row's as well.
  constexpr uint32_t kASession = 3, kARow = 8;
  uint32_t used = 0;
  while (used < budget) {
    const uint64_t results = counts_.results;
    if (answer_.slot != kNone) {
      const bool done = finish_answer(out);
      if (!done && counts_.results == results) break;
      used += std::max(1u, kASession * static_cast<uint32_t>(counts_.results - results));
      continue;
    }
    if (wheel_.draining()) {
      used += wheel_.drain([this](uint32_t g) -> uint32_t& { return slot(g).armed; },
                           [this](uint32_t g) { drained(g); });
      continue;
    }
    if (wheel_.next_tick() <= wheel_.now()) {
      wheel_.advance(wheel_.now());
      continue;
    }
    // From here on due_ holds all that stands in the wheel's tick, or before.
    const bool row = deferred_.due(frontier.ns) && deferred_.first_stamp() <= until.ns;
    const int64_t place = row ? std::min(limit, deferred_.first_stamp()) : limit;
    const int64_t first = due_.empty() ? INT64_MAX : due_.first_place();
    const bool due = !due_.empty() && first <= place;
    const uint64_t goal = wheel_.tick_of(due ? first : place);
    if (due && wheel_.now() >= goal) {
      const bool done = plain_ ? emit_plain(out) : emit(out);
      if (!done && counts_.results == results) break;
      used += std::max(1u, kASession * static_cast<uint32_t>(counts_.results - results));
    } else if (wheel_.now() < goal) {
      wheel_.advance(goal);
    } else if (row) {
      rows_left_ = 0;
      if (!out.room_for(1)) break;
      apply(deferred_.pop(), out);
      used += kARow;
    } else {
      fired_ = std::max(fired_, limit);
      if (open_ == 0 && due_.empty()) used += forget_keys(budget - used);
      break;
    }
  }
  return used;
}

// A lower bound is good enough: whoever runs up to it finds the wheel moved on.
template <uint32_t W, class Cells>
std::optional<EventTime> SessionStore<W, Cells>::next(EventTime frontier) const {
  std::optional<int64_t> place;
  const auto earliest = [&](int64_t at) {
    if (!place || at < *place) place = at;
  };
  if (wheel_.draining())
    earliest(wheel_.start_of(wheel_.now()));
  else if (wheel_.next_tick() != UINT64_MAX)
    earliest(wheel_.start_of(wheel_.next_tick()));
  if (!due_.empty()) earliest(due_.first_place());
  if (deferred_.due(frontier.ns)) earliest(deferred_.first_stamp());
  if (answer_.slot != kNone) earliest(answer_.place);
  if (!place) return std::nullopt;
  const int64_t at = std::max(*place, fired_);  // what is done is done
  if (at > frontier.ns) return std::nullopt;
  return EventTime{at};
}

// Slot by slot; an empty one costs little.
template <uint32_t W, class Cells>
uint32_t SessionStore<W, Cells>::provisional(uint32_t budget, ResultWriter& out) {
  constexpr uint32_t kEmptyAUnit = 16;
  rows_left_ = 0;
  uint64_t work = 0;  // in sixteenths
  for (; show_at_ <= overflow_slot_ && work < uint64_t{budget} * kEmptyAUnit; ++show_at_) {
    ++work;
    if (empty(slot(show_at_))) continue;
    if (!show(show_at_, out)) break;
    work += kEmptyAUnit;
  }
  if (show_at_ > overflow_slot_) show_at_ = kNone;
  return static_cast<uint32_t>(work / kEmptyAUnit);
}

// All open sessions of a slot, or none: false, no result block is free. A key that has more
// sessions than the blocks hold shows the newest ones.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::show(uint32_t g, ResultWriter& out) {
  if (!out.room_for(1)) return false;
  each(g, [&](Session& s) {
    if ((!plain_ && kept(s).fired) || Cells::empty(cell(s)) || !out.room_for(1)) return;
    put(g,
        {.place = {fired_},
         .start = {s.start},
         .end = {s.end},
         .kind = RunKind::kProvisional,
         .fire = FireKind::kProvisional,
         .flags = flags_of(g, s)},
        s.start, s.end, cell(s), out);
  });
  return true;
}

template <uint32_t W, class Cells>
StoreCounts SessionStore<W, Cells>::counts() const {
  StoreCounts counts = counts_;
  counts.still_deferred = deferred_.size();
  return counts;
}

template <uint32_t W, class Cells>
StoreUse SessionStore<W, Cells>::use() const {
  return {keys_.keys(),     keys_.max_keys(),     open_,       keys_.max_keys() + extra_,
          deferred_.size(), deferred_.capacity(), old_.used(), old_.capacity()};
}

// The session's entry, at its place or before. `brought_forward`: by a late row, so that the key's
// entry in the wheel may be too late; it stays, or each such row would leave one behind.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::arm(uint32_t g, Session& session, bool brought_forward) {
  Session& s = slot(g);
  const int64_t place = place_of(session), end = session.end;
  const uint64_t tick = wheel_.tick_of(place);
  if (plain_) {
    // In due_ already: its entry is of no later end, and rearm() follows when it comes up.
    if (s.armed == TimingWheel::kQueued) return;
    if (tick > wheel_.now()) return wheel_.arm(g, tick, s.armed);
    s.armed = TimingWheel::kQueued;
    return push_due(g, place, end);
  }
  Watch& watch = watch_[g];
  if (watch.live && std::tie(watch.place, watch.end) <= std::tie(place, end)) return;
  if (wheel_.covers(s.armed, tick)) return;
  if (tick > wheel_.now() && !brought_forward) {
    armed_count_ += static_cast<uint64_t>(s.armed == TimingWheel::kIdle);
    return wheel_.arm(g, tick, s.armed);
  }
  watch = {place, end, watch.entries + 1, true};
  push_due(g, place, end);
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::push_due(uint32_t g, int64_t place, int64_t end) {
  if (W > 1 && g != overflow_slot_)  // emit() will want it
    __builtin_prefetch(keys_.key(shard_of(g), id_of(g)));
  due_.push({place, end, slot(g).hash, g}, by_place());
}

// The wheel's entry of a key has come up.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::drained(uint32_t g) {
  armed_count_ -= static_cast<uint64_t>(!plain_);
  rearm(g);
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::rearm(uint32_t g) {
  Session* first = nullptr;
  each(g, [&](Session& x) {
    if (!first || std::pair(place_of(x), x.end) < std::pair(place_of(*first), first->end))
      first = &x;
  });
  if (first) arm(g, *first, false);
}

template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::after(const DueSession& a, const DueSession& b) const {
  if (a.place != b.place) return a.place > b.place;
  if (a.end != b.end) return a.end > b.end;
  if (a.hash != b.hash) return a.hash > b.hash;
  if (a.slot == overflow_slot_ || b.slot == overflow_slot_) return a.slot > b.slot;
  const uint32_t shard = keys_.shard_of(a.hash), first = shard * keys_.capacity();
  const int64_t* x = keys_.key(shard, a.slot - first);
  const int64_t* y = keys_.key(shard, b.slot - first);
  return std::lexicographical_compare(y, y + W, x, x + W);
}

// The first that is due. False: no result block is free.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::emit_plain(ResultWriter& out) {
  const DueSession due = due_.first(by_place());
  __builtin_prefetch(&slot(due_.second_slot()), 1, 3);
  const uint32_t g = due.slot;
  Session* found = nullptr;
  each(g, [&](Session& x) {
    if (x.end == due.end) found = &x;
  });
  if (found && !write(g, *found, out)) return false;
  due_.pop(by_place());
  slot(g).armed = TimingWheel::kIdle;
  if (found) leave(g, *found);
  rearm(g);
  return true;
}

// The same where one key may have several entries and several sessions that end there: of those
// the one that starts first is older.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::emit(ResultWriter& out) {
  const DueSession due = due_.first(by_place());
  Watch& watch = watch_[due.slot];
  const bool live = watch.live && watch.place == due.place && watch.end == due.end;
  Session* found = nullptr;
  if (live)
    each(due.slot, [&](Session& x) {
      if (x.end == due.end && place_of(x) == due.place && (!found || x.start < found->start))
        found = &x;
    });
  if (found && !fire_session(due.slot, *found, due.place, out)) return false;
  due_.pop(by_place());
  --watch.entries;
  if (live) {
    watch.live = false;
    rearm(due.slot);
  }
  // Its stale entries kept the key.
  if (watch.entries == 0 && due.slot != overflow_slot_ && empty(slot(due.slot)))
    keys_.note_closed(shard_of(due.slot));
  return true;
}

// What stands at this place for the session: its end, a point for late rows, the end of its stay.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::fire_session(uint32_t g, Session& session, int64_t place,
                                          ResultWriter& out) {
  Kept& state = kept(session);
  const int64_t end = session.end;
  if (!state.fired) {
    if (retracts_ || discards_) {
      if (!say(g, session, {.place = {place}, .kind = RunKind::kPlaced}, out)) return false;
    } else if (!write(g, session, out)) {
      return false;
    }
    state.fired = true;
    state.index = 0;
  } else if (state.changed && state.due == place) {
    if (!say(g, session,
             {.place = {place},
              .index = shape_.number_of(end, place),
              .kind = RunKind::kPlaced,
              .fire = FireKind::kUpdate},
             out))
      return false;
  }
  state.changed = false;
  state.due = kNever;
  if (shape_.leaves(end) <= place) leave(g, session);
  return true;
}

template <uint32_t W, class Cells>
uint16_t SessionStore<W, Cells>::flags_of(uint32_t g, const Session& session) const {
  uint16_t flags = g == overflow_slot_ ? kFlagOverflow | kFlagOverflowRow : 0;
  if (!flagged_.empty() && flagged_.meets(session.start, session.end)) flags |= kFlagOverflow;
  return flags;
}

// On time, all so far: one run for many.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::write(uint32_t g, Session& session, ResultWriter& out) {
  const uint16_t flags = flags_of(g, session);
  if (rows_left_ == 0 || flags != run_flags_) {
    if (!out.room_for(1)) return false;
    out.begin(query_, {.place = {session.end}, .kind = RunKind::kPlaced, .flags = flags},
              row_words_);
    rows_left_ = ResultWriter::rows_in(1, row_words_);
    run_flags_ = flags;
  }
  --rows_left_;
  int64_t* row = out.row();
  row[0] = session.start;
  row[1] = session.end;
  row[2] = static_cast<int64_t>(slot(g).hash);
  write_key(row + 3, g);
  cells_.copy(row + 3 + W, cell(session));
  ++counts_.results;
  counts_.flagged += static_cast<uint64_t>(flags != 0);
  return true;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::write_key(int64_t* at, uint32_t g) {
  if (W > 0 && g != overflow_slot_)
    keys_.write_key(at, shard_of(g), id_of(g), slot(g).hash);
  else
    std::fill(at, at + W, 0);
}

// The session is done with.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::leave(uint32_t g, Session& session) {
  --open_;
  Session& s = slot(g);
  if (&session != &s) {
    uint32_t* link = &s.older;
    while (&pooled(*link) != &session) link = &pooled(*link).older;
    const uint32_t o = *link;
    *link = pooled(o).older;
    return give_pooled(o);
  }
  DCHECK(s.older == 0);  // the newest one ends last
  make_empty(s);
  closed(g);
}

// The key has no session left.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::closed(uint32_t g) {
  if (open_ == 0) {
    emptied_ = frontier_;
    // Whatever a lost row would have made is done with too.
    if (fired_ >= last_lost_ && !flagged_.empty())
      flagged_.drop_through(shape_.lived_before(fired_));
  }
  if (g == overflow_slot_) return;
  const uint32_t shard = shard_of(g);
  keys_.note_closed(shard);
  if (keys_.pressed(shard)) recycle(shard);
}

// Nothing is open: once the frontier has gone a gap further, the keys are forgotten too.
template <uint32_t W, class Cells>
uint32_t SessionStore<W, Cells>::forget_keys(uint32_t budget) {
  if (frontier_ != INT64_MAX && static_cast<uint64_t>(frontier_) - static_cast<uint64_t>(emptied_) <
                                    static_cast<uint64_t>(shape_.usual_gap()))
    return 0;
  uint32_t used = 0;
  for (; keys_.keys() > 0 && used < budget; forget_at_ = (forget_at_ + 1) % keys_.shards()) {
    used += 1 + keys_.used(forget_at_) / 8;
    recycle(forget_at_);
  }
  return used;
}

// Entries of due_ are in the order of their keys: who has one stays.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::recycle(uint32_t shard) {
  keys_.recycle(shard, [this, shard](uint32_t id) {
    const uint32_t g = shard * keys_.capacity() + id;
    return !empty(slot(g)) || (!plain_ && watch_[g].entries > 0);
  });
}

}  // namespace tidewire
