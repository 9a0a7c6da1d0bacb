#include "runtime/copy_source.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "drivers/sim/source.h"

namespace tidewire {
namespace {

std::shared_ptr<std::vector<sim::Packet>> packets(std::initializer_list<size_t> lengths) {
  auto out = std::make_shared<std::vector<sim::Packet>>();
  for (const size_t length : lengths) {
    sim::Packet p;
    p.bytes.assign(length, static_cast<std::byte>(out->size() + 1));
    if (out->size() % 2 == 0) p.arrival = EventTime{static_cast<int64_t>(out->size())};
    p.wire_length = static_cast<uint32_t>(length) + 7;
    out->push_back(std::move(p));
  }
  return out;
}

TEST(CopySource, HandsOnEveryPacketWithItsColumns) {
  // Five of 250,000 bytes do not fit 1 MiB: the burst of six is handed on in two.
  const auto all = packets({100, 250'000, 250'000, 250'000, 250'000, 250'000});
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  CopySource source(std::make_unique<sim::SimSource>(all, sim::SourceOptions{}), arena);
  auto burst = std::make_unique<Burst>();
  size_t seen = 0;
  uint32_t unstamped = 0, bursts = 0;
  while (source.receive(*burst) == Received::kPackets) {
    ++bursts;
    unstamped += burst->unstamped;
    for (uint32_t i = 0; i < burst->count; ++i, ++seen) {
      const sim::Packet& want = (*all)[seen];
      ASSERT_EQ(burst->length[i], want.bytes.size());
      EXPECT_TRUE(std::equal(want.bytes.begin(), want.bytes.end(), burst->data[i]));
      EXPECT_EQ(burst->wire_length[i], want.wire_length);
      EXPECT_EQ(burst->arrival[i], want.arrival);
    }
    source.release(*burst);
  }
  EXPECT_EQ(seen, all->size());
  EXPECT_EQ(unstamped, 3u);
  EXPECT_GE(bursts, 2u);
}

}  // namespace
}  // namespace tidewire
