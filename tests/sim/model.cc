#include "model.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/hash.h"

namespace tidewire::sim {
namespace {

using Group = std::vector<ModelRow>;

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

// A wall clock, read quarter hour by quarter hour: changes of the clock fall on those.
class WallClock {
 public:
  WallClock(CalendarUnit unit, const std::string& zone) : unit_(unit) {
    absl::LoadTimeZone(zone, &zone_);
  }
  std::pair<int64_t, int64_t> window_of(int64_t t) {
    for (const auto& known : known_)
      if (known.first <= t && t < known.second) return known;
    const int64_t quarter = floor_div(t, kQuarter) * kQuarter;
    const auto shown = unit_at(quarter);
    int64_t start = quarter, end = quarter + kQuarter;
    while (unit_at(start - kQuarter) == shown) start -= kQuarter;
    while (unit_at(end) == shown) end += kQuarter;
    return known_.emplace_back(start, end);
  }

 private:
  static constexpr int64_t kQuarter = 15 * 60 * kSecond;

  // The same in one window and another in its neighbours.
  std::pair<int64_t, int64_t> unit_at(int64_t t) const {
    const auto clock = zone_.At(absl::FromUnixNanos(t));
    const int64_t day = absl::CivilDay(clock.cs) - absl::CivilDay(1970, 1, 1);
    switch (unit_) {
      case CalendarUnit::kHour:
        return {day * 24 + clock.cs.hour(), clock.offset};
      case CalendarUnit::kDay:
        return {day, 0};
      case CalendarUnit::kWeek:
        return {absl::PrevWeekday(absl::CivilDay(clock.cs) + 1, absl::Weekday::monday) -
                    absl::CivilDay(1970, 1, 1),
                0};
      case CalendarUnit::kMonth:
        return {clock.cs.year() * 12 + clock.cs.month(), 0};
    }
    return {};
  }

  CalendarUnit unit_;
  absl::TimeZone zone_;
  std::vector<std::pair<int64_t, int64_t>> known_;
};

// ---- what all operators share: the watermark, and how one result is said
class Operator {
 public:
  Operator(const Plan& plan, const Result& blank) : plan_(plan), w_(plan.window), blank_(blank) {}

 protected:
  // What a window has said so far, and what it has not.
  struct Said {
    Group fresh;  // came since the last result
    struct Old {
      int64_t start, end;
      Group rows;
    };
    std::vector<Old> old;  // the last result; of merged sessions each one's
    uint32_t updates = 0;  // row updates
  };

  Result result(int64_t start, int64_t end, const Group& rows) const {
    Result r = blank_;
    r.start = start;
    r.order_start = start;
    r.end = r.order_end = end;
    for (const ModelRow& row : rows) {
      r.min = r.count ? std::min(r.min, row.value) : row.value;
      r.max = r.count ? std::max(r.max, row.value) : row.value;
      r.sum += row.value;
      ++r.count;
    }
    return r;
  }
  // `all`: what the window holds now, `fresh`: the part of it that came since the last result.
  void say(const Result& head, const Group& all, const Group& fresh, Said& said) {
    const auto put = [&](int64_t start, int64_t end, const Group& rows, bool stands) {
      Result r = result(start, end, rows);
      r.place = head.place;
      r.update = head.update;
      r.position = head.position;
      r.order_start = head.update ? 0 : head.start;
      r.order_end = head.update ? end : head.end;
      r.index = head.index;
      r.stands = stands;
      r.fire = stands ? head.fire : FireKind::kRetraction;
      answer_.results.push_back(r);
    };
    switch (w_.accumulation) {
      case Accumulation::kAccumulating:
        if (!all.empty()) put(head.start, head.end, all, true);
        return;
      case Accumulation::kDiscarding:
        if (!fresh.empty()) put(head.start, head.end, fresh, true);
        return;
      case Accumulation::kRetracting:
        if (all.empty()) return;
        for (const auto& old : said.old) put(old.start, old.end, old.rows, false);
        put(head.start, head.end, all, true);
        said.old = {{head.start, head.end, all}};
        return;
    }
  }
  Result point(int64_t place, int64_t start, int64_t end, FireKind fire, uint32_t index) const {
    Result head = blank_;
    head.place = place;
    head.start = start;
    head.end = end;
    head.fire = fire;
    head.index = index;
    return head;
  }
  Result of_row(const ModelRow& row, int64_t start, int64_t end, FireKind fire,
                uint32_t index) const {
    // before_all() is no place.
    Result head = point(std::max(row.stamp, INT64_MIN + 1), start, end, fire, index);
    head.update = true;
    head.position = row.position();
    return head;
  }
  void late(const ModelRow& row) {
    ++answer_.late;
    if (!plan_.late_rows) return;
    Result r = of_row(row, row.time, INT64_MIN, FireKind::kOnTime, 0);
    r.order_start = 0;
    r.order_end = INT64_MIN;
    r.sum = row.value;
    r.late = true;
    answer_.results.push_back(r);
  }
  // Points behind the end at which what changed is gathered, by their number on the window's grid.
  std::map<int64_t, uint32_t> gathered(int64_t end, uint32_t end_index) const {
    std::map<int64_t, uint32_t> points;
    if (w_.gather.ns == 0 || w_.lateness.ns == 0) return points;
    const int64_t last = plus(end, w_.lateness.ns);
    for (int64_t p = end + w_.gather.ns; p < last; p += w_.gather.ns) points[p] = ++end_index;
    points[last] = ++end_index;
    return points;
  }

  const Plan& plan_;
  const WindowShape& w_;
  Result blank_;
  ModelAnswer answer_;
  int64_t watermark_ = INT64_MIN;
};

// ---- aligned windows
class Aligned : Operator {
 public:
  using Operator::Operator;

  ModelAnswer run(const std::vector<ModelRow>& rows) {
    for (const ModelRow& row : rows) {
      advance(row.stamp);
      take(row);
    }
    advance(INT64_MAX);
    return answer_;
  }

 private:
  struct Window {
    int64_t start = 0;
    Group rows;
    bool dirty = false;
    Said said;
  };

  // Steps and the end, by number.
  std::vector<int64_t> before_end(int64_t start, int64_t end) const {
    std::vector<int64_t> points;
    if (w_.early.ns > 0)
      for (int64_t p = start + w_.early.ns; p < end; p += w_.early.ns) points.push_back(p);
    points.push_back(end);
    return points;
  }
  uint32_t end_index(const Window& w, int64_t end) const {
    return static_cast<uint32_t>(before_end(w.start, end).size() - 1);
  }

  void advance(int64_t to) {
    struct Point {
      int64_t place, end;
      FireKind fire;
      uint32_t index;
    };
    std::vector<Point> points;
    for (const auto& [end, w] : windows_) {
      const std::vector<int64_t> before = before_end(w.start, end);
      for (uint32_t i = 0; i < before.size(); ++i)
        points.push_back(
            {before[i], end, before[i] < end ? FireKind::kEarly : FireKind::kOnTime, i});
      for (const auto& [place, index] : gathered(end, end_index(w, end)))
        points.push_back({place, end, FireKind::kUpdate, index});
    }
    std::erase_if(points, [&](const Point& p) { return p.place <= watermark_ || p.place > to; });
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
      return std::tie(a.place, a.end) < std::tie(b.place, b.end);
    });
    for (const Point& p : points) {
      Window& w = windows_[p.end];
      if (p.fire == FireKind::kUpdate && !w.dirty) continue;
      fire(p.place, p.end, p.fire, p.index, w);
    }
    watermark_ = std::max(watermark_, to);
    std::erase_if(windows_, [&](const auto& entry) {
      return plus(entry.first, w_.lateness.ns) <= watermark_;
    });
  }
  void fire(int64_t place, int64_t end, FireKind kind, uint32_t index, Window& w) {
    const int64_t upto = std::min(place, end);
    Group all, fresh, rest;
    for (const ModelRow& row : w.rows)
      if (row.time < upto) all.push_back(row);
    for (const ModelRow& row : w.said.fresh) (row.time < upto ? fresh : rest).push_back(row);
    const bool cumulates = w_.kind == WindowKind::kCumulate && kind != FireKind::kUpdate;
    say(point(place, w.start, cumulates ? place : end, cumulates ? FireKind::kOnTime : kind, index),
        all, fresh, w.said);
    w.said.fresh = rest;
    w.dirty = false;
  }
  // In order.
  std::vector<std::pair<int64_t, int64_t>> windows_of(int64_t t) {
    if (w_.kind == WindowKind::kCalendar) return {clock_.window_of(t)};
    const int64_t size = w_.size.ns, slide = w_.slide.ns, offset = w_.offset.ns;
    std::vector<std::pair<int64_t, int64_t>> windows;
    for (int64_t start = floor_div(t - offset, slide) * slide + offset; start > t - size;
         start -= slide)
      windows.emplace_back(start, start + size);
    std::reverse(windows.begin(), windows.end());
    return windows;
  }
  void take(const ModelRow& row) {
    bool any = false, accepted = false;
    for (const auto& [start, end] : windows_of(row.time)) {
      any = true;
      if (watermark_ >= plus(end, w_.lateness.ns)) continue;
      accepted = true;
      Window& w = windows_[end];
      w.start = start;
      w.rows.push_back(row);
      w.said.fresh.push_back(row);
      if (end <= watermark_) {
        w.dirty = true;
        if (w_.gather.ns > 0) continue;
        const uint32_t index = end_index(w, end) + ++w.said.updates;
        say(of_row(row, w.start, end, FireKind::kUpdate, index), w.rows, w.said.fresh, w.said);
        w.said.fresh.clear();
      } else if (w_.early_rows > 0 && w.rows.size() % w_.early_rows == 0) {
        const auto index = static_cast<uint32_t>(w.rows.size() / w_.early_rows - 1);
        say(of_row(row, w.start, end, FireKind::kEarly, index), w.rows, w.said.fresh, w.said);
        w.said.fresh.clear();
      }
    }
    if (accepted) return;
    if (any || plus(row.time, w_.lateness.ns) < row.stamp)
      late(row);
    else
      ++answer_.no_window;
  }

  WallClock clock_{w_.unit, w_.zone};
  std::map<int64_t, Window> windows_;  // by end
};

// ---- sessions
class Sessions : Operator {
 public:
  using Operator::Operator;

  ModelAnswer run(const std::vector<ModelRow>& rows) {
    for (const ModelRow& row : rows) {
      advance(row.stamp);
      take(row);
    }
    advance(INT64_MAX);
    return answer_;
  }

 private:
  struct Session {
    int64_t start = 0, end = 0;
    Group rows;
    bool fired = false;
    std::optional<int64_t> due;  // the gathered point that it waits for
    uint64_t since = 0;          // rows since the last multiple of early_rows
    Said said;
  };

  void advance(int64_t to) {
    for (;;) {
      Session* first = nullptr;
      int64_t place = 0;
      for (Session& s : sessions_) {
        const int64_t at = s.due ? *s.due : s.end;
        if ((s.fired && !s.due) || at > to) continue;
        if (first && std::tie(place, first->end) <= std::tie(at, s.end)) continue;
        first = &s;
        place = at;
      }
      if (!first) break;
      Session& s = *first;
      const FireKind kind = s.due ? FireKind::kUpdate : FireKind::kOnTime;
      const uint32_t index = s.due ? gathered(s.end, 0).at(place) : 0;
      say(point(place, s.start, s.end, kind, index), s.rows, s.said.fresh, s.said);
      s.said.fresh.clear();
      s.said.updates = 0;
      s.fired = true;
      s.due.reset();
    }
    watermark_ = std::max(watermark_, to);
    std::erase_if(sessions_,
                  [&](const Session& s) { return plus(s.end, w_.lateness.ns) <= watermark_; });
  }
  void take(const ModelRow& row) {
    const int64_t gap =
        plan_.gap_value >= 0 ? std::max<int64_t>(row.gap, 0) * plan_.gap_unit.ns : w_.gap.ns;
    const int64_t cell_ns = w_.max_duration.ns;
    const int64_t cell = cell_ns > 0 ? floor_div(row.time, cell_ns) : 0;
    const int64_t row_end =
        cell_ns > 0 ? std::min(row.time + gap, (cell + 1) * cell_ns) : row.time + gap;
    Session merged;
    merged.start = row.time;
    merged.end = row_end;
    merged.rows = merged.said.fresh = {row};
    std::vector<Session> rest;
    merged.since = 1;
    for (const Session& s : sessions_) {
      const bool same_cell = cell_ns == 0 || floor_div(s.start, cell_ns) == cell;
      if (!same_cell || s.start > row_end || s.end < row.time) {
        rest.push_back(s);
        continue;
      }
      merged.start = std::min(merged.start, s.start);
      merged.end = std::max(merged.end, s.end);
      merged.rows.insert(merged.rows.end(), s.rows.begin(), s.rows.end());
      merged.since += s.since;
      Said& said = merged.said;
      said.fresh.insert(said.fresh.end(), s.said.fresh.begin(), s.said.fresh.end());
      said.old.insert(said.old.end(), s.said.old.begin(), s.said.old.end());
      said.updates = std::max(said.updates, s.said.updates);
    }
    if (plus(merged.end, w_.lateness.ns) <= watermark_) return late(row);
    std::sort(merged.said.old.begin(), merged.said.old.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    const uint64_t n = w_.early_rows;
    const bool full = n > 0 && merged.since >= n;
    if (n > 0) merged.since %= n;
    if (merged.end <= watermark_) {
      merged.fired = true;
      if (w_.gather.ns > 0) {
        const auto points = gathered(merged.end, 0);
        merged.due = points.upper_bound(watermark_)->first;
      } else {
        const uint32_t index = ++merged.said.updates;
        say(of_row(row, merged.start, merged.end, FireKind::kUpdate, index), merged.rows,
            merged.said.fresh, merged.said);
        merged.said.fresh.clear();
      }
    } else if (full) {
      const uint32_t index = merged.said.updates++;
      say(of_row(row, merged.start, merged.end, FireKind::kEarly, index), merged.rows,
          merged.said.fresh, merged.said);
      merged.said.fresh.clear();
    }
    rest.push_back(merged);
    sessions_ = rest;
  }

  std::vector<Session> sessions_;
};

// ---- windows by number of rows, and the one that ends with the input
class Counted : Operator {
 public:
  using Operator::Operator;

  ModelAnswer run(const std::vector<ModelRow>& rows) {
    const bool global = w_.kind == WindowKind::kGlobal;
    const uint64_t every = global ? w_.early_rows : w_.row_slide;
    Group all;
    Said said;
    for (const ModelRow& row : rows) {
      all.push_back(row);
      said.fresh.push_back(row);
      if (every == 0 || all.size() % every != 0) continue;
      if (global) {
        const auto index = static_cast<uint32_t>(all.size() / every - 1);
        say(of_row(row, INT64_MIN, INT64_MAX, FireKind::kEarly, index), all, said.fresh, said);
        said.fresh.clear();
        continue;
      }
      const Group last(all.end() - static_cast<ptrdiff_t>(std::min(all.size(), w_.rows)),
                       all.end());
      const auto [least, greatest] = std::minmax_element(
          last.begin(), last.end(), [](auto& a, auto& b) { return a.time < b.time; });
      Result r = result(least->time, greatest->time + 1, last);
      r.place = std::max(row.stamp, INT64_MIN + 1);
      r.order_start = 0;
      r.update = true;
      r.position = row.position();
      answer_.results.push_back(r);
    }
    if (global)
      say(point(INT64_MAX, INT64_MIN, INT64_MAX, FireKind::kOnTime, 0), all, said.fresh, said);
    return answer_;
  }
};

}  // namespace

uint64_t hash_of(const Plan& plan, const std::array<int64_t, kMaxKeyWords>& key) {
  switch (plan.key_words) {
    case 0:
      return 0;
    case 1:
      return hash_words<1>(key.data(), plan.seed);
    case 2:
      return hash_words<2>(key.data(), plan.seed);
    default:
      return hash_words<4>(key.data(), plan.seed);
  }
}

ModelAnswer model(const Plan& plan, const Result& blank, const std::vector<ModelRow>& rows) {
  switch (plan.window.kind) {
    case WindowKind::kTumbling:
    case WindowKind::kSliding:
    case WindowKind::kCumulate:
    case WindowKind::kCalendar:
      return Aligned(plan, blank).run(rows);
    case WindowKind::kSession:
      return Sessions(plan, blank).run(rows);
    case WindowKind::kCount:
    case WindowKind::kGlobal:
      return Counted(plan, blank).run(rows);
  }
  return {};
}

}  // namespace tidewire::sim
