// One translation unit, compiled twice: FLOOR_ISA names the namespace.
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/int128.h"
#include "bench/floor/floor.h"

namespace tidewire::floor_kernel {
namespace FLOOR_ISA {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kBatch = 256;
constexpr int64_t kNever = INT64_MIN;

typedef int64_t v4 __attribute__((vector_size(32)));

// count, sum, min, max
struct alignas(32) Cell {
  v4 v;
};
constexpr v4 kEmpty = {0, 0, INT64_MAX, INT64_MIN};

inline v4 combine(v4 a, v4 b) {
  const __m256i x = reinterpret_cast<__m256i>(a), y = reinterpret_cast<__m256i>(b);
#if defined(__AVX512VL__)
  const __m256i low = _mm256_min_epi64(x, y), high = _mm256_max_epi64(x, y);
#else
  const __m256i greater = _mm256_cmpgt_epi64(x, y);
  const __m256i low = _mm256_blendv_epi8(x, y, greater), high = _mm256_blendv_epi8(y, x, greater);
#endif
  const __m256i both = _mm256_blend_epi32(_mm256_add_epi64(x, y), low, 0x30);
  return reinterpret_cast<v4>(_mm256_blend_epi32(both, high, 0xC0));
}
inline v4 lift(int64_t value) {  // {1, value, value, value}
  const __m256i one = _mm256_set1_epi64x(1);
  return reinterpret_cast<v4>(_mm256_blend_epi32(_mm256_set1_epi64x(value), one, 0x03));
}

// Two neighbouring cells at once: one 512-bit operation where there is one.
#if defined(__AVX512F__)
typedef int64_t Pair __attribute__((vector_size(64)));
inline Pair combine(Pair a, Pair b) {
  const __m512i x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
  const __m512i both = _mm512_mask_min_epi64(_mm512_add_epi64(x, y), 0x44, x, y);
  return reinterpret_cast<Pair>(_mm512_mask_max_epi64(both, 0x88, x, y));
}
inline v4 half(Pair p, int which) {
  return which == 0 ? __builtin_shufflevector(p, p, 0, 1, 2, 3)
                    : __builtin_shufflevector(p, p, 4, 5, 6, 7);
}
#else
struct alignas(64) Pair {
  v4 v[2];
};
inline Pair combine(const Pair& a, const Pair& b) {
  return {{combine(a.v[0], b.v[0]), combine(a.v[1], b.v[1])}};
}
inline v4 half(const Pair& p, int which) { return p.v[which]; }
#endif

template <class T>
T* reserve(size_t count) {  // huge pages where the kernel has them; faulted in now
  const size_t huge = size_t{2} << 20, bytes = (count * sizeof(T) + huge) / huge * huge;
  void* p = mmap(nullptr, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::abort();
  const auto at = (reinterpret_cast<uintptr_t>(p) + huge - 1) & ~(huge - 1);
  madvise(reinterpret_cast<void*>(at), bytes, MADV_HUGEPAGE);
  madvise(reinterpret_cast<void*>(at), bytes, MADV_POPULATE_WRITE);
  return reinterpret_cast<T*>(at);
}

struct Result {
  uint64_t key;
  int64_t end;
  Cell cell;
};
class Output {  // results are really written, into a ring of 1 MiB
 public:
  void put(uint64_t key, int64_t end, v4 cell) {
    ring_[at_] = {key, end, {cell}};
    at_ = (at_ + 1) & (kSlots - 1);
    ++sums.results;
    sums.count += cell[0];
    sums.sum += cell[1];
  }
  Sums sums;

 private:
  static constexpr size_t kSlots = 1 << 14;
  Result* ring_ = reserve<Result>(kSlots);
  size_t at_ = 0;
};

struct alignas(64) Bucket {  // key 0 is the empty mark: the events have none
  uint64_t key[5];
  uint32_t id[5];
  uint32_t unused;
};
class Dictionary {
 public:
  explicit Dictionary(uint64_t keys)
      : buckets_(static_cast<uint64_t>(static_cast<double>(keys) / 2.6) + 1),
        bucket(reserve<Bucket>(buckets_ + 64)),
        key_of(reserve<uint64_t>(keys + 64)) {}
  uint64_t place(uint64_t key) const {
    const uint64_t hash = (key ^ 0x243F6A8885A308D3u) * 0x9E3779B97F4A7C15u;
    return static_cast<uint64_t>((static_cast<uint128>(hash) * buckets_) >> 64);
  }
  uint32_t find(uint64_t key, uint64_t at) {
    for (;; ++at) {
      Bucket& b = bucket[at];
      if (const uint32_t hit = match(b, key)) return b.id[std::countr_zero(hit)];
      if (const uint32_t empty = match(b, 0)) {
        const int slot = std::countr_zero(empty);
        b.key[slot] = key;
        b.id[slot] = used;
        key_of[used] = key;
        return used++;
      }
    }
  }
  static uint32_t match(const Bucket& b, uint64_t key) {
    const auto want = static_cast<int64_t>(key);
#if defined(__AVX512F__)
    const uint32_t mask = _mm512_cmpeq_epi64_mask(_mm512_load_si512(&b), _mm512_set1_epi64(want));
#else
    const auto* half = reinterpret_cast<const __m256i*>(&b);
    const auto compare = [&](int i) {
      const __m256i hit = _mm256_cmpeq_epi64(_mm256_load_si256(half + i), _mm256_set1_epi64x(want));
      return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(hit)));
    };
    const uint32_t mask = compare(0) | compare(1) << 4;
#endif
    return mask & 0x1F;
  }

 private:
  uint64_t buckets_;

 public:
  Bucket* bucket;
  uint64_t* key_of;
  uint32_t used = 0;
};

// Slices of one second in a ring; `span` of them make a window.
class Slices : public Kernel {
 public:
  Slices(uint64_t keys, uint32_t span)
      : span_(span), dictionary_(keys), keys_((keys + 63) & ~uint64_t{63}) {
    ring_ = std::bit_ceil(span + 4);
    for (uint32_t i = 0; i < ring_; ++i) {
      slice_.push_back(reserve<Cell>(keys_));
      std::fill_n(slice_.back(), keys_, Cell{kEmpty});
    }
    used_.resize(ring_);
  }
  Sums run(std::span<const Event> events, int64_t bound) override {
    out_.sums = {};
    std::fill(used_.begin(), used_.end(), kNever);
    int64_t highest = kNever, first = INT64_MAX, last = kNever, next = kNever, current = kNever;
    uint64_t place[kBatch];
    Cell* cell[kBatch];
    for (size_t at = 0; at < events.size(); at += kBatch) {
      const size_t n = std::min(kBatch, events.size() - at);
      const Event* e = events.data() + at;
      int64_t low = INT64_MAX, high = INT64_MIN;
      for (size_t i = 0; i < n; ++i) {
        low = std::min(low, e[i].time), high = std::max(high, e[i].time);
        place[i] = dictionary_.place(e[i].key);
        __builtin_prefetch(&dictionary_.bucket[place[i]], 1, 3);
      }
      highest = std::max(highest, high);
      if (low / kSecond == current && high / kSecond == current) {
        Cell* slice = slice_[static_cast<size_t>(current) & (ring_ - 1)];
        for (size_t i = 0; i < n; ++i) {
          cell[i] = slice + dictionary_.find(e[i].key, place[i]);
          __builtin_prefetch(cell[i], 1, 3);
        }
      } else {
        for (size_t i = 0; i < n; ++i) {
          const int64_t s = e[i].time / kSecond;
          if (s != current) {
            current = s;
            used_[static_cast<size_t>(s) & (ring_ - 1)] = s;
            first = std::min(first, s), last = std::max(last, s);
          }
          cell[i] =
              slice_[static_cast<size_t>(s) & (ring_ - 1)] + dictionary_.find(e[i].key, place[i]);
          __builtin_prefetch(cell[i], 1, 3);
        }
        if (next == kNever) next = first + 1;
        if (at == 0) next = first + 1;
      }
      for (size_t i = 0; i < n; ++i) {
        cell[i]->v = combine(cell[i]->v, lift(e[i].value));
      }
      const bool end = at + n == events.size();
      const int64_t watermark = end ? (last + span_) * kSecond : highest - bound;
      while (next * kSecond <= watermark && next <= last + span_) fire(next++);
    }
    return out_.sums;
  }

 private:
  void fire(int64_t end) {  // window [end - span, end) in slices; the oldest slice is reset in the
                            // same pass
    const Cell* part[64];
    uint32_t parts = 0;
    Cell* oldest = nullptr;
    for (int64_t s = end - span_; s < end; ++s) {
      const size_t at = static_cast<size_t>(s) & (ring_ - 1);
      if (used_[at] != s) continue;
      part[parts++] = slice_[at];
      if (s == end - span_) oldest = slice_[at], used_[at] = kNever;
    }
    if (parts == 0) return;
    const Pair empty = [] {
      Pair p;
      const v4 two[2] = {kEmpty, kEmpty};
      std::memcpy(&p, two, sizeof p);
      return p;
    }();
    for (uint32_t id = 0; id < dictionary_.used; id += 2) {
      Pair two = *reinterpret_cast<const Pair*>(part[0] + id);
      for (uint32_t k = 1; k < parts; ++k)
        two = combine(two, *reinterpret_cast<const Pair*>(part[k] + id));
      for (int i = 0; i < 2; ++i)
        if (half(two, i)[0])
          out_.put(dictionary_.key_of[id + static_cast<uint32_t>(i)], end * kSecond, half(two, i));
      if (oldest) *reinterpret_cast<Pair*>(oldest + id) = empty;
    }
  }

  int64_t span_;
  Dictionary dictionary_;
  uint64_t keys_;
  size_t ring_;
  std::vector<Cell*> slice_;
  std::vector<int64_t> used_;  // which slice stands at a ring place
  Output out_;
};

// Windows of one second without a key.
class Totals : public Kernel {
 public:
  Sums run(std::span<const Event> events, int64_t bound) override {
    out_.sums = {};
    std::fill_n(slice_, kRing, Cell{kEmpty});
    int64_t highest = kNever, next = kNever;
    for (size_t at = 0; at < events.size(); at += kBatch) {
      const size_t n = std::min(kBatch, events.size() - at);
      const Event* e = events.data() + at;
      int64_t low = INT64_MAX, high = INT64_MIN, sum = 0, least = INT64_MAX, most = INT64_MIN;
      for (size_t i = 0; i < n; ++i) {
        low = std::min(low, e[i].time), high = std::max(high, e[i].time);
        least = std::min(least, e[i].value), most = std::max(most, e[i].value);
        sum += e[i].value;
      }
      if (next == kNever) next = low / kSecond + 1;
      highest = std::max(highest, high);
      if (low / kSecond == high / kSecond) {
        v4& cell = slice_[low / kSecond & (kRing - 1)].v;
        cell = combine(cell, v4{static_cast<int64_t>(n), sum, least, most});
      } else {
        for (size_t i = 0; i < n; ++i) {
          v4& cell = slice_[e[i].time / kSecond & (kRing - 1)].v;
          cell = combine(cell, lift(e[i].value));
        }
      }
      const bool end = at + n == events.size();
      while (next * kSecond <= (end ? highest + kSecond : highest - bound)) fire(next++);
    }
    return out_.sums;
  }

 private:
  static constexpr int64_t kRing = 4;
  void fire(int64_t end) {
    v4& cell = slice_[(end - 1) & (kRing - 1)].v;
    if (cell[0]) out_.put(0, end * kSecond, cell);
    cell = kEmpty;
  }
  Cell slice_[kRing];
  Output out_;
};

// A 64-byte line per key in an open-addressed table: newest session inline.
class Sessions : public Kernel {
 public:
  Sessions(uint64_t keys, int64_t gap) : gap_(gap), grain_(std::max<int64_t>(gap / 64, 100'000)) {
    size_ = std::bit_ceil(keys * 2);
    line_ = reserve<Line>(size_);
    older_.resize(1);
    wheel_.resize(kTicks);
  }
  Sums run(std::span<const Event> events, int64_t bound) override {
    out_.sums = {};
    int64_t highest = kNever;
    tick_ = (events[0].time - bound) / grain_ - 1;
    uint64_t hash[kBatch];
    for (size_t at = 0; at < events.size(); at += kBatch) {
      const size_t n = std::min(kBatch, events.size() - at);
      const Event* e = events.data() + at;
      for (size_t i = 0; i < n; ++i) {
        highest = std::max(highest, e[i].time);
        hash[i] = (e[i].key ^ 0x243F6A8885A308D3u) * 0x9E3779B97F4A7C15u >> 20;
        __builtin_prefetch(line_ + (hash[i] & (size_ - 1)), 1, 3);
      }
      for (size_t i = 0; i < n; ++i) add(find(e[i].key, hash[i]), e[i]);
      const int64_t reached = (highest - bound) / grain_;
      while (tick_ < reached) drain(++tick_, highest - bound);
    }
    for (auto& bucket : wheel_) bucket.clear();
    for (uint32_t i = 0; i < size_; ++i)
      if (line_[i].used) check(i, INT64_MAX), line_[i].armed = 0;
    return out_.sums;
  }

 private:
  static constexpr size_t kTicks = 4096;
  struct alignas(64) Line {
    v4 cell;
    uint64_t key;
    int64_t start, last;
    uint32_t older : 31, used : 1;
    uint32_t armed;
  };
  static_assert(sizeof(Line) == 64);
  struct Older {
    v4 cell;
    int64_t start, last;
    uint32_t next;
  };

  uint32_t find(uint64_t key, uint64_t hash) {
    for (uint64_t at = hash & (size_ - 1);; at = (at + 1) & (size_ - 1)) {
      Line& l = line_[at];
      if (l.used && l.key == key) return static_cast<uint32_t>(at);
      if (l.used) continue;
      l = {kEmpty, key, 0, 0, 0, 1, 0};
      return static_cast<uint32_t>(at);
    }
  }
  void add(uint32_t at, const Event& e) {
    Line& l = line_[at];
    const v4 one = lift(e.value);
    if (l.cell[0] && e.time <= l.last + gap_ && e.time >= l.start) {
      l.last = std::max(l.last, e.time);
      l.cell = combine(l.cell, one);
    } else if (!l.cell[0]) {
      l.cell = one, l.start = l.last = e.time;
      arm(at, e.time + gap_);
    } else if (e.time > l.last + gap_) {
      l.older = keep(l.cell, l.start, l.last, l.older);
      l.cell = one, l.start = l.last = e.time;
    } else {
      merge(l, at, e.time, one);
    }
  }
  void merge(Line& l, uint32_t at, int64_t time, v4 cell) {
    int64_t start = time, last = time;
    for (uint32_t previous = 0, o = l.older; o;) {
      Older& s = older_[o];
      const uint32_t next = s.next;
      if (s.start <= last + gap_ && s.last + gap_ >= start) {
        start = std::min(start, s.start), last = std::max(last, s.last),
        cell = combine(cell, s.cell);
        if (previous)
          older_[previous].next = next;
        else
          l.older = next & 0x7FFFFFFF;
        free_.push_back(o);
      } else {
        previous = o;
      }
      o = next;
    }
    if (l.start <= last + gap_ && l.last + gap_ >= start) {
      l.start = std::min(l.start, start), l.last = std::max(l.last, last),
      l.cell = combine(l.cell, cell);
    } else {
      l.older = keep(cell, start, last, l.older);
      arm(at, last + gap_);
    }
  }
  uint32_t keep(v4 cell, int64_t start, int64_t last, uint32_t next) {
    uint32_t o = static_cast<uint32_t>(older_.size());
    if (free_.empty())
      older_.emplace_back();
    else
      o = free_.back(), free_.pop_back();
    older_[o] = {cell, start, last, next};
    return o & 0x7FFFFFFF;
  }
  void arm(uint32_t at, int64_t end) {
    int64_t tick =
        std::clamp<int64_t>(end / grain_ + 1, tick_ + 1, tick_ + static_cast<int64_t>(kTicks) - 1);
    const auto mark = static_cast<uint32_t>(tick & 0x7FFFFFFF) | 1u << 31;
    Line& l = line_[at];
    if (l.armed && static_cast<int32_t>((l.armed - mark) << 1) <= 0) return;
    l.armed = mark;
    wheel_[static_cast<size_t>(tick) % kTicks].push_back(at);
  }
  void drain(int64_t tick, int64_t watermark) {
    auto& bucket = wheel_[static_cast<size_t>(tick) % kTicks];
    if (bucket.empty()) return;
    due_.swap(bucket);
    const auto mark = static_cast<uint32_t>(tick & 0x7FFFFFFF) | 1u << 31;
    for (size_t i = 0; i < due_.size(); ++i) {
      if (i + 16 < due_.size()) __builtin_prefetch(line_ + due_[i + 16], 1, 3);
      if (line_[due_[i]].armed == mark) check(due_[i], watermark);
    }
    due_.clear();
  }
  void check(uint32_t at, int64_t watermark) {
    Line& l = line_[at];
    l.armed = 0;
    int64_t next = INT64_MAX;
    const auto done = [&](int64_t last, v4 cell) {
      if (watermark != INT64_MAX && last + gap_ > watermark)
        return next = std::min(next, last + gap_), false;
      out_.put(l.key, last + gap_, cell);
      return true;
    };
    for (uint32_t previous = 0, o = l.older; o;) {
      const uint32_t following = older_[o].next;
      if (done(older_[o].last, older_[o].cell)) {
        if (previous)
          older_[previous].next = following;
        else
          l.older = following & 0x7FFFFFFF;
        free_.push_back(o);
      } else {
        previous = o;
      }
      o = following;
    }
    if (l.cell[0] && done(l.last, l.cell)) l.cell = kEmpty;
    if (next != INT64_MAX) arm(at, next);
  }

  int64_t gap_, grain_, tick_ = 0;
  uint64_t size_;
  Line* line_;
  std::vector<Older> older_;
  std::vector<uint32_t> free_, due_;
  std::vector<std::vector<uint32_t>> wheel_;
  Output out_;
};

}  // namespace

Kernel* make(Work work, uint64_t keys, int64_t gap_ns) {
  switch (work) {
    case Work::kTumbling:
      return new Slices(keys, 1);
    case Work::kSliding:
      return new Slices(keys, 10);
    case Work::kSession:
      return new Sessions(keys, gap_ns);
    case Work::kNoKey:
      return new Totals();
  }
  return nullptr;
}

}  // namespace FLOOR_ISA
}  // namespace tidewire::floor_kernel
