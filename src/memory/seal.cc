#include "memory/seal.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace tidewire {
namespace {
thread_local bool sealed = false;
thread_local uint64_t allocations = 0;
}  // namespace

void seal_thread() { sealed = true; }
void unseal_thread() { sealed = false; }
bool thread_is_sealed() { return sealed; }

AllocGuard::AllocGuard() : before_(allocations) {}
uint64_t AllocGuard::count() const { return allocations - before_; }

#ifdef TIDEWIRE_DEBUG_CHECKS
bool AllocGuard::enabled() { return true; }

namespace {
void* allocate(size_t size, size_t align) {
  ++allocations;
  if (sealed) {
    std::fprintf(stderr, "tidewire: bug: %zu bytes allocated on a sealed thread\n", size);
    std::abort();
  }
  if (size == 0) size = 1;
  void* p = align <= alignof(std::max_align_t)
                ? std::malloc(size)
                : std::aligned_alloc(align, (size + align - 1) / align * align);
  if (!p) throw std::bad_alloc();
  return p;
}

void* allocate_or_null(size_t size, size_t align) {
  try {
    return allocate(size, align);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
}  // namespace
#else
bool AllocGuard::enabled() { return false; }
#endif

}  // namespace tidewire

#ifdef TIDEWIRE_DEBUG_CHECKS
// All replaceable forms: by default the array and nothrow ones fall through to the first two, but a
// sanitizer brings its own, which nobody would count and whose memory our delete must not see.
void* operator new(size_t size) { return tidewire::allocate(size, 0); }
void* operator new[](size_t size) { return tidewire::allocate(size, 0); }
void* operator new(size_t size, std::align_val_t align) {
  return tidewire::allocate(size, static_cast<size_t>(align));
}
void* operator new[](size_t size, std::align_val_t align) {
  return tidewire::allocate(size, static_cast<size_t>(align));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return tidewire::allocate_or_null(size, 0);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return tidewire::allocate_or_null(size, 0);
}
void* operator new(size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return tidewire::allocate_or_null(size, static_cast<size_t>(align));
}
void* operator new[](size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return tidewire::allocate_or_null(size, static_cast<size_t>(align));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
#endif
