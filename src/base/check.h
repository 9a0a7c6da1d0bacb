// CHECK and DCHECK: the third class of errors, a bug in our own code. Debian's Abseil has no
// absl/log.
//   CHECK(x)   always on: setup, burst and turn boundaries. Prints place and expression, aborts.
//   DCHECK(x)  per event: only where TIDEWIRE_DEBUG_CHECKS is set (every build with debug
//   information).
// Neither allocates, so both may be used on a sealed thread.
#pragma once

namespace tidewire {
[[noreturn, gnu::cold]] void check_failed(const char* expression, const char* file, int line);
}  // namespace tidewire

#define CHECK(x)                                       \
  (__builtin_expect(static_cast<bool>(x), 1) ? void(0) \
                                             : ::tidewire::check_failed(#x, __FILE__, __LINE__))
#ifdef TIDEWIRE_DEBUG_CHECKS
#define DCHECK(x) CHECK(x)
#else
#define DCHECK(x) (false ? void(static_cast<bool>(x)) : void(0))
#endif
