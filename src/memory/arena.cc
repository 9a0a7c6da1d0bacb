#include "memory/arena.h"

#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace tidewire {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSmallPage = 4096;
constexpr size_t kRegion = size_t{8} << 20;  // least that is mapped at once: small takes share it

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

bool transparent_hugepages_enabled() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  return text.find("[never]") == std::string::npos && !text.empty();
}

}  // namespace

std::string_view to_string(PageKind kind) {
  switch (kind) {
    case PageKind::kHuge:
      return "hugepages";
    case PageKind::kTransparentHuge:
      return "transparent hugepages";
    case PageKind::kPlain:
      return "4 KiB pages";
  }
  return "?";
}

Arena::Arena(ArenaOptions options) : options_(options) {}

Arena::~Arena() {
  for (const Region& region : regions_) munmap(region.start, region.size);
}

std::byte* Arena::map_region(size_t size) {
  size = round_up(size, kHugePage);
  const auto bind = [&](void* p) {
    if (options_.node < 0 || numa_available() < 0) return true;
    unsigned long mask[16] = {};
    const auto node = static_cast<unsigned>(options_.node);
    mask[node / 64] = 1ul << (node % 64);
    // PREFERRED where a fall-back is allowed, BIND where the node is required.
    const int mode = options_.require_node ? MPOL_BIND : MPOL_PREFERRED;
    return mbind(p, size, mode, mask, sizeof(mask) * 8, 0) == 0;
  };
  // 1. Hugepages reserved by the administrator. Bound before the first touch; a pool that is too
  // small on
  //    this node shows when the pages are populated, so they are populated here and not by the
  //    first event.
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
  if (p != MAP_FAILED) {
    if (bind(p) && madvise(p, size, MADV_POPULATE_WRITE) == 0) {
      regions_.push_back({static_cast<std::byte*>(p), size, kHugePage});
      return static_cast<std::byte*>(p);
    }
    munmap(p, size);
  }
  // 2. and 3. Anonymous memory, aligned by hand so that transparent hugepages can back it.
  const size_t mapped = size + kHugePage;
  p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
           0);
  if (p == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(p);
  auto* start =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(base), kHugePage));
  if (start > base) munmap(base, static_cast<size_t>(start - base));
  std::byte* const after = start + size;
  if (base + mapped > after) munmap(after, static_cast<size_t>(base + mapped - after));
  const bool huge = transparent_hugepages_enabled() && madvise(start, size, MADV_HUGEPAGE) == 0;
  const bool bound = bind(start);
  if (!bound && options_.require_node) {
    munmap(start, size);
    return nullptr;
  }
  if (options_.fault_in && madvise(start, size, MADV_POPULATE_WRITE) != 0) {
    munmap(start, size);
    return nullptr;
  }
  regions_.push_back({start, size, huge ? kHugePage : kSmallPage});
  weakest_ = std::max(weakest_, huge ? PageKind::kTransparentHuge : PageKind::kPlain);
  return start;
}

std::span<std::byte> Arena::take_bytes(size_t bytes, size_t align, std::string_view purpose) {
  const auto aligned = [&](std::byte* p) {
    return reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(p), align));
  };
  std::byte* p = at_ ? aligned(at_) : nullptr;
  if (!p || p + bytes > end_) {
    const size_t size = std::max(round_up(bytes, kHugePage), kRegion);
    p = map_region(size);
    if (!p) {
      error_ =
          "cannot reserve " + std::to_string(size >> 20) + " MiB for " + std::string(purpose) +
          (options_.node >= 0 ? " on NUMA node " + std::to_string(options_.node) : std::string()) +
          ": " + std::strerror(errno);
      throw std::bad_alloc();
    }
    at_ = p;
    end_ = p + size;
  }
  at_ = p + bytes;
  bytes_ += bytes;
  const auto known = std::find_if(terms_.begin(), terms_.end(),
                                  [&](const ArenaTerm& term) { return term.purpose == purpose; });
  if (known == terms_.end())
    terms_.push_back({std::string(purpose), bytes});
  else
    known->bytes += bytes;
  return {p, bytes};
}

uint64_t Arena::pages_elsewhere() const {
  if (options_.node < 0) return 0;
  uint64_t elsewhere = 0;
  for (const Region& region : regions_)
    for (size_t offset = 0; offset < region.size; offset += region.page) {
      void* page = region.start + offset;
      int status = -1;
      if (move_pages(0, 1, &page, nullptr, &status, 0) != 0) continue;
      elsewhere += static_cast<uint64_t>(status >= 0 && status != options_.node);
    }
  return elsewhere;
}

}  // namespace tidewire
