// Packets to windows through real doors, one worker on one thread:
//
//   ring-64        64-byte packets from a net_ring port, filled by this thread and then drained by
//                  it: only draining is timed
//   itch-memory    MoldUDP64 datagrams of 30 ITCH messages that lie in memory
//   file-64, -256  capture records, against reading the same file by the same io_uring feed, as the
//                  program reads it (O_DIRECT where the file system has it), and doing nothing with
//                  it
//
//   packet_bench [--smoke] [--repeat N] [--folder F]
//
// Rates are of CPU time, files of wall time; medians of alternating runs. Exit code 1: a figure is
// 10 % behind its goal, or results differ from run to run.
#include <fcntl.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/rng.h"
#include "clocks.h"
#include "drivers/dpdk/port.h"
#include "drivers/uring/feed.h"
#include "drivers/uring/ring.h"
#include "itch_builder.h"
#include "packet_builder.h"
#include "worker_path.h"

namespace tidewire::bench {
namespace {

using test::Bytes;

struct Options {
  bool smoke = false;
  uint64_t repeat = 7;
  std::filesystem::path folder;
};

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "packet_bench: %s\n", what.c_str());
  std::exit(2);
}

class Table {
 public:
  void row(const char* name, const std::vector<double>& values, double goal, const char* unit,
           uint64_t results, uint64_t digest) {
    const double value = median(values);
    const bool behind = goal > 0 && value<goal, far = goal> 0 && value < goal / 1.1;
    failed_ |= far;
    std::printf("%-16s %8.2f %-12s goal %-6.2f %-6s least %.2f most %.2f, %lu results, %016lx\n",
                name, value, unit, goal,
                far      ? "FAIL"
                : behind ? "below"
                         : "",
                *std::min_element(values.begin(), values.end()),
                *std::max_element(values.begin(), values.end()), results, digest);
    std::fflush(stdout);
  }
  // The same input gives the same results in every run.
  void same(const char* name, const std::set<std::pair<uint64_t, uint64_t>>& outcomes) {
    if (outcomes.size() == 1) return;
    std::fprintf(stderr, "%s: results differ from run to run\n", name);
    failed_ = true;
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

std::string query(const char* key, const char* value) {
  return std::string("[query.q]\nsource = \"in\"\nwhere = \"") + value + " present\"\nkey = [\"" +
         key + "\"]\naggregates = [\"count\", \"sum(" + value + ")\", \"min(" + value +
         ")\", \"max(" + value +
         ")\"]\nwindow = { type = \"tumbling\", size = \"1 s\" }\nmax_keys = 4096\n" +
         "[sink.out]\ntype = \"stdout\"\nformat = \"binary\"\n";
}

Bytes udp_packet(uint32_t source, uint32_t bytes) {
  return test::PacketBuilder()
      .ethernet()
      .ipv4(0x0A000000 + source, 0x0A800001)
      .udp(1000 + source % 50'000, 53, bytes - 42)
      .finish(bytes);
}

// ---------------------------------------------------------------- a ring port
// A port on a ring gives back what is sent on it. Packets carry no stamp: the worker's clock gives
// one to each burst, so windows depend on the run and only events are compared.
void ring(const Options& options, Table& table) {
  constexpr uint32_t kFill = 512, kKeys = 1000, kBytes = 64;
  const dpdk::PortOptions about{.device = "net_ring0"};
  auto eal = dpdk::Eal::start({}, std::span(&about, 1));
  if (!eal.ok()) give_up(std::string(eal.status().message()));
  auto opened = dpdk::Port::open(*eal, about);
  if (!opened.ok()) give_up(std::string(opened.status().message()));
  const std::shared_ptr<dpdk::Port> port = *opened;
  WorkerPath path(
      "[runtime]\nworkers = 1\n[source.in]\ntype = \"port\"\ndevice = \"net_ring0\"\n"
      "out_of_orderness = \"0 ms\"\n" +
          query("src", "wire_length"),
      port->queue(0));
  std::vector<Bytes> packets;
  for (uint32_t k = 0; k < kKeys; ++k) packets.push_back(udp_packet(k, kBytes));
  Rng rng(1);
  std::array<rte_mbuf*, kFill> mbufs;
  uint64_t sent = 0;
  const auto fill = [&] {
    if (rte_pktmbuf_alloc_bulk(port->pool(), mbufs.data(), kFill) != 0)
      give_up("the pool is empty");
    for (rte_mbuf* mbuf : mbufs)
      std::memcpy(rte_pktmbuf_append(mbuf, kBytes), packets[rng.below(kKeys)].data(), kBytes);
    if (rte_eth_tx_burst(port->id(), 0, mbufs.data(), kFill) != kFill) give_up("the ring is full");
    sent += kFill;
  };
  const int rounds = options.smoke ? 4 : 10'000;
  std::vector<double> rates;
  for (uint64_t r = 0; r <= options.repeat; ++r) {  // the first one warms
    double seconds = 0;
    for (int i = 0; i < rounds; ++i) {
      fill();
      const double begin = cpu_seconds();
      while (path.turn() > 0) {
      }
      seconds += cpu_seconds() - begin;
    }
    if (r > 0) rates.push_back(rounds * double{kFill} / seconds / 1e6);
  }
  path.end();
  if (path.events() != sent) give_up("packets were lost on the ring");
  table.row("ring-64", rates, options.smoke ? 0 : 10, "M packets/s", path.results(), 0);
}

// ---------------------------------------------------------------- memory
// Datagrams that lie one behind the other, given out as bursts, again and again; each pass a second
// of feed time later.
class MemorySource final : public Source {
 public:
  MemorySource(const std::vector<Bytes>& packets, uint64_t passes) : passes_(passes) {
    for (const Bytes& packet : packets) {
      length_.push_back(static_cast<uint32_t>(packet.size()));
      bytes_.insert(bytes_.end(), packet.begin(), packet.end());
    }
  }
  Received receive(Burst& burst) override {
    if (at_ == length_.size()) at_ = offset_ = 0, ++pass_;
    burst.count = burst.unstamped = 0;
    if (pass_ == passes_) return Received::kEnded;
    for (; burst.count < burst.limit && at_ < length_.size(); ++at_) {
      const uint32_t i = burst.count++;
      burst.data[i] = reinterpret_cast<const std::byte*>(bytes_.data()) + offset_;
      burst.length[i] = burst.wire_length[i] = length_[at_];
      burst.arrival[i] = kArrival;
      burst.interface[i] = 0;
      burst.link[i] = LinkType::kEthernet;
      offset_ += length_[at_];
    }
    return Received::kPackets;
  }
  void release(Burst&) override {}
  void sample(SourceCounters&) const override {}

 private:
  static constexpr EventTime kArrival{1'572'442'200 * kSecond};  // 2019-10-30 09:30 in New York

  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> length_;
  uint64_t passes_, pass_ = 0;
  size_t at_ = 0, offset_ = 0;
};

void itch(const Options& options, Table& table) {
  constexpr uint32_t kMessages = 30, kStocks = 1000;
  const uint32_t datagrams = options.smoke ? 100 : 100'000;
  Rng rng(1);
  std::vector<Bytes> packets;
  uint64_t sequence = 1;
  for (uint32_t d = 0; d < datagrams; ++d) {
    std::vector<test::ItchMessage> list;
    for (uint32_t i = 0; i < kMessages; ++i, ++sequence)
      list.push_back(test::add_order(34'200'000'000'000 + sequence * 200, rng.next() >> 1, 'B', 100,
                                     "S" + std::to_string(rng.below(kStocks)), 100'000));
    packets.push_back(test::mold_frame("SESSION", sequence - kMessages, list));
  }
  std::set<std::pair<uint64_t, uint64_t>> outcomes;
  std::vector<double> rates;
  for (uint64_t r = 0; r <= options.repeat; ++r) {
    WorkerPath path(
        "[runtime]\nworkers = 1\n[source.in]\ntype = \"port\"\ndevice = \"net_ring1\"\n"
        "format = \"itch\"\nout_of_orderness = \"0 ms\"\n" +
            query("stock", "price"),
        std::make_unique<MemorySource>(packets, 1));
    const double begin = cpu_seconds();
    while (!path.ended()) path.turn();
    const double seconds = cpu_seconds() - begin;
    path.end();
    if (path.events() != uint64_t{datagrams} * kMessages) give_up("messages were lost");
    outcomes.insert({path.results(), path.digest()});
    if (r > 0) rates.push_back(static_cast<double>(path.events()) / seconds / 1e6);
  }
  table.same("itch-memory", outcomes);
  table.row("itch-memory", rates, options.smoke ? 0 : 25, "M messages/s", outcomes.begin()->first,
            outcomes.begin()->second);
}

// ---------------------------------------------------------------- files
// Reads a file as the file source does, block by block, and does nothing with it. Wall time.
double read_only(const std::string& path) {
  constexpr uint32_t kBlock = 256 << 10, kDepth = 8;
  static Arena arena({});
  static const std::span<std::byte> memory =
      arena.take_bytes(size_t{kBlock} * (kDepth + 2), 4096, "blocks");
  auto ring = uring::Ring::open(kDepth);
  if (!ring.ok()) give_up(std::string(ring.status().message()));
  (*ring)->register_memory(memory);
  if ((*ring)->start() != 0) give_up("io_uring does not start");
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  const bool direct = fd >= 0;
  if (!direct) fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (fd < 0 || fstat(fd, &about) != 0) give_up(path + ": " + std::strerror(errno));
  uring::Feed feed(memory, kBlock, kDepth);
  const double begin = wall_seconds();
  feed.begin(static_cast<uint64_t>(about.st_size), direct ? 4096 : 1);
  for (;;) {
    uring::Completion done{};
    while ((*ring)->next(done)) feed.complete(static_cast<uint32_t>(done.tag), done.result);
    uring::ReadOrder order{};
    while (feed.next(order)) (*ring)->read(fd, order.to, order.offset, order.slot);
    (*ring)->submit();
    const uring::Feed::Front front = feed.front();
    if (front == uring::Feed::Front::kEnded) break;
    if (front == uring::Feed::Front::kFailed) give_up(path + ": cannot be read");
    if (front == uring::Feed::Front::kReady) feed.recycle();
  }
  const double seconds = wall_seconds() - begin;
  close(fd);
  return seconds;
}

void write_capture(const std::string& path, uint32_t packets, uint32_t bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) give_up(path + ": " + std::strerror(errno));
  const uint32_t head[6] = {0xA1B23C4D, 2 | 4 << 16, 0, 0, 262'144, 1};
  std::fwrite(head, sizeof head, 1, file);
  std::vector<Bytes> frames;
  for (uint32_t k = 0; k < 1000; ++k) frames.push_back(udp_packet(k, bytes));
  Rng rng(1);
  for (uint64_t i = 0; i < packets; ++i) {
    const uint64_t at = i * 1000;
    const uint32_t record[4] = {static_cast<uint32_t>(1'700'000'000 + at / 1'000'000'000),
                                static_cast<uint32_t>(at % 1'000'000'000), bytes, bytes};
    std::fwrite(record, sizeof record, 1, file);
    std::fwrite(frames[rng.below(1000)].data(), bytes, 1, file);
  }
  if (std::fclose(file) != 0) give_up(path + ": the disk is full");
}

void file(const Options& options, Table& table, uint32_t bytes) {
  const uint32_t packets = options.smoke ? 10'000 : (1u << 30) / (bytes + 16);
  const std::string path = options.folder / ("tidewire_bench_" + std::to_string(bytes) + ".pcap");
  write_capture(path, packets, bytes);
  std::set<std::pair<uint64_t, uint64_t>> outcomes;
  std::vector<double> share, rates;
  for (uint64_t r = 0; r <= options.repeat; ++r) {
    const double alone = read_only(path);
    WorkerPath run("[runtime]\nworkers = 1\n[source.in]\ntype = \"file\"\npath = \"" + path +
                       "\"\nout_of_orderness = \"0 ms\"\n" + query("src", "wire_length"),
                   nullptr);
    const double begin = wall_seconds();
    while (!run.ended()) run.turn();
    const double seconds = wall_seconds() - begin;
    run.end();
    if (run.events() != packets) give_up("packets were lost");
    outcomes.insert({run.results(), run.digest()});
    if (r == 0) continue;
    share.push_back(100 * alone / seconds);
    rates.push_back(packets / seconds / 1e6);
  }
  std::filesystem::remove(path);
  const std::string name = "file-" + std::to_string(bytes);
  table.same(name.c_str(), outcomes);
  std::printf("%-16s %8.2f M packets/s, %.2f GB/s\n", name.c_str(), median(rates),
              median(rates) * (bytes + 16) / 1e3);
  table.row(name.c_str(), share, options.smoke ? 0 : 80, "% of reading", outcomes.begin()->first,
            outcomes.begin()->second);
}

}  // namespace
}  // namespace tidewire::bench

int main(int argc, char** argv) {
  using namespace tidewire::bench;
  Options options;
  std::string folder = std::filesystem::temp_directory_path();
  const Flag flags[] = {{"--repeat", &options.repeat}, {"--folder", nullptr, &folder}};
  parse_arguments(argc, argv, "packet_bench [--smoke] [--repeat N] [--folder F]", options.smoke,
                  flags);
  options.folder = folder;
  if (options.smoke) options.repeat = 2;
  Table table;
  ring(options, table);
  itch(options, table);
  for (const uint32_t bytes : {64u, 256u}) file(options, table, bytes);
  return table.failed() ? 1 : 0;
}
