// Threads around the parts: one pinned thread per worker, one for egress on the cores that are
// left, and the caller's as control thread.
//
//   control   start() ... run(): looks at requests and samples, drains, ends
//   worker w  [pin to core] -> build parts -> wait for all -> seal -> turn, turn, turn ...
//   egress    [control cores] -> build -> wait for all -> step, step ... -> flush
//
// Parts are built on the thread that will use them: an io_uring ring belongs to the thread that
// made it, and memory that a thread touches first lies on its node. All errors of all threads come
// back from start(), together.
//
// End. Input that ends by itself: every lane ends, all fires, nothing is partial. Drain (first
// request): receive stops, open bursts are finished, the pipelines come to rest at some G, egress
// is told that what lies above G is partial, every lane gets end_of_time. Stop (second request):
// every thread leaves after its turn; what is open is not emitted.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "egress/egress.h"
#include "io/sink.h"
#include "runtime/clock.h"
#include "runtime/idle.h"
#include "runtime/lifecycle.h"
#include "runtime/topology.h"
#include "runtime/worker.h"

namespace tidewire {

struct EgressParts {
  std::vector<ResultRing*> rings;  // [worker]; their memory is there when egress is built
  std::vector<std::unique_ptr<Sink>> sinks;
  std::unique_ptr<Egress> egress;
};

using BuildWorker = std::function<absl::Status(WorkerParts&)>;
using BuildEgress = std::function<absl::Status(EgressParts&)>;

struct ApplianceOptions {
  WorkerPlacement placement;
  std::vector<IdlePolicy> idle;  // [worker]
  Clock* clock = &system_clock();
  std::vector<PunctuationLog*> punctuation_logs;  // [worker], or empty
  // Called on the control thread for a reload that was requested, when every worker has taken over
  // the version before: may call LookupTables::replace. Null where there are no tables.
  std::function<void()> reload;
  const LookupTables* tables = nullptr;
};

// Who held G back, and for how long: found by the control thread's samples, so short holds are
// estimates.
struct HolderTime {
  LaneId lane{};
  PartitionId partition{};
  Duration held;
};

// How far a lane that cannot wait has run ahead of G, at the most, in samples of a control period.
struct LaneDrift {
  LaneId lane{};
  Duration most;
};

struct ApplianceSample {
  LifecycleState state = LifecycleState::kConfigured;
  std::vector<LaneSample> lanes;        // ascending lane
  std::vector<SourceCounters> sources;  // of the same lanes
  std::vector<WorkerSample> workers;
  EventTime frontier;  // G: the least that any worker knows
  int holder = -1;     // index of the lane that holds G now; -1: none does
  EgressCounts egress;
};

class Appliance {
 public:
  // One builder per worker, in worker order.
  Appliance(ApplianceOptions options, std::vector<BuildWorker> build_workers,
            BuildEgress build_egress);
  ~Appliance();
  Appliance(const Appliance&) = delete;
  Appliance& operator=(const Appliance&) = delete;

  // Threads, parts, memory. After an error everything is taken down again. `progress` is called
  // every `every` while it lasts, on the calling thread.
  absl::Status start(Duration every = {INT64_MAX}, const std::function<void()>& progress = {});
  // Until everything has left. `progress` is called every `every`, on the calling thread.
  void run(Duration every, const std::function<void(const ApplianceSample&)>& progress);

  // First call: drain. Second call: stop. Safe in a signal handler and on any thread.
  void request_drain() noexcept { requests_.fetch_add(1, std::memory_order_relaxed); }

  // The lookup files are read again. Safe like request_drain; not while draining.
  void request_reload() noexcept { reload_.store(true, std::memory_order_relaxed); }

  LifecycleState state() const { return lifecycle_.state(); }
  bool stopped_early() const { return stopped_early_; }  // by a second request
  ApplianceSample sample() const;
  std::vector<HolderTime> holders() const;  // the longest first
  std::vector<LaneDrift> drifts() const;    // ascending lane; those that were never ahead left out

  // For the summary, when stopped.
  size_t workers() const { return workers_.size(); }
  Worker& worker(size_t i) { return *workers_[i]->worker; }
  const Worker& worker(size_t i) const { return *workers_[i]->worker; }
  const EgressParts& egress() const { return egress_; }

 private:
  struct WorkerThread {
    ResultRing ring;
    WorkerParts parts;
    absl::Status built;
    std::unique_ptr<Worker> worker;
    std::atomic<bool> done{false};
    std::thread thread;
  };
  enum class Gate : uint32_t { kClosed, kOpen, kAbandoned };

  void run_worker(WorkerThread& self, uint32_t index);
  void run_egress();
  void build_worker(WorkerThread& self, uint32_t index);
  void wait_built(uint32_t threads, Duration every, const std::function<void()>& progress);
  bool wait_gate();
  void open_gate(Gate gate);
  void abandon();
  bool all_done() const;
  void set_phases(Worker::Phase phase);
  void drain_step(class RestDetector& rest);
  void reload_step();
  ApplianceSample sample_workers() const;
  void account_holder(const ApplianceSample& seen, Duration passed);
  void account_drift(const ApplianceSample& seen);
  void look();
  void finish();

  ApplianceOptions options_;
  std::vector<BuildWorker> build_workers_;
  BuildEgress build_egress_;
  Lifecycle lifecycle_;
  std::vector<std::unique_ptr<WorkerThread>> workers_;
  EgressParts egress_;
  absl::Status egress_built_;
  std::thread egress_thread_;
  std::atomic<uint32_t> built_{0};  // threads that have built, well or not
  std::atomic<Gate> gate_{Gate::kClosed};
  std::atomic<uint32_t> requests_{0};
  std::atomic<bool> reload_{false};
  std::atomic<bool> stop_{false};  // leave at once
  std::atomic<bool> egress_done_{false};
  // Drain: the control thread names the place, the egress thread takes it over and says so.
  enum class Partial : uint8_t { kNone, kAsked, kTaken };
  std::atomic<Partial> partial_{Partial::kNone};
  EventTime partial_place_;
  bool ending_ = false;
  bool stopped_early_ = false;
  std::map<std::pair<uint16_t, uint32_t>, int64_t> held_ns_;
  std::map<uint16_t, int64_t> drift_ns_;
  MonotonicTime sampled_;
};

}  // namespace tidewire
