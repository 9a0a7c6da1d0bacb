#include "pipeline/pipeline.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "base/check.h"
#include "pipeline/derive.h"
#include "pipeline/select.h"
#include "watermark/frontier.h"

namespace tidewire {
namespace {

constexpr uint32_t kNotOwn = UINT32_MAX;
constexpr const char* kTrackers = "partition trackers";
constexpr const char* kLaneRecords = "lateness and guards";

// What each worker promises before its first turn: to hold, if it has lanes.
std::vector<Progress> at_start(const PipelineOptions& options) {
  std::vector<Progress> start(options.workers);
  for (const LaneSpec& lane : options.lanes) {
    CHECK(lane.worker < options.workers);
    start[lane.worker] = {Progress::State::kHolds, EventTime::before_all()};
  }
  return start;
}

bool has_steps(const std::vector<ColumnProgram>& programs) {
  return std::any_of(programs.begin(), programs.end(),
                     [](const ColumnProgram& program) { return !program.steps.empty(); });
}

// I1: nothing arrives below the frontier that its store has run to.
bool none_below(const Rows& rows, EventTime frontier) {
  if (!rows.stamp) return rows.max_stamp >= frontier;
  return std::all_of(rows.stamp, rows.stamp + rows.count,
                     [frontier](EventTime stamp) { return stamp >= frontier; });
}

}  // namespace

struct Pipeline::Impl {
  struct Query {
    Plan plan;  // kLocal: its lanes are those of this worker
    std::unique_ptr<WindowStore> store;
    std::vector<uint32_t> lanes;  // own ones that feed it
    EventTime frontier = EventTime::before_all();
    uint64_t passed_on = 0, filtered = 0;
  };
  // Of the timeline: `query` has a place at `from`, and until `until` none of another comes first.
  struct Stretch {
    const Query* query;
    EventTime from, until;
  };
  struct OwnLane {
    LaneId id;
    Lane lane;
    Predicate progress;
    LaneRecord* record;
    LaneCounts counts;
    std::vector<uint32_t> queries;  // that it feeds, by id
    const ColumnProgram* program = nullptr;
    uint32_t tables = 0;  // version of the lookup tables that is in force here
  };

  Impl(const PipelineOptions& options, ExchangeFabric& fabric, Arena& arena);
  OwnLane make_lane(const LaneSpec& spec, const std::vector<Plan>& plans, Arena& arena) const;
  OwnLane& own(LaneId id);
  uint32_t turn(const Turn& in, ResultWriter& out);
  void punctuate(const Punctuation& p);
  void take_events(EventBatch& batch);
  void divert(Query& query, const EventBatch& batch);
  void add(Query& query, const Rows& rows);
  void advance();
  uint32_t run_timeline(ResultWriter& out);
  uint32_t show_open(uint32_t budget, ResultWriter& out);
  std::optional<Stretch> next_stretch() const;
  bool wake(LaneId lane, EventTime& floor);
  bool at_rest() const;
  bool can_give_back(const Query& query) const;
  bool stores_have_room() const;
  bool keeps_up() const;

  std::vector<uint32_t> lane_at;  // by LaneId: index of an own lane, or kNotOwn
  std::vector<OwnLane> lanes;
  std::vector<Query> queries;  // by id
  Exchange exchange;
  SelectScratch& scratch;
  std::vector<ColumnProgram> programs;
  const LookupTables* tables;
  DeriveScratch* derive_scratch = nullptr;
  uint32_t results_per_turn, rows_per_turn;
  bool answers_rows = false;                    // some query does
  EventTime horizon = EventTime::before_all();  // no query may run beyond it yet
  std::atomic<int64_t> fired{INT64_MIN};
  uint32_t waking = kNotOwn;  // own lane that waits for its floor
};

Pipeline::Impl::Impl(const PipelineOptions& options, ExchangeFabric& fabric, Arena& arena)
    : exchange(fabric, options.worker, options.plans, at_start(options), arena),
      scratch(arena.take<SelectScratch>(1, "select scratch")[0]),
      programs(options.programs),
      tables(options.tables),
      results_per_turn(options.results_per_turn),
      rows_per_turn(options.rows_per_turn) {
  CHECK(options.workers == fabric.workers());
  CHECK(results_per_turn > 0 && rows_per_turn > 0);
  if (has_steps(programs)) derive_scratch = &arena.take<DeriveScratch>(1, "column registers")[0];
  for (const LaneSpec& spec : options.lanes)
    if (spec.worker == options.worker) {
      lane_at.resize(std::max<size_t>(lane_at.size(), index_of(spec.id) + size_t{1}), kNotOwn);
      CHECK(lane_at[index_of(spec.id)] == kNotOwn);
      lane_at[index_of(spec.id)] = static_cast<uint32_t>(lanes.size());
      lanes.push_back(make_lane(spec, options.plans, arena));
    }
  for (const Plan& plan : options.plans) {
    CHECK(index_of(plan.id) == queries.size());
    CHECK(plan.key_words <= 2 || plan.key_words == kMaxKeyWords);
    Query query;
    query.plan = plan;
    for (uint32_t at = 0; at < lanes.size(); ++at) {
      if (std::find(plan.lanes.begin(), plan.lanes.end(), lanes[at].id) == plan.lanes.end())
        continue;
      query.lanes.push_back(at);
      lanes[at].queries.push_back(index_of(plan.id));
    }
    ShardRange shards = shards_of(options.worker, plan.shards, options.workers);
    if (plan.placement == Placement::kLocal) {
      shards = {0, plan.shards};
      std::erase_if(query.plan.lanes, [&](LaneId id) {
        return index_of(id) >= lane_at.size() || lane_at[index_of(id)] == kNotOwn;
      });
    }
    query.store = make_store(query.plan, shards, arena);
    answers_rows |= plan.answers_rows();
    queries.push_back(std::move(query));
  }
  advance();
}

Pipeline::Impl::OwnLane Pipeline::Impl::make_lane(const LaneSpec& spec,
                                                  const std::vector<Plan>& plans,
                                                  Arena& arena) const {
  LaneOptions lane = spec.options;
  // Where nobody is shown what is diverted, it is dropped, and counted so.
  const bool shown = std::any_of(plans.begin(), plans.end(), [&](const Plan& plan) {
    return plan.late_rows &&
           std::find(plan.lanes.begin(), plan.lanes.end(), spec.id) != plan.lanes.end();
  });
  for (GuardPolicy* policy :
       {&lane.beyond_max_ahead, &lane.beyond_max_behind, &lane.before_min_time})
    if (*policy == GuardPolicy::kDivert && !shown) *policy = GuardPolicy::kDrop;
  LaneRecord& record = arena.take<LaneRecord>(1, kLaneRecords)[0];
  record.offences = arena.take<GuardCounts>(lane.max_partitions, kLaneRecords);
  const auto trackers = arena.take<PartitionTracker>(lane.max_partitions, kTrackers);
  OwnLane made{spec.id, Lane(lane, trackers, &record), spec.progress, &record, {}, {}};
  if (programs.empty()) return made;
  CHECK(spec.program < programs.size());
  made.program = &programs[spec.program];
  if (tables != nullptr) made.tables = tables->version();
  return made;
}

Pipeline::Impl::OwnLane& Pipeline::Impl::own(LaneId id) {
  CHECK(index_of(id) < lane_at.size() && lane_at[index_of(id)] != kNotOwn);
  return lanes[lane_at[index_of(id)]];
}

// One turn of one worker: no clock, no door, no allocation, bounded work. The order is a decision.
uint32_t Pipeline::Impl::turn(const Turn& in, ResultWriter& out) {
  auto work = static_cast<uint32_t>(in.punctuations.size());
  // 1. Punctuations: they were decided before this batch was received.
  for (const Punctuation& p : in.punctuations) punctuate(p);
  // 2. Neighbours' rows before our own: a full ring is waiting for us, and we never wait for it.
  work += exchange.take(
      rows_per_turn, [this] { return stores_have_room(); },
      [this](QueryId id, const Rows& rows) { add(queries[index_of(id)], rows); });
  // 3. Our events: each gets the watermark in force just before it, then joins its windows. After
  //    this nothing refers to the batch any more.
  if (in.batch) {
    take_events(*in.batch);
    work += in.batch->count + in.batch->marks;
  }
  // 4. Only now tell the others how far we are: every row below this frontier is already in their
  //    rings.
  Combined progress;
  for (const OwnLane& l : lanes) progress.take(progress_of(l.lane));
  exchange.publish(progress.result(), waking != kNotOwn && lanes[waking].lane.silent());
  if (waking != kNotOwn && !lanes[waking].lane.silent()) waking = kNotOwn;
  // 5. Run the timeline up to the frontier, a bounded slice of it; where no result block is free,
  //    its cursor waits.
  advance();
  const uint32_t fired_units = run_timeline(out);
  // 6. What a clock has asked for: from what the timeline has left, and a little of it always.
  const uint32_t left = results_per_turn - std::min(results_per_turn, fired_units);
  return work + fired_units + show_open(std::max(left, results_per_turn / 8 + 1), out);
}

void Pipeline::Impl::punctuate(const Punctuation& p) {
  OwnLane& l = own(p.lane);
  l.lane.punctuate(p);
  if (p.why != Punctuation::Why::kReload) return;
  CHECK(tables != nullptr);
  l.tables = tables->version_of(p.content);
}

void Pipeline::Impl::take_events(EventBatch& batch) {
  OwnLane& l = own(batch.lane);
  l.lane.stamp(batch, l.counts,
               l.progress.steps.empty() ? nullptr : matches(l.progress, batch, scratch));
  if (batch.count == 0) return;
  if (l.program != nullptr && !l.program->steps.empty())
    derive(*l.program, tables, l.tables, batch, scratch, *derive_scratch, l.counts);
  for (const uint32_t q : l.queries) {
    Query& query = queries[q];
    if (batch.outside > 0 && query.plan.late_rows) divert(query, batch);
    const Rows rows = select(query.plan, batch, scratch);
    query.passed_on += batch.count - batch.outside;
    query.filtered += batch.count - batch.outside - rows.count;
    if (query.plan.placement == Placement::kLocal)
      add(query, rows);
    else
      add(query, exchange.route(query.plan, rows, *query.store));
  }
}

// What a guard has ended goes to the query's late sink, on the worker that has read it: no window
// of any key takes it.
void Pipeline::Impl::divert(Query& query, const EventBatch& batch) {
  const LaneOptions& guards = own(batch.lane).lane.options();
  const std::pair<LateReason, GuardPolicy> all[] = {
      {LateReason::kTooFarAhead, guards.beyond_max_ahead},
      {LateReason::kTooFarBehind, guards.beyond_max_behind},
      {LateReason::kBeforeMinTime, guards.before_min_time}};
  for (const auto& [reason, policy] : all) {
    if (policy != GuardPolicy::kDivert) continue;
    const Rows rows = select(query.plan, batch, scratch, reason);
    if (rows.count > 0) query.store->divert(rows, reason);
  }
}

void Pipeline::Impl::add(Query& query, const Rows& rows) {
  if (rows.count == 0) return;
  DCHECK(none_below(rows, query.frontier));
  query.store->add(rows);
}

// The frontier of each store: G where workers share the query; where the lane determines the key,
// the minimum over the lanes that feed it.
void Pipeline::Impl::advance() {
  horizon = EventTime::end_of_time();
  for (Query& query : queries) {
    EventTime frontier = exchange.frontier();
    if (query.plan.placement == Placement::kLocal) {
      Combined progress;
      for (const uint32_t at : query.lanes) progress.take(progress_of(lanes[at].lane));
      frontier = progress.result().frontier();
    }
    query.frontier = std::max(query.frontier, frontier);
    horizon = std::min(horizon, query.frontier);
  }
  if (queries.empty()) horizon = exchange.frontier();
  // A worker whose own lanes have ended may be asked for a floor by the others: the very end is for
  // all, so that nobody stops turning before.
  if (exchange.frontier() != EventTime::end_of_time())
    horizon = std::min(horizon, EventTime{INT64_MAX - 1});
  // Rows with the horizon's own stamp may still come. Where they give results, those stand at that
  // place, perhaps before what another query fires there: it is run when it is passed.
  if (answers_rows && horizon.is_point()) --horizon.ns;
}

// Results leave in the order of their places, so the queries share one timeline, earliest place
// first (ties: by id, the order of rule 8), and none runs beyond the frontier of another: its
// results would fill the blocks that egress cannot release before the other's earlier place. A
// query goes on to where the next one has something to do: most have many places before that.
uint32_t Pipeline::Impl::run_timeline(ResultWriter& out) {
  uint32_t used = 0;
  EventTime done = horizon;
  while (const std::optional<Stretch> next = next_stretch()) {
    done = {next->from.ns - 1};
    if (used >= results_per_turn) break;
    WindowStore& store = *next->query->store;
    const uint32_t step =
        store.fire(next->query->frontier, next->until, results_per_turn - used, out);
    if (step == 0) break;  // no free result block: the cursor waits
    used += step;
    done = horizon;
  }
  // A row that is deferred at the horizon itself comes after what was fired there; a place that has
  // been published stays.
  done = std::max(done, EventTime{fired.load(std::memory_order_relaxed)});
  fired.store(done.ns, std::memory_order_relaxed);
  out.publish_fired(done);
  return used;
}

// The query with the earliest place up to the horizon, and how far it may go before it is another's
// turn. Queries are looked at by id: at one place the first goes first.
std::optional<Pipeline::Impl::Stretch> Pipeline::Impl::next_stretch() const {
  std::optional<Stretch> first;
  EventTime rest = horizon;
  for (const Query& query : queries) {
    const std::optional<EventTime> next = query.store->next(query.frontier);
    if (!next || *next > horizon) continue;
    if (first && *next >= first->from) {
      rest = std::min(rest, *next);
      continue;
    }
    if (first) rest = {first->from.ns - 1};  // has the smaller id
    first = {&query, *next, horizon};
  }
  if (first) first->until = rest;
  return first;
}

uint32_t Pipeline::Impl::show_open(uint32_t budget, ResultWriter& out) {
  uint32_t used = 0;
  for (Query& query : queries)
    while (query.store->is_showing() && used < budget) {
      const uint32_t step = query.store->provisional(budget - used, out);
      if (step == 0) break;  // over, or no free result block
      used += step;
    }
  if (used > 0) out.close();
  return used;
}

bool Pipeline::Impl::wake(LaneId id, EventTime& floor) {
  const OwnLane& l = own(id);
  CHECK(l.lane.silent());
  if (!exchange.wake(floor)) {
    if (waking == kNotOwn) waking = lane_at[index_of(id)];
    return false;
  }
  // Stores that only lanes of this worker feed may have run further than it has published.
  for (const uint32_t q : l.queries)
    if (queries[q].plan.placement == Placement::kLocal)
      floor = std::max(floor, queries[q].frontier);
  return true;
}

bool Pipeline::Impl::at_rest() const { return exchange.at_rest() && !next_stretch(); }

// Has the query's timeline something to give back now? What waits for another query's frontier (the
// horizon) is no reason to wait: that frontier may stand in the very ring that would not be read.
bool Pipeline::Impl::can_give_back(const Query& query) const {
  const std::optional<EventTime> next = query.store->next(query.frontier);
  return next && *next <= horizon;
}

// No store is short of room while its timeline has something to give back.
bool Pipeline::Impl::stores_have_room() const {
  for (const Query& query : queries)
    if (!query.store->has_room() && can_give_back(query)) return false;
  return true;
}

// The same, and no store's keys may run out while dead ones wait to be recycled.
bool Pipeline::Impl::keeps_up() const {
  for (const Query& query : queries) {
    const StoreUse use = query.store->use();
    const bool keys = use.keys + kBatchMax <= use.max_keys;
    if ((!keys || !query.store->has_room()) && can_give_back(query)) return false;
  }
  return true;
}

// ---------------------------------------------------------------- the room's door
std::vector<ArenaTerm> pipeline_memory(const PipelineOptions& options) {
  const ExchangeSizes sizes(options.plans);
  uint64_t trackers = 0, records = 0;
  for (const LaneSpec& spec : options.lanes) {
    if (spec.worker != options.worker) continue;
    trackers += spec.options.max_partitions * sizeof(PartitionTracker);
    records += sizeof(LaneRecord) + spec.options.max_partitions * sizeof(GuardCounts);
  }
  std::vector<ArenaTerm> terms = {{"select scratch", sizeof(SelectScratch)}};
  if (has_steps(options.programs)) terms.push_back({"column registers", sizeof(DeriveScratch)});
  if (trackers > 0) terms.push_back({kTrackers, trackers});
  if (records > 0) terms.push_back({kLaneRecords, records});
  if (options.workers > 1) {
    terms.push_back(
        {"exchange rings", (options.workers - 1) * sizes.ring_lines * sizeof(ExchangeLine)});
    terms.push_back(
        {"exchange scratch",
         options.workers * kBatchMax + (sizes.max_lines + kFoldedLinesMax) * sizeof(ExchangeLine)});
  }
  return terms;
}

Pipeline::Pipeline(const PipelineOptions& options, ExchangeFabric& fabric, Arena& arena)
    : impl_(std::make_unique<Impl>(options, fabric, arena)) {}
Pipeline::~Pipeline() = default;

bool Pipeline::has_room() const { return impl_->exchange.has_room(); }
bool Pipeline::keeps_up() const { return impl_->keeps_up(); }
uint32_t Pipeline::turn(const Turn& in, ResultWriter& out) { return impl_->turn(in, out); }
void Pipeline::show(QueryId query) {
  WindowStore& store = *impl_->queries[index_of(query)].store;
  if (!store.is_showing()) store.begin_provisional();
}
bool Pipeline::wake(LaneId lane, EventTime& floor) { return impl_->wake(lane, floor); }
const Lane& Pipeline::lane(LaneId id) const { return impl_->own(id).lane; }
LaneCounts& Pipeline::lane_counts(LaneId id) { return impl_->own(id).counts; }
const LaneRecord& Pipeline::lane_record(LaneId id) const { return *impl_->own(id).record; }
EventTime Pipeline::frontier() const { return impl_->exchange.frontier(); }
EventTime Pipeline::fired() const { return {impl_->fired.load(std::memory_order_relaxed)}; }
bool Pipeline::at_rest() const { return impl_->at_rest(); }
uint64_t Pipeline::rows_sent() const { return impl_->exchange.rows_sent(); }
uint64_t Pipeline::rows_taken() const { return impl_->exchange.rows_taken(); }

QueryCounts Pipeline::counts(QueryId id) const {
  const Impl::Query& query = impl_->queries[index_of(id)];
  return {query.passed_on, query.filtered, query.store->counts()};
}
StoreUse Pipeline::use(QueryId id) const { return impl_->queries[index_of(id)].store->use(); }

}  // namespace tidewire
