// A query as the data path runs it: columns, predicate program, key words, cell layout, geometry,
// sizes. Made once at start by query/compile.h from a QuerySpec; nothing below parses a word.
#pragma once

#include <algorithm>
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
enum class WindowKind : uint8_t {
  kTumbling,
  kSliding,
  kSession,
  kCumulate,  // [S, S + step), [S, S + 2 step), ... [S, S + size): SQL CUMULATE
  kCalendar,  // hours, days, weeks, months of a zone's wall clock
  kCount,     // every `row_slide` rows of a key, the last `rows` of them
  kGlobal,    // one window a key, which ends with the input
};
enum class CalendarUnit : uint8_t { kHour, kDay, kWeek, kMonth };
// What a later result of one window says (core.md rule 6): all so far; what came since the one
// before (Flink: a purging trigger); or first the old value taken back, then all so far.
enum class Accumulation : uint8_t { kAccumulating, kDiscarding, kRetracting };

struct WindowShape {
  WindowKind kind = WindowKind::kTumbling;
  Duration size{}, slide{}, offset{};  // aligned: slide == size but for sliding; |offset| < slide
  CalendarUnit unit = CalendarUnit::kDay;
  std::string zone{};       // kCalendar: IANA name
  Duration gap{};           // session; where Plan::gap_value is set, rows bring their own
  Duration max_duration{};  // session; 0: none. Else no session crosses this grid from 1970 on
  uint64_t rows = 0, row_slide = 0;  // kCount
  // Results before the end: every `early` of event time from the window's start (kCumulate: its
  // step), every `early_rows` rows of a key and window in lane order. 0: none.
  Duration early{};
  uint64_t early_rows = 0;
  // A row is accepted while its stamp < end + lateness: a result at once for each such row behind
  // the end (Flink's), or gathered at end + k * gather and at end + lateness.
  Duration lateness{}, gather{};
  Accumulation accumulation = Accumulation::kAccumulating;
  // What open windows hold, every so much of the clock and marked provisional; 0: never.
  Duration provisional{};

  bool is_aligned() const {
    return kind == WindowKind::kTumbling || kind == WindowKind::kSliding ||
           kind == WindowKind::kCumulate || kind == WindowKind::kCalendar;
  }
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
struct Predicate {
  std::vector<PredicateStep> steps;  // empty: all rows
  std::vector<int64_t> set;          // sorted operands of kIn
};

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
  int64_t absent = kAbsent;  // Field::absent
};

// ---- aggregates: the cell's word 0 is always the row count
enum class CellOp : uint8_t {
  kSum64,
  kSum128,
  kMin,
  kMax,
  kFirst,  // time, lane << 48 | ordinal, value
  kLast,
  kSumProducts,  // of value * second, 192 bits; of squares where both are the same
  kNonZero,      // rows whose value is not 0
  kTop,          // the `size` largest values, best first, as unsigned words: value ^ top_flip(op)
  kBottom,
  kHistogram,  // query/sketch.h
  kDistinct,
};
struct CellPart {
  CellOp op;
  uint8_t value = 0;  // index into Rows::value
  uint16_t word = 0;  // first word in the cell; words are low first
  // kSumProducts: the other factor. kDistinct: the value's second word; == value: it has one.
  uint8_t second = 0;
  uint8_t size = 0;    // kTop, kBottom
  ValueRange range{};  // kHistogram
};
inline constexpr uint32_t kCellPartsMax = 32;
inline constexpr uint32_t kTopMax = 8;
// A row of a result: up to kResultHeadWords, key words, cell words. It fits a result block behind
// the head of its run (window/result_block.h).
inline constexpr uint32_t kResultHeadWords = 3;
inline constexpr uint32_t kResultRowBytesMax = 16 * 1024 - 48;

enum class CellKind : uint8_t {
  kStats,  // 32 B {count, sum, min, max} of one value: one vector operation
  kWide,   // count and a list of parts
};
// kDelta, kRate: of another output, against the key's window before (egress/shape.h).
enum class OutputOp : uint8_t {
  kCount,
  kSum,
  kAverage,
  kMin,
  kMax,
  kFirst,
  kLast,
  kVariance,  // of the population; the next one of a sample (divided by rows - 1)
  kVarianceSample,
  kDeviation,
  kDeviationSample,
  kVwap,  // sum(price * volume) / sum(volume)
  kAny,   // 1 where any row's value is not 0
  kAll,
  kTop,  // one of the largest values
  kBottom,
  kQuantile,
  kDistinct,
  kDelta,
  kRate
};
struct Output {
  std::string name;  // "sum(wire_length)" or as the config names it
  OutputOp op = OutputOp::kCount;
  uint16_t word = 0;    // in the cell: of its part; variance, deviation, vwap: of the products
  bool sum128 = false;  // its sum has two words
  FieldType type = FieldType::kInteger;  // how a value is shown
  uint8_t decimals = 0;                  // of the field; vwap: of the price
  uint16_t of = 0;                       // kDelta, kRate: index of an output that is neither
  uint16_t sum_word = 0;  // variance, deviation: of the values' sum; vwap: of the volumes'
  // kQuantile: millionths; kTop, kBottom: 1 for the best, 2 for the next, ...
  uint32_t parameter = 0;
  ValueRange range{};  // kQuantile: of the field
};

inline constexpr uint8_t kAverageDecimals = 6;  // beyond the field's own
// Of the number that a result shows.
constexpr uint8_t shown_decimals(const Output& output) {
  switch (output.op) {
    case OutputOp::kAverage:
    case OutputOp::kDeviation:
    case OutputOp::kDeviationSample:
    case OutputOp::kVwap:
    case OutputOp::kRate:
      return static_cast<uint8_t>(output.decimals + kAverageDecimals);
    case OutputOp::kVariance:
    case OutputOp::kVarianceSample:
      return static_cast<uint8_t>(2 * output.decimals + kAverageDecimals);
    case OutputOp::kCount:
    case OutputOp::kAny:
    case OutputOp::kAll:
    case OutputOp::kDistinct:
      return 0;
    case OutputOp::kSum:
    case OutputOp::kMin:
    case OutputOp::kMax:
    case OutputOp::kFirst:
    case OutputOp::kLast:
    case OutputOp::kTop:
    case OutputOp::kBottom:
    case OutputOp::kQuantile:
    case OutputOp::kDelta:
      break;
  }
  return output.decimals;
}
// And its type: a number, or as its field.
constexpr FieldType shown_type(const Output& output) {
  switch (output.op) {
    case OutputOp::kMin:
    case OutputOp::kMax:
    case OutputOp::kFirst:
    case OutputOp::kLast:
    case OutputOp::kTop:
    case OutputOp::kBottom:
      return output.type;
    case OutputOp::kCount:
    case OutputOp::kSum:
    case OutputOp::kAverage:
    case OutputOp::kVariance:
    case OutputOp::kVarianceSample:
    case OutputOp::kDeviation:
    case OutputOp::kDeviationSample:
    case OutputOp::kVwap:
    case OutputOp::kAny:
    case OutputOp::kAll:
    case OutputOp::kQuantile:
    case OutputOp::kDistinct:
    case OutputOp::kDelta:
    case OutputOp::kRate:
      break;
  }
  return FieldType::kInteger;
}

enum class Placement : uint8_t {
  kLocal,
  kExchange
};  // kLocal: the lane determines the key; nothing crosses

// ---- what egress makes of results before they leave
enum class EmptyFill : uint8_t { kNone, kZero, kCarry };
struct HavingStep {  // postfix, over the outputs of one result
  enum class Op : uint8_t { kRange, kAnd, kOr, kNot } op = Op::kRange;
  uint16_t output = 0;       // kRange: low <= value <= high, at its shown_decimals
  int128 low = 0, high = 0;  // a value that is absent is in no range
};
struct Shaping {
  std::vector<HavingStep> having;  // empty: all results
  // Empty windows of a key: those of the `fill_windows` windows behind its last one with rows.
  EmptyFill fill = EmptyFill::kNone;
  uint32_t fill_windows = 0;
  // Of each window only the `top` results with the greatest (or least) value, best first; 0: all.
  uint32_t top = 0;
  uint16_t top_output = 0;
  bool top_least = false;
};

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
  // What they are called: late rows are shown with them. first_word counts in `values`.
  std::vector<KeyField> value_fields;
  // Session: the value that holds a row's own gap, as a count of `gap_unit`; -1: none. Below zero
  // is zero, above kWindowLengthMax is that.
  int gap_value = -1;
  Duration gap_unit;
  CellKind cell = CellKind::kStats;
  std::vector<CellPart> parts;  // kWide
  uint32_t cell_words = 4;      // kWide: rounded up to a multiple of 4 (32 B)
  std::vector<Output> outputs;
  WindowShape window;
  Shaping shaping;
  bool late_rows = false;  // a sink wants those that are late or diverted, one by one
  Placement placement = Placement::kExchange;
  uint32_t shards = 1;        // power of two, from max_keys only, never from cores
  uint64_t max_keys = 0;      // of the whole query
  uint64_t max_panes = 0;     // open at once (aligned)
  uint64_t batch_panes = 0;   // and these, with one chunk each: WindowStore::has_room
  uint64_t max_sessions = 0;  // beyond one a key (session)
  uint64_t max_deferred = 0;
  // (window, key) pairs that a late row has changed, each until its window is cleaned up.
  uint64_t max_changes = 0;
  bool one_lane() const { return lanes.size() == 1; }
  // Do some results stand at the stamp of a row, instead of at a fire point?
  bool answers_rows() const {
    return late_rows || window.kind == WindowKind::kCount || window.early_rows > 0 ||
           (window.lateness.ns > 0 && window.gather.ns == 0);
  }
  // Of a row that is natural in a pane nothing counts but its key and values: not when it came.
  bool only_key_and_values() const {
    const WindowKind kind = window.kind;
    const bool aligned =
        kind != WindowKind::kSession && kind != WindowKind::kCount && kind != WindowKind::kGlobal;
    return aligned && window.early_rows == 0 &&
           std::none_of(parts.begin(), parts.end(), [](const CellPart& part) {
             return part.op == CellOp::kFirst || part.op == CellOp::kLast;
           });
  }
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
