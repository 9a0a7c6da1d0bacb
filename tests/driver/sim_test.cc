#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "drivers/sim/sink.h"
#include "drivers/sim/source.h"

namespace tidewire::sim {
namespace {

// Packet i holds i + 1 bytes of value i.
Packets counted(uint32_t n) {
  auto packets = std::make_shared<std::vector<Packet>>();
  for (uint32_t i = 0; i < n; ++i) {
    Packet packet;
    packet.bytes.assign(i + 1, static_cast<std::byte>(i));
    packet.arrival = i % 2 ? EventTime{int64_t{i}} : EventTime::before_all();
    packets->push_back(std::move(packet));
  }
  return packets;
}

std::vector<uint32_t> burst_sizes(SimSource& source) {
  std::vector<uint32_t> sizes;
  auto burst = std::make_unique<Burst>();
  for (;;) {
    const Received got = source.receive(*burst);
    if (got == Received::kEnded || got == Received::kFailed) return sizes;
    sizes.push_back(burst->count);
    if (got == Received::kPackets) source.release(*burst);
  }
}

TEST(SimSource, HandsOutEveryPacketOnceInOrder) {
  SimSource source(counted(10), {.burst = 4});
  auto burst = std::make_unique<Burst>();
  uint32_t next = 0, unstamped = 0;
  while (source.receive(*burst) == Received::kPackets) {
    for (uint32_t i = 0; i < burst->count; ++i, ++next) {
      ASSERT_EQ(burst->length[i], next + 1);
      ASSERT_EQ(burst->wire_length[i], next + 1);
      ASSERT_EQ(burst->data[i][next], static_cast<std::byte>(next));
    }
    unstamped += burst->unstamped;
    source.release(*burst);
  }
  EXPECT_EQ(next, 10u);
  EXPECT_EQ(unstamped, 5u);  // the even ones
  SourceCounters counters;
  source.sample(counters);
  EXPECT_EQ(counters.bytes_read, 55u);  // 1 + 2 + ... + 10
  EXPECT_EQ(counters.bytes_total, 55u);
}

TEST(SimSource, FaultPlanAnswersTheCallsItNames) {
  using Kind = SourceFault::Kind;
  SimSource source(counted(20),
                   {.burst = 8, .faults = {{1, 2, Kind::kNothing}, {4, 1, Kind::kShortBurst}}});
  EXPECT_EQ(burst_sizes(source), (std::vector<uint32_t>{8, 0, 0, 8, 1, 3}));

  SimSource failing(counted(20), {.burst = 8, .faults = {{1, 1, Kind::kFailed}}});
  EXPECT_EQ(burst_sizes(failing), (std::vector<uint32_t>{8}));
  SourceCounters counters;
  failing.sample(counters);
  EXPECT_STREQ(counters.failure, "failed as planned");
}

TEST(SimSource, SameSeedGivesSameBursts) {
  SimSource one(counted(100), {.burst = 16, .vary_burst = true, .seed = 5});
  SimSource two(counted(100), {.burst = 16, .vary_burst = true, .seed = 5});
  SimSource other(counted(100), {.burst = 16, .vary_burst = true, .seed = 6});
  const auto sizes = burst_sizes(one);
  EXPECT_EQ(sizes, burst_sizes(two));
  EXPECT_NE(sizes, burst_sizes(other));
}

TEST(SimSource, HeldPacketsAreNotThereYet) {
  SimSource source(counted(6), {.burst = 8});
  source.hold_at(2);
  auto burst = std::make_unique<Burst>();
  ASSERT_EQ(source.receive(*burst), Received::kPackets);
  EXPECT_EQ(burst->count, 2u);
  source.release(*burst);
  EXPECT_EQ(source.receive(*burst), Received::kNothing);
  source.hold_at(UINT64_MAX);
  ASSERT_EQ(source.receive(*burst), Received::kPackets);
  EXPECT_EQ(burst->count, 4u);
  source.release(*burst);
  EXPECT_EQ(source.receive(*burst), Received::kEnded);
}

#ifdef TIDEWIRE_DEBUG_CHECKS
TEST(SimSource, KeptPointerShowsPoison) {
  if (SimSource::closes_memory()) GTEST_SKIP() << "ASan reports the read itself";
  SimSource source(counted(6), {.burst = 6});
  auto burst = std::make_unique<Burst>();
  ASSERT_EQ(source.receive(*burst), Received::kPackets);
  const std::byte* kept = burst->data[5];
  EXPECT_EQ(*kept, std::byte{5});
  source.release(*burst);
  EXPECT_EQ(*kept, std::byte{0xDB});
}
#endif

TEST(SimSink, CountsWhatItLoses) {
  using Kind = SinkFault::Kind;
  SimSink sink({.faults = {{1, 1, Kind::kRefused}, {2, 1, Kind::kShort}}});
  const std::string text = "aabbb";
  const std::vector<uint32_t> ends{2, 5};
  const Records records{std::as_bytes(std::span(text)), ends};
  SinkCounters counters;

  sink.send(records);
  sink.sample(counters);
  EXPECT_FALSE(counters.degraded);
  sink.send(records);  // refused
  sink.sample(counters);
  EXPECT_TRUE(counters.degraded);
  EXPECT_EQ(counters.lost, 2u);
  sink.send(records);  // short: "aa" is written
  sink.send(records);
  sink.sample(counters);
  EXPECT_FALSE(counters.degraded);
  EXPECT_EQ(counters.lost, 3u);
  EXPECT_EQ(counters.records, 5u);
  EXPECT_EQ(counters.bytes, 12u);  // 5 + 2 + 5
  EXPECT_EQ(sink.records(), (std::vector<std::string>{"aa", "bbb", "aa", "aa", "bbb"}));
}

}  // namespace
}  // namespace tidewire::sim
