// Runs in the guest with two NUMA nodes and a card on each. Asks the kernel, page by page
// (move_pages with no target only tells), where the memory of the data path really is:
//
//   check_nodes ADDRESS...             every mbuf of each port's pool on the card's node, every
//   page
//                                      of an Arena on the node that it was asked for; then packets
//                                      from the first card to each other one, through our Source
//   check_nodes --refused ADDRESS...   DPDK must not start: prints what was said
//   check_nodes --heap                 ports without a card over transparent hugepages, where the
//                                      node is the workers': every mbuf on that
//
// Prints one line for each thing checked; exit 0 if all was as it should be.
#include <numaif.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "drivers/dpdk/eal.h"
#include "drivers/dpdk/port.h"
#include "memory/arena.h"

namespace {

using namespace tidewire;
using NodeCounts = std::map<int, uint64_t>;

int g_failures = 0;

void expect(bool good, const std::string& what) {
  std::printf("%s %s\n", good ? "ok    " : "FAILED", what.c_str());
  g_failures += good ? 0 : 1;
}

std::string to_text(const NodeCounts& counts) {
  std::string text;
  for (const auto& [node, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " on node " + std::to_string(node);
  return text;
}

// An errno of the page as a negative number, -14 (EFAULT) or -2 (ENOENT): it is nowhere.
int node_of_page(const void* address) {
  const auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) / page_size * page_size);
  int status = -1;
  return move_pages(0, 1, &page, nullptr, &status, 0) == 0 ? status : -1;
}

void check_pool(const dpdk::Port& port, int card_node) {
  NodeCounts counts;
  rte_mempool_obj_iter(
      port.pool(),
      [](rte_mempool*, void* sum, void* object, unsigned) {
        // Both ends: the mbuf's own words, and the last byte of its data room.
        const auto* mbuf = static_cast<const rte_mbuf*>(object);
        const char* last = static_cast<const char*>(mbuf->buf_addr) + mbuf->buf_len - 1;
        const int node = node_of_page(object);
        ++(*static_cast<NodeCounts*>(sum))[node == node_of_page(last) ? node : -1];
      },
      &counts);
  const uint64_t all = port.pool()->size;
  expect(counts == NodeCounts{{card_node, all}},
         port.describe() + ": of " + std::to_string(all) + " mbufs " + to_text(counts));
}

void check_arena(int node) {
  Arena arena({.node = node, .require_node = true});
  // More than one region, and pieces that share one.
  constexpr size_t kPage = 4096;
  NodeCounts counts;
  uint64_t all = 0;
  for (const size_t bytes : {size_t{100}, size_t{5} << 20, size_t{24} << 20, kPage}) {
    const auto piece = arena.take_bytes(bytes, 64, "node test");
    for (size_t at = 0; at < piece.size(); at += kPage, ++all)
      ++counts[node_of_page(piece.data() + at)];
  }
  expect(counts == NodeCounts{{node, all}}, "arena asked of node " + std::to_string(node) + " (" +
                                                std::string(to_string(arena.weakest())) +
                                                "): " + to_text(counts));
  expect(arena.pages_elsewhere() == 0, "the arena itself finds no page elsewhere");
}

// Frames of 100 to 163 bytes, each full of its number, sent as often as the link takes to come up.
void check_traffic(const dpdk::Port& from, const dpdk::Port& to) {
  using Steady = std::chrono::steady_clock;
  constexpr uint32_t kFrames = 64;
  const auto source = to.queue(0);
  Burst burst;
  std::array<bool, kFrames> seen{};
  uint32_t distinct = 0;
  uint32_t wrong = 0;
  const auto deadline = Steady::now() + std::chrono::seconds(30);
  for (uint32_t n = 0; distinct < kFrames && Steady::now() < deadline; n = (n + 1) % kFrames) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(from.pool());
    if (mbuf != nullptr) {
      const auto length = static_cast<uint16_t>(100 + n);
      char* bytes = rte_pktmbuf_append(mbuf, length);
      std::memset(bytes, static_cast<int>(n), length);
      std::memset(bytes, 0xff, 6);
      if (rte_eth_tx_burst(from.id(), 0, &mbuf, 1) == 0) rte_pktmbuf_free(mbuf);
    }
    if (source->receive(burst) != Received::kPackets) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    for (uint32_t i = 0; i < burst.count; ++i) {
      const uint32_t length = burst.length[i];
      const auto number = std::to_integer<uint32_t>(burst.data[i][length - 1]);
      if (number >= kFrames || length != 100 + number) {
        ++wrong;
        continue;
      }
      for (uint32_t k = 6; k < length; ++k)
        wrong += std::to_integer<uint32_t>(burst.data[i][k]) == number ? 0u : 1u;
      distinct += seen[number] ? 0u : 1u;
      seen[number] = true;
    }
    source->release(burst);
  }
  expect(distinct == kFrames && wrong == 0, "from card to card: " + std::to_string(distinct) +
                                                " of " + std::to_string(kFrames) + " frames, " +
                                                std::to_string(wrong) + " wrong");
}

int check_all(const std::vector<dpdk::PortOptions>& options) {
  dpdk::EalOptions eal_options;
  eal_options.log = [](uint32_t level, std::string_view line) {
    if (level <= 5) std::printf("       %.*s\n", static_cast<int>(line.size()), line.data());
  };
  auto eal = dpdk::Eal::start(eal_options, options);
  expect(eal.ok(), eal.ok() ? (*eal)->describe() : eal.status().ToString());
  if (!eal.ok()) return 1;
  std::vector<std::shared_ptr<dpdk::Port>> ports;
  for (const dpdk::PortOptions& port_options : options) {
    auto port = dpdk::Port::open(*eal, port_options);
    expect(port.ok(), port.ok() ? "opened " + port_options.device : port.status().ToString());
    if (port.ok()) ports.push_back(*std::move(port));
  }
  NodeCounts nodes;
  for (size_t i = 0; i < ports.size(); ++i) {
    const int node = dpdk::node_of(*dpdk::parse_device(options[i].device));
    ++nodes[node];
    check_pool(*ports[i], node);
  }
  expect(nodes.count(0) == 1 && nodes.count(1) == 1, "there is a card on each node");
  for (const int node : {0, 1}) check_arena(node);
  for (size_t i = 1; i < ports.size(); ++i) check_traffic(*ports[0], *ports[i]);
  return g_failures == 0 ? 0 : 1;
}

// Without reserved hugepages a pool stands in an external heap, which is bound to the node.
int check_heap() {
  std::vector<dpdk::PortOptions> options;
  for (const int node : {0, 1})
    options.push_back({.device = "net_null" + std::to_string(node), .node = node});
  dpdk::EalOptions eal_options;
  eal_options.memory = PageKind::kTransparentHuge;
  auto eal = dpdk::Eal::start(eal_options, options);
  expect(eal.ok(), eal.ok() ? (*eal)->describe() : eal.status().ToString());
  if (!eal.ok()) return 1;
  for (const dpdk::PortOptions& port_options : options) {
    auto port = dpdk::Port::open(*eal, port_options);
    if (!port.ok()) expect(false, port.status().ToString());
    if (port.ok()) check_pool(**port, port_options.node);
  }
  return g_failures == 0 ? 0 : 1;
}

int check_refused(const std::vector<dpdk::PortOptions>& options) {
  const auto eal = dpdk::Eal::start({}, options);
  const std::string said = eal.ok() ? "it started" : eal.status().ToString();
  expect(eal.status().code() == absl::StatusCode::kResourceExhausted &&
             said.find("NUMA node 1") != std::string::npos &&
             said.find("node1/hugepages/hugepages-2048kB/nr_hugepages") != std::string::npos,
         "without hugepages on node 1: " + said);
  return g_failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<dpdk::PortOptions> options;
  bool refused = false;
  bool heap = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--refused")
      refused = true;
    else if (word == "--heap")
      heap = true;
    else
      options.push_back({.device = word, .link_wait_ms = 10000});
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (heap) return check_heap();
  return refused ? check_refused(options) : check_all(options);
}
