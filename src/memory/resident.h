// What else must be in memory before the first event, beside what arenas hand out: the program's
// own pages, which the kernel would map when each is first used, and a thread's stack, which it
// would give as calls go deeper. Either would be a page fault in the middle of a turn.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidewire {

// The executable and the libraries it is linked to: code, constants, variables.
uint64_t program_bytes();
// Maps all of it. What the kernel refuses stays as it was, to be mapped when it is used.
void make_program_resident();

// A pinned thread calls no deeper than this.
inline constexpr size_t kStackBytes = size_t{256} << 10;
void make_stack_resident();  // of this thread, and its thread-local variables

}  // namespace tidewire
