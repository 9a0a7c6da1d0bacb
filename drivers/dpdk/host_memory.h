// Where packet buffers can come from on this host: chosen by looking, without asking.
//
//   1. hugepages        enough are free on every node that needs some: EAL's --in-memory, which
//                       takes no file, no mount and no right, and leaves nothing behind
//   2. transparent      EAL on a few small pages (--no-huge), each pool in an external heap over
//                       memory of an Arena: full speed with nothing reserved
//   3. plain            the same, where the kernel has transparent hugepages switched off
//
// A PCI card reads and writes the buffers itself, so its memory has to stay put: it gets rung 1 or
// a refusal that names the node that lacks pages.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/arena.h"

namespace tidewire::dpdk {

struct HostNode {
  int node = 0;
  uint64_t free_huge_bytes = 0;
};

struct HostMemory {
  std::vector<HostNode> nodes;
  bool transparent = false;
};

// `sysfs` is "/sys" but in tests.
HostMemory look_at_host(const std::string& sysfs);

struct NodeNeed {
  int node = -1;  // -1: any
  uint64_t bytes = 0;
  bool dma = false;
};

struct MemoryChoice {
  PageKind kind = PageKind::kPlain;
  std::string reason;  // one line, said at start
};

absl::StatusOr<MemoryChoice> choose_memory(const HostMemory& host, std::span<const NodeNeed> needs);

}  // namespace tidewire::dpdk
