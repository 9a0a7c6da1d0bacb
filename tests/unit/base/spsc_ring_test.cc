#include "base/spsc_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace tidewire {
namespace {

TEST(SpscRing, FillsAndEmpties) {
  std::array<int, 4> slots{};
  SpscRing<int> ring{slots};
  EXPECT_EQ(ring.front(), nullptr);
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(ring.free_slot(), nullptr);
    *ring.free_slot() = i;
    ring.push();
  }
  EXPECT_EQ(ring.free_slot(), nullptr);
  EXPECT_EQ(*ring.front(), 0);
  ring.pop();
  EXPECT_NE(ring.free_slot(), nullptr);
  EXPECT_EQ(ring.free_slot(1), nullptr);
  EXPECT_EQ(ring.size(), 3u);
}

TEST(SpscRing, ClaimsAhead) {
  std::array<int, 4> slots{};
  SpscRing<int> ring{slots};
  *ring.free_slot(0) = 7;
  *ring.free_slot(1) = 8;
  EXPECT_EQ(ring.front(), nullptr);
  ring.push(2);
  EXPECT_EQ(*ring.front(), 7);
  ring.pop();
  EXPECT_EQ(*ring.front(), 8);
}

TEST(SpscRing, TwoThreadsKeepOrder) {
  static std::array<uint64_t, 8> slots{};
  SpscRing<uint64_t> ring{slots};
  constexpr uint64_t kCount = 100'000;
  std::thread producer([&] {
    for (uint64_t i = 0; i < kCount;) {
      if (uint64_t* slot = ring.free_slot()) {
        *slot = i++;
        ring.push();
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (uint64_t i = 0; i < kCount;) {
    if (const uint64_t* slot = ring.front()) {
      ASSERT_EQ(*slot, i);
      ++i;
      ring.pop();
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
}

}  // namespace
}  // namespace tidewire
