#include "runtime/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace tidewire {
namespace {

using Cores = std::vector<int>;

// Two nodes of two cores; core 3 is isolated; core 4 exists but is not ours.
Topology two_nodes() {
  return {.allowed = {{0, 0, false}, {1, 0, false}, {2, 1, false}, {3, 1, true}},
          .present = {0, 1, 2, 3, 4}};
}

std::string refusal(const Cores& configured, uint32_t workers) {
  const auto placement = place_workers(two_nodes(), configured, workers);
  return placement.ok() ? "placed" : std::string(placement.status().message());
}

TEST(CpuList, ReadsWhatSysfsWrites) {
  EXPECT_EQ(*parse_cpu_list("0-3,8,10-11\n"), (Cores{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(*parse_cpu_list("7"), Cores{7});
  EXPECT_EQ(*parse_cpu_list("\n"), Cores{});
  EXPECT_EQ(*parse_cpu_list("3,1-3"), (Cores{1, 2, 3}));
  for (const char* wrong : {"a", "1-", "3-1", "-2", "1,,2", "99999999999", "1 2"})
    EXPECT_FALSE(parse_cpu_list(wrong).ok()) << wrong;
}

TEST(PlaceWorkers, TakesTheFirstAllowedCores) {
  const auto placement = place_workers(two_nodes(), {}, 3);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(placement->worker_core, (Cores{0, 1, 2}));
  EXPECT_EQ(placement->worker_node, (Cores{0, 0, 1}));
  EXPECT_EQ(placement->control_cores, Cores{3});
  EXPECT_FALSE(placement->shared);
}

TEST(PlaceWorkers, KeepsConfiguredOrderAndNodes) {
  const auto placement = place_workers(two_nodes(), {3, 0}, 2);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(placement->worker_core, (Cores{3, 0}));
  EXPECT_EQ(placement->worker_node, (Cores{1, 0}));
  EXPECT_EQ(placement->control_cores, (Cores{1, 2}));
}

TEST(PlaceWorkers, SharesCoresOnlyWhenNoneAreConfigured) {
  const auto placement = place_workers(two_nodes(), {}, 6);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(placement->worker_core, (Cores{0, 1, 2, 3, 0, 1}));
  EXPECT_TRUE(placement->shared);
  EXPECT_EQ(placement->control_cores, (Cores{0, 1, 2, 3}));
}

TEST(PlaceWorkers, NamesEveryCoreThatCannotBeUsed) {
  EXPECT_EQ(refusal({9, 4, 0, 0}, 4),
            "core 9 does not exist; this host has 0,1,2,3,4\n"
            "core 4 exists, but this process may only use 0,1,2,3 (affinity mask or cgroup "
            "cpuset)\n"
            "core 0 is configured twice");
  EXPECT_EQ(refusal({1}, 2), "2 workers need 2 cores, but 1 are configured");
  EXPECT_EQ(refusal({}, 0), "there must be at least one worker");
}

TEST(DefaultIdle, SpinsOnlyOnIsolatedCores) {
  EXPECT_EQ(default_idle(two_nodes(), 3), IdlePolicy::kSpin);
  EXPECT_EQ(default_idle(two_nodes(), 0), IdlePolicy::kYield);
  EXPECT_EQ(default_idle(two_nodes(), 77), IdlePolicy::kYield);
}

TEST(Topology, EgressNapsWhereItWouldTakeACoreFromAWorker) {
  using enum IdlePolicy;
  const WorkerPlacement apart{{2, 3}, {0, 0}, {0, 1}, false}, same{{0, 1}, {0, 0}, {0, 1}, false};
  const IdlePolicy eager[] = {kSpin, kYield}, frugal[] = {kYield, kSleep};
  EXPECT_EQ(egress_idle(apart, eager), kYield);
  EXPECT_EQ(egress_idle(apart, frugal), kSleep);
  EXPECT_EQ(egress_idle(same, eager), kSleep);
}

class SysfsFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tidewire_sysfs_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const auto full = root_ / "devices/system" / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::filesystem::path root_;
};

TEST_F(SysfsFolder, GivesNodesAndIsolation) {
  // The first core that this process may use stands on node 1 and is isolated.
  const auto real = read_topology();
  ASSERT_TRUE(real.ok()) << real.status();
  const int core = real->allowed[0].id;
  write("node/node1/cpulist", std::to_string(core) + "\n");
  write("node/node0/cpulist", "4000-4001\n");
  write("node/has_cpu", "0-1\n");  // neighbours of the folders that are no node
  write("cpu/isolated", std::to_string(core) + "\n");
  write("cpu/online", "0-4001\n");
  const auto topology = read_topology(root_);
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_NE(topology->find(core), nullptr);
  EXPECT_EQ(topology->find(core)->node, 1);
  EXPECT_TRUE(topology->find(core)->isolated);
  EXPECT_EQ(topology->present.size(), 4002u);
}

TEST_F(SysfsFolder, WithoutNodesIsOneNode) {
  const auto topology = read_topology(root_);
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->nodes(), 1);
  EXPECT_EQ(topology->present.size(), topology->allowed.size());
}

TEST(PinThisThread, BindsOrSaysWhichCore) {
  const auto topology = read_topology();
  ASSERT_TRUE(topology.ok());
  const int core = topology->allowed.back().id;
  std::thread([core] {
    ASSERT_TRUE(pin_this_thread({core}).ok());
    EXPECT_EQ(sched_getcpu(), core);
    const absl::Status status = pin_this_thread({4095});
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("core 4095"), absl::string_view::npos) << status;
  }).join();
}

}  // namespace
}  // namespace tidewire
