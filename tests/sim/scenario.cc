#include "scenario.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <tuple>

namespace tidewire::sim {
namespace {

template <class T>
T one_of(Rng& rng, std::initializer_list<T> all) {
  return *(all.begin() + rng.below(all.size()));
}

std::vector<Step> random_lane(Rng& rng, uint16_t lane, const LaneOptions& options, uint32_t events,
                              int64_t base) {
  std::vector<Step> steps;
  std::vector<int64_t> offset;
  for (uint32_t p = 0; p < options.max_partitions; ++p)
    offset.push_back(one_of<int64_t>(rng, {0, 0, 3, 12, 40}));
  int64_t arrival = base + static_cast<int64_t>(rng.below(10));
  for (uint32_t i = 0; i < events; ++i) {
    arrival += one_of<int64_t>(rng, {0, 1, 1, 2, 3, 12});
    Step s;
    if (rng.one_in(40)) {
      s.is_punctuation = true;
      s.punctuation = {
          .lane = LaneId{lane},
          .watermark = {arrival - static_cast<int64_t>(rng.below(20))},
          .why = one_of(rng, {Punctuation::Why::kCaughtUp, Punctuation::Why::kStraggler,
                              Punctuation::Why::kOperator})};
      steps.push_back(s);
    }
    s = {};
    if (rng.one_in(10)) s.mark = {arrival};
    s.partition = static_cast<uint32_t>(rng.below(options.max_partitions));
    s.arrival = {arrival};
    s.time = {arrival - offset[s.partition] - one_of<int64_t>(rng, {0, 0, 0, 1, 2, 3, 5, 8})};
    if (rng.one_in(100)) s.time.ns += 200;
    s.column[kKeyA] = static_cast<int64_t>(rng.below(3));
    s.column[kKeyB] = static_cast<int64_t>(rng.below(2)) - 1;
    s.column[kValue] = static_cast<int64_t>(rng.below(1000)) - 300;
    s.column[kLaneNumber] = lane;
    s.column[kFilter] = static_cast<int64_t>(rng.below(4));
    s.column[kGap] = static_cast<int64_t>(rng.below(6)) - 1;
    steps.push_back(s);
  }
  return steps;
}

WindowShape random_shape(Rng& rng, const ScenarioShape& shape) {
  using Kind = WindowKind;
  if (shape.wall_clock && rng.one_in(2)) {
    return {.kind = Kind::kCalendar,
            .unit = one_of(rng, {CalendarUnit::kHour, CalendarUnit::kHour, CalendarUnit::kDay,
                                 CalendarUnit::kWeek, CalendarUnit::kMonth}),
            .zone = one_of(rng, {"America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"})};
  }
  switch (rng.below(11)) {
    case 0:
      return {.kind = Kind::kTumbling, .size = {5}, .slide = {5}};
    case 1:
      return {.kind = Kind::kTumbling, .size = {30}, .slide = {30}, .offset = {-7}};
    case 2:
      return {.kind = Kind::kSliding, .size = {6}, .slide = {2}, .offset = {1}};
    case 3:
      return {.kind = Kind::kSliding, .size = {7}, .slide = {3}};
    case 4:  // with gaps between the windows
      return {.kind = Kind::kSliding, .size = {2}, .slide = {5}};
    case 5:
      return {.kind = Kind::kCumulate, .size = {12}, .slide = {12}, .offset = {5}, .early = {4}};
    case 6:
      return {.kind = Kind::kCount, .rows = 1 + rng.below(5), .row_slide = 1 + rng.below(5)};
    case 7:
      return {.kind = Kind::kGlobal, .early_rows = rng.below(4)};
    default:
      return {.kind = Kind::kSession, .gap = {3}};
  }
}

// What any of them may have beside: core.md rule 6.
void add_timing(Rng& rng, Plan& plan) {
  WindowShape& w = plan.window;
  if (w.kind == WindowKind::kCount || w.kind == WindowKind::kCumulate) return;
  w.accumulation = one_of(rng, {Accumulation::kAccumulating, Accumulation::kAccumulating,
                                Accumulation::kDiscarding, Accumulation::kRetracting});
  if (w.kind == WindowKind::kGlobal) return;
  if (rng.one_in(2)) w.lateness = {one_of<int64_t>(rng, {1, 4, 20})};
  if (w.lateness.ns > 0 && rng.one_in(2)) w.gather = {one_of<int64_t>(rng, {3, 7})};
  if (w.kind == WindowKind::kSession) {
    if (rng.one_in(3)) {
      plan.values.push_back(kGap);
      plan.gap_value = 1;
      plan.gap_unit = {1};
    }
    if (rng.one_in(3)) w.max_duration = {one_of<int64_t>(rng, {7, 20})};
    if (rng.one_in(4)) w.early_rows = 1 + rng.below(4);
  } else {
    if (rng.one_in(3)) w.early = {one_of<int64_t>(rng, {2, 3})};
    if (w.early.ns == 0 && rng.one_in(4)) w.early_rows = 1 + rng.below(4);
  }
}

Plan random_plan(Rng& rng, uint16_t id, const ScenarioShape& shape) {
  Plan plan;
  plan.id = QueryId{id};
  plan.name = "q" + std::to_string(id);
  plan.window = random_shape(rng, shape);
  plan.late_rows = rng.one_in(2);
  const bool some = rng.one_in(3);
  for (uint16_t l = 0; l < shape.lanes; ++l)
    if (!some || rng.one_in(2)) plan.lanes.push_back(LaneId{l});
  if (plan.lanes.empty()) plan.lanes.push_back(LaneId{0});
  if (rng.one_in(3)) {
    plan.where.push_back({.op = PredicateStep::Op::kRange, .column = kFilter, .low = 1, .high = 9});
  }
  plan.key_words = one_of(rng, {0u, 1u, 2u, 4u});
  if (plan.key_words > 0) plan.key.push_back({.column = kKeyA});
  if (plan.key_words > 1) plan.key.push_back({.column = kKeyB});
  if (plan.key_words > 0 && rng.one_in(3)) {  // the lane determines the key
    plan.key.back().column = kLaneNumber;
    plan.placement = Placement::kLocal;
  }
  plan.values = {kValue};
  add_timing(rng, plan);
  plan.cell = CellKind::kStats;
  plan.cell_words = 4;
  plan.shards = one_of(rng, {1u, 2u, 8u});
  plan.max_keys = 64;
  // Lanes are read in any order, so all rows of all lanes may be open at once: each in a pane of
  // its own, or, as a lane moves by 19 / 6 ns an event on average, in so many of 1 ns.
  plan.max_panes = std::min(300 + 5 * shape.events, 8 + shape.lanes * shape.events);
  plan.max_deferred = uint64_t{shape.lanes} * shape.events;
  plan.max_changes = 8 * plan.max_deferred;
  // A store has its shards' part of the sessions, and one shard may be all that is used.
  if (plan.window.kind == WindowKind::kSession) plan.max_sessions = plan.max_deferred * plan.shards;
  return plan;
}

using Key = std::array<int64_t, kMaxKeyWords>;

constexpr EventTime kGuarded = EventTime::end_of_time();  // no event has such a stamp

std::vector<std::vector<EventTime>> stamps_of(const Scenario& scenario,
                                              const Sequences& sequences) {
  std::vector<std::vector<EventTime>> all;
  auto batch = std::make_unique<EventBatch>();
  for (size_t l = 0; l < sequences.size(); ++l) {
    std::vector<PartitionTracker> trackers(scenario.lanes[l].max_partitions);
    Lane lane(scenario.lanes[l], trackers);
    LaneCounts counts;
    std::vector<EventTime>& stamps = all.emplace_back();
    for (const Step& s : sequences[l]) {
      if (s.is_punctuation) {
        lane.punctuate(s.punctuation);
        continue;
      }
      batch->count = 1;
      batch->marks = s.mark.is_point() ? 1 : 0;
      batch->mark[0] = {.at = 0, .time = s.mark};
      batch->time[0] = s.time;
      batch->arrival[0] = s.arrival;
      batch->partition[0] = PartitionId{s.partition};
      const uint8_t progress = s.column[kFilter] == scenario.progress.steps[0].low ? 1 : 0;
      lane.stamp(*batch, counts, &progress);
      stamps.push_back(batch->outside > 0 ? kGuarded : batch->stamp[0]);
    }
  }
  return all;
}

// Times and lengths were thought in steps of 1 ns from `base` on: a step is a quarter of an hour.
void stretch(Scenario& scenario, int64_t base) {
  constexpr int64_t kStep = 15 * 60 * kSecond;
  const auto point = [&](EventTime& t) {
    if (t.is_point()) t.ns = base + (t.ns - base) * kStep;
  };
  const auto length = [](Duration& d) {
    if (d.ns != INT64_MAX) d.ns *= kStep;
  };
  for (LaneOptions& lane : scenario.lanes) {
    length(lane.bound), length(lane.idle_after), length(lane.start_hold);
    length(lane.max_ahead), length(lane.max_behind);
    point(lane.min_time);
  }
  for (Plan& plan : scenario.plans) {
    WindowShape& w = plan.window;
    length(w.size), length(w.slide), length(w.offset), length(w.gap), length(w.max_duration);
    length(w.early), length(w.lateness), length(w.gather), length(plan.gap_unit);
  }
  for (std::vector<Step>& lane : scenario.input)
    for (Step& s : lane)
      if (s.is_punctuation)
        point(s.punctuation.watermark);
      else
        point(s.time), point(s.arrival), point(s.mark);
}

}  // namespace

Scenario random_scenario(Rng& rng, ScenarioShape shape) {
  Scenario scenario;
  // The clocks of New York were set back at 06:00 on 2023-11-05 and forward at 07:00 on 2024-03-10,
  // those of Lord Howe Island back at 15:00 on 2023-04-01 (UTC); a month begins in Kolkata.
  const auto base =
      shape.wall_clock
          ? one_of<int64_t>(rng, {1'699'150'000, 1'710'040'000, 1'680'345'000, 1'698'765'000}) *
                kSecond
          : one_of<int64_t>(rng, {0, -200, 1'700'000'000'000'000'000});
  const auto by = rng.one_in(2) ? LatenessBy::kPartition : LatenessBy::kLane;
  for (uint32_t l = 0; l < shape.lanes; ++l) {
    scenario.lanes.push_back({.bound = {3},
                              .idle_after = {rng.one_in(2) ? 9 : INT64_MAX},
                              .max_ahead = {60},
                              .max_behind = {rng.one_in(2) ? 25 : INT64_MAX},
                              .lateness_by = by,
                              .max_partitions = one_of(rng, {1u, 1u, 2u, 3u})});
    LaneOptions& lane = scenario.lanes.back();
    const auto policy = [&] { return rng.one_in(2) ? GuardPolicy::kDrop : GuardPolicy::kAccept; };
    lane.beyond_max_ahead = policy();
    lane.beyond_max_behind = policy();
    lane.before_min_time = policy();
    if (rng.one_in(4)) lane.min_time = {base + 20};
    if (rng.one_in(4)) lane.watermark_by = WatermarkBy::kMarks;
    if (rng.one_in(4)) lane.mark_of = MarkOf::kLane;
    if (rng.one_in(4)) lane.start_hold = {15};
    if (rng.one_in(4)) lane.declared = lane.max_partitions - 1;
    scenario.input.push_back(
        random_lane(rng, static_cast<uint16_t>(l), scenario.lanes.back(), shape.events, base));
  }
  scenario.progress.steps.push_back(
      {.op = PredicateStep::Op::kRange, .column = kFilter, .low = 2, .high = 2});
  const uint64_t plans = 1 + rng.below(3);
  for (uint16_t q = 0; q < plans; ++q) scenario.plans.push_back(random_plan(rng, q, shape));
  if (shape.wall_clock) stretch(scenario, base);
  return scenario;
}

Answer right_answer(const Scenario& scenario, const Sequences& sequences) {
  Answer answer;
  answer.queries.resize(scenario.plans.size());
  const auto stamps = stamps_of(scenario, sequences);
  for (const Plan& plan : scenario.plans) {
    QueryAccount& account = answer.queries[index_of(plan.id)];
    std::map<Key, std::vector<ModelRow>> keys;
    for (const LaneId id : plan.lanes) {
      const uint32_t lane = index_of(id);
      uint64_t ordinal = 0;
      for (const Step& s : sequences[lane]) {
        if (s.is_punctuation) continue;
        const uint64_t at = ordinal++;
        if (stamps[lane][at] == kGuarded) continue;
        ++account.passed_on;
        if (!plan.where.empty() && s.column[kFilter] < plan.where[0].low) {
          ++account.filtered;
          continue;
        }
        Key key{};
        for (size_t w = 0; w < plan.key.size(); ++w) key[w] = s.column[plan.key[w].column];
        keys[key].push_back(
            {stamps[lane][at].ns, lane, at, s.time.ns, s.column[kValue], s.column[kGap]});
      }
    }
    for (auto& [key, rows] : keys) {
      std::sort(rows.begin(), rows.end(),
                [](const ModelRow& a, const ModelRow& b) { return a.order() < b.order(); });
      Result blank;
      blank.query = index_of(plan.id);
      blank.hash = hash_of(plan, key);
      blank.key = key;
      const ModelAnswer said = model(plan, blank, rows);
      answer.results.insert(answer.results.end(), said.results.begin(), said.results.end());
      account.late += said.late;
      account.no_window += said.no_window;
    }
  }
  std::sort(answer.results.begin(), answer.results.end());
  return answer;
}

}  // namespace tidewire::sim
