#include "bench/floor/floor.h"

namespace tidewire::floor_kernel {

namespace v3 {
Kernel* make(Work work, uint64_t keys, int64_t gap_ns);
}
namespace v4 {
Kernel* make(Work work, uint64_t keys, int64_t gap_ns);
}

namespace {
bool has_v4() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
}  // namespace

const char* kernel_isa() { return has_v4() ? "x86-64-v4" : "x86-64-v3"; }

Kernel* make_kernel(Work work, uint64_t keys, int64_t gap_ns) {
  return has_v4() ? v4::make(work, keys, gap_ns) : v3::make(work, keys, gap_ns);
}

}  // namespace tidewire::floor_kernel
