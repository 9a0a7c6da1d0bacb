#include "drivers/dpdk/packet_socket.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

namespace tidewire::dpdk {

PacketSockets::PacketSockets(std::string interface)
    : interface_(std::move(interface)), before_(open_sockets()) {}

std::vector<int> PacketSockets::open_sockets() const {
  std::vector<int> sockets;
  const auto index = static_cast<int>(if_nametoindex(interface_.c_str()));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int fd = std::stoi(entry.path().filename().string());
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_PACKET) continue;
    sockaddr_ll address{};
    size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sll_ifindex == index) sockets.push_back(fd);
  }
  return sockets;
}

void PacketSockets::find() {
  for (const int fd : open_sockets())
    if (std::find(before_.begin(), before_.end(), fd) == before_.end()) sockets_.push_back(fd);
}

uint64_t PacketSockets::missed() {
  const std::lock_guard lock(mutex_);
  for (const int fd : sockets_) {
    tpacket_stats stats{};
    socklen_t size = sizeof stats;
    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0)
      missed_ += stats.tp_drops;
  }
  return missed_;
}

}  // namespace tidewire::dpdk
