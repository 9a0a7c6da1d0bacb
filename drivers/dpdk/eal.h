// DPDK's environment, of which a process has one, once: EAL cannot be started again, not even after
// a clean end. Its arguments are made here and never passed through from a user, because a bad one
// prints a page of usage past every log.
//
// The caller blocks SIGINT, SIGTERM and SIGHUP before start(): EAL's own threads inherit the mask,
// and a signal that lands on one of them is lost to whoever waits for it.
//
// EAL gets one core, the control core. Workers are threads of runtime; a queue makes itself known
// to EAL on the thread that polls it (rx_queue.cc). EAL's helper threads stay on the control core.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "drivers/dpdk/host_memory.h"
#include "drivers/dpdk/options.h"
#include "memory/arena.h"

namespace tidewire::dpdk {

// Called with each line of DPDK's own log, from any of its threads. Level: 4 error, 5 warning,
// 6 notice, 7 information (RTE_LOG_*).
using LogLine = std::function<void(uint32_t level, std::string_view line)>;

struct EalOptions {
  int control_core = -1;           // -1: the first core that this process may use
  LogLine log;                     // empty: errors to stderr
  std::optional<PageKind> memory;  // empty: by looking at the host (host_memory.h)
  std::string sysfs = "/sys";
};

// Memory for one pool. While it lives, `socket` names it to DPDK.
class PoolMemory {
 public:
  static absl::StatusOr<std::unique_ptr<PoolMemory>> hugepages(int node);
  static absl::StatusOr<std::unique_ptr<PoolMemory>> heap(const std::string& name, int node,
                                                          uint64_t bytes);
  ~PoolMemory();
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  int socket() const { return socket_; }
  std::string_view kind() const { return kind_; }

 private:
  PoolMemory() = default;

  std::unique_ptr<Arena> arena_;  // empty: EAL's own hugepages
  std::span<std::byte> bytes_;
  std::string name_;
  std::string_view kind_;
  int socket_ = -1;
  bool added_ = false;
};

class Eal {
 public:
  // `ports`: all that will be opened. Memory is chosen for their sum, and EAL sees no PCI card but
  // those named here.
  static absl::StatusOr<std::shared_ptr<Eal>> start(const EalOptions& options,
                                                    std::span<const PortOptions> ports);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  static bool running();
  PageKind memory() const { return choice_.kind; }
  const std::string& describe() const { return description_; }

  absl::StatusOr<std::unique_ptr<PoolMemory>> pool_memory(const std::string& name, int node,
                                                          uint64_t bytes) const;
  // Socket for a port's own tables and rings: its node, where EAL has memory of that node.
  int socket_for(int node) const;

  // The first things that DPDK and its libraries complained of since the last call, for the message
  // of a port that failed: drivers log the cause and return -1.
  static std::string take_complaints();

 private:
  Eal() = default;

  MemoryChoice choice_;
  std::string description_;
};

}  // namespace tidewire::dpdk
