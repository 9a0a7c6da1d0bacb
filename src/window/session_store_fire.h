// SessionStore, the firing side: the timeline of session ends and deferred rows, in units of one
// result, one wheel entry or one deferred row. Included by the files that instantiate SessionStore.
#pragma once

#include <algorithm>

#include "window/late_row.h"
#include "window/session_store.h"

namespace tidewire {

template <uint32_t W, class Cells>
uint32_t SessionStore<W, Cells>::fire(EventTime frontier, EventTime until, uint32_t budget,
                                      ResultWriter& out) {
  CHECK(frontier.ns >= frontier_);
  frontier_ = frontier.ns;
  rows_left_ = 0;
  const int64_t limit = std::min(frontier.ns, until.ns);
  uint32_t used = 0;
  while (used < budget) {
    if (wheel_.draining()) {
      used += wheel_.drain([this](uint32_t g) -> uint32_t& { return slot(g).armed; },
                           [this](uint32_t g) { rearm(g); });
      continue;
    }
    if (wheel_.next_tick() <= wheel_.now()) {
      wheel_.advance(wheel_.now());
      continue;
    }
    // From here on the heap holds all that ends in the wheel's tick, or before.
    const bool row = deferred_.due(frontier.ns) && deferred_.first_stamp() <= until.ns;
    const int64_t place = row ? std::min(limit, deferred_.first_stamp()) : limit;
    if (due_count_ > 0 && heap_[0].end <= place) {
      if (!emit(out)) break;
      ++used;
    } else if (const uint64_t goal = wheel_.tick_of(place); wheel_.now() < goal) {
      wheel_.advance(goal);
    } else if (row) {
      rows_left_ = 0;
      if (!out.room_for(1)) break;
      apply(deferred_.pop(), out);
      used += 2;
    } else {
      fired_ = std::max(fired_, limit);
      if (open_ == 0) used += forget_keys(budget - used);
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
  if (due_count_ > 0) earliest(heap_[0].end);
  if (deferred_.due(frontier.ns)) earliest(deferred_.first_stamp());
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

// All sessions of a slot, or none: false, no result block is free. A key that has more sessions
// than the blocks hold shows the newest ones.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::show(uint32_t g, ResultWriter& out) {
  if (!out.room_for(1)) return false;
  const bool lost = g == overflow_slot_;
  const uint32_t row_words = 1 + W + cells_.words();
  for (Session* s = &slot(g); out.room_for(1); s = &pooled(s->older)) {
    const int64_t end = end_of(*s);
    uint16_t flags = lost ? kFlagOverflow | kFlagOverflowRow : 0;
    if (flagged_.meets(s->start, end)) flags |= kFlagOverflow;
    out.begin(query_,
              {.place = {fired_},
               .start = {s->start},
               .end = {end},
               .kind = RunKind::kProvisional,
               .fire = FireKind::kProvisional,
               .flags = flags},
              row_words);
    int64_t* row = out.row();
    row[0] = static_cast<int64_t>(slot(g).hash);
    if (W > 0 && !lost) {
      const int64_t* key = keys_.key(g / keys_.capacity(), g % keys_.capacity());
      std::copy(key, key + W, row + 1);
    } else {
      std::fill(row + 1, row + 1 + W, 0);
    }
    cells_.copy(row + 1 + W, cell(*s));
    if (s->older == 0) break;
  }
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
  return {keys_.keys(),     keys_.max_keys(),    open_, keys_.max_keys() + extra_,
          deferred_.size(), deferred_.capacity()};
}

// At its place: every session that ends at or before its stamp has left.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::apply(const SingleRow& single, ResultWriter& out) {
  if (single.outside) return write_late(query_, W, values_, single, out);
  const Rows rows = single.rows();
  const int64_t stamp = single.stamp.ns;
  fired_ = std::max(fired_, stamp);
  const uint64_t line = keys_.line_of(single.hash);
  const uint32_t shard = keys_.shard_of(single.hash);
  if (single.time.ns + gap_ <= stamp && keys_.lookup(rows, 0, line) == Dictionary<W>::kNone) {
    return late(single, out);  // it would meet nothing; and a late row makes no key known
  }
  uint32_t g = slot_of(rows, 0, line);
  if (g == kNone && keys_.may_recycle(shard)) {
    recycle(shard);
    g = slot_of(rows, 0, line);
  }
  switch (g == kNone ? Merge::kNoRoom : merge(g, rows, 0, stamp)) {
    case Merge::kJoined:
      ++counts_.deferred;
      return;
    case Merge::kLate:
      return late(single, out);
    case Merge::kNoRoom:
      if (!overflow(rows, 0, stamp)) late(single, out);
      return;
  }
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::late(const SingleRow& single, ResultWriter& out) {
  ++counts_.late;
  if (late_rows_) write_late(query_, W, values_, single, out);
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::arm(uint32_t g, int64_t end) {
  Session& s = slot(g);
  // In the heap already: its entry is of no later end, and rearm() follows when it comes up.
  if (s.armed == TimingWheel::kQueued) return;
  const uint64_t tick = wheel_.tick_of(end);
  if (tick > wheel_.now()) return wheel_.arm(g, tick, s.armed);
  s.armed = TimingWheel::kQueued;
  if (W > 0 && g != overflow_slot_)  // emit() will want it
    __builtin_prefetch(keys_.key(g / keys_.capacity(), g % keys_.capacity()));
  heap_[due_count_++] = {end, s.hash, g};
  std::push_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(due_count_),
                 [this](const Due& a, const Due& b) { return after(a, b); });
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::rearm(uint32_t g) {
  Session& s = slot(g);
  if (empty(s)) return;
  int64_t first = end_of(s);
  for (uint32_t o = s.older; o; o = pooled(o).older) first = std::min(first, end_of(pooled(o)));
  arm(g, first);
}

template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::after(const Due& a, const Due& b) const {
  if (a.end != b.end) return a.end > b.end;
  if (a.hash != b.hash) return a.hash > b.hash;
  if (a.slot == overflow_slot_ || b.slot == overflow_slot_) return a.slot > b.slot;
  const uint32_t capacity = keys_.capacity();
  const int64_t* x = keys_.key(a.slot / capacity, a.slot % capacity);
  const int64_t* y = keys_.key(b.slot / capacity, b.slot % capacity);
  return std::lexicographical_compare(y, y + W, x, x + W);
}

// The first of the heap. False: no result block is free.
template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::emit(ResultWriter& out) {
  const Due due = heap_[0];
  Session& s = slot(due.slot);
  uint32_t* link = nullptr;  // to the session that ends there; null: the newest one
  bool found = !empty(s) && end_of(s) == due.end;
  for (uint32_t* at = &s.older; !found && *at; at = &pooled(*at).older)
    if (end_of(pooled(*at)) == due.end) {
      link = at;
      found = true;
    }
  if (found && !write(due, link ? pooled(*link) : s, out)) return false;
  std::pop_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(due_count_),
                [this](const Due& a, const Due& b) { return after(a, b); });
  --due_count_;
  s.armed = TimingWheel::kIdle;
  if (found) {
    --open_;
    if (link) {
      const uint32_t o = *link;
      *link = pooled(o).older;
      give_pooled(o);
    } else {
      DCHECK(s.older == 0);  // the newest one ends last
      cells_.clear(cell(s), 1);
      closed(due.slot);
    }
  }
  rearm(due.slot);
  return true;
}

template <uint32_t W, class Cells>
bool SessionStore<W, Cells>::write(const Due& due, Session& session, ResultWriter& out) {
  const bool lost = due.slot == overflow_slot_;
  uint16_t flags = lost ? kFlagOverflow | kFlagOverflowRow : 0;
  if (!flagged_.empty() && flagged_.meets(session.start, due.end)) flags |= kFlagOverflow;
  if (rows_left_ == 0 || flags != run_flags_) {
    if (!out.room_for(1)) return false;
    out.begin(query_, {.place = {due.end}, .kind = RunKind::kPlaced, .flags = flags}, row_words_);
    rows_left_ = ResultWriter::rows_in(1, row_words_);
    run_flags_ = flags;
  }
  --rows_left_;
  int64_t* row = out.row();
  row[0] = session.start;
  row[1] = due.end;
  row[2] = static_cast<int64_t>(due.hash);
  if (W > 0 && !lost) {
    const int64_t* key = keys_.key(due.slot / keys_.capacity(), due.slot % keys_.capacity());
    std::copy(key, key + W, row + 3);
  } else {
    std::fill(row + 3, row + 3 + W, 0);
  }
  cells_.copy(row + 3 + W, cell(session));
  ++counts_.results;
  counts_.flagged += static_cast<uint64_t>(flags != 0);
  return true;
}

// The key has no session left.
template <uint32_t W, class Cells>
void SessionStore<W, Cells>::closed(uint32_t g) {
  if (open_ == 0) {
    emptied_ = frontier_;
    if (fired_ > INT64_MIN + gap_) flagged_.drop_through(fired_ - gap_);
  }
  if (g == overflow_slot_) return;
  const uint32_t shard = g / keys_.capacity();
  keys_.note_closed(shard);
  if (keys_.pressed(shard)) recycle(shard);
}

// Nothing is open: once the frontier has gone a gap further, the keys are forgotten too.
template <uint32_t W, class Cells>
uint32_t SessionStore<W, Cells>::forget_keys(uint32_t budget) {
  if (frontier_ != INT64_MAX && static_cast<uint64_t>(frontier_) - static_cast<uint64_t>(emptied_) <
                                    static_cast<uint64_t>(gap_))
    return 0;
  uint32_t used = 0;
  for (; keys_.keys() > 0 && used < budget; forget_at_ = (forget_at_ + 1) % keys_.shards()) {
    used += 1 + keys_.used(forget_at_) / 8;
    recycle(forget_at_);
  }
  return used;
}

template <uint32_t W, class Cells>
void SessionStore<W, Cells>::recycle(uint32_t shard) {
  keys_.recycle(shard,
                [this, shard](uint32_t id) { return !empty(slot(shard * keys_.capacity() + id)); });
}

}  // namespace tidewire
