#include "drivers/dpdk/device.h"

#include <linux/capability.h>
#include <net/if.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <vector>

#include "drivers/dpdk/options.h"
#include "drivers/dpdk/xdp.h"

namespace tidewire::dpdk {
namespace {

struct KindName {
  std::string_view driver;
  DeviceKind kind;
  bool spreads;  // several queues without RSS: a kernel fanout, one file or one peer's ring each
};
constexpr std::array kKinds = {
    KindName{"net_af_packet", DeviceKind::kAfPacket, true},
    KindName{"net_af_xdp", DeviceKind::kAfXdp, true},
    KindName{"net_memif", DeviceKind::kMemif, true},
    KindName{"net_ring", DeviceKind::kRing, true},
    KindName{"net_pcap", DeviceKind::kPcap, true},
    KindName{"net_null", DeviceKind::kNull, false},
    KindName{"net_tap", DeviceKind::kTap, true},
    KindName{"net_virtio_user", DeviceKind::kVirtioUser, true},
};

// EAL tells drivers by the start of the name; what follows is ours, a number mostly.
constexpr size_t kMostSuffix = 32;

struct Capability {
  unsigned bit;
  const char* name;
};
constexpr std::array kPacketRights = {Capability{CAP_NET_RAW, "CAP_NET_RAW"},
                                      Capability{CAP_NET_ADMIN, "CAP_NET_ADMIN"}};
// SYS_ADMIN because libxdp lists the programs of the interface; IPC_LOCK for the pinned buffers.
constexpr std::array kXdpRights = {
    Capability{CAP_NET_RAW, "CAP_NET_RAW"}, Capability{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
    Capability{CAP_BPF, "CAP_BPF"}, Capability{CAP_IPC_LOCK, "CAP_IPC_LOCK"},
    Capability{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}};
constexpr std::array kTapRights = {Capability{CAP_NET_ADMIN, "CAP_NET_ADMIN"}};

template <class Rights>
std::string missing_rights(const Rights& rights) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return {};
  std::string missing;
  for (const Capability& right : rights)
    if (((data[right.bit / 32].effective >> (right.bit % 32)) & 1u) == 0)
      missing += (missing.empty() ? "" : " ") + std::string(right.name);
  return missing;
}

absl::Status rights_refusal(const Device& device, const std::string& missing) {
  std::string listed;
  for (const char c : missing) listed += c == ' ' ? ',' : static_cast<char>(std::tolower(c));
  return refusal(absl::StatusCode::kPermissionDenied,
                 device.name + ": this process lacks " + missing,
                 "run as root, or give the rights: setcap " + listed + "+ep BINARY");
}

std::string interfaces() {
  std::string names;
  struct if_nameindex* all = if_nameindex();
  if (all == nullptr) return names;
  for (const struct if_nameindex* at = all; at->if_index != 0; ++at)
    names += (names.empty() ? "" : " ") + std::string(at->if_name);
  if_freenameindex(all);
  return names;
}

absl::Status check_interface(const Device& device) {
  const std::string interface = device.interface();
  if (interface.empty())
    return refusal(absl::StatusCode::kInvalidArgument, device.name + ": no interface is named",
                   "write " + device.name + ",iface=NAME (there are: " + interfaces() + ")");
  if (if_nametoindex(interface.c_str()) == 0)
    return refusal(absl::StatusCode::kNotFound,
                   device.name + ": there is no interface \"" + interface + "\" here",
                   "in this network namespace there are: " + interfaces());
  return absl::OkStatus();
}

absl::Status check_xdp(const Device& device) {
  if (absl::Status status = check_interface(device); !status.ok()) return status;
  if (const std::string missing = missing_rights(kXdpRights); !missing.empty())
    return rights_refusal(device, missing);
  if (xdp_program(device.interface()) == 0) return absl::OkStatus();
  const auto number = [&](const char* key, uint32_t otherwise) {
    const auto text = device.argument(key);
    return text ? static_cast<uint32_t>(std::strtoul(text->c_str(), nullptr, 10)) : otherwise;
  };
  const uint32_t first = number("start_queue", 0);
  for (uint32_t queue = first; queue < first + number("queue_count", 1); ++queue)
    if (xdp_queue_taken(device.interface(), queue))
      return refusal(absl::StatusCode::kUnavailable,
                     device.name + ": queue " + std::to_string(queue) + " of " +
                         device.interface() + " is in use by an AF_XDP socket",
                     "stop the other process; if none is left: ip link set dev " +
                         device.interface() + " xdp off");
  return absl::OkStatus();
}

absl::Status check_capture(const Device& device) {
  const auto path = device.argument("rx_pcap");
  if (!path) {
    for (const char* live : {"iface", "rx_iface", "rx_iface_in"})
      if (const auto interface = device.argument(live)) {
        if (const std::string missing = missing_rights(kPacketRights); !missing.empty())
          return rights_refusal(device, missing);
        if (if_nametoindex(interface->c_str()) != 0) return absl::OkStatus();
        return refusal(absl::StatusCode::kNotFound,
                       device.name + ": there is no interface \"" + *interface + "\" here",
                       "in this network namespace there are: " + interfaces());
      }
    return refusal(absl::StatusCode::kInvalidArgument, device.name + ": nothing to read is named",
                   "write " + device.name + ",rx_pcap=FILE or iface=NAME");
  }
  if (access(path->c_str(), R_OK) != 0)
    return refusal(absl::StatusCode::kNotFound, device.name + ": cannot read \"" + *path + "\"",
                   "check the path and that this user may read the file");
  return absl::OkStatus();
}

absl::Status check_card(const Device& device) {
  const std::filesystem::path card = "/sys/bus/pci/devices/" + device.name;
  std::error_code error;
  if (!std::filesystem::exists(card, error))
    return refusal(absl::StatusCode::kNotFound, device.name + ": there is no such PCI device",
                   "dpdk-devbind.py --status-dev net lists them");
  const auto link = std::filesystem::read_symlink(card / "driver", error);
  const std::string driver = error ? "none" : link.filename().string();
  // mlx5 is driven beside its kernel driver; every other card has to be handed over.
  for (const char* good : {"vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core"})
    if (driver == good) return absl::OkStatus();
  return refusal(absl::StatusCode::kFailedPrecondition,
                 device.name + ": the card belongs to the kernel (driver " + driver + ")",
                 "hand it over: dpdk-devbind.py --bind=vfio-pci " + device.name);
}

// A shape: h is a hexadecimal digit, o an octal one, all else itself.
bool matches(std::string_view text, std::string_view shape) {
  return std::equal(text.begin(), text.end(), shape.begin(), shape.end(),
                    [](unsigned char is, char wanted) {
                      if (wanted == 'h') return std::isxdigit(is) != 0;
                      if (wanted == 'o') return is >= '0' && is <= '7';
                      return is == static_cast<unsigned char>(wanted);
                    });
}

}  // namespace

std::optional<std::string> Device::argument(std::string_view key) const {
  std::string_view rest = arguments;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == key)
      return std::string(word.substr(equals + 1));
  }
  return std::nullopt;
}

absl::StatusOr<Device> parse_device(std::string_view text) {
  const size_t comma = text.find(',');
  Device device;
  device.name = std::string(text.substr(0, comma));
  if (comma != std::string_view::npos) device.arguments = std::string(text.substr(comma + 1));
  const bool shortened = matches(device.name, "hh:hh.o");
  if (shortened || matches(device.name, "hhhh:hh:hh.o")) {
    device.kind = DeviceKind::kPci;
    if (shortened) device.name.insert(0, "0000:");
    for (char& c : device.name) c = static_cast<char>(std::tolower(c));
    return device;
  }
  for (const KindName& known : kKinds) {
    const std::string_view name = device.name;
    if (!name.starts_with(known.driver)) continue;
    const std::string_view rest = name.substr(known.driver.size());
    if (rest.size() > kMostSuffix || !std::all_of(rest.begin(), rest.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '_';
        }))
      continue;
    device.kind = known.kind;
    return device;
  }
  std::string names;
  for (const KindName& known : kKinds) names += " " + std::string(known.driver) + "N";
  return refusal(absl::StatusCode::kInvalidArgument,
                 "\"" + device.name + "\" is no device that can be opened",
                 "write a PCI address (0000:3b:00.0) or one of" + names);
}

absl::Status check_device(const Device& device) {
  switch (device.kind) {
    case DeviceKind::kPci:
      return check_card(device);
    case DeviceKind::kAfPacket: {
      if (absl::Status status = check_interface(device); !status.ok()) return status;
      const std::string missing = missing_rights(kPacketRights);
      return missing.empty() ? absl::OkStatus() : rights_refusal(device, missing);
    }
    case DeviceKind::kAfXdp:
      return check_xdp(device);
    case DeviceKind::kTap: {
      const std::string missing = missing_rights(kTapRights);
      if (!missing.empty()) return rights_refusal(device, missing);
      if (access("/dev/net/tun", R_OK | W_OK) == 0) return absl::OkStatus();
      return refusal(absl::StatusCode::kPermissionDenied,
                     device.name + ": /dev/net/tun cannot be opened",
                     "create it (modprobe tun) and let this user read and write it");
    }
    case DeviceKind::kPcap:
      return check_capture(device);
    case DeviceKind::kMemif:
    case DeviceKind::kRing:
    case DeviceKind::kNull:
    case DeviceKind::kVirtioUser:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

int node_of(const Device& device) {
  if (device.kind != DeviceKind::kPci) return -1;
  std::ifstream file("/sys/bus/pci/devices/" + device.name + "/numa_node");
  int node = -1;
  file >> node;
  return file ? node : -1;
}

bool spreads_by_itself(DeviceKind kind) {
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](const KindName& known) { return known.kind == kind && known.spreads; });
}

}  // namespace tidewire::dpdk
