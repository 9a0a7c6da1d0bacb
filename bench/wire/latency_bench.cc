// Latency as its users see it: from the moment at which the event that lets a window close was to
// be sent, to each of the window's results at the sink. Open loop: every event has its time, and
// one that is sent late counts from when it was to be sent.
//
//   generator (a thread)  --ITCH in MoldUDP64-->  port  ->  worker  ->  egress  ->  sink
//     ring   a net_ring port in this process
//     veth   a pair of interfaces in a network namespace of this process, by af_packet (root)
//     ports  two ports of the host: --ports SENDING,RECEIVING
//
//   latency_bench [--smoke] [--door ring|veth|ports] [--ports A,B] [--leg NAME] [--out FOLDER]
//
// Beside each leg stands the machine's own noise of the same minute: how long a thread that wants
// to run has to wait, found by a loop on the cores that the leg uses. A figure is withheld where it
// has fewer than ten samples beyond it, or where the noise alone is more than half of it.
//
// FOLDER gets LEG.hlog (HdrHistogram's log format) and legs.csv, of which scripts/bench draws.
// Exit code 1: packets were lost, or the results are not those that the schedule asks for.
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/layout.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/zone.h"
#include "config/config.h"
#include "drivers/catalog.h"
#include "drivers/dpdk/port.h"
#include "egress/binary_format.h"
#include "egress/egress.h"
#include "format/catalog.h"
#include "hdr_log.h"
#include "itch_builder.h"
#include "runtime/appliance.h"

namespace tidewire::bench {
namespace {

enum class SinkKind : uint8_t { kMemory, kFile, kUdp };

struct Leg {
  const char* name;
  double rate = 97'000;  // events per second
  uint32_t keys = 1'000;
  int64_t window = kSecond;
  uint32_t windows = 20;
  SinkKind sink = SinkKind::kMemory;
};

// The first is the one that peers were measured by (spec/performance.md, section 3).
const std::vector<Leg>& legs() {
  static const std::vector<Leg> kLegs = {
      {"peers"},
      {"rate-10k", 10'000, 1'000, kSecond, 5},
      {"rate-300k", 300'000, 1'000, kSecond, 5},
      {"rate-600k", 600'000, 1'000, kSecond, 5},
      {"rate-1M", 1'000'000, 1'000, kSecond, 5},
      {"rate-2M", 2'000'000, 1'000, kSecond, 5},
      {"keys-10", 97'000, 10, kSecond, 10},
      {"keys-10k", 97'000, 10'000, kSecond, 10},
      {"window-100ms", 97'000, 1'000, 100 * kMillisecond, 60},
      {"window-10ms", 97'000, 100, 10 * kMillisecond, 300},
      {"close-1M-keys", 1'000'000, 1'000'000, 2 * kSecond, 3},
      {"sink-file", 97'000, 1'000, kSecond, 10, SinkKind::kFile},
      {"sink-udp", 97'000, 1'000, kSecond, 10, SinkKind::kUdp},
  };
  return kLegs;
}

struct Options {
  bool smoke = false;
  std::string door = "ring", leg, sending, receiving;
  std::filesystem::path out;
};

constexpr int64_t kBound = 100 * kMillisecond;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "latency_bench: %s\n", what.c_str());
  std::exit(2);
}
template <class T>
T value_of(absl::StatusOr<T> made) {
  if (!made.ok()) give_up(std::string(made.status().message()));
  return *std::move(made);
}

int64_t now() { return system_clock().now().ns; }

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}
std::vector<int> cores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> all;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) all.push_back(core);
  return all;
}

// ---------------------------------------------------------------- what is sent
struct Event {
  int64_t offset;  // when it is to be sent, from the start
  int64_t time;    // of the event, from the start
  uint32_t key;
};

struct Schedule {
  std::vector<Event> events;
  std::vector<int64_t> closes;  // [window]: offset of the event that lets it close
  uint64_t results = 0;         // windows with a key in them, those too that the drain closes
};

Schedule schedule_of(const Leg& leg) {
  Schedule schedule;
  Rng rng(1);
  int64_t highest = INT64_MIN;
  for (uint64_t i = 0; schedule.closes.size() < leg.windows; ++i) {
    const auto offset = static_cast<int64_t>(static_cast<double>(i) * 1e9 / leg.rate);
    // In disorder up to the bound, but not before the first window.
    const int64_t time = std::max<int64_t>(0, offset - static_cast<int64_t>(rng.below(kBound)));
    schedule.events.push_back({offset, time, static_cast<uint32_t>(rng.below(leg.keys))});
    highest = std::max(highest, time);
    while (schedule.closes.size() < leg.windows &&
           highest - kBound >= static_cast<int64_t>(schedule.closes.size() + 1) * leg.window)
      schedule.closes.push_back(offset);
  }
  std::vector<bool> met(static_cast<size_t>(highest / leg.window + 1) * leg.keys);
  for (const Event& event : schedule.events) {
    const size_t at = static_cast<size_t>(event.time / leg.window) * leg.keys + event.key;
    schedule.results += met[at] ? 0 : 1;
    met[at] = true;
  }
  return schedule;
}

// One ITCH message a datagram, patched in place; its message is the last 36 bytes.
class Frame {
 public:
  Frame() : bytes_(test::mold_frame("BENCH", 1, {test::add_order(0, 1, 'B', 100, "K", 100'000)})) {}
  void set(uint64_t sequence, int64_t since_midnight, uint32_t key) {
    put(48, sequence, 8);  // in front of it: the sequence, the count, the message's length
    put(31, static_cast<uint64_t>(since_midnight), 6);
    std::array<char, 16> name;
    std::snprintf(name.data(), name.size(), "K%07u", key);
    std::memcpy(&bytes_[bytes_.size() - 12], name.data(), 8);
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  void put(size_t from_end, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i)
      bytes_[bytes_.size() - from_end + i] = static_cast<uint8_t>(value >> (8 * (size - 1 - i)));
  }
  std::vector<uint8_t> bytes_;
};

// ---------------------------------------------------------------- doors
class Wire {
 public:
  virtual ~Wire() = default;
  virtual bool send(const std::vector<uint8_t>& frame) = 0;  // false: no room, again
};

class PortWire final : public Wire {
 public:
  explicit PortWire(std::shared_ptr<dpdk::Port> port) : port_(std::move(port)) {}
  bool send(const std::vector<uint8_t>& frame) override {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(port_->pool());
    if (mbuf == nullptr) return false;
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())), frame.data(),
                frame.size());
    if (rte_eth_tx_burst(port_->id(), 0, &mbuf, 1) == 1) return true;
    rte_pktmbuf_free(mbuf);
    return false;
  }

 private:
  std::shared_ptr<dpdk::Port> port_;
};

class InterfaceWire final : public Wire {
 public:
  explicit InterfaceWire(const char* name)
      : socket_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    to_.sll_family = AF_PACKET;
    to_.sll_ifindex = static_cast<int>(if_nametoindex(name));
    if (socket_ < 0 || to_.sll_ifindex == 0)
      give_up(std::string(name) + ": " + std::strerror(errno));
  }
  ~InterfaceWire() override { close(socket_); }
  bool send(const std::vector<uint8_t>& frame) override {
    return sendto(socket_, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to_),
                  sizeof to_) == static_cast<ssize_t>(frame.size());
  }

 private:
  int socket_;
  sockaddr_ll to_{};
};

// What stays open over all legs: DPDK can be started once in a process.
class Door {
 public:
  explicit Door(const Options& options) {
    if (options.door == "veth") {
      if (unshare(CLONE_NEWNET) != 0 ||
          std::system("ip link add tw_a type veth peer name tw_b && ip link set tw_a up && "
                      "ip link set tw_b up && ip link set lo up") != 0)
        give_up("a network namespace with a pair of interfaces cannot be made; run as root");
      device_ = "net_af_packet0,iface=tw_b";
    } else {
      device_ = options.door == "ports" ? options.receiving : "net_ring0";
    }
    std::vector<dpdk::PortOptions> ports{{.device = device_, .descriptors = 4096}};
    if (options.door == "ports") ports.push_back({.device = options.sending});
    dpdk::EalOptions eal;
    eal.control_core = cores().front();
    eal_ = value_of(dpdk::Eal::start(eal, ports));
    receiving_ = value_of(dpdk::Port::open(eal_, ports[0]));
    if (options.door == "veth")
      wire_ = std::make_unique<InterfaceWire>("tw_a");
    else if (options.door == "ports")
      wire_ = std::make_unique<PortWire>(value_of(dpdk::Port::open(eal_, ports[1])));
    else
      wire_ = std::make_unique<PortWire>(receiving_);
  }
  Wire& wire() { return *wire_; }
  const std::string& device() const { return device_; }
  std::unique_ptr<Source> queue() const { return receiving_->queue(0); }

 private:
  std::string device_;
  std::shared_ptr<dpdk::Eal> eal_;
  std::shared_ptr<dpdk::Port> receiving_;
  std::unique_ptr<Wire> wire_;
};

// ---------------------------------------------------------------- the sink
// Notes when each result had been taken by the sink behind it, if there is one.
class TimedSink final : public Sink {
 public:
  TimedSink(std::unique_ptr<Sink> inner, size_t results) : inner_(std::move(inner)) {
    seen_.reserve(results);
  }
  struct Seen {
    int64_t end, at;  // of the window; on our clock
  };
  void send(const Records& records) override {
    if (inner_) inner_->send(records);
    const int64_t at = now();
    // By their heads: the first record is a result with the stream's and the query's in front.
    for (const std::byte* record = records.bytes.data();
         record < records.bytes.data() + records.bytes.size();) {
      binary_format::RecordHead head;
      std::memcpy(&head, record, sizeof head);
      const std::byte* const whole = std::exchange(record, record + head.bytes);
      if (head.type != binary_format::RecordType::kResult) continue;
      binary_format::ResultBody body;
      std::memcpy(&body, whole + sizeof head, sizeof body);
      auto hash = static_cast<uint64_t>(body.end - origin);
      for (size_t word = sizeof head + sizeof body; word + 8 <= head.bytes; word += 8) {
        uint64_t value;
        std::memcpy(&value, whole + word, 8);
        hash = mix_words(hash, value, HashSeed{});
      }
      uint64_t count;  // the first output, behind a key of one word
      std::memcpy(&count, whole + sizeof head + sizeof body + 8, sizeof count);
      events_ += count;
      digest_ += hash;
      seen_.push_back({body.end, at});
    }
  }
  void flush() override {
    if (inner_) inner_->flush();
  }
  void sample(SinkCounters& out) const override {
    out.records = seen_.size();
    if (inner_) inner_->sample(out);
  }
  const std::vector<Seen>& seen() const { return seen_; }
  uint64_t digest() const { return digest_; }  // keys and values of windows, whenever they were
  uint64_t events() const { return events_; }  // in all windows

  int64_t origin = 0;  // event time of the start

 private:
  std::unique_ptr<Sink> inner_;
  std::vector<Seen> seen_;
  uint64_t digest_ = 0, events_ = 0;
};

// ---------------------------------------------------------------- noise
// How long a thread has to wait that wants to run: a loop that only looks at the clock, and what it
// missed. delay_at(p): what a moment picked at random had to wait at most, in p of all cases.
class Noise {
 public:
  static Noise of(std::vector<int> on, int64_t each) {
    Noise noise;
    std::sort(on.begin(), on.end());
    on.erase(std::unique(on.begin(), on.end()), on.end());
    for (const int core : on)
      std::thread([&noise, core, each] {
        pin(core);
        const int64_t begin = now();
        for (int64_t last = begin; last - begin < each;) {
          const int64_t at = now();
          if (at - last > kMicrosecond) noise.gaps_.push_back(at - last);
          last = at;
        }
        noise.total_ += each;
      }).join();
    return noise;
  }
  int64_t delay_at(double p) const {
    int64_t low = 0, high = kSecond;
    while (low + 1 < high) {
      const int64_t middle = (low + high) / 2;
      double beyond = 0;
      for (const int64_t gap : gaps_)
        beyond += static_cast<double>(std::max<int64_t>(0, gap - middle));
      (beyond / static_cast<double>(total_) > 1 - p ? low : high) = middle;
    }
    return low;
  }
  int64_t worst() const {
    return gaps_.empty() ? 0 : *std::max_element(gaps_.begin(), gaps_.end());
  }

 private:
  std::vector<int64_t> gaps_;
  int64_t total_ = 0;
};

// ---------------------------------------------------------------- one leg
struct Outcome {
  std::vector<int64_t> latency;
  uint64_t lost = 0, digest = 0;
  double achieved = 0;  // events per second
  std::string wrong;    // what the results are not
};

// Where the udp sink's datagrams go. Nobody reads them: what the buffer does not hold, the kernel
// drops. Without a socket there, every second send would be refused, and that would be measured.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&address_), size) != 0 ||
        getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &size) != 0)
      give_up(std::string("a port on loopback: ") + std::strerror(errno));
  }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  std::string address() const { return "127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }

 private:
  int socket_;
  sockaddr_in address_{};
};

// The file sink's, gone with the leg.
struct ResultFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("tidewire_wire." + std::to_string(getpid()) + ".bin");
  ~ResultFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

std::string config_of(const Leg& leg, const std::string& device, int worker_core,
                      const ResultFile& file, const Listener& listener) {
  std::string sink = "type = \"stdout\"";
  if (leg.sink == SinkKind::kFile) sink = "type = \"file\"\npath = \"" + file.path.string() + "\"";
  if (leg.sink == SinkKind::kUdp) sink = "type = \"udp\"\naddress = \"" + listener.address() + "\"";
  return "[runtime]\nworkers = 1\ncores = [" + std::to_string(worker_core) +
         "]\nidle = \"spin\"\n[source.feed]\ntype = \"port\"\ndevice = \"" + device +
         "\"\nformat = \"itch\"\nout_of_orderness = \"100 ms\"\nsilent_after = \"never\"\n"
         "max_ahead = \"never\"\n[query.q]\nsource = \"feed\"\n"
         "key = [\"stock\"]\naggregates = [\"count\", \"sum(shares)\"]\n"
         "where = \"shares present\"\nwindow = { type = \"tumbling\", size = \"" +
         std::to_string(leg.window / kMillisecond) +
         " ms\" }\nmax_keys = " + std::to_string(std::max(leg.keys, 64u)) + "\n[sink.out]\n" +
         sink + "\nformat = \"binary\"\n";
}

Outcome measure(const Leg& leg, Door& door, int generator_core, int worker_core) {
  const ResultFile file;
  const Listener listener;
  Loaded loaded =
      load_config(config_of(leg, door.device(), worker_core, file, listener), "the bench's config");
  if (!loaded.ok()) give_up(to_string(loaded.problems.front(), "the bench's config"));
  LayoutResult made = make_layout(std::move(loaded.config), value_of(read_topology()));
  if (!made.ok()) give_up(to_string(made.problems.front(), "the bench's config"));
  const Layout& layout = made.layout;
  const Schedule schedule = schedule_of(leg);

  TimedSink* sink = nullptr;
  auto arena = std::make_unique<Arena>(ArenaOptions{});
  Arena* const arenas[] = {arena.get()};
  ExchangeFabric fabric(layout.pipeline.plans, arenas);
  const auto build_worker = [&](WorkerParts& parts) -> absl::Status {
    parts.arena = std::move(arena);
    parts.ring->blocks.adopt(
        parts.arena->take<ResultBlock>(layout.config.runtime.result_blocks, "results"));
    parts.show_every.resize(1);
    parts.pipeline = std::make_unique<Pipeline>(layout.pipeline, fabric, *parts.arena);
    Feed feed;
    feed.lane = layout.lanes[0].id;
    feed.live = true;
    feed.source = door.queue();
    ParserOptions parser;
    parser.lane = feed.lane;
    feed.parser = layout.config.sources[0].format->make_parser(parser, layout.compiled.columns[0]);
    parts.feeds.push_back(std::move(feed));
    return absl::OkStatus();
  };
  const auto build_egress = [&](EgressParts& parts) -> absl::Status {
    std::unique_ptr<Sink> inner;
    std::string said;
    if (leg.sink != SinkKind::kMemory) inner = value_of(open_sink(layout.config.sinks[0], said));
    auto timed = std::make_unique<TimedSink>(
        std::move(inner),
        size_t{leg.windows + 2} * std::min<size_t>(leg.keys, schedule.events.size()));
    sink = timed.get();
    parts.sinks.push_back(std::move(timed));
    std::vector<const Plan*> plans{&layout.pipeline.plans[0]};
    parts.egress = std::make_unique<Egress>(
        EgressOptions{}, plans, parts.rings,
        std::vector<SinkBinding>{
            {.sink = sink, .encoding = Encoding::kBinary, .queries = {QueryId{0}}}});
    return absl::OkStatus();
  };
  ApplianceOptions appliance_options;
  appliance_options.placement = layout.placement;
  appliance_options.idle = layout.idle;
  Appliance appliance(std::move(appliance_options), {build_worker}, build_egress);
  if (absl::Status status = appliance.start(); !status.ok()) give_up(std::string(status.message()));

  // The first window that begins far enough away; the same moment on both clocks.
  const int64_t wall = system_clock().wall().ns, mono = now();
  const int64_t origin = ((wall + 300 * kMillisecond) / leg.window + 1) * leg.window;
  const int64_t start = mono + (origin - wall);
  sink->origin = origin;
  const Zone zone = value_of(Zone::load("America/New_York"));
  const int64_t midnight = zone.start_of(zone.day_at({origin})).ns;

  Outcome outcome;
  std::thread generator([&] {
    pin(generator_core);
    Frame frame;
    uint64_t sequence = 1;
    for (const Event& event : schedule.events) {
      frame.set(sequence++, origin - midnight + event.time, event.key);
      const int64_t due = start + event.offset;
      while (now() < due) sched_yield();  // egress may live on this core
      while (!door.wire().send(frame.bytes())) sched_yield();
    }
    outcome.achieved = static_cast<double>(schedule.events.size()) * 1e9 /
                       static_cast<double>(std::max<int64_t>(1, now() - start));
    // A drain leaves unread what the port still holds, and the next leg would find it. So: until
    // all have come, or none has for so long that no neighbour on the cores can be the reason.
    const auto come = [&] { return appliance.worker(0).sample_lane(0).events; };
    int64_t moved = now();
    for (uint64_t before = 0; before < schedule.events.size() && now() - moved < 3 * kSecond;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (const uint64_t events = come(); events != before) {
        before = events;
        moved = now();
      }
    }
    appliance.request_drain();
  });
  appliance.run({100 * kMillisecond}, [](const ApplianceSample&) {});
  generator.join();
  const uint64_t sent = schedule.events.size();
  outcome.lost = sent - std::min(sent, appliance.worker(0).sample_lane(0).events);
  SinkCounters taken;
  sink->sample(taken);
  if (sink->seen().size() != schedule.results || sink->events() != sent)
    outcome.wrong = std::to_string(sink->seen().size()) + " results with " +
                    std::to_string(sink->events()) + " events in them, where the schedule has " +
                    std::to_string(schedule.results) + " with " + std::to_string(sent);
  else if (taken.lost > 0)
    outcome.wrong = "the sink lost " + std::to_string(taken.lost) + " results";
  for (const TimedSink::Seen& seen : sink->seen()) {
    const int64_t window = (seen.end - origin) / leg.window - 1;
    if (window < 0 || window >= static_cast<int64_t>(leg.windows)) continue;  // closed by the drain
    outcome.latency.push_back(seen.at - start - schedule.closes[static_cast<size_t>(window)]);
  }
  outcome.digest = sink->digest();
  std::sort(outcome.latency.begin(), outcome.latency.end());
  return outcome;
}

int64_t at_percentile(const std::vector<int64_t>& sorted, double p) {
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

int run(const Options& options) {
  const std::vector<int> all = cores();
  if (all.size() < 2) {
    std::printf("skipped: the generator and the worker need a core each\n");
    return 0;
  }
  const int worker_core = all.back(), generator_core = all.size() > 2 ? all[1] : all[0];
  Door door(options);
  std::printf(
      "door %s; worker on core %d (spin), generator on core %d, egress on the others; us from "
      "the closing event's intended send time to each result at the sink\n",
      options.door.c_str(), worker_core, generator_core);
  if (options.out.empty() && !options.smoke)
    std::printf("(--out FOLDER keeps LEG.hlog and legs.csv)\n");
  std::printf("%-14s %9s %9s %8s %8s %8s %8s %8s %8s | %8s %8s %8s | %s\n", "leg", "offered/s",
              "achieved", "results", "p50", "p90", "p99", "p99.9", "max", "noise 99", "99.9",
              "worst", "lost, digest");
  std::ofstream csv;
  if (!options.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    csv.open(options.out / "legs.csv");
    if (!csv)
      give_up((options.out / "legs.csv").string() + " cannot be written; --out names a folder");
    csv << "leg,rate,achieved,keys,window_ns,results,p50,p90,p99,p999,max,noise_p99,noise_p999\n";
  }
  bool failed = false, withheld = false;
  for (Leg leg : legs()) {
    if (!options.leg.empty() && options.leg != leg.name) continue;
    if (options.smoke) {
      leg.window = std::min(leg.window, 100 * kMillisecond);
      leg.windows = 2;
      leg.rate = std::min(leg.rate, 97'000.0);
    }
    const Noise noise = Noise::of({worker_core, generator_core},
                                  options.smoke ? 5 * kMillisecond : 300 * kMillisecond);
    const double began = static_cast<double>(system_clock().wall().ns) / 1e9;
    const Outcome outcome = measure(leg, door, generator_core, worker_core);
    failed |= outcome.lost > 0 || !outcome.wrong.empty();
    const auto supported = [&](double p) {
      const size_t beyond = outcome.latency.size() -
                            static_cast<size_t>(p * static_cast<double>(outcome.latency.size()));
      return beyond >= 10 && 2 * noise.delay_at(p) <= at_percentile(outcome.latency, p);
    };
    const auto figure = [&](double p) {
      std::array<char, 16> text{"-"};
      if (supported(p))
        std::snprintf(text.data(), text.size(), "%.1f",
                      static_cast<double>(at_percentile(outcome.latency, p)) / 1e3);
      else
        withheld = true;
      return std::string(text.data());
    };
    const auto micros = [](int64_t ns) { return static_cast<double>(ns) / 1e3; };
    const int64_t most = outcome.latency.empty() ? 0 : outcome.latency.back();
    std::printf("%-14s %9.0f %9.0f %8zu %8s %8s %8s %8s %8.1f | %8.1f %8.1f %8.1f | %lu, %016lx\n",
                leg.name, leg.rate, outcome.achieved, outcome.latency.size(), figure(0.5).c_str(),
                figure(0.9).c_str(), figure(0.99).c_str(), figure(0.999).c_str(), micros(most),
                micros(noise.delay_at(0.99)), micros(noise.delay_at(0.999)), micros(noise.worst()),
                outcome.lost, outcome.digest);
    if (std::strcmp(leg.name, "peers") == 0)
      std::printf(
          "%-14s Flink tuned p50 1900, p99 6300; Jet 1300, 6500; goal p50 <= 50, p99 <= 500\n", "");
    if (!outcome.wrong.empty()) std::printf("%-14s WRONG: %s\n", "", outcome.wrong.c_str());
    std::fflush(stdout);
    if (options.out.empty() || outcome.latency.empty()) continue;
    const double length = static_cast<double>(system_clock().wall().ns) / 1e9 - began;
    const std::filesystem::path log = options.out / (std::string(leg.name) + ".hlog");
    if (!(std::ofstream(log) << hdr_log(outcome.latency, leg.name, began, length)).flush())
      give_up(log.string() + " cannot be written");
    csv << leg.name << ',' << leg.rate << ',' << outcome.achieved << ',' << leg.keys << ','
        << leg.window << ',' << outcome.latency.size();
    for (const double p : {0.5, 0.9, 0.99, 0.999}) {
      csv << ',';
      if (supported(p)) csv << at_percentile(outcome.latency, p);
    }
    csv << ',' << most << ',' << noise.delay_at(0.99) << ',' << noise.delay_at(0.999) << '\n';
  }
  if (withheld)
    std::printf(
        "-: withheld; fewer than ten samples lie beyond it, or the machine's noise alone is "
        "more than half of it\n");
  if (failed) std::fprintf(stderr, "latency_bench: packets were lost, or results are wrong\n");
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace tidewire::bench

int main(int argc, char** argv) {
  using namespace tidewire::bench;
  Options options;
  const char* const usage =
      "latency_bench [--smoke] [--door ring|veth|ports] [--ports SENDING,RECEIVING] [--leg NAME] "
      "[--out FOLDER]";
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--smoke") {
      options.smoke = true;
      continue;
    }
    ++i;
    if (flag == "--door" && (value == "ring" || value == "veth" || value == "ports")) {
      options.door = value;
    } else if (flag == "--ports" && value.find(',') != std::string::npos) {
      options.door = "ports";
      options.sending = value.substr(0, value.find(','));
      options.receiving = value.substr(value.find(',') + 1);
    } else if (flag == "--leg" && !value.empty()) {
      options.leg = value;
    } else if (flag == "--out" && !value.empty()) {
      options.out = value;
    } else {
      std::fprintf(stderr, "%s\n", usage);
      return 2;
    }
  }
  if (options.door == "ports" && options.receiving.empty())
    give_up("--door ports needs --ports SENDING,RECEIVING, such as 0000:3b:00.0,0000:3b:00.1");
  const auto known = [&](const Leg& leg) { return options.leg == leg.name; };
  if (!options.leg.empty() && std::none_of(legs().begin(), legs().end(), known)) {
    std::fprintf(stderr, "latency_bench: no such leg; there are:");
    for (const Leg& leg : legs()) std::fprintf(stderr, " %s", leg.name);
    std::fputc('\n', stderr);
    return 2;
  }
  return run(options);
}
