// Results as text or bytes. Four encodings, each with a row and what must stand before a row in one
// sink (a CSV header, a table heading, a binary schema); both are written into bounded buffers and
// allocate nothing.
//
// JSON lines: one object a line.
//   {"system":"edge1","query":"dns","sequence":7,"start":"2024-02-29T12:00:00.000000000Z",
//    "end":"2024-02-29T12:00:01.000000000Z","kind":"on_time","overflow":false,
//    "key":{"src":"10.1.2.0/24","port":53},"values":{"packets":12,"average(length)":81.500000}}
//   kind      "on_time", or "partial": fired by a drain before its time
//   overflow  true: some rows of this window went to its overflow row, or were lost and counted
//   key       the overflow row has "__overflow__" here; an absent field is null
//   numbers   integers and fixed-point decimals are JSON numbers with all their digits, whatever
//             their size, so that a field never changes its type; a reader that holds numbers as
//             doubles rounds beyond 2^53
//   text      bytes outside printable ASCII are written \u00XX
//
// CSV: RFC 4180 quoting, lines end in LF. A header line a query, before its first row; the first
// column names the query. Absent: empty. Overflow row: __overflow__ in the first key column.
//
// Table: for people. A heading where the query or the day changes; times of day; columns as wide as
// their widest text so far.
//
// Binary: binary_format.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "egress/egress.h"
#include "egress/lower.h"
#include "egress/result.h"
#include "query/field_text.h"

namespace tidewire {

// What one sink has been given so far.
struct SinkProgress {
  std::vector<uint8_t> seen;  // by query
  bool opened = false;
  int32_t query = -1;  // of the last row
  int64_t day = 0;
};

// One row of `plan` and all that may stand before it, at most.
size_t encoded_bytes_max(const std::string& system_name, const Plan& plan);

class JsonEncoder {
 public:
  JsonEncoder(const std::string& system_name, const std::vector<const Plan*>& plans);
  void before(const Result&, SinkProgress&, TextWriter&) const {}
  void row(const Result& row, TextWriter& out);

 private:
  struct Query {
    std::string opening;                  // {"system":...,"query":"...","sequence":
    std::vector<std::string> key, value;  // "name":
  };
  std::vector<Query> queries_;
};

class CsvEncoder {
 public:
  explicit CsvEncoder(const std::vector<const Plan*>& plans);
  void before(const Result& row, SinkProgress& progress, TextWriter& out) const;
  void row(const Result& row, TextWriter& out);

 private:
  struct Query {
    std::string header, name;
  };
  std::vector<Query> queries_;
};

class TableEncoder {
 public:
  TableEncoder(const std::vector<const Plan*>& plans, bool colour);
  void before(const Result& row, SinkProgress& progress, TextWriter& out) const;
  void row(const Result& row, TextWriter& out);

 private:
  struct Column {
    std::string name;
    size_t width = 0;
    bool number = false;  // right-aligned
  };
  std::vector<std::vector<Column>> queries_;
  bool colour_;
};

class BinaryEncoder {
 public:
  BinaryEncoder(const std::string& system_name, const std::vector<const Plan*>& plans);
  void before(const Result& row, SinkProgress& progress, TextWriter& out) const;
  void row(const Result& row, TextWriter& out);

 private:
  std::string stream_;
  std::vector<std::string> schemas_;
};

using Encoder = std::variant<JsonEncoder, CsvEncoder, TableEncoder, BinaryEncoder>;
Encoder make_encoder(Encoding encoding, bool colour, const std::string& system_name,
                     const std::vector<const Plan*>& plans);

// Shared by the encoders.
void append_value(TextWriter& out, const Value& value);
std::span<const int64_t> words_of(const KeyField& field, const int64_t* key);

}  // namespace tidewire
