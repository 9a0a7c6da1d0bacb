// What a lane remembers of the exporters that it hears: which packet comes next, and what they have
// said in options. Bounded tables; who was heard longest ago makes room.
//
// Numbers count flows (NetFlow 5), packets (9) or data records (IPFIX), each for itself in a
// stream: exporter, its port, domain. Told apart by how far a packet is from the expected number,
// modulo 2^32:
//
//   equal        in order
//   ahead        a gap of so many
//   behind       a duplicate, if a packet with this number and these bytes came lately; reordered,
//   if
//                it is near; else a restart
//
// An uptime that went back is a restart, too (NetFlow 5 and 9), but not by the little that
// reordered packets have.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "event/drop_reason.h"
#include "format/flow_template.h"

namespace tidewire::flow {

class Sequence {
 public:
  // A packet that begins with this number. False: it is a duplicate.
  bool take(uint32_t number, uint64_t content, LaneCounts& counts) {
    if (!known_) {
      remember(number, content);
      return true;
    }
    const auto ahead = static_cast<int32_t>(number - next_);
    if (ahead < 0) {
      for (const Lately& lately : lately_)
        if (lately.number == number && lately.content == content) return false;
      counts.note(ahead > -kNear ? Note::kReordered : Note::kSequenceRestart);
      reordered_ = ahead > -kNear;
    } else if (ahead > 0) {
      if (ahead < kFar)
        counts.note(Note::kGap, static_cast<uint64_t>(ahead));
      else
        counts.note(Note::kSequenceRestart);
    }
    remember(number, content);
    return true;
  }
  // Behind the packet that take() has passed.
  void expect(uint32_t next) {
    if (!reordered_) next_ = next;
    reordered_ = false;
    known_ = true;
  }
  // How many the packet held is not known.
  void lose_track() { known_ = false; }
  void restart() {
    known_ = false;
    lately_ = {};
  }

 private:
  static constexpr int32_t kNear = 1'000, kFar = 1 << 28;
  struct Lately {
    uint32_t number = 0;
    uint64_t content = 0;
  };
  void remember(uint32_t number, uint64_t content) {
    lately_[at_++ % lately_.size()] = {number, content};
  }

  uint32_t next_ = 0, at_ = 0;
  bool known_ = false, reordered_ = false;
  std::array<Lately, 8> lately_{};
};

// Tells packets with the same number apart.
inline uint64_t content_of(const uint8_t* at, const uint8_t* end) {
  uint64_t hash = 0x243F6A8885A308D3u;
  for (; end - at >= 8; at += 8) {
    hash = (hash ^ read_be64(at)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  for (; at < end; ++at) hash = (hash ^ *at) * 0xD6E8FEB86659FD93u;
  return hash ^ hash >> 29;
}

struct Stream {
  StreamKey key;
  Sequence sequence;
  uint32_t uptime = 0;
  bool has_uptime = false;

  // A packet's uptime, in ms. True: the exporter has started anew, and so do its numbers.
  bool restarts(uint32_t now) {
    // Packets that were reordered on their way have an uptime a little below the last one's.
    constexpr int32_t kReorderedMs = 10'000;
    const bool anew = has_uptime && static_cast<int32_t>(now - uptime) < -kReorderedMs;
    uptime = now;
    has_uptime = true;
    if (anew) sequence.restart();
    return anew;
  }
};

// What options say of a domain, from whatever port.
struct Domain {
  static constexpr uint32_t kSamplers = 16;
  struct Sampler {
    int64_t id = kAbsent, rate = 0;
  };
  StreamKey key;  // its port is that of whoever was heard first
  int64_t system_init = kAbsent;
  int64_t rate = 0;  // of options without a sampler's id; 0: none
  std::array<Sampler, kSamplers> samplers{};
  uint32_t next_sampler = 0;

  void learn(int64_t id, int64_t new_rate) {
    if (id == kAbsent) {
      rate = new_rate;
      return;
    }
    for (Sampler& s : samplers)
      if (s.id == id) {
        s.rate = new_rate;
        return;
      }
    samplers[next_sampler++ % kSamplers] = {id, new_rate};
  }
  // 0: not known.
  int64_t rate_of(int64_t id) const {
    if (id == kAbsent) return rate;
    for (const Sampler& s : samplers)
      if (s.id == id) return s.rate;
    return rate;
  }
};

template <class Entry>
class KeyedTable {
 public:
  explicit KeyedTable(uint32_t entries) : entries_(entries), tag_(entries), used_(entries) {}
  // The entry of that key; a new one where `same(entry.key)` is none's.
  template <class Same>
  Entry& find(const StreamKey& key, uint64_t hash, Same same, LaneCounts& counts) {
    const uint32_t tag = static_cast<uint32_t>(hash) | 1;
    size_t oldest = 0;
    for (size_t i = 0; i < tag_.size(); ++i)
      if (tag_[i] == tag && same(entries_[i].key)) {
        used_[i] = ++clock_;
        return entries_[i];
      }
    for (size_t i = 1; i < tag_.size() && tag_[oldest] != 0; ++i)
      if (tag_[i] == 0 || used_[i] < used_[oldest]) oldest = i;
    if (tag_[oldest] != 0) counts.note(Note::kTableFull);
    tag_[oldest] = tag;
    used_[oldest] = ++clock_;
    entries_[oldest] = {};
    entries_[oldest].key = key;
    return entries_[oldest];
  }

 private:
  std::vector<Entry> entries_;
  std::vector<uint32_t> tag_;  // of the hash; 0: free
  std::vector<uint64_t> used_;
  uint64_t clock_ = 0;
};

class Exporters {
 public:
  Exporters() : streams_(1024), domains_(1024) {}
  Stream& stream(const StreamKey& key, LaneCounts& counts) {
    return streams_.find(
        key, hash_of(key, key.port), [&](const StreamKey& other) { return other == key; }, counts);
  }
  Domain& domain(const StreamKey& key, LaneCounts& counts) {
    return domains_.find(
        key, hash_of(key, 0), [&](const StreamKey& other) { return other.same_domain(key); },
        counts);
  }

 private:
  static uint64_t hash_of(const StreamKey& key, int64_t port) {
    const int64_t words[4] = {key.exporter.high, key.exporter.low, key.domain,
                              port << 16 | key.version};
    return hash_words<4>(words, HashSeed{});
  }

  KeyedTable<Stream> streams_;
  KeyedTable<Domain> domains_;
};

}  // namespace tidewire::flow
