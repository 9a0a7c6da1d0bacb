// Data that came before its template: kept for a while, in one ring of bytes, and read when the
// template comes. The oldest makes room.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "format/flow_time.h"

namespace tidewire::flow {

class Waiting {
 public:
  struct Set {
    StreamKey stream;
    Moment moment;
    EventTime arrival;
    uint16_t id = 0;  // of the template that it waits for; 0: for none any more
    uint16_t waited_for = 0;
    bool ready = false;
    uint32_t at = 0, bytes = 0;
  };

  explicit Waiting(Duration longest)
      : longest_(longest), bytes_(longest.ns > 0 ? kBytes : 0), sets_(kSets) {}

  // False: it is not kept.
  bool keep(Set set, const uint8_t* data, uint32_t bytes) {
    if (bytes > bytes_.size() / 2) return false;
    if (end_ + bytes > bytes_.size()) {
      // What stands between here and the end is skipped; older sets behind it go.
      while (count_ > 0 && first().at >= end_) pop();
      end_ = 0;
    }
    while (count_ > 0 &&
           (count_ == kSets || (first().at < end_ + bytes && end_ < first().at + first().bytes)))
      pop();
    std::memcpy(&bytes_[end_], data, bytes);
    set.at = end_;
    set.bytes = bytes;
    end_ += bytes;
    sets_[(first_ + count_++) % kSets] = set;
    return true;
  }
  // Sets that have waited too long are forgotten.
  void expire(EventTime now) {
    while (count_ > 0 && now.is_point() && first().arrival.is_point() &&
           later(first().arrival, longest_) < now)
      pop();
  }
  // A template has come.
  void wake(const StreamKey& stream, uint16_t id) {
    for (uint32_t i = 0; i < count_; ++i) {
      Set& set = at(i);
      if (set.id != id || !set.stream.same_domain(stream)) continue;
      set.ready = true;
      any_ready_ = true;
    }
  }
  // The oldest set that is ready, with its bytes, which stay until the next keep(). Null: none.
  const Set* take(const uint8_t*& data) {
    if (!any_ready_) return nullptr;
    for (uint32_t i = 0; i < count_; ++i) {
      Set& set = at(i);
      if (!set.ready) continue;
      data = &bytes_[set.at];
      set.ready = false;
      set.id = 0;
      return &set;
    }
    any_ready_ = false;
    return nullptr;
  }

 private:
  static constexpr uint32_t kBytes = 1 << 18, kSets = 256;
  Set& at(uint32_t i) { return sets_[(first_ + i) % kSets]; }
  Set& first() { return at(0); }
  void pop() {
    first_ = (first_ + 1) % kSets;
    --count_;
  }

  Duration longest_;
  std::vector<uint8_t> bytes_;
  std::vector<Set> sets_;
  uint32_t first_ = 0, count_ = 0, end_ = 0;
  bool any_ready_ = false;
};

}  // namespace tidewire::flow
