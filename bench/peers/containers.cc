#include "containers.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

namespace tidewire::bench {
namespace {

using floor_kernel::Event;
using floor_kernel::Kernel;
using floor_kernel::Sums;
using floor_kernel::Work;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr size_t kBatch = 256;

struct Cell {
  int64_t count = 0, sum = 0;
  int64_t min = std::numeric_limits<int64_t>::max(), max = std::numeric_limits<int64_t>::min();
  void add(int64_t value) {
    ++count, sum += value;
    min = std::min(min, value), max = std::max(max, value);
  }
  void add(const Cell& other) {
    count += other.count, sum += other.sum;
    min = std::min(min, other.min), max = std::max(max, other.max);
  }
};

// Results are written where the next ones overwrite them: a sink that has seen them.
class Results {
 public:
  void write(uint64_t key, int64_t end, const Cell& cell) {
    rows_[sums_.results++ % rows_.size()] = {key, end, cell};
    sums_.count += cell.count, sums_.sum += cell.sum;
  }
  Sums take() { return std::exchange(sums_, {}); }

 private:
  struct Row {
    uint64_t key;
    int64_t end;
    Cell cell;
  };
  std::array<Row, 4096> rows_;
  Sums sums_;
};

// The pass that all have in common. `Windows` has add(event), close(watermark) and begin(time), no
// event being earlier than that.
template <typename Windows>
class Containers final : public Kernel {
 public:
  template <typename... Args>
  explicit Containers(Args... args) : windows_(args...) {}
  Sums run(std::span<const Event> events, int64_t bound) override {
    windows_.begin(events[0].time - 2 * bound);
    int64_t highest = events[0].time;
    for (size_t at = 0; at < events.size(); at += kBatch) {
      for (const Event& event : events.subspan(at, std::min(kBatch, events.size() - at))) {
        windows_.add(event);
        highest = std::max(highest, event.time);
      }
      windows_.close(highest - bound);
    }
    windows_.end();
    return windows_.results.take();
  }

 private:
  Windows windows_;
};

class MapPerWindow {
 public:
  explicit MapPerWindow(int64_t size) : size_(size) {}
  Results results;

  void begin(int64_t time) { next_ = newest_ = (time - size_) / kSecond; }
  void add(const Event& event) {
    const int64_t last = event.time / kSecond;
    newest_ = std::max(newest_, last);
    for (int64_t start = last; start * kSecond + size_ > event.time; --start)
      map(start)[event.key].add(event.value);
  }
  void close(int64_t watermark) {
    for (; next_ * kSecond + size_ <= watermark; ++next_) write(next_);
  }
  void end() {
    for (; next_ <= newest_; ++next_) write(next_);
  }

 private:
  using Map = absl::flat_hash_map<uint64_t, Cell>;
  Map& map(int64_t start) { return open_[static_cast<size_t>(start) % open_.size()]; }
  void write(int64_t start) {
    for (const auto& [key, cell] : map(start)) results.write(key, start * kSecond + size_, cell);
    map(start).clear();
  }

  int64_t size_;
  int64_t next_ = 0, newest_ = 0;  // windows by the second they start in
  std::array<Map, 16> open_;       // ten of a sliding window, and those that disorder still holds
};

struct Timer {
  int64_t time;
  uint64_t key;
  bool operator>(const Timer& other) const { return time > other.time; }
};
using Timers = std::priority_queue<Timer, std::vector<Timer>, std::greater<>>;

class MapOfWindows {
 public:
  explicit MapOfWindows(int64_t size) : size_(size) {}
  Results results;

  void begin(int64_t) {}
  void add(const Event& event) {
    for (int64_t start = event.time / kSecond * kSecond; start + size_ > event.time;
         start -= kSecond) {
      const auto [entry, fresh] = cells_.try_emplace({event.key, start + size_});
      entry->second.add(event.value);
      if (fresh) timers_.push({start + size_, event.key});
    }
  }
  void close(int64_t watermark) {
    for (; !timers_.empty() && timers_.top().time <= watermark; timers_.pop()) {
      const auto [time, key] = timers_.top();
      const auto entry = cells_.find({key, time});
      results.write(key, time, entry->second);
      cells_.erase(entry);
    }
  }
  void end() { close(kNever); }

 private:
  struct Place {
    uint64_t key;
    int64_t end;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    size_t operator()(const Place& place) const {
      return place.key ^ (static_cast<uint64_t>(place.end) * 0x9E3779B97F4A7C15u);
    }
  };
  int64_t size_;
  std::unordered_map<Place, Cell, Hash> cells_;
  Timers timers_;
};

// A timer for each session, which is set anew only when it comes up: a session's end moves with
// each of its events.
struct Session {
  int64_t start, end;
  int64_t timer;
  Cell cell;
};
template <typename Map>
class Sessions {
 public:
  explicit Sessions(int64_t gap) : gap_(gap) {}
  Results results;

  void begin(int64_t) {}
  void add(const Event& event) {
    auto& sessions = keys_[event.key];
    Session joined{event.time, event.time + gap_, kNever, {}};
    joined.cell.add(event.value);
    const size_t before = sessions.size();
    for (size_t i = sessions.size(); i-- > 0;) {
      const Session& other = sessions[i];
      if (other.end <= joined.start || other.start >= joined.end) continue;
      joined.start = std::min(joined.start, other.start);
      joined.end = std::max(joined.end, other.end);
      joined.timer = std::min(joined.timer, other.timer);
      joined.cell.add(other.cell);
      sessions.erase(sessions.begin() + static_cast<ptrdiff_t>(i));
    }
    if (sessions.size() == before) {
      joined.timer = joined.end;
      timers_.push({joined.timer, event.key});
    }
    sessions.push_back(joined);
  }
  void close(int64_t watermark) {
    while (!timers_.empty() && timers_.top().time <= watermark) {
      const auto [time, key] = timers_.top();
      timers_.pop();
      const auto entry = keys_.find(key);
      if (entry == keys_.end()) continue;  // of a session that was joined to another
      auto& sessions = entry->second;
      for (size_t i = sessions.size(); i-- > 0;) {
        if (sessions[i].timer != time) continue;
        if (sessions[i].end > watermark) {
          timers_.push({sessions[i].timer = sessions[i].end, key});
          continue;
        }
        results.write(key, sessions[i].end, sessions[i].cell);
        sessions.erase(sessions.begin() + static_cast<ptrdiff_t>(i));
      }
      if (sessions.empty()) keys_.erase(entry);
    }
  }
  void end() { close(kNever); }

 private:
  int64_t gap_;
  Map keys_;
  Timers timers_;
};

template <typename Aligned, typename Session>
std::unique_ptr<Kernel> make(Work work, int64_t gap) {
  if (work == Work::kSession) return std::make_unique<Containers<Session>>(gap);
  const int64_t size = work == Work::kSliding ? 10 * kSecond : kSecond;
  return std::make_unique<Containers<Aligned>>(size);
}

}  // namespace

std::unique_ptr<Kernel> make_absl(Work work, int64_t gap) {
  using Map = absl::flat_hash_map<uint64_t, absl::InlinedVector<Session, 1>>;
  return make<MapPerWindow, Sessions<Map>>(work, gap);
}
std::unique_ptr<Kernel> make_std(Work work, int64_t gap) {
  using Map = std::unordered_map<uint64_t, std::vector<Session>>;
  return make<MapOfWindows, Sessions<Map>>(work, gap);
}

}  // namespace tidewire::bench
