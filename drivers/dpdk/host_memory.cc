#include "drivers/dpdk/host_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "drivers/dpdk/options.h"

namespace tidewire::dpdk {
namespace {

constexpr uint64_t kPage = uint64_t{2} << 20;
// What EAL and the drivers take beside the pools: their tables, and the descriptor rings.
constexpr uint64_t kOverhead = uint64_t{16} << 20;

uint64_t number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  file >> number;
  return file ? number : 0;
}

std::string mebibytes(uint64_t bytes) {
  return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB";
}

uint64_t free_on(const HostMemory& host, int node) {
  uint64_t sum = 0;
  for (const HostNode& at : host.nodes)
    if (node < 0 || at.node == node) sum += at.free_huge_bytes;
  return sum;
}

}  // namespace

HostMemory look_at_host(const std::string& sysfs) {
  HostMemory host;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(sysfs + "/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos)
      continue;
    HostNode node{.node = std::stoi(name.substr(4))};
    for (const uint64_t kib : {uint64_t{2048}, uint64_t{1048576}})
      node.free_huge_bytes +=
          kib * 1024 *
          number_in(entry.path() / "hugepages" / ("hugepages-" + std::to_string(kib) + "kB") /
                    "free_hugepages");
    host.nodes.push_back(node);
  }
  std::sort(host.nodes.begin(), host.nodes.end(),
            [](const HostNode& a, const HostNode& b) { return a.node < b.node; });
  std::ifstream file(sysfs + "/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  host.transparent = !text.empty() && text.find("[never]") == std::string::npos;
  return host;
}

absl::StatusOr<MemoryChoice> choose_memory(const HostMemory& host,
                                           std::span<const NodeNeed> needs) {
  // Needs of one node are met from the same pages, so they are added before they are compared; a
  // need for any node comes on top of all.
  std::string lack;
  uint64_t total = kOverhead;
  for (const NodeNeed& need : needs) total += need.bytes;
  for (const NodeNeed& need : needs) {
    uint64_t wanted = kOverhead;
    for (const NodeNeed& other : needs)
      if (other.node == need.node) wanted += other.bytes;
    if (need.node < 0) wanted = total;
    const uint64_t there = free_on(host, need.node);
    if (there >= wanted) continue;
    const std::string node = std::to_string(std::max(need.node, 0));
    const std::string cause = mebibytes(wanted) + " of hugepages are needed on NUMA node " +
                              (need.node < 0 ? "any" : node) + ", " + mebibytes(there) +
                              " are free";
    if (need.dma)
      return refusal(absl::StatusCode::kResourceExhausted,
                     cause + " (a PCI card's buffers need them)",
                     "reserve some: echo " + std::to_string((wanted + kPage - 1) / kPage) +
                         " > /sys/devices/system/node/node" + node +
                         "/hugepages/hugepages-2048kB/nr_hugepages");
    if (lack.empty()) lack = cause;
  }
  if (lack.empty() && free_on(host, -1) < total)
    lack = mebibytes(total) + " of hugepages are needed, " + mebibytes(free_on(host, -1)) +
           " are free";
  if (lack.empty()) return MemoryChoice{PageKind::kHuge, "hugepages, in memory"};
  if (host.transparent)
    return MemoryChoice{PageKind::kTransparentHuge, "transparent hugepages (" + lack + ")"};
  return MemoryChoice{PageKind::kPlain,
                      "4 KiB pages (" + lack + "; transparent hugepages are switched off)"};
}

}  // namespace tidewire::dpdk
