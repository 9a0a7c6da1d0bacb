// One lane's event time: trackers of its partitions, its frontier, and the stamp of each event.
//
// Frontier form: watermark W promises that no event with time < W is expected. W = highest - bound,
// never back. There is no -1 anywhere (Flink's own form in milliseconds is floor(W / 1 ms) - 1,
// shown only as `flink_watermark`).
//
//   stamp(event) = the watermark in force just before it, then the event may advance its partition
//   frontier     = minimum over partitions that are neither idle nor max_behind the leader; where
//                  none is left, the largest watermark among all and no further
//
// Guards, all strict: a partition is idle when arrival - heard > idle_after (as in Flink), behind
// when leader - highest > max_behind; an event is far ahead when time - arrival > max_ahead. An
// event's arrival is looked at before it is stamped, so its own partition may have turned idle as
// well; with the event it is back and holds the minimum where it is. An event without an arrival
// stamp passes no judgement: nobody turns idle by it, and it is never far ahead.
//
// A pure function of packets, arrival stamps and punctuations: where bursts are cut, who else runs
// and what time it is do not enter. Idleness of a partition is judged in arrival stamps of its own
// lane; silence of the whole lane needs a clock and comes in as a Punctuation (core.md rules 2 and
// 6; Flink: WatermarksWithIdleness and the combiner CombinedWatermarkStatus).
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"
#include "event/drop_reason.h"
#include "event/event_batch.h"

namespace tidewire {

// Input that is not a packet: decided by runtime, recorded at a position of the lane, replayed
// there. kSilent: the lane leaves the minimum (replay ignores it). Every other one says "every
// partition: watermark := max(own, this)"; kReturned carries the floor that was found on waking.
struct Punctuation {
  LaneId lane{};
  Position at{};
  EventTime watermark = EventTime::before_all();
  enum class Why : uint8_t {
    kSilent,
    kReturned,
    kCaughtUp,
    kStraggler,
    kEnded,
    kOperator
  } why = Why::kEnded;
};

enum class LatenessBy : uint8_t { kPartition, kLane };

struct LaneOptions {
  Duration bound;                  // out of orderness
  Duration idle_after{INT64_MAX};  // a partition, in lane time; INT64_MAX: never
  Duration max_ahead{INT64_MAX};   // of the arrival stamp
  Duration max_behind{INT64_MAX};  // of the lane's leader
  LatenessBy lateness_by = LatenessBy::kPartition;
  uint32_t max_partitions = 1;
};

// Its watermark follows: max(highest - bound, lane frontier), since punctuations are the lane's.
// Known to the lane once either field is set.
struct PartitionTracker {
  EventTime highest = EventTime::before_all();
  // Arrival stamp of its last event; before_all(): none was given; end_of_time(): idle.
  EventTime heard = EventTime::before_all();
};

class Lane {
 public:
  static constexpr PartitionId kNobody{UINT32_MAX};

  // `partitions`: max_partitions trackers, from the worker's arena.
  Lane(const LaneOptions& options, std::span<PartitionTracker> partitions);

  void stamp(EventBatch& batch, LaneCounts& counts);
  void punctuate(const Punctuation& punctuation);

  EventTime frontier() const { return frontier_; }
  bool silent() const { return silent_; }  // leaves the worker's minimum
  bool ended() const { return frontier_ == EventTime::end_of_time(); }
  EventTime reached() const { return ended() ? reached_ : frontier_; }  // before it ended
  // Who holds the frontier back; kNobody: each known partition is idle or max_behind.
  PartitionId holder() const { return holder_; }
  EventTime highest() const { return leader_; }  // the largest event time that moved a watermark

 private:
  void stamp_one(EventBatch& batch, LaneCounts& counts);  // one partition: vectorises
  void stamp_any(EventBatch& batch, LaneCounts& counts);
  void hear(PartitionTracker& partition, EventTime arrival);
  void join(PartitionId id);
  void refresh();
  void expire(EventTime arrival);
  bool far_ahead(EventTime time, EventTime arrival) const;
  EventTime trailing() const;

  LaneOptions options_;
  std::span<PartitionTracker> partitions_;
  uint32_t discovered_ = 0;  // trackers [0, discovered_) may be known
  EventTime frontier_ = EventTime::before_all();
  EventTime reached_ = EventTime::before_all();
  EventTime leader_ = EventTime::before_all();
  EventTime next_expiry_ = EventTime::end_of_time();  // nobody turns idle at or before this arrival
  EventTime overtaken_ = EventTime::end_of_time();    // a leader beyond it leaves the holder behind
  PartitionId holder_ = kNobody;
  bool silent_ = false;
};

}  // namespace tidewire
