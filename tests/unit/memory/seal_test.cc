#include "memory/seal.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace tidewire {
namespace {

TEST(Seal, AllocationOnASealedThreadAborts) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "built without debug checks";
  EXPECT_DEATH(
      {
        seal_thread();
        auto p = std::make_unique<int[]>(100);
        p[0] = 1;
      },
      "400 bytes allocated on a sealed thread");
}

TEST(Seal, OtherThreadsAreFree) {
  seal_thread();
  unseal_thread();
  std::thread other([] {
    EXPECT_FALSE(thread_is_sealed());
    seal_thread();
  });
  other.join();
  EXPECT_FALSE(thread_is_sealed());
}

TEST(Seal, AllocGuardCounts) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "built without debug checks";
  const AllocGuard guard;
  EXPECT_EQ(guard.count(), 0u);
  auto p = std::make_unique<int>(1);
  EXPECT_EQ(guard.count(), 1u + 0u * static_cast<uint64_t>(*p));
}

}  // namespace
}  // namespace tidewire
