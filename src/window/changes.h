// What late rows have changed in windows that had shown their time already (core.md "Discard,
// retract"): one entry a (window, key), from the first such row until the window's clean-up.
//
//   discarding   cell = what has come since the window's last result and is in none of its panes
//                still to be shown
//   retracting   cell = what the window's last result said
//   always       how many results of single rows there were behind the window's end, and whether
//                one is due at its next gathered point
//
// A treap over a bounded table, by (window end, hash, key): the order in which results leave
// (core.md rule 8). Changes do not move, so a cursor is an index. Full: add() gives kNone and the
// caller counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "query/plan.h"
#include "window/dictionary.h"
#include "window/reserve.h"

namespace tidewire {

template <uint32_t W>
class Changes {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Change {
    int64_t end;
    uint64_t hash;
    uint32_t shard, id;  // of the key
    uint32_t left, right, priority;
    uint32_t updates;  // results of single rows behind the end
    bool has_cell;
    bool due;  // at the window's next gathered point
  };

  Changes(const Plan& plan, uint32_t cell_words, const Dictionary<W>& keys, Reserve& reserve)
      : keys_(keys),
        words_(plan.window.accumulation == Accumulation::kAccumulating ? 0 : cell_words),
        change_(reserve.take<Change>(plan.max_changes, "changes")),
        cell_(reserve.take<int64_t>(plan.max_changes * words_, "changes")) {
    CHECK(plan.max_changes < kNone);
    for (Change& change : change_) give(static_cast<uint32_t>(&change - change_.data()));
  }

  uint64_t size() const { return used_; }
  uint64_t capacity() const { return change_.size(); }
  uint64_t left() const { return change_.size() - used_; }
  Change& operator[](uint32_t at) { return change_[at]; }
  int64_t* cell(uint32_t at) { return &cell_[size_t{at} * words_]; }

  // A change's priority is known before it is found, and below lesser ones it cannot be.
  uint32_t find(int64_t end, uint64_t hash, const int64_t* key) const {
    const uint32_t priority = priority_of(end, hash);
    for (uint32_t c = root_; c != kNone && change_[c].priority >= priority;) {
      const Change& change = change_[c];
      if (before(end, hash, key, change))
        c = change.left;
      else if (behind(end, hash, key, change))
        c = change.right;
      else
        return c;
    }
    return kNone;
  }
  // The same, made where it is not there yet; there is room.
  uint32_t find_or_add(int64_t end, uint64_t hash, uint32_t shard, uint32_t id) {
    const uint32_t priority = priority_of(end, hash);
    const int64_t* key = keys_.key(shard, id);
    uint32_t* link = &root_;
    while (*link != kNone && change_[*link].priority >= priority) {
      Change& change = change_[*link];
      if (before(end, hash, key, change))
        link = &change.left;
      else if (behind(end, hash, key, change))
        link = &change.right;
      else
        return *link;
    }
    DCHECK(free_ != kNone);
    const uint32_t made = free_;
    Change& change = change_[made];
    free_ = change.left;
    ++used_;
    first_end_ = std::min(first_end_, end);
    change = {end, hash, shard, id, kNone, kNone, priority, 0, false, false};
    // What hung there is split into what comes before the new one and what behind.
    uint32_t rest = *link;
    *link = made;
    uint32_t *less = &change.left, *more = &change.right;
    while (rest != kNone) {
      Change& other = change_[rest];
      if (before(end, hash, key, other)) {
        *more = rest;
        more = &other.left;
        rest = other.left;
      } else {
        *less = rest;
        less = &other.right;
        rest = other.right;
      }
    }
    *less = *more = kNone;
    return made;
  }

  // The window's first, and the one behind; kNone: there is none.
  uint32_t first_of(int64_t end) const { return of(end, first_from(end, 0, nullptr)); }
  uint32_t next(uint32_t at) const {
    const Change& change = change_[at];
    const int64_t* key = keys_.key(change.shard, change.id);
    uint32_t found = kNone;
    for (uint32_t c = root_; c != kNone;) {
      if (before(change.end, change.hash, key, change_[c])) {
        found = c;
        c = change_[c].left;
      } else {
        c = change_[c].right;
      }
    }
    return of(change.end, found);
  }
  // The earliest window that has any; there is one.
  bool empty() const { return root_ == kNone; }
  int64_t first_end() const { return first_end_; }
  // Takes that window's out; their places are given back one by one. None may be on its way.
  void drop_first() {
    DCHECK(!freeing());
    freed_end_ = first_end_;
    uint32_t rest = kNone, *less = &gone_, *more = &rest;
    for (uint32_t c = root_; c != kNone;) {
      if (change_[c].end <= freed_end_) {
        *less = c;
        less = &change_[c].right;
        c = *less;
      } else {
        *more = c;
        more = &change_[c].left;
        c = *more;
      }
    }
    *less = *more = kNone;
    root_ = rest;
    first_end_ = INT64_MAX;
    for (uint32_t c = root_; c != kNone; c = change_[c].left) first_end_ = change_[c].end;
  }
  bool freeing() const { return gone_ != kNone; }
  int64_t freed_end() const { return freed_end_; }
  // One step, of one or two for each place: what hangs to the left comes up, or the top is free.
  void free_one() {
    const uint32_t top = gone_, left = change_[top].left;
    if (left != kNone) {
      change_[top].left = change_[left].right;
      change_[left].right = top;
      gone_ = left;
      return;
    }
    gone_ = change_[top].right;
    give(top);
    --used_;
  }

 private:
  static uint32_t priority_of(int64_t end, uint64_t hash) {
    const uint64_t mixed = (hash ^ static_cast<uint64_t>(end)) * 0x9E3779B97F4A7C15u;
    return static_cast<uint32_t>(mixed >> 32);
  }
  void give(uint32_t at) {
    change_[at].left = free_;
    free_ = at;
  }
  uint32_t of(int64_t end, uint32_t at) const {
    return at != kNone && change_[at].end == end ? at : kNone;
  }
  // Is (end, hash, key) before the change? No key: before all with that hash.
  bool before(int64_t end, uint64_t hash, const int64_t* key, const Change& change) const {
    if (end != change.end) return end < change.end;
    if (hash != change.hash) return hash < change.hash;
    const int64_t* other = keys_.key(change.shard, change.id);
    return key != nullptr && std::lexicographical_compare(key, key + W, other, other + W);
  }
  bool behind(int64_t end, uint64_t hash, const int64_t* key, const Change& change) const {
    if (end != change.end) return end > change.end;
    if (hash != change.hash) return hash > change.hash;
    const int64_t* other = keys_.key(change.shard, change.id);
    return key != nullptr && std::lexicographical_compare(other, other + W, key, key + W);
  }
  uint32_t first_from(int64_t end, uint64_t hash, const int64_t* key) const {
    uint32_t found = kNone;
    for (uint32_t c = root_; c != kNone;) {
      if (behind(end, hash, key, change_[c])) {
        c = change_[c].right;
      } else {
        found = c;
        c = change_[c].left;
      }
    }
    return found;
  }

  const Dictionary<W>& keys_;
  uint32_t words_;
  std::span<Change> change_;
  std::span<int64_t> cell_;
  uint32_t root_ = kNone, free_ = kNone;
  int64_t first_end_ = INT64_MAX;
  uint32_t gone_ = kNone;  // of the window `freed_end_`: a tree of what is to be given back
  int64_t freed_end_ = INT64_MIN;
  uint64_t used_ = 0;
};

// Windows that have something due at a gathered point, by their ends.
class GatheredWindows {
 public:
  GatheredWindows(const Plan& plan, Reserve& reserve)
      : window_(reserve.take<Window>(plan.window.gather.ns > 0 ? plan.max_changes : 0, "changes")) {
  }

  bool empty() const { return used_ == 0; }
  int64_t first_due() const { return first_due_; }
  void add(int64_t end, int64_t due) {
    Window* const at = from(end);
    if (at != last() && at->end == end) return;
    std::copy_backward(at, last(), last() + 1);
    *at = {end, due};
    ++used_;
    first_due_ = std::min(first_due_, due);
  }
  // The first window behind `after` that is due there; INT64_MAX: none.
  int64_t next(int64_t due, int64_t after) {
    for (Window* at = from(after); at != last(); ++at)
      if (at->end > after && at->due == due) return at->end;
    return INT64_MAX;
  }
  void remove(int64_t end) {
    Window* const at = from(end);
    DCHECK(at != last() && at->end == end);
    std::copy(at + 1, last(), at);
    --used_;
    first_due_ = INT64_MAX;
    for (const Window& window : window_.first(used_)) first_due_ = std::min(first_due_, window.due);
  }

 private:
  struct Window {
    int64_t end, due;
  };
  Window* last() { return window_.data() + used_; }
  Window* from(int64_t end) {
    return std::lower_bound(window_.data(), last(), end,
                            [](const Window& w, int64_t e) { return w.end < e; });
  }

  std::span<Window> window_;
  size_t used_ = 0;
  int64_t first_due_ = INT64_MAX;
};

}  // namespace tidewire
