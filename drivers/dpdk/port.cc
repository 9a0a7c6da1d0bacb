#include "drivers/dpdk/port.h"

#include <net/if.h>
#include <pcap/pcap.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "base/strings.h"
#include "drivers/dpdk/rx_queue.h"
#include "drivers/dpdk/xdp.h"

namespace tidewire::dpdk {
namespace {

constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kFlowHash =
    RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;

// The Toeplitz key that gives both directions of a flow the same hash, so they meet in one lane: 16
// bits repeated, since source and destination of a pair stand a multiple of 16 bits apart (Woo and
// Park, "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", KAIST 2012).
std::vector<uint8_t> symmetric_key(size_t length) {
  std::vector<uint8_t> key(length);
  for (size_t i = 0; i < length; ++i) key[i] = i % 2 == 0 ? 0x6d : 0x5a;
  return key;
}

// Whose port it is: a name is opened once, and a card that EAL probed belongs to who opens it.
uint64_t owner_id() {
  static const uint64_t kId = [] {
    uint64_t id = 0;
    return rte_eth_dev_owner_new(&id) == 0 ? id : 0;
  }();
  return kId;
}

void add_argument(Device& device, const std::string& key, uint64_t value) {
  if (device.argument(key)) return;
  device.arguments += (device.arguments.empty() ? "" : ",") + key + "=" + std::to_string(value);
}

// What drivers want said as arguments and we know already.
void complete_arguments(Device& device, const PortOptions& options) {
  if (device.kind == DeviceKind::kAfXdp) {
    // Busy polling in the kernel costs a third of the rate on a veth, and all receive time.
    add_argument(device, "busy_budget", 0);
    if (options.queues > 1) add_argument(device, "queue_count", options.queues);
  }
  if (device.kind == DeviceKind::kAfPacket) {
    if (options.queues > 1) add_argument(device, "qpairs", options.queues);
    // A frame of the ring holds the packet and the kernel's header before it, in a block of whole
    // pages; the ring is as long as was asked for.
    constexpr uint32_t kKernelHeader = 128;
    const uint32_t frame = std::max(2048u, std::bit_ceil(options.mtu + kKernelHeader));
    const uint32_t block = std::max(4096u, frame);
    add_argument(device, "blocksz", block);
    add_argument(device, "framesz", frame);
    add_argument(device, "framecnt", (options.descriptors + 1u) / 2 * 2);
  }
}

std::optional<EventTime> utc_now() {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return std::nullopt;
  return EventTime{int64_t{now.tv_sec} * kSecond + now.tv_nsec};
}

// Of a kernel's interface; a port without one is nobody else's.
bool is_promiscuous(uint32_t interface) {
  ifreq request{};
  if (interface == 0 || if_indextoname(interface, request.ifr_name) == nullptr) return false;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool is = ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_PROMISC) != 0;
  close(fd);
  return is;
}

uint64_t count_packets(const std::string& path) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  pcap_t* capture = pcap_open_offline(path.c_str(), error.data());
  if (capture == nullptr) return kEndless;
  uint64_t count = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (pcap_next_ex(capture, &header, &bytes) == 1) ++count;
  pcap_close(capture);
  return count;
}

}  // namespace

Port::Port(std::shared_ptr<Eal> eal, PortOptions options, Device device)
    : eal_(std::move(eal)), options_(std::move(options)), device_(std::move(device)) {}

absl::StatusOr<std::shared_ptr<Port>> Port::open(std::shared_ptr<Eal> eal,
                                                 const PortOptions& options) {
  absl::StatusOr<Device> device = parse_device(options.device);
  if (!device.ok()) return device.status();
  // Before anything is made, though the driver may round descriptors up and need more.
  if (const auto count = pool_count(options, *device); !count.ok()) return count.status();
  complete_arguments(*device, options);
  if (absl::Status status = check_device(*device); !status.ok()) return status;
  Eal::take_complaints();
  auto port = std::shared_ptr<Port>(new Port(std::move(eal), options, *std::move(device)));
  if (absl::Status status = port->probe(); !status.ok()) return status;
  if (absl::Status status = port->configure(); !status.ok()) return status;
  if (absl::Status status = port->make_pool(); !status.ok()) return status;
  if (absl::Status status = port->start(); !status.ok()) return status;
  port->count_captures();
  port->wait_for_link();
  port->say();
  return port;
}

Port::~Port() {
  // The kernel drivers set the interface's own flag, which outlives the process.
  if (started_) {
    found_promiscuous_ ? rte_eth_promiscuous_enable(id_) : rte_eth_promiscuous_disable(id_);
    rte_eth_dev_stop(id_);
  }
  if (configured_) rte_eth_dev_close(id_);
  if (owned_ && !configured_) rte_eth_dev_owner_unset(id_, owner_id());
  if (attached_) rte_eal_hotplug_remove("vdev", device_.name.c_str());
  rte_mempool_free(pool_);
}

absl::Status Port::failed(const std::string& what, int error) const {
  const std::string cause = device_.name + ": " + what + ": " + rte_strerror(std::abs(error));
  const std::string says = "DPDK says: " + Eal::take_complaints();
  if (device_.kind == DeviceKind::kAfXdp) {
    const std::string interface = device_.interface();
    if (const uint32_t program = xdp_program(interface); program != 0)
      return refusal(absl::StatusCode::kUnavailable,
                     cause + " (the interface carries XDP program " + std::to_string(program) +
                         ": of another process, or left by one that was killed)",
                     "stop the other, then: ip link set dev " + interface + " xdp off; " + says);
  }
  return refusal(absl::StatusCode::kInternal, cause, says);
}

absl::Status Port::probe() {
  const char* name = device_.name.c_str();
  int error = 0;
  if (rte_eth_dev_get_port_by_name(name, &id_) != 0) {
    // A driver may fail and the plug-in still succeed, or the other way round: what counts is
    // whether the port is there afterwards.
    if (device_.kind == DeviceKind::kAfPacket)
      sockets_ = std::make_unique<PacketSockets>(device_.interface());
    if (device_.kind != DeviceKind::kPci) {
      error = rte_eal_hotplug_add("vdev", name, device_.arguments.c_str());
      attached_ = error == 0;
    }
    if (rte_eth_dev_get_port_by_name(name, &id_) != 0)
      return device_.kind == DeviceKind::kPci
                 ? failed("no driver took the card, or it was not named when DPDK started", ENODEV)
                 : failed("the driver refuses the arguments \"" + device_.arguments + "\"",
                          error != 0 ? error : ENODEV);
  }
  if (sockets_) sockets_->find();
  rte_eth_dev_owner owner{};
  owner.id = owner_id();
  std::strncpy(owner.name, "tidewire", sizeof owner.name - 1);
  rte_eth_dev_owner holder{};
  if (rte_eth_dev_owner_get(id_, &holder) == 0 && holder.id != RTE_ETH_DEV_NO_OWNER)
    return refusal(absl::StatusCode::kAlreadyExists, device_.name + ": the port is open already",
                   "one port is one source: ask for more queues, or name another device");
  if (const int rc = rte_eth_dev_owner_set(id_, &owner); rc != 0)
    return failed("the port cannot be taken", rc);
  owned_ = true;
  const int node = rte_eth_dev_socket_id(id_);
  node_ = node >= 0 && device_.kind == DeviceKind::kPci ? node : options_.node;
  return absl::OkStatus();
}

absl::Status Port::choose_stamps(uint64_t& offloads) {
  if (options_.clock == StampClock::kNone) return absl::OkStatus();
  rte_eth_dev_info info{};
  if (const int rc = rte_eth_dev_info_get(id_, &info); rc != 0) return failed("no information", rc);
  const bool can = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
  // net_pcap stamps each packet of a file that is read once without having the offload.
  const bool capture =
      device_.kind == DeviceKind::kPcap && device_.argument("infinite_rx").value_or("0") != "1";
  if (!can && !capture)
    return refusal(absl::StatusCode::kInvalidArgument,
                   device_.name + ": this port does not stamp packets", "write clock = \"none\"");
  if (can) offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  if (rte_mbuf_dyn_rx_timestamp_register(&stamps_.offset, &stamps_.flag) != 0)
    return failed("no room for stamps in the packet buffers", rte_errno);
  switch (options_.clock) {
    case StampClock::kNone:
    case StampClock::kNanoseconds:
      break;
    case StampClock::kMicroseconds:
      stamps_.ns_per_unit = kMicrosecond;
      break;
    case StampClock::kTicks:
      stamps_.ticks = &ticks_;
      break;
  }
  return absl::OkStatus();
}

absl::Status Port::configure() {
  rte_eth_dev_info info{};
  if (const int rc = rte_eth_dev_info_get(id_, &info); rc != 0) return failed("no information", rc);
  queues_ = options_.queues;
  if (queues_ > info.max_rx_queues)
    return refusal(absl::StatusCode::kInvalidArgument,
                   device_.name + ": " + std::to_string(queues_) + " queues asked, the port has " +
                       std::to_string(info.max_rx_queues),
                   "lower queues, or give the device more of them");
  const uint64_t hash = info.flow_type_rss_offloads & kFlowHash;
  rss_ = queues_ > 1 && hash != 0;
  if (queues_ > 1 && !rss_ && !spreads_by_itself(device_.kind))
    return refusal(absl::StatusCode::kInvalidArgument,
                   device_.name + ": the port cannot spread flows over " + std::to_string(queues_) +
                       " queues (no RSS)",
                   "use one queue");
  rte_eth_conf conf{};
  std::vector<uint8_t> key = symmetric_key(info.hash_key_size);
  if (rss_) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = hash;
    if (!key.empty()) {
      conf.rx_adv_conf.rss_conf.rss_key = key.data();
      conf.rx_adv_conf.rss_conf.rss_key_len = info.hash_key_size;
    }
  }
  if (options_.mtu != 0) conf.rxmode.mtu = options_.mtu;
  if (absl::Status status = choose_stamps(conf.rxmode.offloads); !status.ok()) return status;
  // Nothing is sent, but many drivers make queues in pairs and refuse half of one.
  tx_queues_ = std::min(queues_, info.max_tx_queues);
  configured_ = true;
  if (const int rc = rte_eth_dev_configure(id_, queues_, tx_queues_, &conf); rc != 0)
    return failed("the port cannot be configured", rc);
  descriptors_ = options_.descriptors;
  uint16_t tx_descriptors = 0;
  if (const int rc = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &descriptors_, &tx_descriptors); rc != 0)
    return failed("no ring of that size", rc);
  return absl::OkStatus();
}

absl::Status Port::make_pool() {
  PortOptions rounded = options_;
  rounded.descriptors = std::max(descriptors_, options_.descriptors);
  const absl::StatusOr<uint32_t> count = pool_count(rounded, device_);
  if (!count.ok()) return count.status();
  const uint32_t room = data_room(options_);
  const std::string name = "tw_port" + std::to_string(id_);
  absl::StatusOr<std::unique_ptr<PoolMemory>> memory =
      eal_->pool_memory(name, node_, pool_bytes(*count, room));
  if (!memory.ok()) return memory.status();
  memory_ = *std::move(memory);
  pool_ = rte_pktmbuf_pool_create(name.c_str(), *count, kPoolCache, 0, static_cast<uint16_t>(room),
                                  memory_->socket());
  if (pool_ == nullptr)
    return refusal(absl::StatusCode::kResourceExhausted,
                   device_.name + ": no memory for " + std::to_string(*count) + " mbufs (" +
                       std::to_string(pool_bytes(*count, room) >> 20) + " MiB) on NUMA node " +
                       (node_ < 0 ? std::string("any") : std::to_string(node_)) + ": " +
                       rte_strerror(rte_errno),
                   "reserve hugepages there, or ask for fewer queues or descriptors; DPDK says: " +
                       Eal::take_complaints());
  return absl::OkStatus();
}

absl::Status Port::start() {
  const auto socket = static_cast<unsigned>(eal_->socket_for(node_));
  for (uint16_t queue = 0; queue < queues_; ++queue)
    if (const int rc = rte_eth_rx_queue_setup(id_, queue, descriptors_, socket, nullptr, pool_);
        rc != 0)
      return failed("receive queue " + std::to_string(queue), rc);
  for (uint16_t queue = 0; queue < tx_queues_; ++queue)
    if (const int rc = rte_eth_tx_queue_setup(id_, queue, 0, socket, nullptr); rc != 0)
      return failed("send queue " + std::to_string(queue), rc);
  if (options_.mtu != 0)
    if (const int rc = rte_eth_dev_set_mtu(id_, options_.mtu); rc != 0 && rc != -ENOTSUP)
      return failed("mtu " + std::to_string(options_.mtu), rc);
  // Before the start, which clears the interface's flag.
  rte_eth_dev_info info{};
  found_promiscuous_ = rte_eth_dev_info_get(id_, &info) == 0 && is_promiscuous(info.if_index);
  if (const int rc = rte_eth_dev_start(id_); rc != 0) return failed("the port does not start", rc);
  started_ = true;
  const int rc =
      options_.promiscuous ? rte_eth_promiscuous_enable(id_) : rte_eth_promiscuous_disable(id_);
  if (rc != 0 && rc != -ENOTSUP) return failed("promiscuous mode cannot be set", rc);
  if (options_.clock != StampClock::kTicks) return absl::OkStatus();
  uint64_t ticks = 0;
  if (const int error = rte_eth_read_clock(id_, &ticks); error != 0)
    return refusal(absl::StatusCode::kInvalidArgument,
                   device_.name + ": the port's clock cannot be read, so its ticks have no time",
                   "write clock = \"nanoseconds\" if the card counts those, else \"none\"");
  constexpr useconds_t kFirstBaseline = 50'000;
  follow_clock();
  usleep(kFirstBaseline);
  follow_clock();
  return absl::OkStatus();
}

void Port::follow_clock() const {
  if (options_.clock != StampClock::kTicks) return;
  const std::lock_guard lock(clock_mutex_);
  // Of five tries the one that was interrupted least: its two clock reads lie closest.
  int64_t least = std::numeric_limits<int64_t>::max();
  uint64_t best_ticks = 0;
  EventTime best_utc{};
  for (int i = 0; i < 5; ++i) {
    uint64_t ticks = 0;
    const std::optional<EventTime> before = utc_now();
    if (rte_eth_read_clock(id_, &ticks) != 0) return;
    const std::optional<EventTime> after = utc_now();
    if (!before || !after || after->ns - before->ns >= least) continue;
    least = after->ns - before->ns;
    best_ticks = ticks;
    best_utc = EventTime{before->ns + least / 2};
  }
  if (least != std::numeric_limits<int64_t>::max()) ticks_.observe(best_ticks, best_utc);
}

// net_pcap gives nothing for ever behind a file's last packet; the end is known by counting.
void Port::count_captures() {
  captures_.assign(queues_, kEndless);
  if (device_.kind != DeviceKind::kPcap) return;
  if (device_.argument("infinite_rx").value_or("0") == "1") return;
  std::string_view rest = device_.arguments;
  for (size_t queue = 0; queue < queues_ && !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    constexpr std::string_view kKey = "rx_pcap=";
    if (word.starts_with(kKey))
      captures_[queue++] = count_packets(std::string(word.substr(kKey.size())));
  }
}

uint64_t Port::ends_after(uint16_t queue) const { return captures_[queue]; }

bool Port::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

// Cards take seconds, memif waits for its peer. Not having a link is no failure: packets may come.
void Port::wait_for_link() const {
  constexpr uint32_t kStep = 10;
  for (uint32_t waited = 0; waited < options_.link_wait_ms && !link_up(); waited += kStep)
    usleep(kStep * 1000);
}

void Port::say() {
  rte_eth_dev_info info{};
  rte_eth_dev_info_get(id_, &info);
  description_ = device_.name + " (driver " + (info.driver_name ? info.driver_name : "?") +
                 "): " + std::to_string(queues_) + (queues_ == 1 ? " queue" : " queues") +
                 (rss_ ? " by RSS" : "") + ", " + std::to_string(descriptors_) +
                 " descriptors each, " + std::to_string(pool_->size) + " mbufs in " +
                 std::string(memory_->kind()) + " on node " +
                 (node_ < 0 ? std::string("any") : std::to_string(node_)) + ", stamps " +
                 (stamps_.flag != 0 ? "by the port" : "by our clock") + ", link " +
                 (link_up() ? "up" : "down");
}

PortCounters Port::counters() const {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return {};
  return {.received = stats.ipackets,
          .bytes = stats.ibytes,
          .missed = stats.imissed + (sockets_ ? sockets_->missed() : 0),
          .no_buffer = stats.rx_nombuf,
          .errors = stats.ierrors};
}

std::unique_ptr<Source> Port::queue(uint16_t index) const {
  return std::make_unique<RxQueue>(shared_from_this(), index);
}

}  // namespace tidewire::dpdk
