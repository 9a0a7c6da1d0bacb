#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tidewire {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "tidewire: bug: %s:%d: CHECK(%s) failed\n", file, line, expression);
  std::abort();
}

}  // namespace tidewire
