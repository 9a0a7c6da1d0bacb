// Which cores there are, on which NUMA node each stands, which are isolated, and where the workers
// go. A value: read from the host once, or written down by a test, so that placement on two nodes
// is tested on a machine that has one.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/idle.h"

namespace tidewire {

struct Topology {
  struct Core {
    int id = 0;
    int node = 0;
    bool isolated = false;  // the kernel schedules nothing there on its own (isolcpus)
  };
  std::vector<Core> allowed;  // that this process may use, ascending
  std::vector<int> present;   // that the host has online, ascending

  const Core* find(int core) const;
  int nodes() const;  // number of different nodes among the allowed cores
};

// "0-3,8,10-11" as sysfs writes it. Empty text is an empty list.
absl::StatusOr<std::vector<int>> parse_cpu_list(std::string_view text);

// From the affinity mask of the calling thread and `sysfs`/devices/system. A host without the NUMA
// folder has one node.
absl::StatusOr<Topology> read_topology(const std::string& sysfs = "/sys");

struct WorkerPlacement {
  std::vector<int> worker_core;    // [worker]
  std::vector<int> worker_node;    // [worker]
  std::vector<int> control_cores;  // egress and control: allowed cores without a worker, else all
  bool shared = false;             // two workers share a core
};

// `configured`: the core of each worker in turn, or empty for the first allowed cores (workers
// share cores when there are fewer). Every core that cannot be used is named, with what can be.
absl::StatusOr<WorkerPlacement> place_workers(const Topology& topology,
                                              const std::vector<int>& configured, uint32_t workers);

// Spin only where nobody else wants the core.
IdlePolicy default_idle(const Topology& topology, int core);
// Egress yields where it has a core of its own, since a nap of 50 us would be the better part of a
// result's latency; it sleeps where it would take the core from a worker, and where workers do.
IdlePolicy egress_idle(const WorkerPlacement& placement, std::span<const IdlePolicy> workers);

// Binds the calling thread to these cores.
absl::Status pin_this_thread(const std::vector<int>& cores);

}  // namespace tidewire
