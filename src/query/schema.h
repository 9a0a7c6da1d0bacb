// What a wire format offers: its fields, by name, as int64 words. A query names fields; the formats
// write only those that some query uses (ColumnMap).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_batch.h"

namespace tidewire {

enum class FieldType : uint8_t {
  kInteger,    // one word; `decimals` > 0: fixed-point
  kAddress,    // two words, high first: IPv6, or IPv4 as ::ffff:a.b.c.d; absent: kAbsent in both
  kMac,        // one word, 48 bits
  kText,       // up to `words` x 8 bytes, big-endian packed, padded with zero bytes on the right
  kProtocol,   // one word: IP protocol number, shown by name
  kEthertype,  // one word, shown as hexadecimal or by name
  kFlags,      // one word: TCP flags, shown as letters
  kFlow,       // two words: direction-free flow key, query/flow_key.h
  kTime,       // one word: EventTime, UTC nanoseconds
};

// A value of a field of two words.
struct TwoWords {
  int64_t high, low;
  bool operator==(const TwoWords&) const = default;
};

struct Field {
  std::string_view name;
  FieldType type = FieldType::kInteger;
  uint8_t words = 1;
  uint8_t bits = 63;  // magnitude: |value| < 2^bits; decides whether a 64-bit sum can overflow
  uint8_t decimals = 0;
  bool may_be_absent = false;  // kAbsent is written then, and shown as "-"
  std::string_view help;       // one line, for `tidewire help fields`
  bool non_negative = false;   // no value is below zero: halves a histogram
  int64_t absent = kAbsent;    // the word for it: kAbsentNumber where kAbsent is a value
  uint8_t prefix_ipv4 = 32, prefix_ipv6 = 128;  // kAddress: cut to these
};

// What values of a field are possible: |value| < 2^bits.
struct ValueRange {
  uint8_t bits = 63;
  bool non_negative = false;
};

struct Schema {
  std::string_view format;  // "packet", "itch"
  std::vector<Field> fields;
  // Where a field stands, or -1.
  int find(std::string_view name) const {
    for (size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == name) return static_cast<int>(i);
    return -1;
  }
};

// A computed number may be -1, so it is absent by a word that no sum reaches: they stop one before.
inline constexpr int64_t kAbsentNumber = INT64_MIN;

inline constexpr uint8_t kNoColumn = 0xFF;
inline constexpr uint32_t kFieldMax = 64;

// Field index -> its first column in EventBatch, or kNoColumn. One per source: the union over its
// queries.
struct ColumnMap {
  std::array<uint8_t, kFieldMax> column;
  uint32_t used = 0;
  ColumnMap() { column.fill(kNoColumn); }
  bool wants(uint32_t field) const { return column[field] != kNoColumn; }
};

}  // namespace tidewire
