#include "watermark/lane.h"

#include <immintrin.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tidewire {
namespace {

constexpr Duration kNever{INT64_MAX};

// The last point that is still within `d` of t.
EventTime limit(EventTime t, Duration d) {
  return d == kNever ? EventTime::end_of_time() : later(t, d);
}

bool known(const PartitionTracker& p) {
  return p.highest != EventTime::before_all() || p.heard != EventTime::before_all();
}
bool idle(const PartitionTracker& p) { return p.heard == EventTime::end_of_time(); }

// Whether an event lies more than `max_ahead` beyond its arrival stamp. The sum is only formed
// where it cannot overflow: beyond that nothing is far ahead.
bool any_far_ahead(const EventBatch& batch, Duration max_ahead) {
  if (max_ahead == kNever) return false;
  const int64_t edge = INT64_MAX - max_ahead.ns;
  uint64_t far = 0;
  for (uint32_t i = 0; i < batch.count; ++i) {
    const int64_t arrival = batch.arrival[i].ns;
    const auto reach =
        static_cast<int64_t>(static_cast<uint64_t>(arrival) + static_cast<uint64_t>(max_ahead.ns));
    far |= static_cast<uint64_t>(arrival != INT64_MIN) & static_cast<uint64_t>(arrival <= edge) &
           static_cast<uint64_t>(batch.time[i].ns > reach);
  }
  return far != 0;
}

// Without a branch: in common disorder nobody could predict it.
uint64_t lateness(EventTime time, EventTime highest) {
  const uint64_t distance = static_cast<uint64_t>(highest.ns) - static_cast<uint64_t>(time.ns);
  return distance & -static_cast<uint64_t>(time < highest);
}

// How far each event of a partition, alone in its lane, came behind the highest before it. Where
// nothing but its events has moved the watermark, that is stamp + bound, and the loop vectorises.
void find_lateness(const EventBatch& batch, EventTime highest, Duration bound,
                   std::array<uint64_t, kBatchMax>& late) {
  if (batch.stamp[0] == earlier(highest, bound) && batch.stamp[0].is_point()) {
    for (uint32_t i = 0; i < batch.count; ++i)
      late[i] = static_cast<uint64_t>(
          std::max<int64_t>(0, batch.stamp[i].ns + bound.ns - batch.time[i].ns));
    return;
  }
  for (uint32_t i = 0; i < batch.count; ++i) {
    const EventTime time = batch.time[i];
    late[i] = lateness(time, highest);
    highest = std::max(highest, time);
  }
}

}  // namespace

Lane::Lane(const LaneOptions& options, std::span<PartitionTracker> partitions, LaneRecord* record)
    : options_(options),
      bound_(options.watermark_by == WatermarkBy::kEvents ? options.bound : Duration{}),
      partitions_(partitions),
      record_(record),
      holding_(options.declared > 0 || options.start_hold.ns > 0) {
  CHECK(!partitions.empty() && partitions.size() == options.max_partitions);
  CHECK(options.bound.ns >= 0 && options.idle_after.ns >= 0 && options.max_ahead.ns >= 0 &&
        options.max_behind.ns >= 0 && options.start_hold.ns >= 0);
  CHECK(options.declared < options.max_partitions);
  CHECK(!record || record->offences.empty() || record->offences.size() == partitions.size());
  std::fill(partitions_.begin(), partitions_.end(), PartitionTracker{});
  if (holding_) refresh();
}

void Lane::stamp(EventBatch& batch, LaneCounts& counts, const uint8_t* progress) {
  CHECK(batch.count <= kBatchMax);
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (uint32_t i = 0; i < batch.count; ++i) {
    low = std::min(low, batch.time[i].ns);
    high = std::max(high, batch.time[i].ns);
  }
  batch.min_time = {low};
  batch.max_time = {high};
  batch.max_stamp = EventTime::before_all();
  batch.outside = 0;
  if (holding_ || options_.watermark_by != WatermarkBy::kEvents)
    return stamp_any<true>(batch, counts, progress);
  const bool guards_are_met = batch.count > 0 && batch.min_time >= options_.min_time &&
                              !any_far_ahead(batch, options_.max_ahead);
  EventTime first_arrival;
  if (guards_are_met && partitions_.size() == 1)
    stamp_one(batch);
  else if (guards_are_met && options_.max_behind == kNever && nobody_expires(batch, first_arrival))
    record_&& times_of_next() > 0 ? stamp_calm<true>(batch, first_arrival)
                                  : stamp_calm<false>(batch, first_arrival);
  else
    stamp_any<false>(batch, counts, progress);
}

// Does every event have an arrival stamp, and none of them turn a partition idle? `first`: the
// least of them.
bool Lane::nobody_expires(const EventBatch& batch, EventTime& first) const {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (uint32_t i = 0; i < batch.count; ++i) {
    low = std::min(low, batch.arrival[i].ns);
    high = std::max(high, batch.arrival[i].ns);
  }
  first = {low};
  return low != INT64_MIN && high != INT64_MAX &&
         EventTime{high} <= std::min(next_expiry_, limit(first, options_.idle_after));
}

// Several partitions of which none turns idle, is left behind or meets a guard: what stamp_any()
// does for such a batch, and no more. `kLook`: how late each event is, if any is, is remembered.
template <bool kLook>
void Lane::stamp_calm(EventBatch& batch, EventTime first_arrival) {
  // By the lane's frontier a partition's own watermark says nothing: as if it had none.
  const bool own = options_.lateness_by == LatenessBy::kPartition;
  const int64_t bound = bound_.ns, edge = own ? INT64_MIN + bound : INT64_MAX;
  PartitionTracker* const trackers = partitions_.data();
  int64_t frontier = frontier_.ns, top = INT64_MIN;
  Lateness late;
  uint64_t behind = 0;
  for (uint32_t i = 0; i < batch.count; ++i) {
    const EventTime time = batch.time[i];
    const PartitionId id = batch.partition[i];
    DCHECK(index_of(id) < partitions_.size());
    PartitionTracker& p = trackers[index_of(id)];
    const EventTime highest = p.highest;
    const int64_t watermark = highest.ns < edge ? INT64_MIN : highest.ns - bound;
    const int64_t stamp = std::max(watermark, frontier);
    batch.stamp[i] = {stamp};
    top = std::max(top, stamp);
    behind += static_cast<uint64_t>(time < highest);
    if (kLook) late[i] = lateness(time, highest);
    const bool joins = idle(p) || !known(p);
    p.heard = batch.arrival[i];
    const bool rises = time > highest;
    if (rises) {
      p.highest = time;
      leader_ = std::max(leader_, time);
    }
    if (!joins && !(rises && (id == holder_ || holder_ == kNobody))) [[likely]]
      continue;
    discovered_ = std::max(discovered_, index_of(id) + 1);
    if (rises && (id == holder_ || holder_ == kNobody))
      refresh();
    else
      join(id);
    frontier = frontier_.ns;
  }
  batch.max_stamp = {top};
  next_expiry_ = std::min(next_expiry_, limit(first_arrival, options_.idle_after));
  remember(late, batch.count, behind);
}

// Alone, a partition is its own leader and, idle or not, its own largest watermark: idleness,
// max_behind and both meanings of lateness say nothing, and stamps are a running maximum.
void Lane::stamp_one(EventBatch& batch) {
  PartitionTracker& p = partitions_[0];
  const int64_t bound = bound_.ns, edge = INT64_MIN + bound;
  int64_t watermark = frontier_.ns;
  const auto mark = [=](int64_t time) { return time < edge ? INT64_MIN : time - bound; };
  // In disorder most of them raise nothing: a block that does not is filled at once.
  constexpr uint32_t kBlock = 32;
  for (uint32_t from = 0; from < batch.count; from += kBlock) {
    const uint32_t to = std::min(from + kBlock, batch.count);
    int64_t high = INT64_MIN;
    for (uint32_t i = from; i < to; ++i) high = std::max(high, batch.time[i].ns);
    if (mark(high) <= watermark) {
      for (uint32_t i = from; i < to; ++i) batch.stamp[i] = {watermark};
      continue;
    }
    for (uint32_t i = from; i < to; ++i) {
      batch.stamp[i] = {watermark};
      watermark = std::max(watermark, mark(batch.time[i].ns));
    }
  }
  if (record_) {
    // In order is found by comparing neighbours, which vectorises.
    uint64_t back = batch.time[0] < p.highest ? 1 : 0;
    for (uint32_t i = 1; i < batch.count; ++i)
      back |= static_cast<uint64_t>(batch.time[i].ns < batch.time[i - 1].ns);
    if (back == 0) {
      record_->lateness.record(0, batch.count);
    } else if (const uint64_t times = sample(); times > 0) {
      Lateness late;
      find_lateness(batch, p.highest, bound_, late);
      remember_each(late, batch.count, times);
    }
  }
  p.highest = std::max(p.highest, batch.max_time);
  batch.max_stamp = batch.stamp[batch.count - 1];
  frontier_ = {watermark};
  lead(p.highest);
  holder_ = PartitionId{0};
  discovered_ = 1;
  for (uint32_t i = batch.count; i-- > 0;) {
    if (!batch.arrival[i].is_point()) continue;
    p.heard = batch.arrival[i];
    break;
  }
}

// An event without an arrival stamp leaves `heard` as it is. An idle partition is back by it, and
// is not judged again until it is heard with a stamp.
// For each event of a lane with several partitions, and so inline, as far_ahead().
[[gnu::always_inline]] inline void Lane::hear(PartitionTracker& partition, EventTime arrival) {
  if (!arrival.is_point()) {
    if (idle(partition)) partition.heard = EventTime::before_all();
    return;
  }
  partition.heard = arrival;
  if (options_.idle_after == kNever) return;
  // Stamps of a lane may step back, so this can lie before what was expected.
  next_expiry_ = std::min(next_expiry_, limit(arrival, options_.idle_after));
}

[[gnu::always_inline]] inline bool Lane::far_ahead(EventTime time, EventTime arrival) const {
  return options_.max_ahead != kNever && arrival.is_point() &&
         time > limit(arrival, options_.max_ahead);
}

// `kWhole`: marks and the start's hold are looked for as well.
template <bool kWhole>
void Lane::stamp_any(EventBatch& batch, LaneCounts& counts, const uint8_t* progress) {
  const bool own = options_.lateness_by == LatenessBy::kPartition;
  const bool by_events = !kWhole || options_.watermark_by == WatermarkBy::kEvents;
  const bool by_marks = kWhole && options_.watermark_by == WatermarkBy::kMarks;
  const bool of_lane = options_.mark_of == MarkOf::kLane;
  const EventTime min_time = options_.min_time;
  EventTime top = EventTime::before_all();
  Lateness late;
  uint64_t any_late = 0;
  uint32_t stayed = 0, mark = 0;
  for (uint32_t i = 0; i < batch.count; ++i) {
    while (by_marks && mark < batch.marks && batch.mark[mark].at <= i)
      take_mark(batch.mark[mark++]);
    const EventTime time = batch.time[i], arrival = batch.arrival[i];
    if (arrival > next_expiry_ && arrival.is_point()) [[unlikely]]
      expire(arrival);
    if (kWhole && holding_) look_at_hold(arrival);
    const PartitionId id = batch.partition[i];
    DCHECK(index_of(id) < partitions_.size());
    PartitionTracker& p = partitions_[index_of(id)];
    const EventTime highest = p.highest;
    const EventTime stamp = own ? std::max(earlier(highest, bound_), frontier_) : frontier_;
    batch.stamp[i] = stamp;
    top = std::max(top, stamp);

    const bool far = far_ahead(time, arrival);
    if (far || time < min_time || std::max(highest, time) < trailing_) [[unlikely]] {
      if (ends(batch, i, far, counts)) continue;
    }
    const uint64_t behind = lateness(time, highest);
    late[stayed++] = behind;
    any_late |= behind;

    const bool joins = idle(p) || !known(p);
    if (joins) [[unlikely]]
      discovered_ = std::max(discovered_, index_of(id) + 1);
    hear(p, arrival);
    const bool marks = by_marks && progress && progress[i] != 0 && !far;
    const bool rises = time > highest && !far && (by_events || (marks && !of_lane));
    if (rises) {
      p.highest = time;
      lead(time);
    }
    if (kWhole && holding_ && joins) refresh();
    // The minimum can only have grown if its holder moved or was left behind, or if there was none.
    if (rises &&
        (id == holder_ || leader_ > overtaken_ || (holder_ == kNobody && p.highest >= trailing_)))
      refresh();
    else if (joins) [[unlikely]]
      join(id);
    if (marks && of_lane) frontier_ = std::max(frontier_, time);
  }
  while (by_marks && mark < batch.marks) take_mark(batch.mark[mark++]);
  batch.max_stamp = top;
  if (by_events && stayed > 0) remember(late, stayed, any_late);
}

// Counts an event that some guard does not like. True: its policy ends the event.
bool Lane::ends(EventBatch& batch, uint32_t i, bool far, LaneCounts& counts) {
  const EventTime time = batch.time[i];
  const EventTime highest = partitions_[index_of(batch.partition[i])].highest;
  const bool early = time < options_.min_time, behind = std::max(highest, time) < trailing_;
  using Why = LateReason;
  return (early && ends_by(Why::kBeforeMinTime, options_.before_min_time, batch, i, counts)) ||
         (far && ends_by(Why::kTooFarAhead, options_.beyond_max_ahead, batch, i, counts)) ||
         (behind && ends_by(Why::kTooFarBehind, options_.beyond_max_behind, batch, i, counts));
}

bool Lane::ends_by(LateReason reason, GuardPolicy policy, EventBatch& batch, uint32_t i,
                   LaneCounts& counts) {
  const auto at = static_cast<size_t>(reason);
  ++counts.met[at];
  if (record_ && !record_->offences.empty()) ++record_->offences[index_of(batch.partition[i])][at];
  if (policy == GuardPolicy::kAccept) return false;
  if (batch.outside++ == 0) std::fill_n(batch.guard.begin(), batch.count, LateReason::kLate);
  batch.guard[i] = reason;
  --counts.ended.passed_on;
  ++(policy == GuardPolicy::kDrop ? counts.ended.dropped : counts.ended.diverted)[at];
  return true;
}

void Lane::take_mark(const Mark& mark) {
  frontier_ = std::max(frontier_, earlier(mark.time, options_.bound));
}

// 0: the next batch that is not in order is left out.
uint64_t Lane::times_of_next() const {
  constexpr uint64_t kExact = 256, kOneOf = 32;
  const uint64_t n = record_->disordered;
  return n < kExact ? 1 : n % kOneOf == 0 ? kOneOf : 0;
}

uint64_t Lane::sample() {
  const uint64_t times = times_of_next();
  ++record_->disordered;
  return times;
}

void Lane::remember(const Lateness& late, uint32_t events, uint64_t any_late) {
  if (!record_) return;
  if (any_late == 0)
    record_->lateness.record(0, events);
  else
    remember_each(late, events, sample());
}

void Lane::remember_each(const Lateness& late, uint32_t events, uint64_t times) {
  if (times == 0) return;
  record_->lateness.record_all(late, events, times);
  const auto bound = static_cast<uint64_t>(bound_.ns);
  uint64_t beyond = 0;
  for (uint32_t i = 0; i < events; ++i) beyond += static_cast<uint64_t>(late[i] > bound);
  record_->beyond_bound += beyond * times;
}

void Lane::punctuate(const Punctuation& punctuation) {
  switch (punctuation.why) {
    case Punctuation::Why::kSilent:
      silent_ = true;
      return;
    case Punctuation::Why::kReload:
      return;
    case Punctuation::Why::kReturned:
    case Punctuation::Why::kEnded:
      silent_ = false;
      break;
    case Punctuation::Why::kCaughtUp:
    case Punctuation::Why::kStraggler:
    case Punctuation::Why::kOperator:
      break;
  }
  if (punctuation.watermark == EventTime::end_of_time()) reached_ = reached();
  frontier_ = std::max(frontier_, punctuation.watermark);
}

void Lane::expire(EventTime arrival) {
  next_expiry_ = EventTime::end_of_time();
  for (PartitionTracker& p : partitions_.first(discovered_)) {
    if (p.heard == EventTime::before_all() || idle(p)) continue;
    const EventTime last = limit(p.heard, options_.idle_after);
    if (arrival > last)
      p.heard = EventTime::end_of_time();
    else
      next_expiry_ = std::min(next_expiry_, last);
  }
  refresh();
}

// Who joins can only lower the minimum, and the frontier stays.
void Lane::join(PartitionId id) {
  const PartitionTracker& p = partitions_[index_of(id)];
  if (holding_ || !known(p) || p.highest < trailing_) return;
  if (holder_ != kNobody && p.highest >= partitions_[index_of(holder_)].highest) return;
  holder_ = id;
  overtaken_ = limit(p.highest, options_.max_behind);
}

void Lane::refresh() {
  holder_ = kNobody;
  overtaken_ = EventTime::end_of_time();
  if (holding_) {
    for (uint32_t i = options_.declared; i > 0; --i)
      if (!known(partitions_[i])) holder_ = PartitionId{i};
    holding_ = options_.declared == 0 || holder_ != kNobody;
    if (holding_) return;
  }
  const uint32_t least = find_least();
  if (least < discovered_) {
    const EventTime highest = partitions_[least].highest;
    holder_ = PartitionId{least};
    overtaken_ = limit(highest, options_.max_behind);
    frontier_ = std::max(frontier_, earlier(highest, bound_));
  } else {
    frontier_ = std::max(frontier_, earlier(leader_, bound_));
  }
}

// The first of the partitions that count with the least `highest`; discovered_: none counts. Where
// partitions are in order each move of the holder asks for it: four at a time, without a branch.
uint32_t Lane::find_least() const {
  const auto counts = [this](const PartitionTracker& p) {
    return p.highest >= trailing_ && known(p) && !idle(p);
  };
  const auto all = [](int64_t x) { return _mm256_set1_epi64x(x); };
  const __m256i trailing = all(trailing_.ns), before_all = all(INT64_MIN),
                idle_mark = all(INT64_MAX);
  alignas(32) int64_t highest[4], index[4];
  __m256i least = all(INT64_MAX), at = all(discovered_);
  __m256i now = _mm256_set_epi64x(3, 1, 2, 0);  // as the halves of two loads come to lie
  uint32_t i = 0;
  for (; i + 4 <= discovered_; i += 4) {
    const auto* pairs = reinterpret_cast<const __m256i*>(&partitions_.data()[i]);
    const __m256i a = _mm256_loadu_si256(pairs), b = _mm256_loadu_si256(pairs + 1);
    const __m256i high = _mm256_unpacklo_epi64(a, b), heard = _mm256_unpackhi_epi64(a, b);
    const __m256i unknown = _mm256_and_si256(_mm256_cmpeq_epi64(high, before_all),
                                             _mm256_cmpeq_epi64(heard, before_all));
    const __m256i out =
        _mm256_or_si256(_mm256_or_si256(unknown, _mm256_cmpgt_epi64(trailing, high)),
                        _mm256_cmpeq_epi64(heard, idle_mark));
    const __m256i better = _mm256_andnot_si256(out, _mm256_cmpgt_epi64(least, high));
    least = _mm256_blendv_epi8(least, high, better);
    at = _mm256_blendv_epi8(at, now, better);
    now = _mm256_add_epi64(now, all(4));
  }
  _mm256_store_si256(reinterpret_cast<__m256i*>(highest), least);
  _mm256_store_si256(reinterpret_cast<__m256i*>(index), at);
  auto found = static_cast<uint32_t>(index[0]);
  int64_t lowest = highest[0];
  for (uint32_t k = 1; k < 4; ++k) {
    const auto other = static_cast<uint32_t>(index[k]);
    if (highest[k] > lowest || (highest[k] == lowest && other >= found)) continue;
    lowest = highest[k];
    found = other;
  }
  for (; i < discovered_; ++i) {
    const PartitionTracker& p = partitions_[i];
    if (!counts(p) || (found < discovered_ && p.highest.ns >= lowest)) continue;
    lowest = p.highest.ns;
    found = i;
  }
  return found;
}

// `trailing_` is the least `highest` that is not max_behind the leader. Behind any leader is who
// has not moved yet.
void Lane::lead(EventTime highest) {
  if (highest <= leader_) return;
  leader_ = highest;
  if (options_.max_behind == kNever || !leader_.is_point()) return;
  trailing_ = std::max(earlier(leader_, options_.max_behind), EventTime{INT64_MIN + 1});
}

// The hold ends at the first arrival more than start_hold behind the lane's first.
void Lane::look_at_hold(EventTime arrival) {
  if (options_.start_hold.ns == 0 || !arrival.is_point()) return;
  if (hold_until_ == EventTime::before_all()) hold_until_ = limit(arrival, options_.start_hold);
  if (arrival <= hold_until_) return;
  holding_ = false;
  refresh();
}

}  // namespace tidewire
