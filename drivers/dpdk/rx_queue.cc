#include "drivers/dpdk/rx_queue.h"

#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tidewire::dpdk {
namespace {

// Drivers work in powers of two up to about here; a larger wish is met by asking again.
constexpr uint32_t kAsk = 64;
#ifdef TIDEWIRE_DEBUG_CHECKS
constexpr int kPoison = 0xdb;
#endif

// A thread that EAL did not start has no cache in the mempools: each packet would cost atomics on
// the pool's ring. Registered once a thread, taken back when the thread ends.
class ThreadRegistration {
 public:
  ThreadRegistration() : ours_(rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0) {}
  ~ThreadRegistration() {
    if (ours_ && Eal::running()) rte_thread_unregister();
  }
  ThreadRegistration(const ThreadRegistration&) = delete;
  ThreadRegistration& operator=(const ThreadRegistration&) = delete;

 private:
  bool ours_;
};

[[gnu::noinline, gnu::cold]] void enter_thread() {
  static thread_local const ThreadRegistration kRegistration;
  (void)kRegistration;
}

EventTime stamp_of(const rte_mbuf& mbuf, const StampReader& stamps) {
  const auto at = reinterpret_cast<uintptr_t>(&mbuf) + static_cast<uintptr_t>(stamps.offset);
  uint64_t raw = 0;
  std::memcpy(&raw, reinterpret_cast<const void*>(at), sizeof raw);
  if (stamps.ticks != nullptr) return stamps.ticks->to_utc(raw);
  int64_t ns = 0;
  // A stamp beyond the year 2262 is none.
  if (raw > uint64_t{std::numeric_limits<int64_t>::max()} ||
      __builtin_mul_overflow(static_cast<int64_t>(raw), stamps.ns_per_unit, &ns))
    return EventTime::before_all();
  return EventTime{ns};
}

}  // namespace

RxQueue::RxQueue(std::shared_ptr<const Port> port, uint16_t queue)
    : port_(std::move(port)),
      port_id_(port_->id()),
      queue_(queue),
      interface_(port_->options().interface),
      stamps_(port_->stamps()),
      ends_after_(port_->ends_after(queue)) {}

RxQueue::~RxQueue() = default;

Received RxQueue::receive(Burst& burst) {
  if (!entered_) {
    enter_thread();
    entered_ = true;
  }
  uint32_t count = 0;
  const uint32_t most = std::min(burst.limit, kBurstMax);
  while (count < most) {
    const auto ask = static_cast<uint16_t>(std::min(kAsk, most - count));
    const uint16_t got = rte_eth_rx_burst(port_id_, queue_, &mbufs_[count], ask);
    count += got;
    if (got < ask) break;
  }
  burst.count = count;
  burst.unstamped = 0;
  if (count == 0) return received_ >= ends_after_ ? Received::kEnded : Received::kNothing;
  received_ += count;
  uint64_t bytes = 0;
  uint64_t segmented = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rte_mbuf* const mbuf = mbufs_[i];
    const auto* const data = rte_pktmbuf_mtod(mbuf, const std::byte*);
    rte_prefetch0(data);
    burst.data[i] = data;
    burst.length[i] = mbuf->data_len;
    burst.wire_length[i] = mbuf->pkt_len;
    burst.interface[i] = interface_;
    burst.link[i] = LinkType::kEthernet;
    burst.owner[i] = mbuf;
    EventTime arrival = EventTime::before_all();
    if ((mbuf->ol_flags & stamps_.flag) != 0) arrival = stamp_of(*mbuf, stamps_);
    burst.arrival[i] = arrival;
    burst.unstamped += static_cast<uint32_t>(arrival == EventTime::before_all());
    segmented += static_cast<uint64_t>(mbuf->nb_segs > 1);
    bytes += mbuf->pkt_len;
  }
  // One writer: no read-modify-write is needed to be read by the control thread.
  bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  if (segmented != 0)
    segmented_.store(segmented_.load(std::memory_order_relaxed) + segmented,
                     std::memory_order_relaxed);
  return Received::kPackets;
}

void RxQueue::release(Burst& burst) {
  for (uint32_t i = 0; i < burst.count; ++i) {
    mbufs_[i] = static_cast<rte_mbuf*>(burst.owner[i]);
#ifdef TIDEWIRE_DEBUG_CHECKS
    // A pointer that was kept reads this instead of a packet that looks right by luck. Data that
    // others still hold is left alone.
    if (rte_mbuf_refcnt_read(mbufs_[i]) == 1 && RTE_MBUF_DIRECT(mbufs_[i]))
      std::memset(rte_pktmbuf_mtod(mbufs_[i], void*), kPoison, mbufs_[i]->data_len);
#endif
  }
  rte_pktmbuf_free_bulk(mbufs_.data(), burst.count);
  burst.count = 0;
  burst.unstamped = 0;
}

void RxQueue::sample(SourceCounters& out) const {
  out = {};
  out.bytes_read = bytes_.load(std::memory_order_relaxed);
  out.segmented = segmented_.load(std::memory_order_relaxed);
  if (queue_ != 0) return;
  port_->follow_clock();
  const PortCounters counters = port_->counters();
  out.missed = counters.missed;
  out.no_buffer = counters.no_buffer;
  out.errors = counters.errors;
}

}  // namespace tidewire::dpdk
