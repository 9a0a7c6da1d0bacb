#include "runtime/pace.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "drivers/sim/source.h"
#include "virtual_clock.h"

namespace tidewire {
namespace {

constexpr EventTime kBegin{1'000'000 * kSecond};

// One packet at each of these offsets (ms) from kBegin; -1: without a stamp.
sim::Packets recorded(const std::vector<int64_t>& offsets_ms) {
  auto packets = std::make_shared<std::vector<sim::Packet>>();
  for (const int64_t offset : offsets_ms) {
    sim::Packet packet;
    packet.bytes.resize(4);
    if (offset >= 0) packet.arrival = later(kBegin, {offset * kMillisecond});
    packets->push_back(std::move(packet));
  }
  return packets;
}

std::unique_ptr<Source> source_of(const std::vector<int64_t>& offsets_ms) {
  return std::make_unique<sim::SimSource>(recorded(offsets_ms), sim::SourceOptions{});
}

// How many packets the source hands on until it has nothing at this moment.
uint32_t take_all(Source& source, Received* last = nullptr) {
  auto burst = std::make_unique<Burst>();
  uint32_t n = 0;
  Received got{};
  while ((got = source.receive(*burst)) == Received::kPackets) {
    n += burst->count;
    source.release(*burst);
  }
  if (last) *last = got;
  return n;
}

TEST(PacedSource, HandsOnAtTheRecordedOffsets) {
  VirtualClock clock;
  PacedSource source(source_of({0, 10, 10, 25, 500}), std::make_shared<PaceOrigin>(1), clock, 1.0);
  EXPECT_EQ(take_all(source), 1u);  // the first starts the recording
  clock.advance({10 * kMillisecond - 1});
  EXPECT_EQ(take_all(source), 0u);
  clock.advance({1});
  EXPECT_EQ(take_all(source), 2u);
  clock.advance({15 * kMillisecond});
  EXPECT_EQ(take_all(source), 1u);
  clock.advance({600 * kMillisecond});
  Received last{};
  EXPECT_EQ(take_all(source, &last), 1u);
  EXPECT_EQ(last, Received::kEnded);
}

TEST(PacedSource, MultipleShortensTheWait) {
  VirtualClock clock;
  PacedSource source(source_of({0, 100}), std::make_shared<PaceOrigin>(1), clock, 4.0);
  EXPECT_EQ(take_all(source), 1u);
  clock.advance({24 * kMillisecond});
  EXPECT_EQ(take_all(source), 0u);
  clock.advance({1 * kMillisecond});  // 100 ms / 4
  EXPECT_EQ(take_all(source), 1u);
}

TEST(PacedSource, LanesKeepTheirDistance) {
  VirtualClock clock;
  auto origin = std::make_shared<PaceOrigin>(2);
  PacedSource early(source_of({0, 40}), origin, clock, 1.0);
  PacedSource late(source_of({30}), origin, clock, 1.0);
  EXPECT_EQ(take_all(early), 0u);  // the other lane might begin earlier
  clock.advance({kSecond});        // its file opens late; the recording starts when both are there
  EXPECT_EQ(take_all(late), 0u);
  EXPECT_EQ(take_all(early), 1u);
  clock.advance({29 * kMillisecond});
  EXPECT_EQ(take_all(late), 0u);
  clock.advance({1 * kMillisecond});
  EXPECT_EQ(take_all(late), 1u);
  clock.advance({10 * kMillisecond});
  EXPECT_EQ(take_all(early), 1u);
}

TEST(PacedSource, EmptyLaneHoldsNobodyUp) {
  VirtualClock clock;
  auto origin = std::make_shared<PaceOrigin>(2);
  PacedSource empty(source_of({}), origin, clock, 1.0);
  PacedSource other(source_of({0}), origin, clock, 1.0);
  auto burst = std::make_unique<Burst>();
  EXPECT_EQ(empty.receive(*burst), Received::kEnded);
  EXPECT_EQ(take_all(other), 1u);
}

TEST(PacedSource, UnstampedPacketsDoNotWait) {
  VirtualClock clock;
  PacedSource source(source_of({-1, -1, 5, -1, 8}), std::make_shared<PaceOrigin>(1), clock, 1.0);
  EXPECT_EQ(take_all(source), 4u);  // "5" is the first stamp
  clock.advance({3 * kMillisecond});
  EXPECT_EQ(take_all(source), 1u);
}

TEST(PacedSource, OutOfOrderPacketsAreLateNotEarly) {
  VirtualClock clock;
  PacedSource source(source_of({10, 5, 12}), std::make_shared<PaceOrigin>(1), clock, 1.0);
  EXPECT_EQ(take_all(source), 2u);  // "5" lies before the first: it is due
  clock.advance({2 * kMillisecond});
  EXPECT_EQ(take_all(source), 1u);
}

TEST(PacedSource, BurstGivenBackHalfHandedOnIsReleasedOnce) {
  // SimSource CHECKs that a burst is released exactly once.
  VirtualClock clock;
  auto source = std::make_unique<PacedSource>(source_of({0, 10, 20}),
                                              std::make_shared<PaceOrigin>(1), clock, 1.0);
  EXPECT_EQ(take_all(*source), 1u);
  clock.advance({10 * kMillisecond});
  auto burst = std::make_unique<Burst>();
  ASSERT_EQ(source->receive(*burst), Received::kPackets);
  EXPECT_EQ(burst->count, 1u);
  EXPECT_EQ(burst->length[0], 4u);
  source->release(*burst);
  source.reset();  // one packet is still held
}

}  // namespace
}  // namespace tidewire
