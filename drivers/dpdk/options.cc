#include "drivers/dpdk/options.h"

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>

#include "base/strings.h"

namespace tidewire::dpdk {
namespace {

constexpr uint32_t kTags = 2 * 4;          // two VLAN tags
constexpr uint32_t kMostMbufs = 1u << 24;  // 39 GB: beyond it is a slip of the pen

}  // namespace

absl::Status refusal(absl::StatusCode code, const std::string& cause, const std::string& remedy) {
  return absl::Status(code, to_absl(cause + "; " + remedy));
}

absl::StatusOr<uint32_t> pool_count(const PortOptions& options, const Device& device) {
  const auto bad = [&](const std::string& cause, const std::string& remedy) {
    return refusal(absl::StatusCode::kInvalidArgument, device.name + ": " + cause, remedy);
  };
  if (options.queues == 0) return bad("no queue", "ask for at least one");
  if (options.descriptors == 0) return bad("rings without a descriptor", "1024 is a good start");
  const uint64_t ring = options.descriptors;
  uint64_t each = ring + kBurstMax + kCacheHeld;
  const bool xdp = device.kind == DeviceKind::kAfXdp;
  if (xdp) each = std::max<uint64_t>(each, kLeastXdpPool);
  if (options.pool != 0 && options.pool < each)
    return bad("a pool of " + std::to_string(options.pool) + " mbufs a queue is too small",
               xdp && each == kLeastXdpPool
                   ? "af_xdp needs " + std::to_string(kLeastXdpPool)
                   : "it takes " + std::to_string(each) + " (" + std::to_string(ring) +
                         " descriptors, a burst of " + std::to_string(kBurstMax) + ", " +
                         std::to_string(kCacheHeld) + " in the cache)");
  const uint64_t wanted = std::max<uint64_t>(each, options.pool) * options.queues;
  if (wanted >= kMostMbufs)
    return bad(
        std::to_string(wanted) + " mbufs in one pool",
        "less than " + std::to_string(kMostMbufs) + " can be had: fewer queues or descriptors");
  return static_cast<uint32_t>(std::bit_ceil(wanted + 1) - 1);
}

uint32_t data_room(const PortOptions& options) {
  const uint32_t frame = options.mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + kTags;
  const uint32_t room = (RTE_PKTMBUF_HEADROOM + frame + 63) / 64 * 64;
  return std::max<uint32_t>(room, RTE_MBUF_DEFAULT_BUF_SIZE);
}

uint64_t pool_bytes(uint32_t count, uint32_t room) {
  constexpr uint64_t kMebibyte = 1u << 20;
  // An element: mempool header 64, mbuf 128, data room, trailer and padding; the ring's pointer 8.
  const uint64_t elements = uint64_t{count} * (uint64_t{room} + 64 + 128 + 192 + 16);
  const uint64_t fixed = 4 * kMebibyte;  // the pool itself: a cache for each possible lcore
  return (elements + fixed + 2 * kMebibyte - 1) / (2 * kMebibyte) * (2 * kMebibyte);
}

}  // namespace tidewire::dpdk
