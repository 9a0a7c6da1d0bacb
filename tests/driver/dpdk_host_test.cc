// What is decided before EAL starts: device strings, rights, pool sizes, the memory ladder, and the
// conversion of a card's ticks. Nothing here touches DPDK, so a child may change its user.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "drivers/dpdk/device.h"
#include "drivers/dpdk/host_memory.h"
#include "drivers/dpdk/options.h"
#include "drivers/dpdk/tick_clock.h"

namespace tidewire::dpdk {
namespace {

constexpr uint64_t kMebibyte = 1u << 20;

TEST(Device, NamesAndArguments) {
  const auto device = parse_device("net_af_packet0,iface=eth0,qpairs=2");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ(device->kind, DeviceKind::kAfPacket);
  EXPECT_EQ(device->name, "net_af_packet0");
  EXPECT_EQ(device->interface(), "eth0");
  EXPECT_EQ(device->argument("qpairs"), "2");
  EXPECT_EQ(device->argument("face"), std::nullopt);
  EXPECT_EQ(parse_device("net_ring_7")->kind, DeviceKind::kRing);
  EXPECT_EQ(parse_device("0000:3B:00.1")->name, "0000:3b:00.1");
  EXPECT_EQ(parse_device("3b:00.1,devarg=1")->name, "0000:3b:00.1");
  EXPECT_EQ(parse_device("3b:00.1,devarg=1")->kind, DeviceKind::kPci);
  for (const char* bad : {"", "eth0", "net_", "net_ring-1", "0000:3b:00.8", "3b:00", ",iface=a"})
    EXPECT_FALSE(parse_device(bad).ok()) << bad;
}

// What a user without rights is told, asked in a child that has given them up.
TEST(Device, RightsThatAreMissingAreNamed) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(3);
    std::string said;
    for (const char* text : {"net_af_packet0,iface=lo", "net_af_xdp0,iface=lo"}) {
      const absl::Status status = check_device(*parse_device(text));
      if (status.code() != absl::StatusCode::kPermissionDenied) _exit(4);
      said += std::string(status.message()) + "\n";
    }
    const bool written = write(pipe_ends[1], said.data(), said.size()) > 0;
    _exit(written ? 0 : 5);
  }
  close(pipe_ends[1]);
  std::string said(4096, '\0');
  const ssize_t length = read(pipe_ends[0], said.data(), said.size());
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  said.resize(static_cast<size_t>(length));
  for (const char* word : {"CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF", "CAP_IPC_LOCK",
                           "setcap cap_net_raw,cap_net_admin+ep", "run as root"})
    EXPECT_NE(said.find(word), std::string::npos) << word << " is not in: " << said;
}

TEST(Pool, IsTheSumRoundedUpToAPowerOfTwoLessOne) {
  const Device ring{.kind = DeviceKind::kRing, .name = "net_ring0"};
  const Device xdp{.kind = DeviceKind::kAfXdp, .name = "net_af_xdp0"};
  const auto count = [](const PortOptions& options, const Device& device) {
    const auto result = pool_count(options, device);
    return result.ok() ? *result : 0;
  };
  // 1024 + 256 + 384 = 1664 a queue.
  EXPECT_EQ(count({.queues = 1}, ring), 2047u);
  EXPECT_EQ(count({.queues = 2}, ring), 4095u);                      // 3328
  EXPECT_EQ(count({.queues = 3}, ring), 8191u);                      // 4992
  EXPECT_EQ(count({.queues = 1, .descriptors = 383}, ring), 1023u);  // 1023, exactly
  EXPECT_EQ(count({.queues = 1, .descriptors = 384}, ring), 2047u);  // 1024, one too many
  EXPECT_EQ(count({.queues = 1, .pool = 5000}, ring), 8191u);
  EXPECT_EQ(count({.queues = 1}, xdp), 8191u);
  EXPECT_EQ(count({.queues = 2}, xdp), 16383u);
  EXPECT_EQ(count({.queues = 1, .pool = 4095}, xdp), 0u);
  EXPECT_NE(std::string(pool_count({.pool = 4095}, xdp).status().message()).find("8191"),
            std::string::npos);
  EXPECT_EQ(count({.queues = 60000, .descriptors = 60000}, ring), 0u);
}

// A sysfs of our own: two nodes with so many free 2 MiB pages, and the kernel's three words for
// transparent hugepages.
class Ladder : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("tidewire_sys_" + std::to_string(getpid()));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  HostMemory host(std::vector<uint64_t> free_pages, const std::string& transparent) {
    std::filesystem::remove_all(root_);
    for (size_t node = 0; node < free_pages.size(); ++node)
      put("devices/system/node/node" + std::to_string(node) +
              "/hugepages/hugepages-2048kB/free_hugepages",
          std::to_string(free_pages[node]));
    put("devices/system/node/possible", "0-1");
    put("kernel/mm/transparent_hugepage/enabled", transparent);
    return look_at_host(root_.string());
  }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  static std::string kind(const absl::StatusOr<MemoryChoice>& choice) {
    return choice.ok() ? std::string(to_string(choice->kind)) : choice.status().ToString();
  }
  std::filesystem::path root_;
};

TEST_F(Ladder, TheBestRungThatTheHostHas) {
  const std::vector<NodeNeed> any = {{.node = -1, .bytes = 10 * kMebibyte}};
  // 10 MiB for the pool and 16 beside it are 13 pages.
  EXPECT_EQ(kind(choose_memory(host({13}, "always [madvise] never"), any)), "hugepages");
  EXPECT_EQ(kind(choose_memory(host({12}, "always [madvise] never"), any)),
            "transparent hugepages");
  EXPECT_EQ(kind(choose_memory(host({12}, "[always] madvise never"), any)),
            "transparent hugepages");
  EXPECT_EQ(kind(choose_memory(host({12}, "always madvise [never]"), any)), "4 KiB pages");
  EXPECT_EQ(kind(choose_memory(look_at_host("/nonexistent"), any)), "4 KiB pages");
}

TEST_F(Ladder, EachNodeNeedsItsOwnPages) {
  const std::vector<NodeNeed> both = {{.node = 0, .bytes = 10 * kMebibyte},
                                      {.node = 1, .bytes = 10 * kMebibyte}};
  EXPECT_EQ(kind(choose_memory(host({13, 13}, "[always]"), both)), "hugepages");
  EXPECT_EQ(kind(choose_memory(host({100, 12}, "[always]"), both)), "transparent hugepages");
  // Two pools on one node: 20 + 16 MiB.
  const std::vector<NodeNeed> twice = {{.node = 1, .bytes = 10 * kMebibyte},
                                       {.node = 1, .bytes = 10 * kMebibyte}};
  EXPECT_EQ(kind(choose_memory(host({0, 18}, "[always]"), twice)), "hugepages");
  EXPECT_EQ(kind(choose_memory(host({0, 17}, "[always]"), twice)), "transparent hugepages");
}

TEST_F(Ladder, ACardWithoutHugepagesOnItsNodeIsRefused) {
  const std::vector<NodeNeed> cards = {{.node = 0, .bytes = 10 * kMebibyte, .dma = true},
                                       {.node = 1, .bytes = 10 * kMebibyte, .dma = true}};
  const auto choice = choose_memory(host({100, 3}, "[always]"), cards);
  ASSERT_EQ(choice.status().code(), absl::StatusCode::kResourceExhausted);
  const std::string said(choice.status().message());
  for (const char* word : {"26 MiB", "NUMA node 1", "6 MiB are free", "echo 13 >",
                           "node1/hugepages/hugepages-2048kB/nr_hugepages"})
    EXPECT_NE(said.find(word), std::string::npos) << word << " is not in: " << said;
}

// A card that counts at 156.25 MHz: 6.4 ns a tick. One tick of the fixed-point rate's last place is
// 2^-32 ns, which over an hour (5.6e11 ticks) comes to 131 ns; the division rounds down once.
TEST(TickClock, IsALineThroughWhatWasObserved) {
  TickClock clock;
  EXPECT_FALSE(clock.ready());
  EXPECT_EQ(clock.to_utc(5), EventTime::before_all());
  const EventTime start{1'700'000'000 * kSecond};
  clock.observe(1000, start);
  EXPECT_EQ(clock.to_utc(1000), EventTime::before_all());
  clock.observe(1000 + 156'250'000, EventTime{start.ns + kSecond});
  ASSERT_TRUE(clock.ready());
  EXPECT_EQ(clock.to_utc(1000 + 156'250'000).ns, start.ns + kSecond);
  EXPECT_NEAR(static_cast<double>(clock.to_utc(1000).ns - start.ns), 0, 1);
  const uint64_t hour = 156'250'000ull * 3600;
  EXPECT_NEAR(static_cast<double>(clock.to_utc(1000 + hour).ns - start.ns - 3600 * kSecond), 0,
              132);
  clock.observe(1000 + hour, EventTime{start.ns + 3600 * kSecond + 500});
  EXPECT_EQ(clock.to_utc(1000 + hour).ns, start.ns + 3600 * kSecond + 500);
  clock.observe(900, start);  // a counter that went back is not believed
  EXPECT_EQ(clock.to_utc(1000 + hour).ns, start.ns + 3600 * kSecond + 500);
}

// A reader beside the writer never sees half of a line: all lines here go through (t, 1000 t).
TEST(TickClock, IsReadWholeWhileItChanges) {
  TickClock clock;
  clock.observe(0, EventTime{0});
  clock.observe(1, EventTime{1000});
  ASSERT_TRUE(clock.ready());
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (uint64_t ticks = 2; ticks < 200'000; ++ticks)
      clock.observe(ticks, EventTime{static_cast<int64_t>(ticks * 1000)});
    done = true;
  });
  while (!done) EXPECT_EQ(clock.to_utc(123'456).ns, 123'456'000);
  writer.join();
}

}  // namespace
}  // namespace tidewire::dpdk
