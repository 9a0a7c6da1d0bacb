#include "memory/arena.h"

#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <thread>

namespace tidewire {
namespace {

constexpr size_t kSmallPage = 4096;
constexpr size_t kRange = size_t{64} << 30;  // of addresses, which cost nothing

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

bool transparent_hugepages_enabled() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  return text.find("[never]") == std::string::npos && !text.empty();
}

// Cores that may help: those of the process, and of them the node's where there is one. Not the
// caller's own mask, since a worker is pinned to its core before it takes memory.
cpu_set_t helping_cores(int node) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(getpid(), sizeof cores, &cores);
  if (node < 0 || numa_available() < 0) return cores;
  cpu_set_t on_node = cores;
  bitmask* const mask = numa_allocate_cpumask();
  if (numa_node_to_cpus(node, mask) == 0)
    for (unsigned core = 0; core < CPU_SETSIZE; ++core)
      if (core >= mask->size || !numa_bitmask_isbitset(mask, core)) CPU_CLR(core, &on_node);
  numa_free_cpumask(mask);
  return CPU_COUNT(&on_node) > 0 ? on_node : cores;
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
  for (const Range& range : ranges_) munmap(range.start, range.size);
}

// Addresses only: nothing is promised and nothing counted against what the host may commit.
bool Arena::reserve_range(size_t size) {
  for (const size_t wanted : {std::max(kRange, size), size}) {  // ulimit -v may allow no more
    void* p = mmap(nullptr, wanted + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) continue;
    ranges_.push_back({static_cast<std::byte*>(p), wanted + kPage});
    at_ = end_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(p), kPage));
    limit_ = at_ + wanted;
    return true;
  }
  return false;
}

bool Arena::bind(std::byte* start, size_t size) const {
  if (options_.node < 0 || numa_available() < 0) return true;
  unsigned long mask[16] = {};
  const auto node = static_cast<unsigned>(options_.node);
  mask[node / 64] = 1ul << (node % 64);
  // PREFERRED where a fall-back is allowed, BIND where the node is required.
  const int mode = options_.require_node ? MPOL_BIND : MPOL_PREFERRED;
  return mbind(start, size, mode, mask, sizeof(mask) * 8, 0) == 0;
}

// Faults pages in. The kernel zeroes them, at 1 to 4 GB/s a core, which is nearly all of the time
// that a start takes: so several cores do it.
bool Arena::populate(std::byte* start, size_t size) {
  constexpr size_t kLeast = size_t{32} << 20;  // that is worth a thread
  constexpr size_t kStep = 4 * kPage;
  const cpu_set_t cores = helping_cores(options_.node);
  const size_t helpers =
      std::min<size_t>({size / kLeast, static_cast<size_t>(CPU_COUNT(&cores)), 8});
  std::atomic<size_t> next{0};
  std::atomic<int> error{0};
  const auto fault_in = [&] {
    for (size_t at; (at = next.fetch_add(kStep)) < size && error == 0;) {
      const size_t step = std::min(kStep, size - at);
      if (madvise(start + at, step, MADV_POPULATE_WRITE) != 0) error = errno;
      ready_.fetch_add(step, std::memory_order_relaxed);
    }
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < helpers)
      threads.emplace_back([&] {
        pthread_setname_np(pthread_self(), "memory");
        pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
        fault_in();
      });
  } catch (const std::system_error&) {  // no thread is left: slower
  }
  fault_in();
  for (std::thread& thread : threads) thread.join();
  errno = error;
  return error == 0;
}

bool Arena::back(std::byte* start, size_t size) {
  constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  // 1. Hugepages reserved by the administrator. Bound before the first touch; a pool that is too
  //    small on this node shows when the pages are populated, so they are populated here and not
  //    by the first event.
  if (mmap(start, size, PROT_READ | PROT_WRITE, kAnonymous | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT),
           -1, 0) != MAP_FAILED &&
      bind(start, size) && populate(start, size)) {
    backed_.push_back({start, size, kPage});
    return true;
  }
  // 2. and 3. Anonymous memory that transparent hugepages can back.
  if (mmap(start, size, PROT_READ | PROT_WRITE, kAnonymous | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    return false;
  const bool huge = transparent_hugepages_enabled() && madvise(start, size, MADV_HUGEPAGE) == 0;
  if (!bind(start, size) && options_.require_node) return false;
  if (options_.fault_in && !populate(start, size)) return false;
  backed_.push_back({start, size, huge ? kPage : kSmallPage});
  weakest_ = std::max(weakest_, huge ? PageKind::kTransparentHuge : PageKind::kPlain);
  return true;
}

std::span<std::byte> Arena::take_bytes(size_t bytes, size_t align, std::string_view purpose) {
  const auto free_bytes = [&](const std::byte* to) { return static_cast<size_t>(to - at_); };
  const auto gap = [&] { return -reinterpret_cast<uintptr_t>(at_) & (align - 1); };
  const auto have = [&] {
    if ((!at_ || gap() + bytes > free_bytes(limit_)) && !reserve_range(round_up(bytes, kPage)))
      return false;
    if (gap() + bytes <= free_bytes(end_)) return true;
    const size_t more = round_up(gap() + bytes - free_bytes(end_), kPage);
    if (!back(end_, more)) return false;
    end_ += more;
    return true;
  };
  if (!have()) {
    error_ =
        "cannot reserve " + std::to_string(bytes >> 20) + " MiB for " + std::string(purpose) +
        (options_.node >= 0 ? " on NUMA node " + std::to_string(options_.node) : std::string()) +
        ": " + std::strerror(errno);
    throw std::bad_alloc();
  }
  std::byte* const p = at_ + gap();
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
  for (const Backed& piece : backed_)
    for (size_t offset = 0; offset < piece.size; offset += piece.page) {
      void* page = piece.start + offset;
      int status = -1;
      if (move_pages(0, 1, &page, nullptr, &status, 0) != 0) continue;
      elsewhere += static_cast<uint64_t>(status >= 0 && status != options_.node);
    }
  return elsewhere;
}

}  // namespace tidewire
