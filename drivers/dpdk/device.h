// A device string, taken apart, and what can be found wrong with it before EAL sees it: EAL prints
// a page of usage on a bad one, or starts without the port and without an error.
//
//   "0000:3b:00.0"                            a PCI card, bound to vfio-pci; "3b:00.0" for short
//   "net_af_packet0,iface=eth0,qpairs=2"      driver, number, arguments of the driver
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidewire::dpdk {

enum class DeviceKind : uint8_t {
  kPci,
  kAfPacket,
  kAfXdp,
  kMemif,
  kRing,
  kPcap,
  kNull,
  kTap,
  kVirtioUser,
};

struct Device {
  DeviceKind kind = DeviceKind::kNull;
  std::string name = {};       // what EAL calls the port
  std::string arguments = {};  // "iface=eth0,qpairs=2"

  // The value of one argument; none: it is not there.
  std::optional<std::string> argument(std::string_view key) const;
  std::string interface() const { return argument("iface").value_or(""); }
};

absl::StatusOr<Device> parse_device(std::string_view text);

// Does it exist, and may this process open it? Looks at the host (interfaces, files, capabilities,
// the PCI card's kernel driver) and names what is missing.
absl::Status check_device(const Device& device);

// NUMA node of a PCI card by sysfs; -1: not known, or no card.
int node_of(const Device& device);

// Does the device spread packets over several queues by itself, so that it can do without RSS?
bool spreads_by_itself(DeviceKind kind);

}  // namespace tidewire::dpdk
