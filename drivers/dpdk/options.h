// What is asked of a port, and how much memory that takes. Pure: known before EAL is started, since
// EAL's memory has to be chosen by the sum over all ports (host_memory.h).
//
// The buffers of a port, "nothing else holds an mbuf" (core.md section 5):
//
//   queues x ( descriptors     in the receive ring
//            + kBurstMax       in the burst that the pipeline looks at
//            + kCacheHeld )    in the pool's cache of the thread that polls the queue
//   rounded up to 2^n - 1, which is what a mempool's ring holds without waste.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "drivers/dpdk/device.h"
#include "event/burst.h"

namespace tidewire::dpdk {

inline constexpr uint32_t kPoolCache = 256;
inline constexpr uint32_t kCacheHeld =
    kPoolCache * 3 / 2;  // a cache is flushed at 1.5 times its size
// af_xdp fills its ring for the kernel out of the same pool: fewer, and the socket is refused.
inline constexpr uint32_t kLeastXdpPool = 8191;

// Unit of the stamps that the port writes into its packets. kNone: they are not looked at, and
// runtime stamps each burst with one clock read.
enum class StampClock : uint8_t { kNone, kNanoseconds, kMicroseconds, kTicks };

struct PortOptions {
  std::string device = {};      // "0000:3b:00.0" or "net_af_packet0,iface=eth0"
  uint16_t queues = 1;          // one lane each
  uint16_t descriptors = 1024;  // of each queue's ring; the driver may round it
  uint32_t pool = 0;            // mbufs for each queue; 0: what the sum above says
  uint16_t mtu = 0;             // 0: as the port has it
  bool promiscuous = true;
  StampClock clock = StampClock::kNone;
  uint16_t interface = 0;        // what Burst::interface says
  int node = -1;                 // of the workers; used where the port does not know its own
  uint32_t link_wait_ms = 2000;  // then the port is used without a link, and says so
};

// Mbufs of the port's one pool, or why what was asked for cannot work.
absl::StatusOr<uint32_t> pool_count(const PortOptions& options, const Device& device);

// Bytes of one mbuf's data room, headroom included: a whole frame must fit, since a frame in
// several mbufs is looked at in its first only.
uint32_t data_room(const PortOptions& options);

// What a pool of so many mbufs takes, its ring and caches included; rounded up to 2 MiB.
uint64_t pool_bytes(uint32_t count, uint32_t room);

// An error with its cause and what to do about it, in one form for all of them.
absl::Status refusal(absl::StatusCode code, const std::string& cause, const std::string& remedy);

}  // namespace tidewire::dpdk
