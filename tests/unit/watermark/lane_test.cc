// Lane against the slowest obvious version of its rules (core.md rules 2 and 6, "Frontier"), which
// keeps every partition in a map, looks at all of them before and after each event, and counts in
// 128 bits so that no edge can wrap.
#include "watermark/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/int128.h"
#include "base/rng.h"

namespace tidewire {
namespace {

constexpr Duration kNever{INT64_MAX};

struct Event {
  EventTime time, arrival;
  uint32_t partition = 0;
  bool marks = false;
};
// An event, a punctuation or a packet's mark, in lane order.
struct Step {
  Event event;
  std::optional<Punctuation> punctuation;
  std::optional<EventTime> mark;
};
struct Seen {
  std::vector<EventTime> stamps;
  std::vector<LateReason> ends;      // by which guard, kLate: none
  std::vector<EventTime> frontiers;  // after each burst
  EventTime frontier;
  GuardCounts met{};
  std::vector<uint64_t> lateness;  // where events move watermarks
};

size_t at(LateReason reason) { return static_cast<size_t>(reason); }

class Model {
 public:
  explicit Model(const LaneOptions& o) : o_(o) {}

  void stamp(const Event& e, Seen& seen) {
    const bool stamped = e.arrival != EventTime::before_all();
    for (auto& [id, p] : partitions_)
      if (stamped && p.heard && o_.idle_after != kNever &&
          int128{e.arrival.ns} - *p.heard > o_.idle_after.ns)
        p.idle = true;
    if (stamped && !first_) first_ = e.arrival.ns;
    if (stamped && o_.start_hold.ns > 0 && int128{e.arrival.ns} - *first_ > o_.start_hold.ns)
      waited_ = true;
    refresh();
    const Partition before =
        partitions_.contains(e.partition) ? partitions_[e.partition] : Partition{};
    const EventTime own = before.highest ? watermark(*before.highest) : EventTime::before_all();
    seen.stamps.push_back(o_.lateness_by == LatenessBy::kPartition ? std::max(own, frontier_)
                                                                   : frontier_);

    const bool far =
        stamped && o_.max_ahead != kNever && int128{e.time.ns} - e.arrival.ns > o_.max_ahead.ns;
    const int64_t best = std::max(before.highest.value_or(INT64_MIN), e.time.ns);
    const std::optional<int64_t> top = leader();
    const bool behind = o_.max_behind != kNever && top && int128{*top} - best > o_.max_behind.ns;
    seen.ends.push_back(LateReason::kLate);
    const auto ends = [&](bool beyond, LateReason reason, GuardPolicy policy) {
      seen.met[at(reason)] += beyond;
      if (!beyond || policy == GuardPolicy::kAccept) return false;
      seen.ends.back() = reason;
      return true;
    };
    if (ends(e.time < o_.min_time, LateReason::kBeforeMinTime, o_.before_min_time) ||
        ends(far, LateReason::kTooFarAhead, o_.beyond_max_ahead) ||
        ends(behind, LateReason::kTooFarBehind, o_.beyond_max_behind))
      return;
    if (o_.watermark_by == WatermarkBy::kEvents)
      seen.lateness.push_back(before.highest && *before.highest > e.time.ns
                                  ? static_cast<uint64_t>(int128{*before.highest} - e.time.ns)
                                  : 0);

    const bool marks = o_.watermark_by == WatermarkBy::kMarks && e.marks && !far;
    const bool moves =
        marks ? o_.mark_of == MarkOf::kPartition : o_.watermark_by == WatermarkBy::kEvents && !far;
    const bool rises = moves && (!before.highest || *before.highest < e.time.ns);
    if (stamped || rises || partitions_.contains(e.partition)) {
      Partition& p = partitions_[e.partition];
      if (p.idle) p.heard.reset();  // an unstamped event brings it back; it is not judged again
      p.idle = false;
      if (stamped) p.heard = e.arrival.ns;
      if (rises) p.highest = e.time.ns;
    }
    refresh();
    if (marks && o_.mark_of == MarkOf::kLane) frontier_ = std::max(frontier_, e.time);
  }
  void punctuate(const Punctuation& p) {
    if (p.why != Punctuation::Why::kSilent) frontier_ = std::max(frontier_, p.watermark);
  }
  void mark(EventTime time) {
    if (o_.watermark_by == WatermarkBy::kMarks)
      frontier_ = std::max(frontier_, less(time.ns, o_.bound));
  }
  EventTime frontier() const { return frontier_; }

 private:
  struct Partition {
    std::optional<int64_t> highest, heard;
    bool idle = false;
  };
  static EventTime less(int64_t time, Duration by) {
    const int128 w = int128{time} - by.ns;
    return w < INT64_MIN ? EventTime::before_all() : EventTime{static_cast<int64_t>(w)};
  }
  EventTime watermark(int64_t highest) const {
    return less(highest, o_.watermark_by == WatermarkBy::kEvents ? o_.bound : Duration{});
  }
  std::optional<int64_t> leader() const {
    std::optional<int64_t> top;
    for (const auto& [id, p] : partitions_)
      if (p.highest && (!top || *top < *p.highest)) top = p.highest;
    return top;
  }
  bool held() const {
    if (waited_) return false;
    for (uint32_t id = 1; id <= o_.declared; ++id)
      if (!partitions_.contains(id)) return true;
    return o_.declared == 0 && o_.start_hold.ns > 0;
  }
  void refresh() {
    if (held()) return;
    const std::optional<int64_t> top = leader();
    std::optional<EventTime> least;
    for (const auto& [id, p] : partitions_) {
      const bool behind = o_.max_behind != kNever && top &&
                          (!p.highest || int128{*top} - *p.highest > o_.max_behind.ns);
      if (p.idle || behind) continue;
      const EventTime w = p.highest ? watermark(*p.highest) : EventTime::before_all();
      least = least ? std::min(*least, w) : w;
    }
    if (!least && top) least = watermark(*top);
    if (least) frontier_ = std::max(frontier_, *least);
  }
  LaneOptions o_;
  std::map<uint32_t, Partition> partitions_;  // those that are known
  EventTime frontier_ = EventTime::before_all();
  std::optional<int64_t> first_;  // arrival
  bool waited_ = false;           // start_hold has passed
};

Seen by_model(const LaneOptions& options, const std::vector<Step>& steps) {
  Model model(options);
  Seen seen;
  for (const Step& s : steps) {
    if (s.punctuation)
      model.punctuate(*s.punctuation);
    else if (s.mark)
      model.mark(*s.mark);
    else
      model.stamp(s.event, seen);
  }
  seen.frontier = model.frontier();
  return seen;
}

// What a lane's counts and record say, against what became of each event.
void expect_account(const LaneOptions& options, const Seen& seen, const LaneCounts& counts,
                    const LaneRecord& record) {
  const GuardPolicy policy[] = {GuardPolicy::kAccept, options.beyond_max_ahead,
                                options.beyond_max_behind, options.before_min_time};
  GuardCounts dropped{}, diverted{}, offences{};
  for (const LateReason reason : seen.ends)
    if (reason != LateReason::kLate)
      ++(policy[at(reason)] == GuardPolicy::kDrop ? dropped : diverted)[at(reason)];
  EXPECT_EQ(counts.ended.dropped, dropped);
  EXPECT_EQ(counts.ended.diverted, diverted);
  EXPECT_EQ(counts.ended.sum(), seen.ends.size());
  for (const GuardCounts& of_one : record.offences)
    for (size_t i = 0; i < offences.size(); ++i) offences[i] += of_one[i];
  EXPECT_EQ(offences, counts.met);
}

// Runs the steps in bursts of at most `burst` (0: random sizes). Trackers: options.max_partitions.
Seen by_lane(const LaneOptions& options, const std::vector<Step>& steps, uint32_t burst, Rng& rng,
             LaneRecord& record) {
  std::vector<PartitionTracker> trackers(options.max_partitions);
  std::vector<GuardCounts> offences(options.max_partitions);
  record.offences = offences;
  Lane lane(options, trackers, &record);
  auto batch = std::make_unique<EventBatch>();
  std::array<uint8_t, kBatchMax> progress{};
  LaneCounts counts;
  Seen seen;
  for (size_t at = 0; at < steps.size();) {
    if (steps[at].punctuation) {
      lane.punctuate(*steps[at++].punctuation);
      continue;
    }
    const uint32_t most = burst ? burst : static_cast<uint32_t>(1 + rng.below(kBatchMax));
    EventTime low = EventTime::end_of_time(), high = EventTime::before_all(), top = high;
    batch->count = batch->marks = 0;
    for (; at < steps.size() && batch->count < most && !steps[at].punctuation; ++at) {
      if (steps[at].mark) {
        mark_progress(*batch, *steps[at].mark);
        continue;
      }
      const Event& e = steps[at].event;
      const uint32_t i = batch->count++;
      batch->time[i] = e.time;
      batch->arrival[i] = e.arrival;
      batch->partition[i] = PartitionId{e.partition};
      progress[i] = e.marks;
      low = std::min(low, e.time);
      high = std::max(high, e.time);
    }
    const EventTime before = lane.frontier();
    counts.ended.passed_on += batch->count;  // the parser's part
    lane.stamp(*batch, counts, progress.data());
    uint32_t outside = 0;
    for (uint32_t i = 0; i < batch->count; ++i) {
      seen.stamps.push_back(batch->stamp[i]);
      top = std::max(top, batch->stamp[i]);
      EXPECT_GE(batch->stamp[i], before);  // I1: nothing below a frontier that may be published
      seen.ends.push_back(batch->outside > 0 ? batch->guard[i] : LateReason::kLate);
      outside += seen.ends.back() != LateReason::kLate;
    }
    EXPECT_EQ(batch->outside, outside);
    EXPECT_EQ(batch->min_time, low);
    EXPECT_EQ(batch->max_time, high);
    EXPECT_EQ(batch->max_stamp, top);
    EXPECT_GE(lane.frontier(), before);
    seen.frontiers.push_back(lane.frontier());
  }
  seen.frontier = lane.frontier();
  seen.met = counts.met;
  expect_account(options, seen, counts, record);
  return seen;
}
Seen by_lane(const LaneOptions& options, const std::vector<Step>& steps, uint32_t burst, Rng& rng) {
  const auto record = std::make_unique<LaneRecord>();
  return by_lane(options, steps, burst, rng, *record);
}

void expect_equal(const Seen& got, const Seen& want) {
  ASSERT_EQ(got.stamps.size(), want.stamps.size());
  for (size_t i = 0; i < want.stamps.size(); ++i) {
    ASSERT_EQ(got.stamps[i].ns, want.stamps[i].ns) << "event " << i;
    ASSERT_EQ(got.ends[i], want.ends[i]) << "event " << i;
  }
  EXPECT_EQ(got.frontier.ns, want.frontier.ns);
  EXPECT_EQ(got.met, want.met);
}

LaneOptions random_options(Rng& rng, uint32_t partitions, int64_t base = 0) {
  const auto one_of = [&](std::initializer_list<int64_t> all) {
    return Duration{*(all.begin() + rng.below(all.size()))};
  };
  const auto policy = [&] { return static_cast<GuardPolicy>(rng.below(3)); };
  LaneOptions options{.bound = one_of({0, 1, 3, 20, INT64_MAX}),
                      .idle_after = one_of({0, 2, 9, 40, INT64_MAX}),
                      .max_ahead = one_of({0, 5, 60, INT64_MAX}),
                      .max_behind = one_of({0, 4, 25, 100, INT64_MAX}),
                      .lateness_by = rng.one_in(2) ? LatenessBy::kPartition : LatenessBy::kLane,
                      .max_partitions = partitions};
  if (rng.one_in(2)) return options;
  if (rng.one_in(2)) options.watermark_by = static_cast<WatermarkBy>(rng.below(3));
  options.mark_of = rng.one_in(2) ? MarkOf::kPartition : MarkOf::kLane;
  if (rng.one_in(2)) options.min_time = later(EventTime{base}, one_of({-20, 0, 60}));
  options.beyond_max_ahead = policy();
  options.beyond_max_behind = policy();
  options.before_min_time = policy();
  if (rng.one_in(2)) options.start_hold = one_of({1, 8, 50, INT64_MAX});
  if (rng.one_in(2)) options.declared = static_cast<uint32_t>(rng.below(partitions));
  return options;
}

// Times near `base`; arrivals walk, stand still, jump, step back and are absent.
std::vector<Step> random_steps(Rng& rng, uint32_t partitions, size_t count, int64_t base) {
  const auto shifted = [](int64_t t, int64_t by) {  // stays a point
    return later(EventTime{t}, Duration{by}).is_point() ? t + by : t;
  };
  std::vector<Step> steps;
  std::vector<int64_t> offset;
  for (uint32_t p = 0; p < partitions; ++p)
    offset.push_back(static_cast<int64_t>(rng.below(3) * rng.below(60)));
  const bool unstamped = rng.one_in(6);
  int64_t arrival = base;
  for (size_t i = 0; i < count; ++i) {
    const int64_t pace[] = {0, 1, 1, 2, 3, 12, 50, -2};
    arrival = shifted(arrival, pace[rng.below(rng.one_in(4) ? 8 : 5)]);
    Step s;
    if (rng.one_in(60)) {
      const auto why = static_cast<Punctuation::Why>(rng.below(6));
      s.punctuation = Punctuation{
          .watermark = {shifted(arrival, 20 - static_cast<int64_t>(rng.below(120)))}, .why = why};
    } else if (rng.one_in(30)) {
      s.mark = EventTime{arrival};
    } else {
      const auto p = static_cast<uint32_t>(rng.below(partitions));
      const int64_t late = static_cast<int64_t>(rng.below(9) * rng.below(3));
      int64_t time = shifted(arrival, -offset[p] - late);
      if (rng.one_in(40)) time = shifted(time, static_cast<int64_t>(rng.below(200)));
      s.event = {{time}, {arrival}, p, rng.one_in(5)};
      if (unstamped || rng.one_in(50)) s.event.arrival = EventTime::before_all();
    }
    steps.push_back(s);
  }
  return steps;
}

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20261201;
}

TEST(Lane, EqualsTheModelForAllBursts) {
  Rng rng(seed());
  for (int round = 0; round < 1500; ++round) {
    const uint32_t partitions = rng.one_in(3) ? 1 : static_cast<uint32_t>(2 + rng.below(5));
    const int64_t bases[] = {0, 1'700'000'000'000'000'000, -500, INT64_MAX - 400, INT64_MIN + 400};
    const int64_t base = bases[rng.below(5)];
    const LaneOptions options = random_options(rng, partitions, base);
    const auto steps = random_steps(rng, partitions, 300, base);
    const Seen want = by_model(options, steps);
    for (const uint32_t burst : {1u, 7u, 32u, 256u, 0u}) {
      SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round
                                      << " burst " << burst << " partitions " << partitions);
      expect_equal(by_lane(options, steps, burst, rng), want);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// A second tracker that is never heard sends the same events through the general loop.
TEST(Lane, OnePartitionAloneOrAmongUnheardOnes) {
  Rng rng(seed() + 1);
  for (int round = 0; round < 500; ++round) {
    LaneOptions options = random_options(rng, 1);
    const auto steps = random_steps(rng, 1, 300, rng.one_in(2) ? 0 : INT64_MAX - 300);
    const Seen alone = by_lane(options, steps, 32, rng);
    options.max_partitions = 3;
    const Seen among = by_lane(options, steps, 32, rng);
    SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round);
    expect_equal(among, alone);
    EXPECT_EQ(among.frontiers, alone.frontiers);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Every event's distance from its partition's highest, in whatever order and however cut; 256
// batches are looked at in full.
TEST(Lane, RemembersHowFarBehindEventsCame) {
  Rng rng(seed() + 2);
  for (int round = 0; round < 200; ++round) {
    const uint32_t partitions = rng.one_in(2) ? 1 : 3;
    LaneOptions options = random_options(rng, partitions);
    options.watermark_by = WatermarkBy::kEvents;
    const auto steps = random_steps(rng, partitions, 250, 0);
    const Seen want = by_model(options, steps);
    for (const uint32_t burst : {1u, 32u, 256u}) {
      SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round
                                      << " burst " << burst << " partitions " << partitions);
      const auto record = std::make_unique<LaneRecord>();
      by_lane(options, steps, burst, rng, *record);
      LatencyHistogram expected;
      uint64_t beyond = 0;
      for (const uint64_t late : want.lateness) {
        expected.record(late);
        beyond += late > static_cast<uint64_t>(options.bound.ns);
      }
      EXPECT_EQ(record->lateness.count(), want.lateness.size());
      EXPECT_EQ(record->lateness.sum(), expected.sum());
      EXPECT_EQ(record->lateness.max(), expected.max());
      EXPECT_EQ(record->beyond_bound, beyond);
      for (const double percent : {50.0, 90.0, 99.0})
        EXPECT_EQ(record->lateness.percentile(percent), expected.percentile(percent));
      if (HasFailure()) return;
    }
  }
}

// Of further batches each 32nd counts, 32 times: numbers 256, 288, ... 1,984 of 2,000, in all 55.
TEST(Lane, LooksAtSomeOfManyDisorderedBatches) {
  PartitionTracker tracker;
  const auto record = std::make_unique<LaneRecord>();
  Lane lane({.bound = {5}}, {&tracker, 1}, record.get());
  const auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  for (int64_t b = 0; b < 2000; ++b) {
    batch->count = 2;
    batch->time[0] = {b * 100};
    batch->time[1] = {b * 100 - 7};
    batch->arrival[0] = batch->arrival[1] = EventTime::before_all();
    lane.stamp(*batch, counts);
  }
  EXPECT_EQ(record->lateness.count(), 2u * (256 + 55 * 32));
  EXPECT_EQ(record->beyond_bound, 256u + 55 * 32);
  EXPECT_EQ(record->lateness.max(), 7u);
}

class LaneFixture : public testing::Test {
 protected:
  void make(LaneOptions options) {
    trackers_.resize(options.max_partitions);
    lane_ = std::make_unique<Lane>(options, trackers_);
  }
  EventTime stamp(int64_t time, int64_t arrival, uint32_t partition = 0) {
    batch_->count = 1;
    batch_->time[0] = {time};
    batch_->arrival[0] = {arrival};
    batch_->partition[0] = PartitionId{partition};
    lane_->stamp(*batch_, counts_);
    return batch_->stamp[0];
  }
  uint64_t met(LateReason reason) const { return counts_.met[static_cast<size_t>(reason)]; }
  std::vector<PartitionTracker> trackers_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  LaneCounts counts_;
};

// Frontier form, no -1: after an event at 100 with bound 10, W = 90 exactly.
TEST_F(LaneFixture, BoundIsSubtractedAndNothingElse) {
  make({.bound = {10}});
  EXPECT_EQ(stamp(100, 100), EventTime::before_all());
  EXPECT_EQ(lane_->frontier().ns, 90);
  EXPECT_EQ(stamp(99, 100).ns, 90);
  EXPECT_EQ(lane_->frontier().ns, 90);
  stamp(101, 101);
  EXPECT_EQ(lane_->frontier().ns, 91);
}

TEST_F(LaneFixture, IdleIsStrictlyMoreThanIdleAfter) {
  make({.bound = {0}, .idle_after = {10}, .max_partitions = 2});
  stamp(50, 50, 0);
  stamp(70, 50, 1);
  EXPECT_EQ(stamp(80, 60, 1).ns, 70);  // own watermark; 60 - 50 = 10 is not more
  EXPECT_EQ(lane_->frontier().ns, 50);
  stamp(81, 61, 1);  // 0 is idle: 1 alone decides
  EXPECT_EQ(lane_->frontier().ns, 81);
  EXPECT_EQ(lane_->holder(), PartitionId{1});
  EXPECT_EQ(stamp(60, 62, 0).ns, 81);  // back, and late against the frontier
  EXPECT_EQ(lane_->holder(), PartitionId{0});
  stamp(90, 63, 1);  // 0 holds where it is until it has caught up
  EXPECT_EQ(lane_->frontier().ns, 81);
  stamp(85, 64, 0);
  EXPECT_EQ(lane_->frontier().ns, 85);
}

TEST_F(LaneFixture, AllIdleGoesToTheLargestWatermark) {
  make({.bound = {5}, .idle_after = {10}, .max_partitions = 2});
  stamp(50, 50, 0);
  stamp(90, 50, 1);
  EXPECT_EQ(lane_->frontier().ns, 45);
  EXPECT_EQ(stamp(60, 100, 0).ns, 85);  // both were idle at 100; largest watermark is 90 - 5
  EXPECT_EQ(lane_->frontier().ns, 85);
}

TEST_F(LaneFixture, BehindIsStrictlyMoreThanMaxBehind) {
  make({.bound = {0}, .max_behind = {20}, .max_partitions = 2});
  stamp(50, 50, 0);
  stamp(70, 70, 1);
  EXPECT_EQ(lane_->frontier().ns, 50);
  EXPECT_EQ(stamp(71, 71, 1).ns, 70);
  EXPECT_EQ(lane_->frontier().ns, 71);  // 71 - 50 = 21: 0 no longer holds
  EXPECT_EQ(lane_->holder(), PartitionId{1});
  EXPECT_EQ(stamp(60, 72, 0).ns, 71);  // its events are late against the lane
}

// Whoever is left is max_behind a leader that has turned idle: nobody holds, as where all are idle.
TEST_F(LaneFixture, AnIdleLeaderIsNotHeldBackByWhatItLeftBehind) {
  make({.bound = {0}, .idle_after = {10}, .max_behind = {20}, .max_partitions = 3});
  stamp(90, 100, 1);
  stamp(100, 101, 0);
  stamp(10, 102, 2);
  EXPECT_EQ(lane_->frontier().ns, 90);
  stamp(11, 112, 2);  // 112 - 101 = 11: 0 and 1 are idle, 2 is 89 behind
  EXPECT_EQ(lane_->holder(), Lane::kNobody);
  EXPECT_EQ(lane_->frontier().ns, 100);
  stamp(80, 113, 2);  // within 20 of the leader: it counts again
  EXPECT_EQ(lane_->holder(), PartitionId{2});
  EXPECT_EQ(lane_->frontier().ns, 100);
}

TEST_F(LaneFixture, FarAheadIsCountedAndMovesNothing) {
  make({.bound = {0}, .max_ahead = {30}});
  stamp(130, 100);
  EXPECT_EQ(lane_->frontier().ns, 130);
  stamp(131 + 1, 101);  // 31 ahead
  EXPECT_EQ(lane_->frontier().ns, 130);
  EXPECT_EQ(met(LateReason::kTooFarAhead), 1u);
  stamp(500, EventTime::before_all().ns);  // no arrival, no judgement
  EXPECT_EQ(lane_->frontier().ns, 500);
  EXPECT_EQ(met(LateReason::kTooFarAhead), 1u);
}

TEST_F(LaneFixture, LatenessByLaneStampsTheFrontier) {
  make({.bound = {0}, .lateness_by = LatenessBy::kLane, .max_partitions = 2});
  stamp(10, 0, 0);
  stamp(90, 0, 1);
  EXPECT_EQ(stamp(95, 0, 1).ns, 10);
}

TEST_F(LaneFixture, PunctuationsLiftAndSilenceDoesNot) {
  make({.bound = {0}});
  stamp(10, 0);
  lane_->punctuate({.watermark = {99}, .why = Punctuation::Why::kSilent});
  EXPECT_EQ(lane_->frontier().ns, 10);
  EXPECT_TRUE(lane_->silent());
  lane_->punctuate({.watermark = {50}, .why = Punctuation::Why::kOperator});
  EXPECT_TRUE(lane_->silent());
  lane_->punctuate({.watermark = {40}, .why = Punctuation::Why::kReturned});
  EXPECT_FALSE(lane_->silent());
  EXPECT_EQ(stamp(20, 0).ns, 50);
  EXPECT_EQ(lane_->frontier().ns, 50);
  lane_->punctuate({.watermark = EventTime::end_of_time(), .why = Punctuation::Why::kEnded});
  EXPECT_TRUE(lane_->ended());
}

// 60 is more than 50 behind 111. The event is a stamp, a count, and nothing else.
TEST_F(LaneFixture, AGuardThatDropsLeavesNoTrace) {
  make({.bound = {0},
        .max_ahead = {30},
        .max_behind = {50},
        .max_partitions = 3,
        .min_time = {10},
        .beyond_max_ahead = GuardPolicy::kDrop,
        .beyond_max_behind = GuardPolicy::kDivert,
        .before_min_time = GuardPolicy::kDrop});
  stamp(9, 100, 2);  // a clock that was never set
  EXPECT_EQ(batch_->guard[0], LateReason::kBeforeMinTime);
  EXPECT_EQ(lane_->frontier(), EventTime::before_all());
  stamp(111, 111, 1);
  EXPECT_EQ(lane_->frontier().ns, 111);  // 2 was never there to hold it
  EXPECT_EQ(stamp(60, 112, 2).ns, 111);
  EXPECT_EQ(batch_->guard[0], LateReason::kTooFarBehind);
  stamp(61, 112, 2);  // 50 behind is not more: it joins
  EXPECT_EQ(batch_->outside, 0u);
  EXPECT_EQ(lane_->holder(), PartitionId{2});
  stamp(144, 113, 2);  // 31 ahead
  EXPECT_EQ(batch_->guard[0], LateReason::kTooFarAhead);
  EXPECT_EQ(lane_->holder(), PartitionId{2});
  EXPECT_EQ(met(LateReason::kBeforeMinTime), 1u);
  EXPECT_EQ(met(LateReason::kTooFarBehind), 1u);
  EXPECT_EQ(met(LateReason::kTooFarAhead), 1u);
  EXPECT_EQ(counts_.ended.diverted[static_cast<size_t>(LateReason::kTooFarBehind)], 1u);
}

TEST_F(LaneFixture, DeclaredPartitionsAreWaitedFor) {
  make({.bound = {0}, .max_behind = {5}, .max_partitions = 4, .declared = 2});
  EXPECT_EQ(lane_->holder(), PartitionId{1});
  stamp(100, 100, 3);  // discovered
  stamp(200, 200, 2);
  EXPECT_EQ(lane_->frontier(), EventTime::before_all());
  EXPECT_EQ(lane_->holder(), PartitionId{1});
  stamp(196, 210, 1);
  EXPECT_EQ(lane_->frontier().ns, 196);  // 3 is max_behind
}

TEST_F(LaneFixture, StartHoldIsStrictAndInLaneTime) {
  make({.bound = {0}, .max_partitions = 3, .declared = 1, .start_hold = {50}});
  stamp(100, 100, 2);
  stamp(150, 150, 2);
  EXPECT_EQ(lane_->frontier(), EventTime::before_all());
  stamp(151, EventTime::before_all().ns, 2);  // no arrival, no judgement
  EXPECT_EQ(lane_->frontier(), EventTime::before_all());
  EXPECT_EQ(stamp(152, 151, 2).ns, 151);  // 51 after the first: 2 alone decides
  EXPECT_EQ(lane_->frontier().ns, 152);
  stamp(10, 152, 1);  // joins at the frontier
  EXPECT_EQ(lane_->frontier().ns, 152);
  EXPECT_EQ(lane_->holder(), PartitionId{1});
}

TEST_F(LaneFixture, StartHoldAloneIsTimeForPartitionsToTurnUp) {
  make({.bound = {0}, .max_partitions = 3, .start_hold = {50}});
  stamp(100, 100, 1);
  EXPECT_EQ(stamp(70, 140, 2), EventTime::before_all());  // else it would be late
  stamp(110, 151, 1);
  EXPECT_EQ(lane_->frontier().ns, 70);
}

TEST_F(LaneFixture, OnlyMarksMoveAPunctuatedLane) {
  make({.bound = {10}, .max_partitions = 2, .watermark_by = WatermarkBy::kMarks});
  stamp(100, 100, 1);
  EXPECT_EQ(lane_->frontier(), EventTime::before_all());
  const uint8_t yes = 1;
  batch_->time[0] = {90};
  lane_->stamp(*batch_, counts_, &yes);  // its own time, without the bound
  EXPECT_EQ(lane_->frontier().ns, 90);
  batch_->count = 0;
  batch_->marks = 1;
  batch_->mark[0] = {.at = 0, .time = {120}};
  lane_->stamp(*batch_, counts_);  // an arrival, less the bound
  EXPECT_EQ(lane_->frontier().ns, 110);
  batch_->marks = 0;
  EXPECT_EQ(stamp(95, 121, 1).ns, 110);
}

TEST_F(LaneFixture, NothingMovesALaneWithoutAStrategyButPunctuations) {
  make({.bound = {0}, .watermark_by = WatermarkBy::kNothing});
  stamp(100, 100);
  stamp(5, 101);
  batch_->marks = 1;
  batch_->mark[0] = {.at = 0, .time = {120}};
  const uint8_t yes = 1;
  lane_->stamp(*batch_, counts_, &yes);
  EXPECT_EQ(lane_->frontier(), EventTime::before_all());
  lane_->punctuate({.watermark = {50}, .why = Punctuation::Why::kOperator});
  EXPECT_EQ(lane_->frontier().ns, 50);
}

TEST_F(LaneFixture, AnEmptyBatchChangesNothing) {
  make({.bound = {0}, .max_partitions = 2});
  stamp(10, 0, 1);
  batch_->count = 0;
  lane_->stamp(*batch_, counts_);
  EXPECT_EQ(lane_->frontier().ns, 10);
  EXPECT_EQ(batch_->max_stamp, EventTime::before_all());
}

}  // namespace
}  // namespace tidewire
