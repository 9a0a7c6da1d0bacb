// A port that the EAL can name, opened and started: N receive queues over one pool that lies on the
// port's NUMA node. Opened, sampled and closed by the control thread; only its queues are touched
// by workers.
//
// Life: a queue holds its port, a port holds EAL. So whatever order the program lets go in, it ends
// as stop, close, pool, pool's memory, EAL.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "drivers/dpdk/eal.h"
#include "drivers/dpdk/options.h"
#include "drivers/dpdk/packet_socket.h"
#include "drivers/dpdk/tick_clock.h"
#include "io/source.h"

struct rte_mempool;

namespace tidewire::dpdk {

// How to read a packet's stamp: where its dynamic field is, which flag says that it is there, and
// how it becomes nanoseconds: by a factor, or by the card's clock. flag 0: none is read.
struct StampReader {
  int offset = -1;
  uint64_t flag = 0;
  int64_t ns_per_unit = 1;
  const TickClock* ticks = nullptr;
};

struct PortCounters {
  uint64_t received = 0;
  uint64_t bytes = 0;
  uint64_t missed = 0;     // the receive ring was full
  uint64_t no_buffer = 0;  // the pool was empty
  uint64_t errors = 0;     // bad frames
};

class Port : public std::enable_shared_from_this<Port> {
 public:
  static absl::StatusOr<std::shared_ptr<Port>> open(std::shared_ptr<Eal> eal,
                                                    const PortOptions& options);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  std::unique_ptr<Source> queue(uint16_t index) const;
  PortCounters counters() const;
  // A pair (card's clock, UTC) more, where stamps are ticks; else nothing. Control thread.
  void follow_clock() const;
  bool link_up() const;
  const std::string& describe() const { return description_; }

  uint16_t id() const { return id_; }
  int node() const { return node_; }
  const PortOptions& options() const { return options_; }
  const StampReader& stamps() const { return stamps_; }
  // Packets in the capture behind this queue; UINT64_MAX: it does not end.
  uint64_t ends_after(uint16_t queue) const;
  rte_mempool* pool() const { return pool_; }

 private:
  Port(std::shared_ptr<Eal> eal, PortOptions options, Device device);

  absl::Status probe();
  absl::Status configure();
  absl::Status make_pool();
  absl::Status choose_stamps(uint64_t& offloads);
  absl::Status start();
  void count_captures();
  void wait_for_link() const;
  void say();
  absl::Status failed(const std::string& what, int error) const;

  const std::shared_ptr<Eal> eal_;
  const PortOptions options_;
  Device device_;
  uint16_t id_ = 0;
  int node_ = -1;
  uint16_t queues_ = 0;
  uint16_t tx_queues_ = 0;
  uint16_t descriptors_ = 0;
  bool attached_ = false;  // by us, so detached by us
  bool owned_ = false;
  bool configured_ = false;
  bool started_ = false;
  bool rss_ = false;
  bool found_promiscuous_ = false;  // the kernel's interface, before we started
  StampReader stamps_;
  mutable std::mutex clock_mutex_;
  mutable TickClock ticks_;
  std::unique_ptr<PacketSockets> sockets_;  // net_af_packet only
  std::vector<uint64_t> captures_;
  std::unique_ptr<PoolMemory> memory_;
  rte_mempool* pool_ = nullptr;
  std::string description_;
};

}  // namespace tidewire::dpdk
