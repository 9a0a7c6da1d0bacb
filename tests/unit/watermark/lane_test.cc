// Lane against the slowest obvious version of its rules (core.md rules 2 and 6, "Frontier"), which
// keeps every partition in a map, looks at all of them before and after each event, and counts in
// 128 bits so that no edge can wrap.
#include "watermark/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
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
};
// Either an event or a punctuation, in lane order.
struct Step {
  Event event;
  std::optional<Punctuation> punctuation;
};
struct Seen {
  std::vector<EventTime> stamps;
  std::vector<EventTime> frontiers;  // after each burst
  EventTime frontier;
  uint64_t far_ahead = 0;
};

class Model {
 public:
  explicit Model(const LaneOptions& o) : o_(o) {}

  EventTime stamp(const Event& e, uint64_t& far_ahead) {
    const bool stamped = e.arrival != EventTime::before_all();
    for (auto& [id, p] : partitions_)
      if (stamped && p.heard && o_.idle_after != kNever &&
          int128{e.arrival.ns} - *p.heard > o_.idle_after.ns)
        p.idle = true;
    refresh();
    Partition& p = partitions_[e.partition];
    const EventTime own = p.highest ? bounded(*p.highest) : EventTime::before_all();
    const EventTime s =
        o_.lateness_by == LatenessBy::kPartition ? std::max(own, frontier_) : frontier_;
    if (p.idle) p.heard.reset();  // an unstamped event brings it back, and it is not judged again
    p.idle = false;
    if (stamped) p.heard = e.arrival.ns;
    const bool far =
        stamped && o_.max_ahead != kNever && int128{e.time.ns} - e.arrival.ns > o_.max_ahead.ns;
    far_ahead += far;
    if (!far && (!p.highest || *p.highest < e.time.ns)) p.highest = e.time.ns;
    refresh();
    return s;
  }
  void punctuate(const Punctuation& p) {
    if (p.why != Punctuation::Why::kSilent) frontier_ = std::max(frontier_, p.watermark);
  }
  EventTime frontier() const { return frontier_; }

 private:
  struct Partition {
    std::optional<int64_t> highest, heard;
    bool idle = false;
  };
  EventTime bounded(int64_t highest) const {
    const int128 w = int128{highest} - o_.bound.ns;
    return w < INT64_MIN ? EventTime::before_all() : EventTime{static_cast<int64_t>(w)};
  }
  void refresh() {
    std::optional<int64_t> leader;
    for (const auto& [id, p] : partitions_)
      if (p.highest && (!leader || *leader < *p.highest)) leader = p.highest;
    std::optional<EventTime> least;
    for (const auto& [id, p] : partitions_) {
      const bool behind = o_.max_behind != kNever && leader &&
                          (!p.highest || int128{*leader} - *p.highest > o_.max_behind.ns);
      if (p.idle || behind) continue;
      const EventTime w = p.highest ? bounded(*p.highest) : EventTime::before_all();
      least = least ? std::min(*least, w) : w;
    }
    if (!least && leader) least = bounded(*leader);
    if (least) frontier_ = std::max(frontier_, *least);
  }
  LaneOptions o_;
  std::map<uint32_t, Partition> partitions_;
  EventTime frontier_ = EventTime::before_all();
};

Seen by_model(const LaneOptions& options, const std::vector<Step>& steps) {
  Model model(options);
  Seen seen;
  for (const Step& s : steps) {
    if (s.punctuation)
      model.punctuate(*s.punctuation);
    else
      seen.stamps.push_back(model.stamp(s.event, seen.far_ahead));
  }
  seen.frontier = model.frontier();
  return seen;
}

// Runs the steps in bursts of at most `burst` (0: random sizes). Trackers: options.max_partitions.
Seen by_lane(const LaneOptions& options, const std::vector<Step>& steps, uint32_t burst, Rng& rng) {
  std::vector<PartitionTracker> trackers(options.max_partitions);
  Lane lane(options, trackers);
  auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  Seen seen;
  for (size_t at = 0; at < steps.size();) {
    if (steps[at].punctuation) {
      lane.punctuate(*steps[at++].punctuation);
      continue;
    }
    const uint32_t most = burst ? burst : static_cast<uint32_t>(1 + rng.below(kBatchMax));
    EventTime low = EventTime::end_of_time(), high = EventTime::before_all(), top = high;
    batch->count = 0;
    for (; at < steps.size() && batch->count < most && !steps[at].punctuation; ++at) {
      const Event& e = steps[at].event;
      const uint32_t i = batch->count++;
      batch->time[i] = e.time;
      batch->arrival[i] = e.arrival;
      batch->partition[i] = PartitionId{e.partition};
      low = std::min(low, e.time);
      high = std::max(high, e.time);
    }
    const EventTime before = lane.frontier();
    lane.stamp(*batch, counts);
    for (uint32_t i = 0; i < batch->count; ++i) {
      seen.stamps.push_back(batch->stamp[i]);
      top = std::max(top, batch->stamp[i]);
      EXPECT_GE(batch->stamp[i], before);  // I1: nothing below a frontier that may be published
    }
    EXPECT_EQ(batch->min_time, low);
    EXPECT_EQ(batch->max_time, high);
    EXPECT_EQ(batch->max_stamp, top);
    EXPECT_GE(lane.frontier(), before);
    seen.frontiers.push_back(lane.frontier());
  }
  seen.frontier = lane.frontier();
  seen.far_ahead = counts.far_ahead;
  return seen;
}

void expect_equal(const Seen& got, const Seen& want) {
  ASSERT_EQ(got.stamps.size(), want.stamps.size());
  for (size_t i = 0; i < want.stamps.size(); ++i)
    ASSERT_EQ(got.stamps[i].ns, want.stamps[i].ns) << "event " << i;
  EXPECT_EQ(got.frontier.ns, want.frontier.ns);
  EXPECT_EQ(got.far_ahead, want.far_ahead);
}

LaneOptions random_options(Rng& rng, uint32_t partitions) {
  const auto one_of = [&](std::initializer_list<int64_t> all) {
    return Duration{*(all.begin() + rng.below(all.size()))};
  };
  return {.bound = one_of({0, 1, 3, 20, INT64_MAX}),
          .idle_after = one_of({0, 2, 9, 40, INT64_MAX}),
          .max_ahead = one_of({0, 5, 60, INT64_MAX}),
          .max_behind = one_of({0, 4, 25, 100, INT64_MAX}),
          .lateness_by = rng.one_in(2) ? LatenessBy::kPartition : LatenessBy::kLane,
          .max_partitions = partitions};
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
    } else {
      const auto p = static_cast<uint32_t>(rng.below(partitions));
      const int64_t late = static_cast<int64_t>(rng.below(9) * rng.below(3));
      int64_t time = shifted(arrival, -offset[p] - late);
      if (rng.one_in(40)) time = shifted(time, static_cast<int64_t>(rng.below(200)));
      s.event = {{time}, {arrival}, p};
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
    const LaneOptions options = random_options(rng, partitions);
    const int64_t bases[] = {0, 1'700'000'000'000'000'000, -500, INT64_MAX - 400, INT64_MIN + 400};
    const auto steps = random_steps(rng, partitions, 300, bases[rng.below(5)]);
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
  EXPECT_EQ(counts_.far_ahead, 1u);
  stamp(500, EventTime::before_all().ns);  // no arrival, no judgement
  EXPECT_EQ(lane_->frontier().ns, 500);
  EXPECT_EQ(counts_.far_ahead, 1u);
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
