#include "memory/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace tidewire {
namespace {

TEST(Arena, GivesZeroedAlignedMemoryAndKeepsTheSum) {
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  const auto a = arena.take<uint64_t>(1000, "keys");
  const auto b = arena.take<char>(3, "odd");
  const auto c = arena.take<uint64_t>(5, "keys");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(c.data()) % 64, 0u);
  EXPECT_TRUE(std::all_of(a.begin(), a.end(), [](uint64_t x) { return x == 0; }));
  ASSERT_EQ(arena.terms().size(), 2u);
  EXPECT_EQ(arena.terms()[0].purpose, "keys");
  EXPECT_EQ(arena.terms()[0].bytes, 8040u);
  EXPECT_EQ(arena.bytes(), 8043u);
}

TEST(Arena, TakesMoreThanARegion) {
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  const auto big = arena.take<char>(size_t{40} << 20, "big");
  big.front() = 1;
  big.back() = 2;
  EXPECT_EQ(big.size(), size_t{40} << 20);
}

TEST(Arena, LosesNothingBetweenItsPieces) {
  Arena arena({});
  uint64_t sum = 0;
  for (const size_t bytes : {size_t{64}, size_t{5} << 20, size_t{70} << 20, size_t{4096}}) {
    const auto piece = arena.take_bytes(bytes, 64, "piece");
    EXPECT_TRUE(
        std::all_of(piece.begin(), piece.end(), [](std::byte b) { return b == std::byte{}; }));
    sum += bytes;
  }
  EXPECT_EQ(arena.ready(), (sum + Arena::kPage - 1) / Arena::kPage * Arena::kPage);
}

TEST(Arena, GoesOnBehindItsRangeOfAddresses) {
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  const auto first = arena.take<char>(size_t{1} << 20, "first");
  const auto beyond = arena.take<char>(size_t{80} << 30, "beyond");  // addresses only
  first.back() = beyond.front() = beyond.back() = 1;
  EXPECT_EQ(arena.bytes(), (size_t{1} << 20) + (size_t{80} << 30));
}

TEST(Arena, SaysWhatCouldNotBeReserved) {
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  EXPECT_THROW(arena.take_bytes(size_t{1} << 60, 64, "the moon"), std::bad_alloc);
  EXPECT_NE(arena.error().find("the moon"), std::string::npos);
}

TEST(Arena, LiesOnTheNodeAskedFor) {
  Arena arena({.node = 0, .require_node = false, .fault_in = true});
  arena.take<char>(1 << 20, "local");
  EXPECT_EQ(arena.pages_elsewhere(), 0u);
}

}  // namespace
}  // namespace tidewire
