#include "egress/key_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace tidewire {

size_t KeyTable::slots_for(uint64_t capacity) { return std::bit_ceil(capacity * 2); }

uint64_t KeyTable::bytes(uint64_t capacity, uint32_t key_words, uint32_t numbers,
                         uint32_t windows) {
  const uint64_t entry =
      sizeof(Entry) + key_words * sizeof(int64_t) + uint64_t{numbers} * windows * sizeof(int128);
  return slots_for(capacity) * sizeof(uint32_t) + capacity * entry;
}

KeyTable::KeyTable(uint64_t capacity, uint32_t key_words, uint32_t numbers, uint32_t windows)
    : key_words_(key_words), numbers_each_(numbers), windows_(windows) {
  CHECK(capacity > 0 && capacity < kNone / 2);
  CHECK(windows == 1 || windows == 2);
  slots_.assign(slots_for(capacity), kNone);
  shift_ = 64 - static_cast<uint32_t>(std::countr_zero(slots_.size()));
  entries_.resize(capacity);
  keys_.resize(capacity * key_words);
  numbers_.resize(capacity * numbers * windows);
  for (uint32_t i = 0; i + 1 < capacity; ++i) entries_[i].newer = i + 1;
}

uint32_t KeyTable::find(uint64_t hash, const int64_t* key) const {
  const size_t mask = slots_.size() - 1;
  for (size_t s = slot_of(hash); slots_[s] != kNone; s = (s + 1) & mask) {
    const uint32_t at = slots_[s];
    if (entries_[at].hash == hash && std::equal(key, key + key_words_, this->key(at))) return at;
  }
  return kNone;
}

uint32_t KeyTable::add(uint64_t hash, const int64_t* key) {
  CHECK(!full());
  const uint32_t at = free_;
  free_ = entries_[at].newer;
  entries_[at] = Entry{};
  entries_[at].hash = hash;
  std::copy_n(key, key_words_, keys_.data() + size_t{at} * key_words_);
  const size_t mask = slots_.size() - 1;
  size_t s = slot_of(hash);
  while (slots_[s] != kNone) s = (s + 1) & mask;
  slots_[s] = at;
  link_newest(at);
  ++size_;
  return at;
}

void KeyTable::touch(uint32_t at) {
  if (at == newest_) return;
  unlink(at);
  link_newest(at);
}

void KeyTable::erase(uint32_t at) {
  const size_t mask = slots_.size() - 1;
  size_t hole = slot_of(entries_[at].hash);
  while (slots_[hole] != at) hole = (hole + 1) & mask;
  // What stands behind the hole moves up unless that would take it before its own place.
  for (size_t s = (hole + 1) & mask; slots_[s] != kNone; s = (s + 1) & mask) {
    const size_t own = slot_of(entries_[slots_[s]].hash);
    if (((s - own) & mask) < ((s - hole) & mask)) continue;
    slots_[hole] = slots_[s];
    hole = s;
  }
  slots_[hole] = kNone;
  unlink(at);
  entries_[at].newer = free_;
  free_ = at;
  --size_;
}

void KeyTable::link_newest(uint32_t at) {
  entries_[at].older = newest_;
  entries_[at].newer = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = at;
  newest_ = at;
}

void KeyTable::unlink(uint32_t at) {
  const Entry& e = entries_[at];
  (e.older == kNone ? oldest_ : entries_[e.older].newer) = e.newer;
  (e.newer == kNone ? newest_ : entries_[e.newer].older) = e.older;
}

}  // namespace tidewire
