// How a store takes its memory: the same constructor runs once with an arena and once without, and
// the second only adds up. So the sum that `explain` prints cannot differ from what is taken.
// Without an arena the pieces are empty: constructors fill them by walking over them, never by
// counting.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/arena.h"

namespace tidewire {

class Reserve {
 public:
  Reserve(Arena* arena, std::string query) : arena_(arena), query_(std::move(query)) {}

  template <class T>
  std::span<T> take(size_t count, std::string_view what) {
    const std::string purpose = query_ + ": " + std::string(what);
    if (arena_) return arena_->take<T>(count, purpose);
    for (ArenaTerm& term : terms_)
      if (term.purpose == purpose) {
        term.bytes += count * sizeof(T);
        return {};
      }
    terms_.push_back({purpose, count * sizeof(T)});
    return {};
  }
  const std::vector<ArenaTerm>& terms() const { return terms_; }

 private:
  Arena* arena_;
  std::string query_;
  std::vector<ArenaTerm> terms_;
};

}  // namespace tidewire
