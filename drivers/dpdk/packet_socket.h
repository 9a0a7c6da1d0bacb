// What net_af_packet does not count: packets that the kernel threw away because the ring was full.
// The kernel counts them for each socket, and the driver keeps its sockets to itself; but a socket
// of this process can be asked, once it is found among those that opening the port has added.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tidewire::dpdk {

class PacketSockets {
 public:
  // Before the port is opened.
  explicit PacketSockets(std::string interface);
  // After: finds the sockets of the interface that are new.
  void find();
  // Packets thrown away since find(). Control threads; asking resets the kernel's count, so this
  // one is kept.
  uint64_t missed();

 private:
  std::vector<int> open_sockets() const;

  const std::string interface_;
  const std::vector<int> before_;
  std::mutex mutex_;
  std::vector<int> sockets_;
  uint64_t missed_ = 0;
};

}  // namespace tidewire::dpdk
