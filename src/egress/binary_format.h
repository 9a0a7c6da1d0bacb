// The binary encoding, version 2: everything a reader needs. Little-endian; every record starts on
// a multiple of 8 bytes and is `bytes` long, padding with zeros included, so that a reader can skip
// what it does not know.
//
//   stream | kStream | kQuery 0 | kResult 0 | kResult 0 | kQuery 1 | kResult 1 | kResult 0 | ...
//
//   kStream   RecordHead  StreamBody  system name, padded
//   kQuery    RecordHead  QueryBody   query name, padded
//             key_fields x (KeyFieldBody  name, padded)
//             outputs    x (OutputBody    name, padded)
//   kResult   RecordHead  ResultBody  int64 key[key_words]  {uint64 low, int64 high} value[outputs]
//   kLateQuery  as kQuery, but with KeyFieldBody in the place of OutputBody; there, first_word
//               counts in the words behind the key
//   kLate     RecordHead  LateBody  int64 key[key_words]  int64 word[], to the record's end
//
// kStream opens a stream and may come again where a file was appended to: it forgets all queries. A
// kQuery stands before the first result of its query, a kLateQuery before its first late row. Names
// are UTF-8 and padded with zeros to a multiple of 8. Times are nanoseconds since 1970 UTC. A value
// is a 128-bit integer in two's complement, to be read with the type and decimals of its
// OutputBody; -2^127 is a value that is absent. In a row with kOverflowRow all key words are 0: it
// holds what found no room under its own key. Version 1 had no kind and index (zeros in reserved
// words) and no late rows.
#pragma once

#include <cstdint>

namespace tidewire::binary_format {

inline constexpr uint32_t kMagic = 0x57444954;  // "TIDW"
inline constexpr uint16_t kVersion = 2;

enum class RecordType : uint16_t {
  kStream = 1,
  kQuery = 2,
  kResult = 3,
  kLateQuery = 4,
  kLate = 5
};

struct RecordHead {
  uint32_t magic = kMagic;
  uint32_t bytes = 0;  // of the whole record
  RecordType type{};
  uint16_t version = kVersion;
  uint16_t query = 0;  // number of the query inside this stream; kStream: 0
  uint16_t reserved = 0;
};
static_assert(sizeof(RecordHead) == 16);

struct StreamBody {
  uint16_t name_bytes = 0;
  uint16_t reserved[3] = {};
};
static_assert(sizeof(StreamBody) == 8);

struct QueryBody {
  uint16_t name_bytes = 0;
  uint16_t key_fields = 0;
  uint16_t key_words = 0;
  uint16_t outputs = 0;  // kLateQuery: fields
};
static_assert(sizeof(QueryBody) == 8);

// type: 0 integer, 1 address, 2 MAC, 3 text, 4 IP protocol, 5 ethertype, 6 TCP flags, 7 flow, 8
// time
struct KeyFieldBody {
  uint8_t type = 0;
  uint8_t first_word = 0, words = 0;  // in key[]
  uint8_t decimals = 0;
  uint8_t prefix_ipv4 = 0, prefix_ipv6 = 0;  // address: bits that count
  uint8_t may_be_absent = 0;                 // 1: all words -1 mean absent; 2: the least int64 does
  uint8_t reserved0 = 0;
  uint16_t name_bytes = 0;
  uint16_t reserved1[3] = {};
};
static_assert(sizeof(KeyFieldBody) == 16);

// operation: 0 count, 1 sum, 2 average, 3 min, 4 max, 5 first, 6 last, 7 variance, 8 of a sample, 9
// deviation, 10 of a sample, 11 vwap, 12 any, 13 all, 14 top, 15 bottom, 16 quantile, 17 distinct,
// 18 delta, 19 rate
struct OutputBody {
  uint8_t operation = 0;
  uint8_t type = 0;      // as above
  uint8_t decimals = 0;  // the value is number / 10^decimals
  uint8_t reserved0 = 0;
  uint16_t name_bytes = 0;
  uint16_t reserved1 = 0;
};
static_assert(sizeof(OutputBody) == 8);

enum Flags : uint16_t {
  kOverflow = 1,
  kOverflowRow = 2,
  kPartial = 4,
  kEmpty = 8,
  kSaturated = 16
};

struct ResultBody {
  uint64_t sequence = 0;  // 0: provisional, outside the order
  int64_t place = 0;      // event time at which it fired
  int64_t start = 0, end = 0;
  uint16_t flags = 0;
  uint8_t kind = 0;  // 0 on time, 1 early, 2 update, 3 retraction, 4 provisional
  uint8_t reserved = 0;
  uint32_t index = 0;  // number of the firing on the window's own grid
};
static_assert(sizeof(ResultBody) == 40);

// reason: 0 late, 1 too far ahead, 2 too far behind, 3 before the least time
struct LateBody {
  int64_t time = 0;
  int64_t watermark = 0;  // that met the row; -2^63: none yet, 2^63 - 1: the input had ended
  uint8_t reason = 0;
  uint8_t reserved[7] = {};
};
static_assert(sizeof(LateBody) == 24);

}  // namespace tidewire::binary_format
