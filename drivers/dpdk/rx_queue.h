// One receive queue of a port as a lane: mbufs come in by a burst, stand in the Burst as spans over
// their data, and go back in bulk. Nothing is copied.
//
// arrival: the stamp that the port wrote, per packet and only where the packet's flag says so;
// before_all() elsewhere, counted in `unstamped`, for runtime's one clock read per burst.
//
// A frame that came in several mbufs is looked at in its first only: length says so, wire_length
// is whole, and it is counted as segmented.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "drivers/dpdk/port.h"
#include "io/source.h"

struct rte_mbuf;

namespace tidewire::dpdk {

class RxQueue final : public Source {
 public:
  RxQueue(std::shared_ptr<const Port> port, uint16_t queue);
  ~RxQueue() override;
  RxQueue(const RxQueue&) = delete;
  RxQueue& operator=(const RxQueue&) = delete;

  Received receive(Burst& burst) override;
  void release(Burst& burst) override;
  // Missed, without buffer and errors are counted by the port as a whole: queue 0 tells them.
  void sample(SourceCounters& out) const override;

 private:
  const std::shared_ptr<const Port> port_;
  const uint16_t port_id_;
  const uint16_t queue_;
  const uint16_t interface_;
  const StampReader stamps_;
  const uint64_t ends_after_;  // packets of the capture behind it; UINT64_MAX: it has no end
  bool entered_ = false;
  uint64_t received_ = 0;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> segmented_{0};
  std::array<rte_mbuf*, kBurstMax> mbufs_;
};

}  // namespace tidewire::dpdk
