// Ports through our Source, on drivers that need no card, no right and no hugepage: what one side
// of a net_ring sends, the other receives. One EAL for the binary, as DPDK demands; tests that need
// another start of EAL, or other rights, do so in a child process (dpdk_child_test.cc).
#include <gtest/gtest.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "drivers/dpdk/eal.h"
#include "drivers/dpdk/port.h"

namespace tidewire::dpdk {
namespace {

using ::testing::Test;

std::shared_ptr<Eal> g_eal;
std::vector<std::string> g_log;

class EalEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    EalOptions options;
    options.log = [](uint32_t, std::string_view line) { g_log.emplace_back(line); };
    options.memory = PageKind::kTransparentHuge;  // whatever the host has reserved
    auto eal = Eal::start(options, {});
    ASSERT_TRUE(eal.ok()) << eal.status();
    g_eal = *std::move(eal);
  }
  void TearDown() override { g_eal.reset(); }
};
const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new EalEnvironment);

std::string message(const absl::Status& status) { return std::string(status.message()); }

std::shared_ptr<Port> open_port(const PortOptions& options) {
  auto port = Port::open(g_eal, options);
  EXPECT_TRUE(port.ok()) << port.status();
  return port.ok() ? *std::move(port) : nullptr;
}

absl::Status open_error(const PortOptions& options) {
  const auto port = Port::open(g_eal, options);
  return port.status();
}

// Byte k of packet n is n + 3k: any exchange of two packets or shift of a byte shows.
uint8_t byte_of(uint32_t n, uint32_t k) { return static_cast<uint8_t>(n + 3 * k); }
uint32_t length_of(uint32_t n) { return 60 + n % 1400; }

rte_mbuf* make_packet(rte_mempool* pool, uint32_t n) {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
  if (mbuf == nullptr) return nullptr;
  const auto length = static_cast<uint16_t>(length_of(n));
  char* data = rte_pktmbuf_append(mbuf, length);
  for (uint32_t k = 0; k < length; ++k) data[k] = static_cast<char>(byte_of(n, k));
  return mbuf;
}

void expect_packet(const Burst& burst, uint32_t i, uint32_t n) {
  ASSERT_EQ(burst.length[i], length_of(n)) << "packet " << n;
  ASSERT_EQ(burst.wire_length[i], length_of(n));
  for (uint32_t k = 0; k < burst.length[i]; ++k)
    ASSERT_EQ(std::to_integer<uint8_t>(burst.data[i][k]), byte_of(n, k))
        << "packet " << n << " byte " << k;
}

// A port on a ring that loops: what is sent on it comes back on it. Every mbuf has to be in the
// pool again at the end.
class RingPort : public Test {
 protected:
  void SetUp() override {
    static int number = 100;
    PortOptions options;
    options.device = "net_ring" + std::to_string(number++);
    options.interface = 7;
    port_ = open_port(options);
    ASSERT_NE(port_, nullptr);
    source_ = port_->queue(0);
  }
  void TearDown() override {
    ASSERT_NE(port_, nullptr);
    EXPECT_EQ(rte_mempool_avail_count(port_->pool()), port_->pool()->size);
  }
  void send(uint32_t first, uint32_t count) {
    for (uint32_t n = first; n < first + count; ++n) {
      rte_mbuf* mbuf = make_packet(port_->pool(), n);
      ASSERT_NE(mbuf, nullptr);
      ASSERT_EQ(rte_eth_tx_burst(port_->id(), 0, &mbuf, 1), 1);
    }
  }
  std::shared_ptr<Port> port_;
  std::unique_ptr<Source> source_;
  Burst burst_out_;
};

TEST_F(RingPort, PacketsComeOutInOrderWithTheirBytes) {
  uint32_t expected = 0;
  for (uint32_t round = 0; round < 20; ++round) {
    send(round * 300, 300);
    // 300 in bursts of at most 256: 256 and 44.
    for (const uint32_t count : {256u, 44u}) {
      ASSERT_EQ(source_->receive(burst_out_), Received::kPackets);
      ASSERT_EQ(burst_out_.count, count);
      ASSERT_EQ(burst_out_.unstamped, count);
      for (uint32_t i = 0; i < count; ++i) {
        expect_packet(burst_out_, i, expected++);
        ASSERT_EQ(burst_out_.arrival[i], EventTime::before_all());
        ASSERT_EQ(burst_out_.interface[i], 7);
        ASSERT_EQ(burst_out_.link[i], LinkType::kEthernet);
      }
      source_->release(burst_out_);
    }
    ASSERT_EQ(source_->receive(burst_out_), Received::kNothing);
    ASSERT_EQ(burst_out_.count, 0u);
  }
  EXPECT_EQ(expected, 6000u);
  EXPECT_EQ(port_->counters().received, 6000u);
  SourceCounters counters;
  source_->sample(counters);
  uint64_t bytes = 0;
  for (uint32_t n = 0; n < 6000; ++n) bytes += length_of(n);
  EXPECT_EQ(counters.bytes_read, bytes);
  EXPECT_EQ(counters.missed + counters.no_buffer + counters.errors, 0u);
}

TEST_F(RingPort, ReleasedBuffersArePoisoned) {
#ifndef TIDEWIRE_DEBUG_CHECKS
  GTEST_SKIP() << "a build without debug checks does not poison";
#endif
  send(0, 1);
  ASSERT_EQ(source_->receive(burst_out_), Received::kPackets);
  const std::byte* kept = burst_out_.data[0];
  const uint32_t length = burst_out_.length[0];
  ASSERT_EQ(std::to_integer<uint8_t>(kept[0]), byte_of(0, 0));
  source_->release(burst_out_);
  for (uint32_t k = 0; k < length; ++k) ASSERT_EQ(kept[k], std::byte{0xdb});
}

TEST_F(RingPort, ReceivedOnAnotherThreadThatEalDidNotStart) {
  send(0, 100);
  uint32_t seen = 0;
  std::thread worker([&] {
    Burst burst;
    while (seen < 100 && source_->receive(burst) == Received::kPackets) {
      for (uint32_t i = 0; i < burst.count; ++i) expect_packet(burst, i, seen++);
      source_->release(burst);
    }
  });
  worker.join();
  EXPECT_EQ(seen, 100u);
}

// Two mbufs, 100 and 50 bytes, are one frame of 150: its first part is there, all of it was on the
// wire, and it is counted.
TEST_F(RingPort, AFrameInSegmentsIsLookedAtInItsFirst) {
  rte_mbuf* head = rte_pktmbuf_alloc(port_->pool());
  rte_mbuf* tail = rte_pktmbuf_alloc(port_->pool());
  ASSERT_TRUE(head != nullptr && tail != nullptr);
  std::memset(rte_pktmbuf_append(head, 100), 1, 100);
  std::memset(rte_pktmbuf_append(tail, 50), 2, 50);
  ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
  ASSERT_EQ(rte_eth_tx_burst(port_->id(), 0, &head, 1), 1);
  ASSERT_EQ(source_->receive(burst_out_), Received::kPackets);
  EXPECT_EQ(burst_out_.length[0], 100u);
  EXPECT_EQ(burst_out_.wire_length[0], 150u);
  SourceCounters counters;
  source_->sample(counters);
  EXPECT_EQ(counters.segmented, 1u);
  source_->release(burst_out_);
}

TEST_F(RingPort, ABurstIsNeverLargerThanAsked) {
  burst_out_.limit = 7;
  send(0, 20);
  for (const uint32_t count : {7u, 7u, 6u}) {
    ASSERT_EQ(source_->receive(burst_out_), Received::kPackets);
    ASSERT_EQ(burst_out_.count, count);
    source_->release(burst_out_);
  }
}

TEST(NullPort, GivesFullBurstsOfTheSizeAsked) {
  auto port = open_port({.device = "net_null200,size=128,copy=1"});
  ASSERT_NE(port, nullptr);
  const auto source = port->queue(0);
  Burst burst;
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(source->receive(burst), Received::kPackets);
    ASSERT_EQ(burst.count, kBurstMax);
    ASSERT_EQ(burst.length[kBurstMax - 1], 128u);
    source->release(burst);
  }
  EXPECT_EQ(rte_mempool_avail_count(port->pool()), port->pool()->size);
}

TEST(NullPort, SpreadsOverQueuesByRss) {
  auto port = open_port({.device = "net_null201,size=64", .queues = 2});
  ASSERT_NE(port, nullptr);
  EXPECT_NE(port->describe().find("2 queues by RSS"), std::string::npos) << port->describe();
  // The hash that was set: IP, TCP, UDP and SCTP of what the driver offers, and nothing else.
  rte_eth_rss_conf conf{};
  std::array<uint8_t, 64> key{};
  conf.rss_key = key.data();
  conf.rss_key_len = 40;
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(port->id(), &conf), 0);
  EXPECT_NE(conf.rss_hf & RTE_ETH_RSS_IP, 0u);
  EXPECT_EQ(conf.rss_hf & ~(RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP),
            0u);
  EXPECT_EQ(key[0], 0x6d);
  EXPECT_EQ(key[1], 0x5a);
}

// Four lanes over rings that the test makes: queue q gets what was put into ring q.
TEST(RingQueues, EachQueueIsALane) {
  std::array<rte_ring*, 4> rings{};
  for (unsigned q = 0; q < 4; ++q) {
    const std::string name = "lane" + std::to_string(q);
    rings[q] = rte_ring_create(name.c_str(), 64, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    ASSERT_NE(rings[q], nullptr);
  }
  ASSERT_GE(rte_eth_from_rings("300", rings.data(), 4, rings.data(), 4, 0), 0);
  {
    auto port = open_port({.device = "net_ring_300", .queues = 4});
    ASSERT_NE(port, nullptr);
    for (uint16_t q = 0; q < 4; ++q) {
      rte_mbuf* mbuf = make_packet(port->pool(), q);
      ASSERT_EQ(rte_ring_enqueue(rings[q], mbuf), 0);
    }
    for (uint16_t q = 0; q < 4; ++q) {
      const auto source = port->queue(q);
      Burst burst;
      ASSERT_EQ(source->receive(burst), Received::kPackets);
      ASSERT_EQ(burst.count, 1u);
      expect_packet(burst, 0, q);
      source->release(burst);
    }
    EXPECT_EQ(rte_mempool_avail_count(port->pool()), port->pool()->size);
  }
  for (rte_ring* ring : rings) rte_ring_free(ring);
}

// A capture written here by hand (libpcap file format, tcpdump.org): magic a1b2c3d4 = microseconds,
// version 2.4, snap length 262144, link type 1 = Ethernet.
class CaptureFile : public Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("tidewire_dpdk_" + std::to_string(getpid()) + ".pcap");
    std::ofstream file(path_, std::ios::binary);
    const auto word = [&](uint32_t value) {
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (const uint32_t value : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 262144u, 1u}) word(value);
    for (uint32_t n = 0; n < kPackets; ++n) {
      word(1'700'000'000 + n);
      word(n * 7);
      word(length_of(n));
      word(length_of(n));
      for (uint32_t k = 0; k < length_of(n); ++k) file.put(static_cast<char>(byte_of(n, k)));
    }
  }
  void TearDown() override { std::filesystem::remove(path_); }
  static constexpr uint32_t kPackets = 1000;
  std::filesystem::path path_;
};

TEST_F(CaptureFile, IsReadWithItsStampsAndEnds) {
  auto port = open_port(
      {.device = "net_pcap400,rx_pcap=" + path_.string(), .clock = StampClock::kMicroseconds});
  ASSERT_NE(port, nullptr);
  const auto source = port->queue(0);
  Burst burst;
  uint32_t seen = 0;
  Received got = Received::kNothing;
  while ((got = source->receive(burst)) == Received::kPackets) {
    EXPECT_EQ(burst.unstamped, 0u);
    for (uint32_t i = 0; i < burst.count; ++i, ++seen) {
      expect_packet(burst, i, seen);
      ASSERT_EQ(burst.arrival[i].ns, (1'700'000'000 + int64_t{seen}) * kSecond + seen * 7 * 1000);
    }
    source->release(burst);
  }
  EXPECT_EQ(got, Received::kEnded);
  EXPECT_EQ(seen, kPackets);
  EXPECT_EQ(rte_mempool_avail_count(port->pool()), port->pool()->size);
}

TEST_F(CaptureFile, StampsThatAreNotAskedForAreNotRead) {
  auto port = open_port({.device = "net_pcap401,rx_pcap=" + path_.string()});
  ASSERT_NE(port, nullptr);
  const auto source = port->queue(0);
  Burst burst;
  ASSERT_EQ(source->receive(burst), Received::kPackets);
  EXPECT_EQ(burst.unstamped, burst.count);
  EXPECT_EQ(burst.arrival[0], EventTime::before_all());
  source->release(burst);
}

// Each refusal names the cause and what to do. The words that a user has to find are listed.
struct Refused {
  const char* name;
  PortOptions options;
  absl::StatusCode code;
  // Null where there are fewer. No vector: g++ 12 at -O3 takes what is to be cleaned up if its
  // allocation throws for uninitialized.
  std::array<const char*, 3> words{};
};

class Refusals : public ::testing::TestWithParam<Refused> {};

TEST_P(Refusals, NameCauseAndRemedy) {
  const uint16_t before = rte_eth_dev_count_avail();
  const absl::Status status = open_error(GetParam().options);
  EXPECT_EQ(status.code(), GetParam().code) << status;
  for (const char* word : GetParam().words) {
    if (word == nullptr) break;
    EXPECT_NE(message(status).find(word), std::string::npos)
        << "no \"" << word << "\" in " << status;
  }
  EXPECT_EQ(rte_eth_dev_count_avail(), before) << "a port was left behind";
}

using enum absl::StatusCode;
INSTANTIATE_TEST_SUITE_P(
    All, Refusals,
    ::testing::Values(
        Refused{"device", {.device = "net_foo0"}, kInvalidArgument, {"\"net_foo0\"", "net_ringN"}},
        Refused{"address", {.device = "zz:00.0"}, kInvalidArgument, {"zz:00.0", "0000:3b:00.0"}},
        Refused{"card", {.device = "ffff:ff:1f.7"}, kNotFound, {"no such PCI device", "devbind"}},
        Refused{"interface",
                {.device = "net_af_packet500,iface=nothere0"},
                kNotFound,
                {"\"nothere0\"", "there are: lo"}},
        Refused{"no_interface",
                {.device = "net_af_xdp500"},
                kInvalidArgument,
                {"no interface is named", "iface=NAME"}},
        Refused{"file",
                {.device = "net_pcap500,rx_pcap=/nonexistent.pcap"},
                kNotFound,
                {"/nonexistent.pcap", "may read"}},
        Refused{"nothing_to_read", {.device = "net_pcap501"}, kInvalidArgument, {"rx_pcap=FILE"}},
        // 1024 descriptors + a burst of 256 + 384 in the cache = 1664.
        Refused{"pool",
                {.device = "net_null500", .pool = 1663},
                kInvalidArgument,
                {"1663", "too small", "1664"}},
        // A ring port that EAL makes by itself has one ring.
        Refused{"more_queues",
                {.device = "net_ring501", .queues = 40},
                kInvalidArgument,
                {"40 queues asked", "lower queues"}},
        Refused{"stamps",
                {.device = "net_ring502", .clock = StampClock::kNanoseconds},
                kInvalidArgument,
                {"does not stamp", "clock = \"none\""}},
        Refused{"queues", {.device = "net_null501", .queues = 0}, kInvalidArgument, {"no queue"}}),
    [](const auto& test) { return std::string(test.param.name); });

// A card has RSS or is refused; the rest is spread by the kernel, the peer or by files.
TEST(Refusal, SeveralQueuesOfACardNeedRss) {
  EXPECT_FALSE(spreads_by_itself(DeviceKind::kPci));
  for (const DeviceKind kind : {DeviceKind::kAfPacket, DeviceKind::kAfXdp, DeviceKind::kMemif,
                                DeviceKind::kRing, DeviceKind::kPcap})
    EXPECT_TRUE(spreads_by_itself(kind));
}

TEST(Refusal, TicksOfAPortWhoseClockCannotBeRead) {
  // A capture stamps its packets, but has no clock to read.
  const auto path = std::filesystem::temp_directory_path() /
                    ("tidewire_ticks_" + std::to_string(getpid()) + ".pcap");
  {
    std::ofstream file(path, std::ios::binary);
    for (const uint32_t value : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 262144u, 1u})
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const absl::Status status =
      open_error({.device = "net_pcap502,rx_pcap=" + path.string(), .clock = StampClock::kTicks});
  EXPECT_EQ(status.code(), kInvalidArgument);
  EXPECT_NE(message(status).find("clock cannot be read"), std::string::npos) << status;
  std::filesystem::remove(path);
}

TEST(Refusal, APortThatIsOpenAlready) {
  auto port = open_port({.device = "net_null503"});
  ASSERT_NE(port, nullptr);
  const absl::Status status = open_error({.device = "net_null503"});
  EXPECT_EQ(status.code(), kAlreadyExists);
  EXPECT_NE(message(status).find("open already"), std::string::npos) << status;
  Burst burst;
  EXPECT_EQ(port->queue(0)->receive(burst), Received::kPackets);  // the first is unharmed
  port->queue(0)->release(burst);
}

TEST(Refusal, ASecondEal) {
  const auto again = Eal::start({}, {});
  EXPECT_EQ(again.status().code(), kFailedPrecondition);
  EXPECT_NE(message(again.status()).find("once a process"), std::string::npos) << again.status();
}

TEST(Log, ComesToOurCallback) {
  EXPECT_FALSE(g_log.empty());
  for (const std::string& line : g_log) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

}  // namespace
}  // namespace tidewire::dpdk
