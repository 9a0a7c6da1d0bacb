#include "watermark/lane.h"

#include <algorithm>

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

// How many events lie more than `max_ahead` beyond their arrival stamp. The sum is only formed
// where it cannot overflow: beyond that nothing is far ahead.
uint64_t count_far_ahead(const EventBatch& batch, Duration max_ahead) {
  if (max_ahead == kNever) return 0;
  const int64_t edge = INT64_MAX - max_ahead.ns;
  uint64_t far = 0;
  for (uint32_t i = 0; i < batch.count; ++i) {
    const int64_t arrival = batch.arrival[i].ns;
    const auto reach =
        static_cast<int64_t>(static_cast<uint64_t>(arrival) + static_cast<uint64_t>(max_ahead.ns));
    far += static_cast<uint64_t>(arrival != INT64_MIN) & static_cast<uint64_t>(arrival <= edge) &
           static_cast<uint64_t>(batch.time[i].ns > reach);
  }
  return far;
}

}  // namespace

Lane::Lane(const LaneOptions& options, std::span<PartitionTracker> partitions)
    : options_(options), partitions_(partitions) {
  CHECK(!partitions.empty() && partitions.size() == options.max_partitions);
  CHECK(options.bound.ns >= 0 && options.idle_after.ns >= 0 && options.max_ahead.ns >= 0 &&
        options.max_behind.ns >= 0);
  std::fill(partitions_.begin(), partitions_.end(), PartitionTracker{});
}

void Lane::stamp(EventBatch& batch, LaneCounts& counts) {
  CHECK(batch.count <= kBatchMax);
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (uint32_t i = 0; i < batch.count; ++i) {
    low = std::min(low, batch.time[i].ns);
    high = std::max(high, batch.time[i].ns);
  }
  batch.min_time = {low};
  batch.max_time = {high};
  batch.max_stamp = EventTime::before_all();
  if (batch.count == 0) return;
  if (partitions_.size() == 1)
    stamp_one(batch, counts);
  else
    stamp_any(batch, counts);
}

// Alone, a partition is its own leader and, idle or not, its own largest watermark: idleness,
// max_behind and both meanings of lateness say nothing, and stamps are a running maximum.
void Lane::stamp_one(EventBatch& batch, LaneCounts& counts) {
  PartitionTracker& p = partitions_[0];
  const int64_t bound = options_.bound.ns, edge = INT64_MIN + bound;
  int64_t watermark = frontier_.ns;
  const uint64_t far = count_far_ahead(batch, options_.max_ahead);
  if (far == 0) [[likely]] {
    for (uint32_t i = 0; i < batch.count; ++i) {
      const int64_t time = batch.time[i].ns;
      batch.stamp[i] = {watermark};
      watermark = std::max(watermark, time < edge ? INT64_MIN : time - bound);
    }
    p.highest = std::max(p.highest, batch.max_time);
  } else {
    counts.far_ahead += far;
    for (uint32_t i = 0; i < batch.count; ++i) {
      batch.stamp[i] = {watermark};
      if (far_ahead(batch.time[i], batch.arrival[i])) continue;
      p.highest = std::max(p.highest, batch.time[i]);
      watermark = std::max(watermark, earlier(p.highest, options_.bound).ns);
    }
  }
  batch.max_stamp = batch.stamp[batch.count - 1];
  frontier_ = {watermark};
  leader_ = p.highest;
  holder_ = PartitionId{0};
  for (uint32_t i = batch.count; i-- > 0;) {
    if (!batch.arrival[i].is_point()) continue;
    p.heard = batch.arrival[i];
    break;
  }
}

void Lane::stamp_any(EventBatch& batch, LaneCounts& counts) {
  const bool own = options_.lateness_by == LatenessBy::kPartition;
  EventTime top = EventTime::before_all();
  for (uint32_t i = 0; i < batch.count; ++i) {
    const EventTime time = batch.time[i], arrival = batch.arrival[i];
    if (arrival > next_expiry_ && arrival.is_point()) [[unlikely]]
      expire(arrival);
    const PartitionId id = batch.partition[i];
    DCHECK(index_of(id) < partitions_.size());
    PartitionTracker& p = partitions_[index_of(id)];
    const EventTime stamp =
        own ? std::max(earlier(p.highest, options_.bound), frontier_) : frontier_;
    batch.stamp[i] = stamp;
    top = std::max(top, stamp);

    const bool joins = idle(p) || !known(p);
    if (joins) [[unlikely]]
      discovered_ = std::max(discovered_, index_of(id) + 1);
    hear(p, arrival);
    const bool far = far_ahead(time, arrival);
    counts.far_ahead += far;
    const bool rises = time > p.highest && !far;
    if (rises) {
      p.highest = time;
      leader_ = std::max(leader_, time);
    }
    // The minimum can only have grown if its holder moved or was left behind, or if there was none.
    if (rises &&
        (id == holder_ || leader_ > overtaken_ || (holder_ == kNobody && p.highest >= trailing())))
      refresh();
    else if (joins) [[unlikely]]
      join(id);
  }
  batch.max_stamp = top;
}

void Lane::punctuate(const Punctuation& punctuation) {
  switch (punctuation.why) {
    case Punctuation::Why::kSilent:
      silent_ = true;
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

// An event without an arrival stamp leaves `heard` as it is. An idle partition is back by it, and
// is not judged again until it is heard with a stamp.
void Lane::hear(PartitionTracker& partition, EventTime arrival) {
  if (!arrival.is_point()) {
    if (idle(partition)) partition.heard = EventTime::before_all();
    return;
  }
  partition.heard = arrival;
  // Stamps of a lane may step back, so this can lie before what was expected.
  next_expiry_ = std::min(next_expiry_, limit(arrival, options_.idle_after));
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
  if (p.highest < trailing()) return;
  if (holder_ != kNobody && p.highest >= partitions_[index_of(holder_)].highest) return;
  holder_ = id;
  overtaken_ = limit(p.highest, options_.max_behind);
}

void Lane::refresh() {
  const PartitionTracker* least = nullptr;
  const EventTime from = trailing();
  for (const PartitionTracker& p : partitions_.first(discovered_))
    if (p.highest >= from && known(p) && !idle(p) && (!least || p.highest < least->highest))
      least = &p;
  if (least) {
    holder_ = PartitionId{static_cast<uint32_t>(least - partitions_.data())};
    overtaken_ = limit(least->highest, options_.max_behind);
    frontier_ = std::max(frontier_, earlier(least->highest, options_.bound));
  } else {
    holder_ = kNobody;
    overtaken_ = EventTime::end_of_time();
    frontier_ = std::max(frontier_, earlier(leader_, options_.bound));
  }
}

bool Lane::far_ahead(EventTime time, EventTime arrival) const {
  return arrival.is_point() && time > limit(arrival, options_.max_ahead);
}

// The least `highest` that is not max_behind the leader. Behind any leader is who has not moved
// yet.
EventTime Lane::trailing() const {
  if (options_.max_behind == kNever || !leader_.is_point()) return EventTime::before_all();
  return std::max(earlier(leader_, options_.max_behind), EventTime{INT64_MIN + 1});
}

}  // namespace tidewire
