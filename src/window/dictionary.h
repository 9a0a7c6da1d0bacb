// From a key to a small id, dense in the key's shard: the id is the index of its cell in every
// chunk of that shard. One cache line of 64 B is loaded per row and compared at once:
//
//   | word 0 .. word 5 | id 0 .. id 5 | used | spilled |       used counts words
//
//   W = 1  a word is the key's hash: a product with an odd number, so equal hash = equal key
//   W = 2  two words are the key itself, three keys a line
//   W = 4  a word is the key's hash; whoever found it compares the key (confirm), since 32 B a key
//          would leave one key a line
//   W = 0  one key, id 0
//
// The line is chosen by the hash's top bits, so walking a shard's lines is nearly walking in hash
// order: in_order() is that walk (core.md rule 8). What does not fit its line spills into the next,
// past the shard's last line into kSpill lines of its own: nothing crosses shards.
//
// Sized at start; ids are recycled shard by shard: recycle() keeps the keys that someone still
// refers to and builds the shard's lines anew. Nothing that is emitted depends on ids or on the
// order of keys in a line.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/hash.h"
#include "base/int128.h"
#include "event/rows.h"
#include "query/plan.h"
#include "window/reserve.h"

namespace tidewire {

// How many keys a shard must have room for: keys fall on shards by hash, so the fullest holds more
// than the mean; five standard deviations and a constant for small ones. A single shard gets all.
inline uint32_t shard_capacity(const Plan& plan) {
  if (plan.key_words == 0) return 2;
  const uint64_t mean = (plan.max_keys + plan.shards - 1) / plan.shards;
  uint64_t sigma = 1;
  while (sigma * sigma < mean) ++sigma;
  const uint64_t capacity = plan.shards == 1 ? std::max<uint64_t>(mean, 1) : mean + 5 * sigma + 16;
  CHECK(capacity < 65'000);                                     // ids have 16 bits
  return static_cast<uint32_t>((capacity + 1) & ~uint64_t{1});  // even: a chunk fills whole lines
}

template <uint32_t W>
class Dictionary {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // match() alone proves that the key is there.
  static constexpr bool kExact = W != 4;

  Dictionary(const Plan& plan, ShardRange range, Reserve& reserve)
      : seed_(plan.seed),
        capacity_(shard_capacity(plan)),
        limit_(W == 0             ? 1
               : plan.shards == 1 ? static_cast<uint32_t>(std::max<uint64_t>(plan.max_keys, 1))
                                  : capacity_),
        shard_bits_(static_cast<uint32_t>(std::countr_zero(plan.shards))),
        first_shard_(range.first),
        shards_(range.count) {
    CHECK(std::has_single_bit(plan.shards) && plan.shards <= 65'536);
    const uint64_t mean = (plan.max_keys + plan.shards - 1) / plan.shards;
    lines_a_shard_ = W == 0 ? 0 : mean * 10 / (W == 2 ? 14 : 26) + 1;  // 2.6 keys a line, or 1.4
    const uint64_t stride = W == 0 ? 0 : lines_a_shard_ + kSpill;
    lines_total_ = lines_a_shard_ * plan.shards;
    line_ = reserve.take<Line>(shards_ * stride, "keys");
    key_ = reserve.take<int64_t>(static_cast<size_t>(shards_) * capacity_ * W, "keys");
    order_ = reserve.take<uint16_t>(static_cast<size_t>(shards_) * capacity_, "keys");
    shard_ = reserve.take<Shard>(shards_, "keys");
    sort_ = reserve.take<uint64_t>(capacity_, "keys");
    if (W == 0 && !shard_.empty()) shard_[0] = Shard{1, 1, 1, 0, false};
  }

  uint32_t shards() const { return shards_; }
  uint32_t capacity() const { return capacity_; }
  uint64_t max_keys() const { return static_cast<uint64_t>(limit_) * shards_; }
  uint64_t keys() const { return W == 0 ? 0 : keys_; }  // the keyless query's one id is no key

  uint32_t shard_of(uint64_t hash) const {
    if constexpr (W == 0) return 0;
    const uint32_t shard = static_cast<uint32_t>((hash >> 1) >> (63 - shard_bits_)) - first_shard_;
    DCHECK(shard < shards_);
    return shard;
  }
  // Ids handed out lie below this; chunks need not be looked at beyond it.
  uint32_t high(uint32_t shard) const { return shard_[shard].high; }
  uint32_t used(uint32_t shard) const { return shard_[shard].used; }
  const int64_t* key(uint32_t shard, uint32_t id) const {
    return &key_.data()[(static_cast<size_t>(shard) * capacity_ + id) * W];
  }
  uint64_t hash_of(const int64_t* key) const { return hash_words<W>(key, seed_); }
  // The key itself. W == 1: where the hash is at hand, its line need not be.
  void write_key(int64_t* to, uint32_t shard, uint32_t id, uint64_t hash) const {
    if constexpr (W == 1) {
      *to = static_cast<int64_t>(hash * unhash_);
    } else {
      const int64_t* from = key(shard, id);
      std::copy(from, from + W, to);
    }
  }

  uint64_t line_of(uint64_t hash) const {
    if constexpr (W == 0) return 0;
    const auto line = static_cast<uint64_t>((static_cast<uint128>(hash) * lines_total_) >> 64);
    return line - first_shard_ * lines_a_shard_ + shard_of(hash) * uint64_t{kSpill};
  }
  void prefetch(uint64_t line) const {
    if constexpr (W != 0) __builtin_prefetch(&line_.data()[line], 1, 3);
  }

  // Looks only into the key's own line and does not branch. `found` is false where the key is new,
  // spilled, or (W == 4) certainly another; the id is then any small number.
  struct Match {
    uint32_t id;
    bool found;
  };
  Match match(const Rows& rows, uint32_t row, uint64_t line) const {
    if constexpr (W == 0) return {0, true};
    const Line& l = line_.data()[line];
    const uint32_t hits = hits_in(l, rows, row);
    return {(&l.id[0])[std::countr_zero(hits | 1u << 6)], hits != 0};  // a miss reads `used`
  }
  // W == 4: is this id's key the row's?
  bool confirm(uint32_t shard, uint32_t id, const Rows& rows, uint32_t row) const {
    const int64_t* k = key(shard, id);
    bool same = true;
    for (uint32_t w = 0; w < W; ++w) same &= k[w] == rows.key[w][row];
    return same;
  }
  // The whole search, without and with making a new id; kNone: not known, or the shard is full.
  uint32_t lookup(const Rows& rows, uint32_t row, uint64_t line) const {
    return search(rows, row, line).id;
  }
  [[gnu::noinline]] uint32_t find(const Rows& rows, uint32_t row, uint64_t line) {
    if constexpr (W == 0) return 0;
    const Found found = search(rows, row, line);
    if (found.id != kNone) return found.id;
    const uint32_t shard = shard_of(rows.hash[row]);
    Shard& s = shard_[shard];
    ++s.fresh;
    if (s.used == limit_ || found.line == kNoLine) return kNone;
    uint16_t* order = order_of(shard);
    if (s.used == s.high) order[s.high] = static_cast<uint16_t>(s.high), ++s.high;
    const uint32_t id = order[s.used++];
    ++keys_;
    int64_t* k = &key_[(static_cast<size_t>(shard) * capacity_ + id) * W];
    if constexpr (W == 1)
      write_key(k, shard, id, rows.hash[row]);
    else
      for (uint32_t w = 0; w < W; ++w) k[w] = rows.key[w][row];
    put(rows.hash[row], line, id, k);
    return id;
  }

  // The shard's ids by (hash, key), sorted again when its key set has changed.
  std::span<const uint16_t> in_order(uint32_t shard) {
    Shard& s = shard_[shard];
    if (s.sorted != s.used) sort(shard);
    return {order_of(shard), s.used};
  }

  // As in_order() left it: keys that have come since stand behind, so a cursor stays valid.
  const uint16_t* as_sorted(uint32_t shard) const {
    return &order_.data()[static_cast<size_t>(shard) * capacity_];
  }

  // A chunk or session of the shard was closed: keys may have become free.
  void note_closed(uint32_t shard) { shard_[shard].closed = true; }
  // Few ids are left, new keys keep coming, and something may be free.
  bool pressed(uint32_t shard) const {
    const Shard& s = shard_[shard];
    return W != 0 && s.closed && s.used * 16 >= limit_ * 15 && s.fresh * 16 > limit_;
  }
  bool may_recycle(uint32_t shard) const { return W != 0 && shard_[shard].closed; }
  // Frees the ids for which alive(id) is false. Whoever holds an id of the shard outside of what
  // `alive` looks at must not be there: neither a batch on its way nor a cursor.
  template <class Alive>
  void recycle(uint32_t shard, Alive alive) {
    Shard& s = shard_[shard];
    s.closed = false;
    s.fresh = 0;
    uint16_t* order = order_of(shard);
    const bool was_sorted = s.sorted == s.used;
    auto* const end = order + s.used;
    auto* const dead = std::span(sort_).data();
    uint32_t kept = 0, gone = 0;
    for (auto* at = order; at < end; ++at) {
      const uint16_t id = *at;
      if (alive(id))
        order[kept++] = id;
      else
        dead[gone++] = id;
    }
    if (gone == 0) return;
    for (uint32_t i = 0; i < gone; ++i) order[kept + i] = static_cast<uint16_t>(dead[i]);
    s.used = kept;
    s.sorted = was_sorted ? kept : 0;
    if (kept == 0) s.high = 0;
    keys_ -= gone;
    const uint64_t stride = lines_a_shard_ + kSpill;
    for (Line& line : line_.subspan(shard * stride, stride)) line.used = line.spilled = 0;
    for (uint32_t i = 0; i < kept; ++i) {
      const int64_t* k = key(shard, order[i]);
      const uint64_t hash = hash_of(k);
      put(hash, line_of(hash), order[i], k);
    }
  }

 private:
  static constexpr uint32_t kSpill = 8;
  static constexpr uint32_t kWordsInLine = W == 2 ? 2 : 1;  // of one key
  static constexpr uint64_t kNoLine = UINT64_MAX;

  struct alignas(64) Line {
    uint64_t word[6];
    uint16_t id[6];  // of the key whose first word has the same index
    uint16_t used, spilled;
  };
  static_assert(sizeof(Line) == 64);
  struct Shard {
    uint32_t used = 0;    // order[0, used) are the ids in use, order[used, high) the free ones
    uint32_t high = 0;    // ids ever handed out since the shard was last empty
    uint32_t sorted = 0;  // == used: order[0, used) is sorted
    uint32_t fresh = 0;   // keys that came, or found no room, since the last recycle
    bool closed = false;
  };
  struct Found {
    uint32_t id;
    uint64_t line;  // where a new key would go; kNoLine: nowhere
  };

  uint16_t* order_of(uint32_t shard) { return &order_[static_cast<size_t>(shard) * capacity_]; }
  uint64_t last_line(uint32_t shard) const { return (shard + 1) * (lines_a_shard_ + kSpill) - 1; }

  static bool has_room(const Line& line) { return !line.spilled && line.used + kWordsInLine <= 6; }
  static uint32_t hits_in(const Line& line, const Rows& rows, uint32_t row) {
    const auto a = W == 2 ? rows.key[0][row] : static_cast<int64_t>(rows.hash[row]);
    const auto b = W == 2 ? rows.key[1][row] : a;
    const __m256i want = _mm256_set_epi64x(b, a, b, a);
    const auto* words = reinterpret_cast<const __m256i*>(&line);
    auto equal = [&](uint32_t half) {
      return static_cast<uint32_t>(_mm256_movemask_pd(
          _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_load_si256(words + half), want))));
    };
    uint32_t hits = equal(0) | equal(1) << 4;
    if constexpr (W == 2) hits &= hits >> 1 & 0x15;
    return _bzhi_u32(hits, line.used);
  }
  Found search(const Rows& rows, uint32_t row, uint64_t at) const {
    if constexpr (W == 0) return {0, kNoLine};
    const uint32_t shard = shard_of(rows.hash[row]);
    for (const uint64_t last = last_line(shard);; ++at) {
      const Line& l = line_[at];
      for (uint32_t hits = hits_in(l, rows, row); hits; hits &= hits - 1) {
        const uint32_t id = l.id[std::countr_zero(hits)];
        if (kExact || confirm(shard, id, rows, row)) return {id, at};
      }
      if (l.spilled) continue;
      while (at < last && !has_room(line_[at])) ++at;
      return {kNone, has_room(line_[at]) ? at : kNoLine};
    }
  }
  // Into the first line from `at` on that has room. Those before it are marked as spilled.
  void put(uint64_t hash, uint64_t at, uint32_t id, const int64_t* key) {
    for (;; ++at) {
      Line& l = line_[at];
      if (!has_room(l)) {
        l.spilled = 1;
        continue;
      }
      l.id[l.used] = static_cast<uint16_t>(id);
      if constexpr (W == 2) {
        l.word[l.used++] = static_cast<uint64_t>(key[0]);
        l.word[l.used++] = static_cast<uint64_t>(key[1]);
      } else {
        l.word[l.used++] = hash;
      }
      return;
    }
  }
  // Insertion sort along the walk: what the walk brings is almost in order already.
  void sort(uint32_t shard) {
    if constexpr (W == 0) return;
    uint16_t* order = order_of(shard);
    const auto before = [&](uint64_t hash, uint32_t id, uint32_t j) {
      if (hash != sort_[j]) return hash < sort_[j];
      const int64_t *a = key(shard, id), *b = key(shard, order[j]);
      return std::lexicographical_compare(a, a + W, b, b + W);
    };
    const uint64_t stride = lines_a_shard_ + kSpill;
    uint32_t n = 0;
    for (const Line& line : line_.subspan(shard * stride, stride))
      for (uint32_t w = 0; w < line.used; w += kWordsInLine) {
        const uint16_t id = line.id[w];
        const uint64_t hash = W == 2 ? hash_of(key(shard, id)) : line.word[w];
        uint32_t j = n++;
        for (; j > 0 && before(hash, id, j - 1); --j) {
          sort_[j] = sort_[j - 1];
          order[j] = order[j - 1];
        }
        sort_[j] = hash;
        order[j] = id;
      }
    DCHECK(n == shard_[shard].used);
    shard_[shard].sorted = n;
  }

  HashSeed seed_;
  uint64_t unhash_ = inverse_of(seed_.multiplier);
  uint32_t capacity_, limit_, shard_bits_, first_shard_, shards_;
  uint64_t lines_a_shard_ = 0, lines_total_ = 0, keys_ = 0;
  std::span<Line> line_;
  std::span<int64_t> key_;     // [shard][id][word]
  std::span<uint16_t> order_;  // [shard][rank]
  std::span<Shard> shard_;
  std::span<uint64_t> sort_;
};

}  // namespace tidewire
