#include "memory/seal.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
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
  // Called by name: an expression the compiler may leave out. Sanitizers bring these forms along.
  constexpr auto kAlign = std::align_val_t{64};
  ::operator delete(::operator new(8));
  ::operator delete[](::operator new[](8));
  ::operator delete(::operator new(8, std::nothrow), std::nothrow);
  ::operator delete[](::operator new[](8, std::nothrow), std::nothrow);
  EXPECT_EQ(guard.count(), 4u);
  ::operator delete(::operator new(64, kAlign), kAlign);
  ::operator delete[](::operator new[](64, kAlign), kAlign);
  ::operator delete(::operator new(64, kAlign, std::nothrow), kAlign, std::nothrow);
  ::operator delete[](::operator new[](64, kAlign, std::nothrow), kAlign, std::nothrow);
  EXPECT_EQ(guard.count(), 8u);
}

}  // namespace
}  // namespace tidewire
