// All memory of the data path: reserved at start on one NUMA node, faulted in, handed out once,
// never returned. What backs it is the best of three that the host has, and is said at start:
//   hugepages reserved on that node  ->  transparent hugepages  ->  plain pages.
// Pieces lie one behind the other in one range of addresses, which is backed page by page as they
// are taken: nothing is lost between them but what rounds the whole up to a page.
// `purpose` names each piece in the memory sum that `explain` prints.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace tidewire {

enum class PageKind : uint8_t { kHuge, kTransparentHuge, kPlain };
std::string_view to_string(PageKind kind);

struct ArenaTerm {
  std::string purpose;
  uint64_t bytes = 0;
};

// Where memory for one worker should come from. node < 0: wherever the kernel likes (one node,
// tests).
struct ArenaOptions {
  int node = -1;
  bool require_node = false;  // a node that cannot give the memory is an error, not a fall-back
  bool fault_in = true;       // false: tests and small tools that must start fast
};

class Arena {
 public:
  explicit Arena(ArenaOptions options);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Zeroed, aligned to at least 64. Throws std::bad_alloc at setup (a message with node and size is
  // in error()); the arena must not be used on a sealed thread.
  template <class T>
  std::span<T> take(size_t count, std::string_view purpose) {
    static_assert(alignof(T) <= 4096);
    auto bytes = take_bytes(count * sizeof(T), alignof(T) < 64 ? 64 : alignof(T), purpose);
    return {reinterpret_cast<T*>(bytes.data()), count};
  }
  std::span<std::byte> take_bytes(size_t bytes, size_t align, std::string_view purpose);

  // What a large page holds: the last one of an arena is taken whole.
  static constexpr size_t kPage = size_t{2} << 20;

  uint64_t bytes() const { return bytes_; }
  // Faulted in so far, pages as a whole. Any thread: a start of many gigabytes takes its time.
  uint64_t ready() const { return ready_.load(std::memory_order_relaxed); }
  PageKind weakest() const { return weakest_; }  // the least of what had to be used so far
  const std::vector<ArenaTerm>& terms() const { return terms_; }
  const std::string& error() const { return error_; }
  // How many pages lie on another node than asked, by move_pages(2). 0 when node < 0.
  uint64_t pages_elsewhere() const;

 private:
  struct Range {  // of addresses
    std::byte* start;
    size_t size;
  };
  struct Backed {
    std::byte* start;
    size_t size;
    size_t page;
  };
  bool reserve_range(size_t size);
  bool back(std::byte* start, size_t size);
  bool bind(std::byte* start, size_t size) const;
  bool populate(std::byte* start, size_t size);

  ArenaOptions options_;
  std::vector<Range> ranges_;   // the last one is being handed out
  std::vector<Backed> backed_;  // pieces of them
  std::byte* at_ = nullptr;     // of the last range: what comes is free,
  std::byte* end_ = nullptr;    // and not backed yet,
  std::byte* limit_ = nullptr;  // and another's
  uint64_t bytes_ = 0;
  std::atomic<uint64_t> ready_{0};
  PageKind weakest_ = PageKind::kHuge;
  std::vector<ArenaTerm> terms_;
  std::string error_;
};

}  // namespace tidewire
