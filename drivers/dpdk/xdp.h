// What has to be known about an interface before net_af_xdp opens it. The driver would not say: a
// second start on a queue that is in use fails, and takes the first one's program away on its way
// out, after which the first receives nothing and no counter tells.
#pragma once

#include <cstdint>
#include <string>

namespace tidewire::dpdk {

// The id of the XDP program that the interface carries; 0: none.
uint32_t xdp_program(const std::string& interface);

// Is an AF_XDP socket bound to the queue? Found by trying to bind one, since the kernel's own list
// (sock_diag) is not built into every kernel. False also where one may not try. The kernel lets go
// of a queue some time after the socket is closed or its process has died, so a queue counts as
// taken only when it stays so for two seconds, and one that is free takes a tenth of a second: ask
// only where a program says that there may be somebody.
bool xdp_queue_taken(const std::string& interface, uint32_t queue);

}  // namespace tidewire::dpdk
