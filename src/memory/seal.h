// After start a worker thread allocates nothing. seal_thread() makes that a rule: in builds with
// debug checks an operator new on a sealed thread aborts with the size. AllocGuard counts instead
// of aborting, for tests that want to see a whole run stay at zero.
#pragma once

#include <cstdint>

namespace tidewire {

void seal_thread();
void unseal_thread();
bool thread_is_sealed();

// Counts allocations of this thread between construction and count(). Always 0 without debug
// checks; enabled() says which, so that a test does not pass by being blind.
class AllocGuard {
 public:
  AllocGuard();
  uint64_t count() const;
  static bool enabled();

 private:
  uint64_t before_;
};

}  // namespace tidewire
