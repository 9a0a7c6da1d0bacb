// A query as the data path runs it: columns, predicate program, key words, cell layout, geometry,
// sizes. Made once at start by query/compile.h from a QuerySpec; nothing below parses a word.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/int128.h"
#include "base/time.h"
#include "event/rows.h"
#include "query/schema.h"

namespace tidewire {

// ---- windows
enum class WindowKind : uint8_t { kTumbling, kSliding, kSession };
struct WindowShape {
  WindowKind kind = WindowKind::kTumbling;
  Duration size, slide, offset;  // aligned: slide == size for tumbling; |offset| < slide
  Duration gap;                  // session
};

// ---- predicates: a postfix program over 256-row masks; one column loop per step, nothing per row
struct PredicateStep {
  enum class Op : uint8_t {
    kRange,   // low <= column <= high (equality: low == high)
    kMasked,  // (column & low) == high
    kIn,      // column is in set[low .. low + high)
    kPrefix,  // address columns (column, column + 1) within prefix: words (low, high), `mask` of
              // both words
    kAnd,
    kOr,   // the two masks on top of the stack
    kNot,  // the mask on top
  } op;
  uint8_t column = 0;
  int64_t low = 0, high = 0;
  int64_t mask_low = 0,
          mask_high = 0;  // kPrefix: masks for the low and the high word of the address
};
inline constexpr uint32_t kPredicateDepthMax = 8;

// ---- keys
struct KeyWord {
  uint8_t column = 0;
  // An address cut to a prefix: IPv4 and IPv6 have their own masks, and which applies is seen in
  // the two columns (column of the high word in `address`). Otherwise the word is taken as it is.
  enum class Cut : uint8_t { kNone, kHighWord, kLowWord } cut = Cut::kNone;
  uint8_t address = 0;
  int64_t mask_ipv4 = -1, mask_ipv6 = -1;
};
struct KeyField {    // for reading a key back: encode, explain
  std::string name;  // "src/24"
  FieldType type = FieldType::kInteger;
  uint8_t first_word = 0, words = 1, decimals = 0;
  uint8_t prefix_ipv4 = 32, prefix_ipv6 = 128;  // kAddress
  bool may_be_absent = false;
};

// ---- aggregates: the cell's word 0 is always the row count
enum class CellOp : uint8_t { kSum64, kSum128, kMin, kMax, kFirst, kLast };
struct CellPart {
  CellOp op;
  uint8_t value = 0;  // index into Rows::value
  uint16_t word = 0;  // first word in the cell. kSum128: low, high. kFirst, kLast: time, lane << 48
                      // | ordinal, value
};
enum class CellKind : uint8_t {
  kStats,  // 32 B {count, sum, min, max} of one value: one vector operation
  kWide,   // count and a list of parts
};
enum class OutputOp : uint8_t { kCount, kSum, kAverage, kMin, kMax, kFirst, kLast };
struct Output {
  std::string name;  // "sum(wire_length)" or as the config names it
  OutputOp op = OutputOp::kCount;
  uint16_t word = 0;  // in the cell; kAverage: of its sum
  bool sum128 = false;
  FieldType type = FieldType::kInteger;  // how a value is shown
  uint8_t decimals = 0;
};

enum class Placement : uint8_t {
  kLocal,
  kExchange
};  // kLocal: the lane determines the key; nothing crosses

struct Plan {
  QueryId id{};
  std::string name;
  HashSeed seed;
  std::vector<LaneId> lanes;         // that feed it
  std::vector<PredicateStep> where;  // empty: all rows
  std::vector<int64_t> set;          // sorted operands of kIn
  std::vector<KeyWord> key;          // 0 to key_words of them; the rest are 0
  std::vector<KeyField> key_fields;
  uint32_t key_words = 0;       // 0, 1, 2 or 4: chooses the store
  std::vector<uint8_t> values;  // columns that reach the cell, as Rows::value
  CellKind cell = CellKind::kStats;
  std::vector<CellPart> parts;  // kWide
  uint32_t cell_words = 4;      // kWide: rounded up to a multiple of 4 (32 B)
  std::vector<Output> outputs;
  WindowShape window;
  Placement placement = Placement::kExchange;
  uint32_t shards = 1;        // power of two, from max_keys only, never from cores
  uint64_t max_keys = 0;      // of the whole query
  uint64_t max_panes = 0;     // open at once (aligned)
  uint64_t batch_panes = 0;   // and these, with one chunk each: WindowStore::has_room
  uint64_t max_sessions = 0;  // beyond one a key (session)
  uint64_t max_deferred = 0;
  bool one_lane() const { return lanes.size() == 1; }
};

// Which shards of a query one worker holds: [first, first + count). Local placement: all of them on
// every worker.
struct ShardRange {
  uint32_t first = 0, count = 1;
};
// Owner of a shard when `workers` share a query: contiguous ranges, so that worker order is hash
// order.
constexpr uint32_t owner_of(uint32_t shard, uint32_t shards, uint32_t workers) {
  return static_cast<uint32_t>(static_cast<uint64_t>(shard) * workers / shards);
}
constexpr ShardRange shards_of(uint32_t worker, uint32_t shards, uint32_t workers) {
  const auto first = [&](uint32_t w) {  // least shard with owner_of >= w
    return static_cast<uint32_t>((static_cast<uint64_t>(w) * shards + workers - 1) / workers);
  };
  return {first(worker), first(worker + 1) - first(worker)};
}
constexpr uint32_t shard_of(uint64_t hash, uint32_t shards) {
  return static_cast<uint32_t>((static_cast<uint128>(hash) * shards) >> 64);
}

}  // namespace tidewire
