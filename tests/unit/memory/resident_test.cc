#include "memory/resident.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <thread>

namespace tidewire {
namespace {

uint64_t faults_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

constexpr size_t kPage = 4096;
alignas(kPage) char variables[64 * kPage];

TEST(Resident, VariablesAreThereBeforeTheirFirstUse) {
  make_program_resident();
  const uint64_t before = faults_of_this_thread();
  for (size_t at = 0; at < sizeof variables; at += kPage) variables[at] = 1;
  EXPECT_EQ(faults_of_this_thread(), before);
  EXPECT_GE(program_bytes(), sizeof variables);
}

[[gnu::noinline]] void go_deep(size_t bytes) {
  volatile char room[1024];
  room[0] = 1;
  if (bytes > 2 * sizeof room) go_deep(bytes - 2 * sizeof room);
  room[1] = 1;  // or the call above is a jump
}

TEST(Resident, AStackIsThereBeforeCallsGoDeep) {
  std::thread([] {
    make_stack_resident();
    const uint64_t before = faults_of_this_thread();
    go_deep(kStackBytes / 2);
    EXPECT_EQ(faults_of_this_thread(), before);
  }).join();
}

}  // namespace
}  // namespace tidewire
