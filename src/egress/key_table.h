// What egress remembers of a query's keys: the last two values that left, and the windows that are
// to be filled in behind the last one with rows. One query's table, bounded by Plan::max_keys, by
// (hash, key); all memory at construction.
//
// Rows come in canonical order, so whatever is decided here by that order alone is the same on any
// number of workers: an entry goes when nothing is asked of it any more, or, in a full table, the
// one whose rows lie longest back gives way.
#pragma once

#include <cstdint>
#include <vector>

#include "base/int128.h"
#include "query/plan.h"

namespace tidewire {

class KeyTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    uint64_t hash = 0;
    int64_t latest = INT64_MIN;     // end of the last window that left on time; INT64_MIN: none
    int64_t previous = INT64_MIN;   // of the one before
    int64_t with_rows = INT64_MIN;  // of the last one that had rows
    uint32_t fills_left = 0;
    uint32_t heap_at = kNone;               // place in the heap of due fills
    uint32_t older = kNone, newer = kNone;  // by when rows came last; free: `newer` is the next
  };

  // `numbers`: values kept of a window; `windows`: 1 or 2, the latest alone or the one before too.
  KeyTable(uint64_t capacity, uint32_t key_words, uint32_t numbers, uint32_t windows);

  uint32_t find(uint64_t hash, const int64_t* key) const;
  // Of a key that is not there, in a table that is not full; it is the newest.
  uint32_t add(uint64_t hash, const int64_t* key);
  void touch(uint32_t at);  // makes it the newest
  // The words of its key stay readable until the next add().
  void erase(uint32_t at);
  bool full() const { return free_ == kNone; }
  uint32_t oldest() const { return oldest_; }
  uint32_t size() const { return size_; }

  Entry& operator[](uint32_t at) { return entries_[at]; }
  const Entry& operator[](uint32_t at) const { return entries_[at]; }
  const int64_t* key(uint32_t at) const { return keys_.data() + size_t{at} * key_words_; }
  int128* latest(uint32_t at) { return numbers_.data() + size_t{at} * numbers_each_ * windows_; }
  int128* previous(uint32_t at) { return latest(at) + (windows_ - 1) * numbers_each_; }

  static uint64_t bytes(uint64_t capacity, uint32_t key_words, uint32_t numbers, uint32_t windows);

 private:
  static size_t slots_for(uint64_t capacity);
  size_t slot_of(uint64_t hash) const { return (hash * 0x9E3779B97F4A7C15u) >> shift_; }
  void link_newest(uint32_t at);
  void unlink(uint32_t at);

  uint32_t key_words_, numbers_each_, windows_;
  uint32_t shift_;
  std::vector<uint32_t> slots_;  // entries, by hash; open addressing, at most half full
  std::vector<Entry> entries_;
  std::vector<int64_t> keys_;
  std::vector<int128> numbers_;
  uint32_t free_ = 0, oldest_ = kNone, newest_ = kNone, size_ = 0;
};

}  // namespace tidewire
