#include "runtime/appliance.h"

#include <absl/strings/str_cat.h>
#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "memory/resident.h"
#include "memory/seal.h"
#include "runtime/rest.h"

namespace tidewire {
namespace {

constexpr Duration kControlPeriod{2 * kMillisecond};

void name_this_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());  // the kernel's limit
}

// Interrupted by a signal, it returns early: the request is looked at.
void nap(Duration d) {
  const timespec t{d.ns / kSecond, d.ns % kSecond};
  nanosleep(&t, nullptr);
}

template <typename Body>
absl::Status start_thread(std::thread& thread, Body body) {
  try {
    thread = std::thread(body);
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread can be started: ", error.code().message(),
                     " (see ulimit -u, and pids.max of the cgroup)"));
  }
  return absl::OkStatus();
}

void collect(const absl::Status& status, std::string_view who, std::string& problems) {
  if (status.ok()) return;
  if (!problems.empty()) problems += "\n";
  absl::StrAppend(&problems, to_absl(who), ": ", status.message());
}

}  // namespace

Appliance::Appliance(ApplianceOptions options, std::vector<BuildWorker> build_workers,
                     BuildEgress build_egress)
    : options_(std::move(options)),
      build_workers_(std::move(build_workers)),
      build_egress_(std::move(build_egress)) {
  const size_t n = build_workers_.size();
  CHECK(n > 0 && options_.placement.worker_core.size() == n && options_.idle.size() == n);
  CHECK(options_.punctuation_logs.empty() || options_.punctuation_logs.size() == n);
  for (size_t i = 0; i < n; ++i) {
    auto& self = *workers_.emplace_back(std::make_unique<WorkerThread>());
    self.parts.worker = static_cast<uint32_t>(i);
    self.parts.core = options_.placement.worker_core[i];
    self.parts.node = options_.placement.worker_node[i];
    self.parts.ring = &self.ring;
    egress_.rings.push_back(&self.ring);
  }
}

Appliance::~Appliance() {
  switch (state()) {
    case LifecycleState::kConfigured:
    case LifecycleState::kStopped:
    case LifecycleState::kFailed:
      return;
    case LifecycleState::kStarted:
    case LifecycleState::kRunning:
    case LifecycleState::kDraining:
      abandon();
      lifecycle_.move(LifecycleState::kFailed);
      return;
  }
}

absl::Status Appliance::start(Duration every, const std::function<void()>& progress) {
  uint32_t started = 0;
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    absl::Status status =
        start_thread(workers_[i]->thread, [this, i] { run_worker(*workers_[i], i); });
    if (status.ok())
      ++started;
    else
      workers_[i]->built = std::move(status);
  }
  wait_built(started, every, progress);
  std::string problems;
  for (uint32_t i = 0; i < workers_.size(); ++i)
    collect(workers_[i]->built, absl::StrCat("worker ", i), problems);
  // Egress reads the rings, which the workers have built: it comes after them. Its own errors (a
  // file that cannot be written) are found even when a worker has failed.
  if (absl::Status status = start_thread(egress_thread_, [this] { run_egress(); }); !status.ok())
    egress_built_ = std::move(status);
  else
    wait_built(started + 1, every, progress);
  collect(egress_built_, "egress", problems);
  if (!problems.empty()) {
    abandon();
    lifecycle_.move(LifecycleState::kFailed);
    return absl::FailedPreconditionError(problems);
  }
  lifecycle_.move(LifecycleState::kStarted);
  return absl::OkStatus();
}

void Appliance::build_worker(WorkerThread& self, uint32_t index) {
  self.built = pin_this_thread({self.parts.core});
  if (!self.built.ok()) return;
  try {
    self.built = build_workers_[index](self.parts);
  } catch (const std::bad_alloc&) {
    // The arena says what it lacked, on which node.
    const std::string why = self.parts.arena ? self.parts.arena->error() : std::string();
    self.built = absl::ResourceExhaustedError(why.empty() ? "out of memory" : why);
  }
  if (!self.built.ok()) return;
  PunctuationLog* log =
      options_.punctuation_logs.empty() ? nullptr : options_.punctuation_logs[index];
  self.worker = std::make_unique<Worker>(std::move(self.parts), *options_.clock, log);
}

void Appliance::run_worker(WorkerThread& self, uint32_t index) {
  name_this_thread(absl::StrCat("worker-", index));
  build_worker(self, index);
  make_stack_resident();
  built_.fetch_add(1, std::memory_order_release);
  if (!wait_gate()) return;

  Worker& worker = *self.worker;
  Idle idle(options_.idle[index], std::max(64u, worker.lanes()));
  seal_thread();
  worker.idled();  // the wait at the gate was nobody's latency
  while (!stop_.load(std::memory_order_relaxed)) {
    if (worker.turn()) {
      idle.worked();
      continue;
    }
    if (worker.finished()) break;
    if (Idle::take(idle.next())) worker.idled();
  }
  worker.publish_samples();
  unseal_thread();
  self.done.store(true, std::memory_order_release);
}

void Appliance::run_egress() {
  name_this_thread("egress");
  egress_built_ = pin_this_thread(options_.placement.control_cores);
  const bool rings = std::all_of(workers_.begin(), workers_.end(),
                                 [](const auto& self) { return self->built.ok(); });
  if (egress_built_.ok() && rings) egress_built_ = build_egress_(egress_);
  built_.fetch_add(1, std::memory_order_release);
  if (!wait_gate()) return;

  Egress& egress = *egress_.egress;
  Idle idle(egress_idle(options_.placement, options_.idle));
  while (!stop_.load(std::memory_order_relaxed)) {
    if (partial_.load(std::memory_order_acquire) == Partial::kAsked) {
      egress.partial_after(partial_place_);
      partial_.store(Partial::kTaken, std::memory_order_release);
    }
    const bool complete = all_done();  // asked first: what the workers wrote last is then visible
    if (egress.step()) {
      idle.worked();
      continue;
    }
    if (complete && egress.emitted() == EventTime::end_of_time()) break;
    Idle::take(idle.next());
  }
  egress.flush();
  egress_done_.store(true, std::memory_order_release);
}

void Appliance::wait_built(uint32_t threads, Duration every,
                           const std::function<void()>& progress) {
  MonotonicTime shown = options_.clock->now();
  while (built_.load(std::memory_order_acquire) < threads) {
    nap(kControlPeriod);
    const MonotonicTime now = options_.clock->now();
    if (between(shown, now) < every) continue;
    shown = now;
    progress();
  }
}

bool Appliance::wait_gate() {
  gate_.wait(Gate::kClosed, std::memory_order_acquire);
  return gate_.load(std::memory_order_acquire) == Gate::kOpen;
}

void Appliance::open_gate(Gate gate) {
  gate_.store(gate, std::memory_order_release);
  gate_.notify_all();
}

void Appliance::abandon() {
  stop_.store(true, std::memory_order_relaxed);
  if (gate_.load(std::memory_order_relaxed) == Gate::kClosed) open_gate(Gate::kAbandoned);
  finish();
}

void Appliance::finish() {
  for (auto& self : workers_)
    if (self->thread.joinable()) self->thread.join();
  if (egress_thread_.joinable()) egress_thread_.join();
}

bool Appliance::all_done() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const auto& self) { return self->done.load(std::memory_order_acquire); });
}

void Appliance::set_phases(Worker::Phase phase) {
  for (auto& self : workers_) self->worker->set_phase(phase);
}

void Appliance::run(Duration every, const std::function<void(const ApplianceSample&)>& progress) {
  lifecycle_.move(LifecycleState::kRunning);
  sampled_ = options_.clock->now();
  MonotonicTime shown = sampled_;
  open_gate(Gate::kOpen);
  RestDetector rest;
  while (!(all_done() && egress_done_.load(std::memory_order_acquire))) {
    nap(kControlPeriod);
    look();
    const uint32_t requests = requests_.load(std::memory_order_relaxed);
    if (requests >= 2) {
      stopped_early_ = true;
      stop_.store(true, std::memory_order_relaxed);
      break;
    }
    if (requests == 1) drain_step(rest);
    if (requests == 0) reload_step();
    if (progress && between(shown, sampled_) >= every) {
      shown = sampled_;
      progress(sample());
    }
  }
  finish();
  lifecycle_.move(LifecycleState::kStopped);
}

// Two versions of the tables exist, so a third waits until no lane uses the first any more.
void Appliance::reload_step() {
  if (!options_.reload || !reload_.load(std::memory_order_relaxed)) return;
  for (const auto& self : workers_)
    if (!self->done.load(std::memory_order_acquire) &&
        self->worker->tables_version() != options_.tables->version())
      return;
  reload_.store(false, std::memory_order_relaxed);
  options_.reload();
}

// One look at the drain: hold, rest, partial, end; each waits for the one before.
void Appliance::drain_step(RestDetector& rest) {
  if (state() == LifecycleState::kRunning) {
    lifecycle_.move(LifecycleState::kDraining);
    set_phases(Worker::Phase::kHold);
    return;
  }
  if (ending_) return;
  switch (partial_.load(std::memory_order_acquire)) {
    case Partial::kNone: {
      std::vector<RestReport> reports;
      for (auto& self : workers_) reports.push_back(self->worker->rest_report());
      const std::optional<EventTime> place = rest.observe(reports);
      // At end_of_time all input has ended by itself: nothing is open that could be partial.
      if (!place || *place == EventTime::end_of_time()) return;
      partial_place_ = *place;
      partial_.store(Partial::kAsked, std::memory_order_release);
      return;
    }
    case Partial::kAsked:
      return;
    case Partial::kTaken:
      ending_ = true;
      set_phases(Worker::Phase::kEnd);
      return;
  }
}

void Appliance::look() {
  const MonotonicTime now = options_.clock->now();
  const Duration passed = between(std::exchange(sampled_, now), now);
  const ApplianceSample seen = sample_workers();  // no driver is asked: that may cost it something
  account_holder(seen, passed);
  account_drift(seen);
}

// A file waits where it is max_drift ahead; a port cannot.
void Appliance::account_drift(const ApplianceSample& seen) {
  if (!seen.frontier.is_point()) return;
  for (const LaneSample& lane : seen.lanes) {
    if (!lane.live || lane.silent || lane.ended || lane.frontier <= seen.frontier) continue;
    int64_t& most = drift_ns_[index_of(lane.lane)];
    const auto ahead =
        static_cast<uint64_t>(lane.frontier.ns) - static_cast<uint64_t>(seen.frontier.ns);
    most = std::max(most, static_cast<int64_t>(std::min<uint64_t>(ahead, INT64_MAX)));
  }
}

// The lane with the least frontier among those that are waited for holds G.
void Appliance::account_holder(const ApplianceSample& seen, Duration passed) {
  if (seen.holder < 0) return;
  const LaneSample& lane = seen.lanes[static_cast<size_t>(seen.holder)];
  held_ns_[{index_of(lane.lane), index_of(lane.holder)}] += passed.ns;
}

ApplianceSample Appliance::sample_workers() const {
  ApplianceSample out;
  out.state = state();
  out.frontier = EventTime::end_of_time();
  for (const auto& self : workers_) {
    const Worker& worker = *self->worker;
    out.workers.push_back(worker.sample());
    out.frontier = std::min(out.frontier, out.workers.back().frontier);
    for (uint32_t i = 0; i < worker.lanes(); ++i) out.lanes.push_back(worker.sample_lane(i));
  }
  std::sort(out.lanes.begin(), out.lanes.end(),
            [](const LaneSample& a, const LaneSample& b) { return a.lane < b.lane; });
  EventTime least;
  for (size_t i = 0; i < out.lanes.size(); ++i) {
    const LaneSample& lane = out.lanes[i];
    if (lane.silent || lane.ended || (out.holder >= 0 && lane.frontier >= least)) continue;
    out.holder = static_cast<int>(i);
    least = lane.frontier;
  }
  return out;
}

ApplianceSample Appliance::sample() const {
  ApplianceSample out = sample_workers();
  out.sources.resize(out.lanes.size());
  for (const auto& self : workers_)
    for (uint32_t i = 0; i < self->worker->lanes(); ++i) {
      const LaneId lane = self->worker->sample_lane(i).lane;
      const auto at = std::lower_bound(
          out.lanes.begin(), out.lanes.end(), lane,
          [](const LaneSample& sample, LaneId wanted) { return sample.lane < wanted; });
      self->worker->source(i).sample(out.sources[static_cast<size_t>(at - out.lanes.begin())]);
    }
  if (egress_.egress) out.egress = egress_.egress->counts();
  return out;
}

std::vector<LaneDrift> Appliance::drifts() const {
  std::vector<LaneDrift> out;
  for (const auto& [lane, ns] : drift_ns_) out.push_back({LaneId{lane}, Duration{ns}});
  return out;
}

std::vector<HolderTime> Appliance::holders() const {
  std::vector<HolderTime> out;
  for (const auto& [who, ns] : held_ns_)
    out.push_back({LaneId{who.first}, PartitionId{who.second}, Duration{ns}});
  std::stable_sort(out.begin(), out.end(),
                   [](const HolderTime& a, const HolderTime& b) { return a.held > b.held; });
  return out;
}

}  // namespace tidewire
