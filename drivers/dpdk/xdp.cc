#include "drivers/dpdk/xdp.h"

#include <bpf/libbpf.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace tidewire::dpdk {

uint32_t xdp_program(const std::string& interface) {
  uint32_t program = 0;
  const int index = static_cast<int>(if_nametoindex(interface.c_str()));
  return bpf_xdp_query_id(index, 0, &program) == 0 ? program : 0;
}

namespace {

bool bind_refused(const std::string& interface, uint32_t queue) {
  constexpr uint32_t kFrame = 4096;
  constexpr uint32_t kFrames = 4;
  const int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  void* memory = mmap(nullptr, size_t{kFrame} * kFrames, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool taken = false;
  if (memory != MAP_FAILED) {
    // The least that the kernel lets bind: frames, the two rings of a umem, and a receive ring.
    xdp_umem_reg frames{};
    frames.addr = reinterpret_cast<uintptr_t>(memory);
    frames.len = uint64_t{kFrame} * kFrames;
    frames.chunk_size = kFrame;
    const uint32_t ring = kFrames;
    bool ready = setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &frames, sizeof frames) == 0;
    for (const int name : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING})
      ready = ready && setsockopt(fd, SOL_XDP, name, &ring, sizeof ring) == 0;
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = XDP_COPY;
    address.sxdp_ifindex = if_nametoindex(interface.c_str());
    address.sxdp_queue_id = queue;
    taken = ready && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
            errno == EBUSY;
  }
  close(fd);
  if (memory != MAP_FAILED) munmap(memory, size_t{kFrame} * kFrames);
  return taken;
}

}  // namespace

bool xdp_queue_taken(const std::string& interface, uint32_t queue) {
  constexpr useconds_t kRelease = 100'000;
  constexpr int kTries = 20;
  bool refused = true;
  for (int i = 0; i < kTries && refused; ++i) {
    refused = bind_refused(interface, queue);
    usleep(kRelease);
  }
  return refused;
}

}  // namespace tidewire::dpdk
