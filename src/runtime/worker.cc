#include "runtime/worker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tidewire {
namespace {

constexpr uint64_t kTurnsPerSample = 64;

template <class T, class U>
void show(std::atomic<T>& to, U value) {
  to.store(static_cast<T>(value), std::memory_order_relaxed);
}

}  // namespace

Worker::Worker(WorkerParts parts, Clock& clock, PunctuationLog* log)
    : parts_(std::move(parts)),
      clock_(clock),
      log_(log),
      writer_(*parts_.ring),
      burst_(std::make_unique<Burst>()),
      batch_(std::make_unique<EventBatch>()),
      now_(clock.now()) {
  CHECK(parts_.pipeline != nullptr);
  CHECK(parts_.burst >= 1 && parts_.burst <= kBurstMax);
  burst_->limit = parts_.burst;
  lanes_.reserve(parts_.feeds.size());
  for (Feed& feed : parts_.feeds) {
    CHECK(feed.source && feed.parser);
    (feed.live ? live_ : waiting_).push_back(static_cast<uint32_t>(lanes_.size()));
    LaneState& lane = lanes_.emplace_back();
    lane.counts = &parts_.pipeline->lane_counts(feed.lane);
    lane.feed = std::move(feed);
    lane.gauges = std::make_unique<Gauges>();
  }
  parts_.feeds.clear();
  punctuations_.reserve(2 * lanes_.size() + 1);
  for (const Duration every : parts_.show_every) show_at_.push_back({now_.ns + every.ns});
}

uint32_t Worker::turn() {
  const Phase phase = this->phase();
  Turn in;
  punctuations_.clear();
  received_ = 0;
  switch (phase) {
    case Phase::kRun:
      reload();
      take_input(in);
      break;
    case Phase::kHold:
      if (!open_) release_any_held();
      if (open_) take_input(in);
      break;
    case Phase::kEnd:
      end_lanes();
      break;
    case Phase::kStop:
      break;
  }
  in.punctuations = punctuations_;
  uint32_t work = parts_.pipeline->turn(in, writer_);
  work += received_ + static_cast<uint32_t>(punctuations_.size());
  seen_tables_.store(tables_, std::memory_order_release);  // nothing reads an older one any more

  ++turns_;
  const MonotonicTime before = std::exchange(now_, clock_.now());
  if (work) {
    turn_latency_.record(static_cast<uint64_t>(std::max<int64_t>(0, between(before, now_).ns)));
  } else {
    ++idle_turns_;
  }
  show_due();
  if (turns_ % kTurnsPerSample == 0 || (!work && worked_)) publish_samples();
  worked_ = work > 0;
  if (phase == Phase::kHold) publish_rest(work);
  return work;
}

// By our own clock, so what is shown depends on when; it stands outside all that is recorded.
void Worker::show_due() {
  for (size_t q = 0; q < show_at_.size(); ++q) {
    const Duration every = parts_.show_every[q];
    if (every.ns <= 0 || now_ < show_at_[q]) continue;
    parts_.pipeline->show(QueryId{static_cast<uint16_t>(q)});
    show_at_[q] = {now_.ns + every.ns};
  }
}

// Lookup tables come into force between two bursts, in all lanes of this worker: where in each
// lane's sequence is written there, since that decides which events they are asked for.
void Worker::reload() {
  if (!parts_.tables || open_ || parts_.tables->version() == tables_) return;
  tables_ = parts_.tables->version();
  for (const LaneState& lane : lanes_)
    if (!lane.ended)
      punctuate(lane, Punctuation::Why::kReload, EventTime::before_all(),
                parts_.tables->hash(tables_));
}

// An open burst is parsed on, else a lane is asked for the next one. Never more than the
// neighbours' rings can take: what is not read now is read later, or counted as missed by the NIC.
void Worker::take_input(Turn& in) {
  if (closing_ && !open_)
    return close(*std::exchange(closing_, nullptr), closing_why_, closing_at_);
  if (!parts_.pipeline->has_room()) {
    ++crowded_turns_;
    return;
  }
  if (!open_) {
    LaneState* lane = next_lane();
    if (!lane) return;
    receive(*lane);
    if (!open_) return;
  }
  if (waking_) {
    // The frontier that the returning lane finds is written into its sequence before its first
    // event. Until the owners have named it, the burst waits unparsed and the worker turns on.
    EventTime floor;
    if (!parts_.pipeline->wake(open_->feed.lane, floor)) return;
    waking_ = false;
    punctuate(*open_, Punctuation::Why::kReturned, floor);
  }
  parse(in);
}

void Worker::receive(LaneState& lane) {
  // Read before the lane is asked: what comes later is stamped later.
  const EventTime asked = may_catch_up(lane) ? clock_.wall() : EventTime::before_all();
  const Received got = lane.feed.source->receive(*burst_);
  switch (got) {
    case Received::kPackets:
      CHECK(burst_->count > 0 && burst_->count <= kBurstMax);
      open(lane);
      for (const uint32_t i : waiting_) lanes_[i].dry = false;
      break;
    case Received::kNothing:
      lane.dry = true;
      nothing_from(lane, asked);
      break;
    case Received::kEnded:
    case Received::kFailed:
      lane.failed = got == Received::kFailed;
      close(lane, Punctuation::Why::kEnded, EventTime::end_of_time());
      break;
  }
}

// A punctuation that promises that nothing is still to come: what the parser has held back stands
// before it.
void Worker::close(LaneState& lane, Punctuation::Why why, EventTime watermark) {
  if (lane.feed.parser->holds_back()) {
    release_held(lane);
    closing_ = &lane;
    closing_why_ = why;
    closing_at_ = watermark;
    return;
  }
  if (why == Punctuation::Why::kEnded) lane.ended = true;
  punctuate(lane, why, watermark);
}

// Before the lanes are ended.
void Worker::release_any_held() {
  for (LaneState& lane : lanes_)
    if (lane.feed.parser->holds_back()) return release_held(lane);
}

void Worker::release_held(LaneState& lane) {
  burst_->lane = lane.feed.lane;
  burst_->first = Position{lane.position};
  burst_->count = 0;
  open_ = &lane;
  begun_ = waking_ = false;
}

bool Worker::may_catch_up(const LaneState& lane) const {
  return lane.feed.clock_slack.ns != INT64_MAX &&
         (lane.caught_up.ns == INT64_MIN || between(lane.caught_up, now_).ns >= kMillisecond);
}

// Silence is counted from the first time that a lane was asked in vain: a lane that waited for the
// others was not silent.
// A lane with a clock (`asked`, where it is time) has caught up instead, but not while packets of
// it wait for others.
void Worker::nothing_from(LaneState& lane, EventTime asked) {
  if (!std::exchange(lane.quiet, true)) lane.quiet_since = now_;
  const bool quiet_long = lane.feed.silent_after.ns != INT64_MAX &&
                          between(lane.quiet_since, now_) >= lane.feed.silent_after;
  if (asked.is_point() && (quiet_long || !lane.feed.parser->holds_back())) {
    lane.caught_up = now_;
    close(lane, Punctuation::Why::kCaughtUp, earlier(asked, lane.feed.clock_slack));
  }
  if (quiet_long && lane.feed.clock_slack.ns == INT64_MAX &&
      !parts_.pipeline->lane(lane.feed.lane).silent())
    close(lane, Punctuation::Why::kSilent, EventTime::before_all());
}

void Worker::open(LaneState& lane) {
  Burst& burst = *burst_;
  burst.lane = lane.feed.lane;
  burst.first = Position{lane.position};
  received_ = burst.count;
  lane.counts->packets += burst.count;
  for (uint32_t i = 0; i < burst.count; ++i) lane.counts->bytes += burst.wire_length[i];
  if (lane.feed.live && burst.unstamped > 0) {
    const EventTime wall = clock_.wall();  // once: packets of one burst came together
    for (uint32_t i = 0; i < burst.count; ++i)
      if (burst.arrival[i] == EventTime::before_all()) burst.arrival[i] = wall;
    burst.unstamped = 0;
  }
  lane.quiet = false;
  open_ = &lane;
  begun_ = false;
  waking_ = parts_.pipeline->lane(lane.feed.lane).silent();
}

void Worker::parse(Turn& in) {
  LaneState& lane = *open_;
  if (!begun_) {
    lane.feed.parser->begin(*burst_);
    begun_ = true;
  }
  batch_->count = batch_->marks = 0;
  const bool more = lane.feed.parser->next(*batch_, *lane.counts);
  if (batch_->count + batch_->marks > 0) in.batch = batch_.get();
  if (more) return;
  lane.position += burst_->count;
  if (burst_->count > 0) lane.feed.source->release(*burst_);  // nothing points into it any more
  open_ = nullptr;
}

// The next lane of the round, or null when this slot has nothing to ask.
Worker::LaneState* Worker::next_lane() {
  const auto live = static_cast<uint32_t>(live_.size());
  const uint32_t slots = live + (waiting_.empty() ? 0 : 1);
  for (uint32_t tried = 0; tried < slots; ++tried) {
    const uint32_t slot = at_;
    at_ = at_ + 1 == slots ? 0 : at_ + 1;
    LaneState* lane = slot < live ? &lanes_[live_[slot]] : next_waiting();
    if (lane && !lane->ended) return lane;
  }
  return nullptr;
}

// The waiting lane with the lowest frontier that may go on and was not just found dry.
Worker::LaneState* Worker::next_waiting() {
  if (waiting_.empty() || !parts_.pipeline->keeps_up()) return nullptr;
  const EventTime G = parts_.pipeline->frontier();
  LaneState* lowest = nullptr;
  EventTime least;
  bool any_dry = false;
  for (const uint32_t i : waiting_) {
    LaneState& lane = lanes_[i];
    if (lane.ended) continue;
    const EventTime frontier = parts_.pipeline->lane(lane.feed.lane).frontier();
    if (frontier > later(G, lane.feed.max_drift)) continue;
    any_dry |= lane.dry;
    if (lane.dry || (lowest && frontier >= least)) continue;
    lowest = &lane;
    least = frontier;
  }
  if (!lowest && any_dry)
    for (const uint32_t i : waiting_) lanes_[i].dry = false;  // all were asked: next turn again
  return lowest;
}

void Worker::punctuate(const LaneState& lane, Punctuation::Why why, EventTime watermark,
                       uint64_t content) {
  CHECK(punctuations_.size() < punctuations_.capacity());
  punctuations_.push_back({lane.feed.lane, Position{lane.position}, watermark, why, content});
  if (log_) log_->record(punctuations_.back());
}

void Worker::end_lanes() {
  if (lanes_ended_) return;
  CHECK(!open_);  // kHold comes first
  lanes_ended_ = true;
  for (LaneState& lane : lanes_) {
    if (lane.ended) continue;
    lane.ended = true;
    punctuate(lane, Punctuation::Why::kEnded, EventTime::end_of_time());
  }
}

// Own windows may all have fired while others still run (local placement). They may ask this worker
// for a floor, so it turns until G itself is at the end.
bool Worker::finished() const {
  return !open_ && parts_.pipeline->frontier() == EventTime::end_of_time() &&
         parts_.pipeline->fired() == EventTime::end_of_time() && parts_.pipeline->at_rest() &&
         std::all_of(lanes_.begin(), lanes_.end(),
                     [](const LaneState& lane) { return lane.ended; });
}

void Worker::publish_samples() {
  for (LaneState& lane : lanes_) {
    const Lane& watermark = parts_.pipeline->lane(lane.feed.lane);
    Gauges& gauges = *lane.gauges;
    show(gauges.packets, lane.counts->packets);
    show(gauges.events, lane.counts->events);
    show(gauges.bytes, lane.counts->bytes);
    show(gauges.frontier, watermark.frontier().ns);
    show(gauges.highest, watermark.highest().ns);
    show(gauges.holder, watermark.holder());
    show(gauges.silent, watermark.silent());
    show(gauges.ended, lane.ended);
    show(gauges.failed, lane.failed);
  }
  show(seen_idle_, idle_turns_);
  show(seen_crowded_, crowded_turns_);
  show(seen_frontier_, parts_.pipeline->frontier().ns);
  show(seen_fired_, parts_.pipeline->fired().ns);
  // Last: whoever reads it first sees lanes that are at least as new.
  seen_turns_.store(turns_, std::memory_order_release);
}

// Only in kHold. A turn that did something is not rest, even if nothing is left after it: it may
// just have sent a frontier.
void Worker::publish_rest(uint32_t work) {
  show(rest_sent_, parts_.pipeline->rows_sent());
  show(rest_taken_, parts_.pipeline->rows_taken());
  show(rest_frontier_, parts_.pipeline->frontier().ns);
  show(rest_resting_, work == 0 && !open_ && parts_.pipeline->at_rest());
  rest_turns_.store(++held_turns_, std::memory_order_release);
}

RestReport Worker::rest_report() const {
  RestReport report;
  report.turns = rest_turns_.load(std::memory_order_acquire);
  report.rows_sent = rest_sent_.load(std::memory_order_relaxed);
  report.rows_taken = rest_taken_.load(std::memory_order_relaxed);
  report.frontier = {rest_frontier_.load(std::memory_order_relaxed)};
  report.resting = report.turns > 0 && rest_resting_.load(std::memory_order_relaxed);
  return report;
}

LaneSample Worker::sample_lane(uint32_t index) const {
  const Gauges& gauges = *lanes_[index].gauges;
  LaneSample sample;
  sample.lane = lanes_[index].feed.lane;
  sample.live = lanes_[index].feed.live;
  sample.packets = gauges.packets.load(std::memory_order_relaxed);
  sample.events = gauges.events.load(std::memory_order_relaxed);
  sample.bytes = gauges.bytes.load(std::memory_order_relaxed);
  sample.frontier = {gauges.frontier.load(std::memory_order_relaxed)};
  sample.highest = {gauges.highest.load(std::memory_order_relaxed)};
  sample.holder = PartitionId{gauges.holder.load(std::memory_order_relaxed)};
  sample.silent = gauges.silent.load(std::memory_order_relaxed);
  sample.ended = gauges.ended.load(std::memory_order_relaxed);
  sample.failed = gauges.failed.load(std::memory_order_relaxed);
  return sample;
}

WorkerSample Worker::sample() const {
  WorkerSample sample;
  sample.turns = seen_turns_.load(std::memory_order_acquire);
  sample.idle_turns = seen_idle_.load(std::memory_order_relaxed);
  sample.crowded_turns = seen_crowded_.load(std::memory_order_relaxed);
  sample.frontier = {seen_frontier_.load(std::memory_order_relaxed)};
  sample.fired = {seen_fired_.load(std::memory_order_relaxed)};
  return sample;
}

}  // namespace tidewire
