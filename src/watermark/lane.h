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
// What moves a watermark is the source's strategy (Flink's WatermarkStrategy; core.md, rule 2):
//
//   events    W = highest - bound, of the partition                    (bounded, monotonous: bound
//   0) marks     an event that `progress` names: W of its partition (or of the lane) is its time; a
//             packet's mark: W of the lane is its arrival - bound                      (punctuated)
//   nothing   only punctuations do                                                           (none)
//
// Limits, all strict: a partition is idle when arrival - heard > idle_after (as in Flink), behind
// when leader - highest > max_behind; an event is far ahead when time - arrival > max_ahead, early
// when time < min_time. An event's arrival is looked at before it is stamped, so its own partition
// may have turned idle as well; with the event it is back and holds the minimum where it is. An
// event without an arrival stamp passes no judgement: nobody turns idle by it, and it is never far
// ahead.
//
// Guards: what becomes of an event that is far ahead, early, or whose partition is behind even with
// it. Accepted, it is an event like others, but one that is far ahead moves no watermark. Dropped
// or diverted, it gets its stamp (its place in the late sink) and leaves no other trace here, as if
// it had not come: a clock that is an hour wrong neither moves a frontier nor holds it.
//
// At the start the frontier waits for each declared partition's first event, for start_hold of lane
// time at most where that is given; start_hold alone is time for partitions to turn up in.
// Discovered ones join at the frontier.
//
// A pure function of packets, arrival stamps and punctuations: where bursts are cut, who else runs
// and what time it is do not enter. Idleness of a partition is judged in arrival stamps of its own
// lane; silence of the whole lane needs a clock and comes in as a Punctuation (core.md rules 2 and
// 6; Flink: WatermarksWithIdleness and the combiner CombinedWatermarkStatus).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/time.h"
#include "event/drop_reason.h"
#include "event/event_batch.h"
#include "metrics/histogram.h"

namespace tidewire {

// Input that is not a packet: decided by runtime, recorded at a position of the lane, replayed
// there. kSilent: the lane leaves the minimum (replay ignores it). Every other one says "every
// partition: watermark := max(own, this)", but kReload; kReturned carries the floor that was found
// on waking. Before kSilent, kCaughtUp and kEnded stands what the lane's parser has held back.
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
    kOperator,
    kReload,  // lookup files: from here on those with the hash `content`; no watermark
  } why = Why::kEnded;
  uint64_t content = 0;
};

enum class LatenessBy : uint8_t { kPartition, kLane };
enum class WatermarkBy : uint8_t { kEvents, kMarks, kNothing };
enum class MarkOf : uint8_t { kPartition, kLane };  // whose watermark a marking event moves
enum class GuardPolicy : uint8_t { kAccept, kDrop, kDivert };

struct LaneOptions {
  Duration bound;                  // out of orderness
  Duration idle_after{INT64_MAX};  // a partition, in lane time; INT64_MAX: never
  Duration max_ahead{INT64_MAX};   // of the arrival stamp
  Duration max_behind{INT64_MAX};  // of the lane's leader
  LatenessBy lateness_by = LatenessBy::kPartition;
  uint32_t max_partitions = 1;
  WatermarkBy watermark_by = WatermarkBy::kEvents;
  MarkOf mark_of = MarkOf::kPartition;
  EventTime min_time = EventTime::before_all();
  GuardPolicy beyond_max_ahead = GuardPolicy::kAccept;
  GuardPolicy beyond_max_behind = GuardPolicy::kAccept;
  GuardPolicy before_min_time = GuardPolicy::kAccept;
  uint32_t declared = 0;  // partitions 1 .. declared are waited for
  Duration start_hold{};  // in lane time; 0: no limit for declared ones, and none alone
};

// What a lane remembers for the summary; none of it enters a result.
struct LaneRecord {
  // How far behind the highest of its partition each event came: the bound that would have kept it.
  // Where events move watermarks. Batches in order are all in it, and the first 256 of the others;
  // of further ones each 32nd, 32 times: looking at each cost as much as stamping it.
  LatencyHistogram lateness;
  uint64_t disordered = 0;          // batches
  uint64_t beyond_bound = 0;        // of those, the events that the bound did not keep
  std::span<GuardCounts> offences;  // by partition; empty: not kept
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

  // `partitions`: max_partitions trackers, from the worker's arena. `record`: null, not kept.
  Lane(const LaneOptions& options, std::span<PartitionTracker> partitions,
       LaneRecord* record = nullptr);

  // `progress`: 1 for each event that marks (kMarks); null: none does.
  void stamp(EventBatch& batch, LaneCounts& counts, const uint8_t* progress = nullptr);
  void punctuate(const Punctuation& punctuation);

  EventTime frontier() const { return frontier_; }
  bool silent() const { return silent_; }  // leaves the worker's minimum
  bool ended() const { return frontier_ == EventTime::end_of_time(); }
  EventTime reached() const { return ended() ? reached_ : frontier_; }  // before it ended
  // Who holds the frontier back; kNobody: each known partition is idle or max_behind. At the start
  // a declared partition that is waited for.
  PartitionId holder() const { return holder_; }
  EventTime highest() const { return leader_; }  // the largest event time that moved a watermark
  const LaneOptions& options() const { return options_; }

 private:
  using Lateness = std::array<uint64_t, kBatchMax>;  // how far each event came behind

  void stamp_one(EventBatch& batch);  // one partition, nothing odd: vectorises
  template <bool kLook>
  void stamp_calm(EventBatch& batch, EventTime first_arrival);
  bool nobody_expires(const EventBatch& batch, EventTime& first) const;
  template <bool kWhole>
  void stamp_any(EventBatch& batch, LaneCounts& counts, const uint8_t* progress);
  bool ends(EventBatch& batch, uint32_t i, bool far, LaneCounts& counts);
  bool ends_by(LateReason reason, GuardPolicy policy, EventBatch& batch, uint32_t i,
               LaneCounts& counts);
  void take_mark(const Mark& mark);
  uint64_t times_of_next() const;
  uint64_t sample();
  void remember(const Lateness& late, uint32_t events, uint64_t any_late);
  void remember_each(const Lateness& late, uint32_t events, uint64_t times);
  void hear(PartitionTracker& partition, EventTime arrival);
  void join(PartitionId id);
  void lead(EventTime highest);
  void refresh();
  uint32_t find_least() const;
  void expire(EventTime arrival);
  void look_at_hold(EventTime arrival);
  bool far_ahead(EventTime time, EventTime arrival) const;

  LaneOptions options_;
  Duration bound_;  // of events behind their partition's highest: 0 where they move nothing
  std::span<PartitionTracker> partitions_;
  LaneRecord* record_;
  uint32_t discovered_ = 0;  // trackers [0, discovered_) may be known
  EventTime frontier_ = EventTime::before_all();
  EventTime reached_ = EventTime::before_all();
  EventTime leader_ = EventTime::before_all();
  EventTime trailing_ = EventTime::before_all();  // a `highest` below it is max_behind the leader
  EventTime next_expiry_ = EventTime::end_of_time();  // nobody turns idle at or before this arrival
  EventTime overtaken_ = EventTime::end_of_time();    // a leader beyond it leaves the holder behind
  PartitionId holder_ = kNobody;
  bool silent_ = false;
  bool holding_ = false;                            // the start: the frontier waits
  EventTime hold_until_ = EventTime::before_all();  // a later arrival ends the hold
};

}  // namespace tidewire
