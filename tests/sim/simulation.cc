#include "simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "memory/seal.h"

namespace tidewire::sim {

PipelineOptions pipeline_options(const Scenario& scenario, const SimulationOptions& options,
                                 uint32_t worker, std::span<const uint32_t> worker_of_lane) {
  PipelineOptions p;
  p.worker = worker;
  p.workers = options.workers;
  for (uint16_t l = 0; l < scenario.lanes.size(); ++l)
    p.lanes.push_back({LaneId{l}, worker_of_lane[l], scenario.lanes[l], scenario.progress});
  p.plans = scenario.plans;
  if (options.program != nullptr) p.programs = {*options.program};
  p.tables = options.tables;
  p.results_per_turn = options.results_per_turn;
  p.rows_per_turn = options.rows_per_turn;
  return p;
}

// ---------------------------------------------------------------- worker
SimWorker::SimWorker(const Scenario& scenario, const PipelineOptions& options,
                     ExchangeFabric& fabric, Arena& arena, uint32_t result_blocks)
    : scenario_(scenario), writer_(ring_) {
  ring_.blocks.adopt(arena.take<ResultBlock>(result_blocks, "results"));
  pipeline_ = std::make_unique<Pipeline>(options, fabric, arena);
}

uint32_t SimWorker::turn(const Turn& in) {
  const AllocGuard guard;
  const uint32_t work = pipeline_->turn(in, writer_);
  allocations_ += guard.count();
  return work;
}

namespace {

void read(const Plan& plan, const Run& run, const std::vector<int64_t>& word, Result& r) {
  size_t w = 0;
  const bool placed = run.kind == RunKind::kPlaced;
  r.late = run.kind == RunKind::kLate;
  r.update = r.late || run.kind == RunKind::kUpdate;
  r.position = run.position;
  r.stands = run.fire != FireKind::kRetraction;
  r.fire = run.fire;
  r.index = run.index;
  r.start = placed || r.late ? word[w++] : run.start.ns;
  r.end = placed ? word[w++] : r.late ? INT64_MIN : run.end.ns;
  const bool replaced = placed && !r.stands;
  r.order_start = r.update ? 0 : replaced ? run.start.ns : r.start;
  r.order_end = replaced ? run.end.ns : r.end;
  r.place = placed ? std::max(run.place.ns, r.order_end) : run.place.ns;
  r.hash = static_cast<uint64_t>(word[w++]);
  for (uint32_t k = 0; k < plan.key_words; ++k) r.key[k] = word[w++];
  if (r.late) {
    r.sum = word[w++];
    EXPECT_EQ(w + plan.values.size() - 1, word.size());
    return;
  }
  r.count = word[w++];
  r.sum = word[w++];
  r.min = word[w++];
  r.max = word[w++];
  EXPECT_EQ(w, word.size());
}

}  // namespace

void SimWorker::drain() {
  const EventTime fired{ring_.fired.load(std::memory_order_acquire)};
  while (ResultBlock* block = ring_.blocks.front()) {
    const Plan& plan = scenario_.plans[index_of(block->query)];
    for (uint32_t at = 0; at < block->used;) {
      Run run;
      std::memcpy(&run, block->bytes.data() + at, sizeof run);
      at += sizeof run;
      EXPECT_EQ(run.flags, 0);
      for (uint32_t i = 0; i < run.rows; ++i, at += block->row_words * 8) {
        std::vector<int64_t> word(block->row_words);
        std::memcpy(word.data(), block->bytes.data() + at, word.size() * 8);
        Result r;
        r.query = index_of(block->query);
        read(plan, run, word, r);
        EXPECT_GT(r.place, promised_.ns) << "a result at a place that was called fired";
        EXPECT_TRUE(results_.empty() || results_.back() < r) << "out of order";
        results_.push_back(r);
      }
    }
    ring_.blocks.pop();
  }
  promised_ = fired;
}

bool SimWorker::finished() const {
  return pipeline_->fired() == EventTime::end_of_time() && pipeline_->at_rest();
}

// ---------------------------------------------------------------- reader
void Reader::read(uint32_t burst, EventBatch& batch, std::vector<Punctuation>& punctuations) {
  for (; at_ < steps_.size() && steps_[at_].is_punctuation; ++at_)
    punctuations.push_back(steps_[at_].punctuation);
  batch.lane = lane_;
  batch.count = batch.marks = 0;
  batch.ordinal = Ordinal{ordinal_};
  for (; at_ < steps_.size() && !steps_[at_].is_punctuation && batch.count < burst; ++at_) {
    const Step& s = steps_[at_];
    if (s.mark.is_point()) mark_progress(batch, s.mark);
    const uint32_t i = batch.count++;
    batch.time[i] = s.time;
    batch.arrival[i] = s.arrival;
    batch.partition[i] = PartitionId{s.partition};
    for (uint32_t c = 0; c < kColumns; ++c) batch.column[c][i] = s.column[c];
  }
  ordinal_ += batch.count;
}

// ---------------------------------------------------------------- simulation
Simulation::Simulation(const Scenario& scenario, const Sequences& input, SimulationOptions options,
                       uint64_t seed, std::vector<uint32_t> worker_of_lane)
    : scenario_(scenario),
      options_(options),
      rng_(seed),
      worker_of_lane_(std::move(worker_of_lane)),
      record_(scenario.lanes.size()),
      turns_(options.workers) {
  for (uint32_t w = 0; w < options.workers; ++w) drivers_.emplace_back(w, rng_.next());
  for (uint32_t l = 0; l < scenario.lanes.size(); ++l) {
    if (worker_of_lane_.size() == l)
      worker_of_lane_.push_back(static_cast<uint32_t>(rng_.below(options.workers)));
    drivers_[worker_of_lane_[l]].own.push_back(l);
    lanes_.push_back({Reader(input[l], LaneId{static_cast<uint16_t>(l)})});
  }
  std::vector<Arena*> arenas;
  for (uint32_t w = 0; w < options.workers; ++w) {
    arenas_.push_back(std::make_unique<Arena>(ArenaOptions{.fault_in = false}));
    arenas.push_back(arenas_.back().get());
  }
  fabric_ = std::make_unique<ExchangeFabric>(scenario.plans, arenas);
  std::vector<ResultRing*> rings;
  for (uint32_t w = 0; w < options.workers; ++w) {
    drivers_[w].worker = std::make_unique<SimWorker>(
        scenario, pipeline_options(scenario, options, w, worker_of_lane_), *fabric_, *arenas_[w],
        options.result_blocks);
    rings.push_back(&drivers_[w].worker->ring());
  }
  std::vector<const Plan*> plans;
  for (const Plan& plan : scenario.plans) plans.push_back(&plan);
  if (options.egress)
    egress_ = std::make_unique<Egress>(EgressOptions{}, plans, rings, std::vector<SinkBinding>{});
}

bool Simulation::finished(const Driver& d) const {
  return d.worker->finished() &&
         std::all_of(d.own.begin(), d.own.end(), [this](uint32_t l) { return lanes_[l].ended; });
}

bool Simulation::all_finished() const {
  return std::all_of(drivers_.begin(), drivers_.end(),
                     [this](const Driver& each) { return finished(each); });
}

void Simulation::take_results(Driver& d) {
  if (egress_)
    egress_->step();
  else
    d.worker->drain();
}

void Simulation::take_rest() {
  while (egress_ && egress_->step() > 0) {
  }
  if (egress_) return;
  for (Driver& d : drivers_) d.worker->drain();
}

bool Simulation::run() {
  constexpr uint64_t kLimit = 2'000'000;
  for (uint64_t i = 0; i < kLimit; ++i) {
    Driver& d = drivers_[rng_.below(drivers_.size())];
    if (d.rng.one_in(3)) take_results(d);
    step(d);
    if (i % 64 != 0 || !all_finished()) continue;
    take_rest();
    return true;
  }
  return false;
}

bool Simulation::run_turns(const std::vector<std::vector<RecordedTurn>>& turns) {
  constexpr uint64_t kLimit = 2'000'000;
  std::vector<size_t> at(drivers_.size());
  auto batch = std::make_unique<EventBatch>();
  for (uint64_t i = 0; i < kLimit; ++i) {
    Driver& d = drivers_[rng_.below(drivers_.size())];
    if (d.rng.one_in(3)) take_results(d);
    Turn in;
    if (at[d.at] < turns[d.at].size() && d.worker->pipeline().has_room()) {
      const RecordedTurn& turn = turns[d.at][at[d.at]++];
      in.punctuations = turn.punctuations;
      if (turn.batch) {
        *batch = *turn.batch;
        in.batch = batch.get();
      }
      for (const Punctuation& p : turn.punctuations)
        lanes_[index_of(p.lane)].ended |= p.why == Punctuation::Why::kEnded;
    }
    d.worker->turn(in);
    if (i % 64 != 0 || !all_finished()) continue;
    take_rest();
    return true;
  }
  return false;
}

bool Simulation::run_threads() {
  constexpr uint64_t kLimit = 20'000'000;
  std::atomic<uint32_t> running{options_.workers};
  std::atomic<bool> all_ended{true};
  std::vector<std::thread> threads;
  for (Driver& d : drivers_) {
    threads.emplace_back([&] {
      uint64_t steps = 0;
      for (; steps < kLimit && !finished(d); ++steps) {
        step(d);
        if (d.rng.one_in(16)) std::this_thread::yield();
      }
      if (steps == kLimit) all_ended = false;
      --running;
    });
  }
  while (running > 0) {
    for (Driver& d : drivers_) d.worker->drain();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  for (Driver& d : drivers_) d.worker->drain();
  return all_ended;
}

void Simulation::note(uint32_t lane, const Punctuation& punctuation) {
  Step s;
  s.is_punctuation = true;
  s.punctuation = punctuation;
  record_[lane].push_back(s);
}

void Simulation::end(Driver& d, uint32_t lane) {
  d.punctuations.push_back({.lane = LaneId{static_cast<uint16_t>(lane)},
                            .watermark = EventTime::end_of_time(),
                            .why = Punctuation::Why::kEnded});
  lanes_[lane].ended = true;
  lanes_[lane].silent = false;
}

void Simulation::take(Driver& d, uint32_t lane, Turn& in) {
  const size_t before = d.punctuations.size();
  const auto burst =
      static_cast<uint32_t>(d.rng.one_in(2) ? options_.burst : 1 + d.rng.below(options_.burst));
  EventBatch& batch = *d.batch;
  lanes_[lane].reader.read(burst, batch, d.punctuations);
  for (size_t i = before; i < d.punctuations.size(); ++i) note(lane, d.punctuations[i]);
  for (uint32_t i = 0, mark = 0; i < batch.count; ++i) {
    Step s;
    if (mark < batch.marks && batch.mark[mark].at == i) s.mark = batch.mark[mark++].time;
    s.time = batch.time[i];
    s.arrival = batch.arrival[i];
    s.partition = index_of(batch.partition[i]);
    for (uint32_t c = 0; c < kColumns; ++c) s.column[c] = batch.column[c][i];
    record_[lane].push_back(s);
  }
  if (batch.count > 0) in.batch = &batch;
}

// What runtime's worker does around Pipeline::turn, with dice where it has a clock and doors.
void Simulation::step(Driver& d) {
  d.punctuations.clear();
  Turn in;
  if (!d.worker->pipeline().has_room())
    ++d.crowded;
  else if (!d.rng.one_in(8))
    choose(d, in);
  in.punctuations = d.punctuations;
  if (options_.egress && (in.batch || !in.punctuations.empty())) {
    RecordedTurn& turn = turns_[d.at].emplace_back();
    if (in.batch) turn.batch = std::make_unique<EventBatch>(*in.batch);
    for (const Punctuation& p : in.punctuations)  // replay ignores silence
      if (p.why != Punctuation::Why::kSilent) turn.punctuations.push_back(p);
  }
  d.worker->turn(in);
}

void Simulation::choose(Driver& d, Turn& in) {
  std::vector<uint32_t> open;
  for (const uint32_t l : d.own)
    if (!lanes_[l].ended) open.push_back(l);
  if (open.empty()) return;
  const uint32_t l = d.waking ? *d.waking : open[d.rng.below(open.size())];
  const LaneId id{static_cast<uint16_t>(l)};
  LaneState& lane = lanes_[l];
  if (lane.silent && !d.waking && d.rng.one_in(2)) return;
  if (lane.silent && d.rng.one_in(40)) {  // ends in its silence, even while it waits for a floor
    d.waking.reset();
    lane.reader.skip();
  }
  if (lane.reader.at_end()) return end(d, l);
  if (lane.silent) {
    EventTime floor;
    if (!d.worker->pipeline().wake(id, floor)) {
      d.round_trips += !d.waking;
      d.waking = l;
      return;
    }
    d.punctuations.push_back({.lane = id, .watermark = floor, .why = Punctuation::Why::kReturned});
    note(l, d.punctuations.back());
    ++d.floors;
    lane.silent = false;
    d.waking.reset();
    return take(d, l, in);
  }
  if (options_.silence && d.rng.one_in(8)) {
    d.punctuations.push_back({.lane = id, .why = Punctuation::Why::kSilent});
    lane.silent = true;
    return;
  }
  take(d, l, in);
}

uint64_t Simulation::round_trips() const {
  uint64_t sum = 0;
  for (const Driver& d : drivers_) sum += d.round_trips;
  return sum;
}
uint64_t Simulation::floors() const {
  uint64_t sum = 0;
  for (const Driver& d : drivers_) sum += d.floors;
  return sum;
}
uint64_t Simulation::crowded() const {
  uint64_t sum = 0;
  for (const Driver& d : drivers_) sum += d.crowded;
  return sum;
}

Answer Simulation::answer() const {
  Answer answer;
  for (const Driver& d : drivers_)
    answer.results.insert(answer.results.end(), d.worker->results().begin(),
                          d.worker->results().end());
  std::sort(answer.results.begin(), answer.results.end());
  for (const Plan& plan : scenario_.plans) {
    QueryAccount account;
    for (const Driver& d : drivers_) {
      const QueryCounts counts = d.worker->pipeline().counts(plan.id);
      account.passed_on += counts.passed_on;
      account.filtered += counts.filtered;
      account.late += counts.store.late;
      account.no_window += counts.store.no_window;
    }
    answer.queries.push_back(account);
  }
  return answer;
}

void Simulation::expect_balanced() const {
  uint64_t sent = 0, taken = 0;
  for (const Driver& d : drivers_) {
    sent += d.worker->pipeline().rows_sent();
    taken += d.worker->pipeline().rows_taken();
    EXPECT_EQ(d.worker->allocations(), 0u);
    EXPECT_EQ(d.worker->pipeline().frontier(), EventTime::end_of_time());
  }
  EXPECT_EQ(sent, taken);
  for (const Plan& plan : scenario_.plans) {
    uint64_t in = 0, out = 0, results = 0;
    for (const Driver& d : drivers_) {
      const QueryCounts c = d.worker->pipeline().counts(plan.id);
      in += c.passed_on;
      out += c.filtered + c.store.natural + c.store.deferred + c.store.late + c.store.overflow +
             c.store.no_window + c.store.still_deferred;
      const StoreUse use = d.worker->pipeline().use(plan.id);
      results += c.store.results;
      EXPECT_EQ(c.store.still_deferred, 0u);
      EXPECT_EQ(c.store.overflow, 0u)
          << plan.name << " keys " << use.keys << " of " << use.max_keys << " panes " << use.panes
          << " of " << use.max_panes << " deferred of " << use.max_deferred;
    }
    EXPECT_EQ(in, out) << plan.name;
    if (egress_) continue;  // it has taken the rows
    uint64_t seen = 0;
    for (const Driver& d : drivers_)
      for (const Result& r : d.worker->results()) seen += r.query == index_of(plan.id) && !r.late;
    EXPECT_EQ(results, seen) << plan.name;
  }
}

}  // namespace tidewire::sim
