#include "memory/resident.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>

namespace tidewire {
namespace {

constexpr uintptr_t kPage = 4096;

// Each loaded segment, in whole pages.
template <class Each>
void for_segments(Each each) {
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* to) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          const uintptr_t start = (object->dlpi_addr + segment.p_vaddr) & ~(kPage - 1);
          const uintptr_t end =
              (object->dlpi_addr + segment.p_vaddr + segment.p_memsz + kPage - 1) & ~(kPage - 1);
          (*static_cast<Each*>(to))(start, end - start, (segment.p_flags & PF_W) != 0);
        }
        return 0;
      },
      &each);
}

}  // namespace

uint64_t program_bytes() {
  uint64_t sum = 0;
  for_segments([&](uintptr_t, size_t size, bool) { sum += size; });
  return sum;
}

void make_program_resident() {
  for_segments([](uintptr_t start, size_t size, bool variables) {
    // A page of variables gets its own copy when it is written first. Of what may be written the
    // loader has made the front read-only again: there a look must do, page by page.
    for (uintptr_t at = start; at < start + size;) {
      void* const page = reinterpret_cast<void*>(at);
      const size_t rest = start + size - at;
      if (variables && madvise(page, rest, MADV_POPULATE_WRITE) == 0) return;
      if (!variables) return (void)madvise(page, rest, MADV_POPULATE_READ);
      madvise(page, kPage, MADV_POPULATE_READ);
      at += kPage;
    }
  });
}

void make_stack_resident() {
  pthread_attr_t thread;
  if (pthread_getattr_np(pthread_self(), &thread) != 0) return;
  void* lowest = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&thread, &lowest, &size);
  pthread_attr_destroy(&thread);
  const auto top = reinterpret_cast<uintptr_t>(lowest) + size;  // thread-local variables lie there
  const uintptr_t here = reinterpret_cast<uintptr_t>(&thread) & ~(kPage - 1);
  const uintptr_t from = std::max(here - kStackBytes, reinterpret_cast<uintptr_t>(lowest));
  madvise(reinterpret_cast<void*>(from), top - from, MADV_POPULATE_WRITE);
}

}  // namespace tidewire
