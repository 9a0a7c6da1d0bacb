// Files behind `lookup(field, "FILE", DEFAULT)` of a derived column: a value, range or prefix, and
// what it is called.
//
//   # networks of the company            a line: KEY,NAME; '#' begins a comment
//   10.0.0.0/8,inside                    KEY   a value as the field is shown, LOW..HIGH, or
//   10.1.0.0/16,branch office                  ADDRESS/BITS; the narrower range wins
//   192.0.2.7,"Smith, J."                NAME  up to 16 bytes, or a number where DEFAULT is one
//
// All keys become one sorted list of places where the answer changes, so a value, a range and the
// longest prefix are found by the same search, without a branch:
//
//   10/8 inside, 10.1/16 branch:   start  0.0.0.0   10.0.0.0   10.1.0.0   10.2.0.0   11.0.0.0
//                                  value  DEFAULT   inside     branch     inside     DEFAULT
//
// The tables of all sources are one set with one content hash, of which two versions exist: the one
// in force and the one before it, or the next. A reload is a punctuation with the hash (core.md
// rule 2), so a replay that has both files answers as the first run did.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/arena.h"
#include "query/schema.h"

namespace tidewire {

inline constexpr uint32_t kLookupWords = 2;  // of a key at most, and of a name
inline constexpr uint32_t kLookupEntriesMax = 1 << 20;
inline constexpr uint64_t kLookupFileMax = uint64_t{64} << 20;  // bytes

using LookupWords = std::array<int64_t, kLookupWords>;

struct LookupSpec {
  std::string path;
  Field key;    // what is looked up: type, words, decimals
  Field value;  // kText of two words, or kInteger
  LookupWords fallback{};
};

// What stands in one file, as the data path wants it.
struct LookupContent {
  std::vector<LookupWords> start, value;  // start[0] is the least key; words as lookup_order() has
  uint32_t entries = 0;                   // lines
  uint64_t hash = 0;                      // of the bytes
};

// A word whose signed order is the order of keys: addresses and texts are unsigned.
constexpr int64_t lookup_order(int64_t word, bool is_signed) {
  return is_signed ? word : word ^ INT64_MIN;
}
constexpr bool is_lookup_signed(const Field& key) { return key.words == 1; }

// Error: "LINE: what is wrong".
absl::StatusOr<LookupContent> parse_lookup(const LookupSpec& spec, std::string_view text);

// Keys from start[i] up to start[i + 1] have value[i]; value[count] is that of a key that is
// absent.
struct LookupTable {
  uint32_t count = 0;
  std::array<std::span<int64_t>, kLookupWords> start, value;
};

class LookupTables {
 public:
  // `contents`: one for each of `specs`. Room: twice the entries of now, or kLookupEntriesLeast.
  LookupTables(std::span<const LookupSpec> specs, std::span<const LookupContent> contents,
               Arena& arena);
  LookupTables(const LookupTables&) = delete;
  LookupTables& operator=(const LookupTables&) = delete;

  // The next version, on the control thread, once nobody uses the one before the newest any more.
  // Error: more entries than there is room for; nothing has changed then.
  absl::Status replace(std::span<const LookupContent> contents);

  // ---- any thread
  uint32_t version() const { return version_.load(std::memory_order_acquire); }
  uint64_t hash(uint32_t version) const { return sets_[version & 1].hash; }
  const LookupTable& table(uint32_t version, uint32_t index) const {
    return sets_[version & 1].tables[index];
  }
  // The newest version, or the one before it, with this content.
  uint32_t version_of(uint64_t hash) const;

 private:
  struct Set {
    uint64_t hash = 0;
    std::vector<LookupTable> tables;
  };
  void fill(Set& set, std::span<const LookupContent> contents);

  std::vector<LookupSpec> specs_;
  std::vector<uint32_t> room_;  // [table]: entries
  std::array<Set, 2> sets_;
  std::atomic<uint32_t> version_{0};
};

inline constexpr uint32_t kLookupEntriesLeast = 1024;
uint64_t lookup_hash(std::span<const LookupContent> contents);
// Bytes of both versions of one table.
uint64_t lookup_memory(const LookupSpec& spec, const LookupContent& content);

}  // namespace tidewire
