#include "runtime/topology.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

#include "base/strings.h"

namespace tidewire {
namespace {

constexpr int kCoreMax = 4096;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value >= kCoreMax)
    return std::nullopt;
  return value;
}

// core -> node, from the folders node0, node1, ...
absl::StatusOr<std::map<int, int>> read_nodes(const std::string& folder) {
  std::map<int, int> node_of;
  DIR* dir = opendir(folder.c_str());
  if (!dir) return node_of;
  absl::Status status;
  while (const dirent* entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name.substr(0, 4) != "node") continue;
    const auto node = parse_number(name.substr(4));
    if (!node) continue;
    const auto cores =
        parse_cpu_list(first_line(absl::StrCat(folder, "/", entry->d_name, "/cpulist")));
    if (!cores.ok()) {
      status = cores.status();
      break;
    }
    for (const int core : *cores) node_of[core] = *node;
  }
  closedir(dir);
  if (!status.ok()) return status;
  return node_of;
}

// The mask is as wide as the host needs: machines above 1,024 cores refuse the fixed cpu_set_t.
std::vector<int> allowed_cores() {
  cpu_set_t* set = CPU_ALLOC(kCoreMax);
  const size_t bytes = CPU_ALLOC_SIZE(kCoreMax);
  CPU_ZERO_S(bytes, set);
  std::vector<int> cores;
  if (sched_getaffinity(0, bytes, set) == 0)
    for (int core = 0; core < kCoreMax; ++core)
      if (CPU_ISSET_S(static_cast<size_t>(core), bytes, set)) cores.push_back(core);
  CPU_FREE(set);
  return cores;
}

}  // namespace

const Topology::Core* Topology::find(int core) const {
  const auto at = std::find_if(allowed.begin(), allowed.end(),
                               [core](const Core& candidate) { return candidate.id == core; });
  return at == allowed.end() ? nullptr : &*at;
}

int Topology::nodes() const {
  std::vector<int> seen;
  for (const Core& core : allowed) seen.push_back(core.node);
  std::sort(seen.begin(), seen.end());
  return static_cast<int>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

absl::StatusOr<std::vector<int>> parse_cpu_list(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::vector<int> cores;
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t dash = item.find('-');
    const auto first = parse_number(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(item.substr(dash + 1));
    if (!first || !last || *last < *first)
      return absl::InvalidArgumentError(
          absl::StrCat("\"", to_absl(whole), "\" is no list of cores; ", "write it as 0-3,8"));
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
  }
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

absl::StatusOr<Topology> read_topology(const std::string& sysfs) {
  const std::string system = sysfs + "/devices/system";
  const auto nodes = read_nodes(system + "/node");
  if (!nodes.ok()) return nodes.status();
  const auto isolated = parse_cpu_list(first_line(system + "/cpu/isolated"));
  if (!isolated.ok()) return isolated.status();
  const auto online = parse_cpu_list(first_line(system + "/cpu/online"));
  if (!online.ok()) return online.status();
  Topology topology;
  for (const int id : allowed_cores()) {
    const auto node = nodes->find(id);
    topology.allowed.push_back({id, node == nodes->end() ? 0 : node->second,
                                std::binary_search(isolated->begin(), isolated->end(), id)});
  }
  if (topology.allowed.empty())
    return absl::InternalError("the kernel reports no core that this process may run on");
  topology.present = *online;
  if (topology.present.empty())
    for (const Topology::Core& core : topology.allowed) topology.present.push_back(core.id);
  return topology;
}

absl::StatusOr<WorkerPlacement> place_workers(const Topology& topology,
                                              const std::vector<int>& configured,
                                              uint32_t workers) {
  std::vector<int> usable;
  for (const Topology::Core& core : topology.allowed) usable.push_back(core.id);
  std::vector<std::string> problems;
  if (workers == 0) problems.push_back("there must be at least one worker");
  if (!configured.empty() && configured.size() != workers)
    problems.push_back(absl::StrCat(workers, " workers need ", workers, " cores, but ",
                                    configured.size(), " are configured"));
  for (size_t i = 0; i < configured.size(); ++i) {
    const int core = configured[i];
    if (std::find(configured.begin(), configured.begin() + static_cast<ptrdiff_t>(i), core) !=
        configured.begin() + static_cast<ptrdiff_t>(i))
      problems.push_back(absl::StrCat("core ", core, " is configured twice"));
    else if (!std::binary_search(topology.present.begin(), topology.present.end(), core))
      problems.push_back(absl::StrCat("core ", core, " does not exist; this host has ",
                                      absl::StrJoin(topology.present, ",")));
    else if (!topology.find(core))
      problems.push_back(absl::StrCat("core ", core, " exists, but this process may only use ",
                                      absl::StrJoin(usable, ","),
                                      " (affinity mask or cgroup cpuset)"));
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));

  WorkerPlacement placement;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    const int core = configured.empty() ? usable[worker % usable.size()] : configured[worker];
    placement.worker_core.push_back(core);
    placement.worker_node.push_back(topology.find(core)->node);
  }
  placement.shared = configured.empty() && workers > usable.size();
  for (const int core : usable)
    if (std::find(placement.worker_core.begin(), placement.worker_core.end(), core) ==
        placement.worker_core.end())
      placement.control_cores.push_back(core);
  if (placement.control_cores.empty()) placement.control_cores = usable;
  return placement;
}

IdlePolicy default_idle(const Topology& topology, int core) {
  const Topology::Core* found = topology.find(core);
  return found && found->isolated ? IdlePolicy::kSpin : IdlePolicy::kYield;
}

IdlePolicy egress_idle(const WorkerPlacement& placement, std::span<const IdlePolicy> workers) {
  const bool shared =
      std::any_of(placement.control_cores.begin(), placement.control_cores.end(), [&](int core) {
        return std::find(placement.worker_core.begin(), placement.worker_core.end(), core) !=
               placement.worker_core.end();
      });
  const bool frugal =
      std::find(workers.begin(), workers.end(), IdlePolicy::kSleep) != workers.end();
  return shared || frugal ? IdlePolicy::kSleep : IdlePolicy::kYield;
}

absl::Status pin_this_thread(const std::vector<int>& cores) {
  cpu_set_t* set = CPU_ALLOC(kCoreMax);
  const size_t bytes = CPU_ALLOC_SIZE(kCoreMax);
  CPU_ZERO_S(bytes, set);
  for (const int core : cores)
    if (core >= 0 && core < kCoreMax) CPU_SET_S(static_cast<size_t>(core), bytes, set);
  const int error = pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
  if (error == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a thread cannot be bound to core ", absl::StrJoin(cores, ","), ": ", std::strerror(error)));
}

}  // namespace tidewire
