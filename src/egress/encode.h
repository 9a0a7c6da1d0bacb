// Results and late rows as text or bytes. Four encodings, each with a row and what must stand
// before a row in one sink (a CSV header, a table heading, a binary schema); both are written into
// bounded buffers and allocate nothing.
//
// JSON lines: one object a line.
//   {"system":"edge1","query":"dns","sequence":7,"start":"2024-02-29T12:00:00.000000000Z",
//    "end":"2024-02-29T12:00:01.000000000Z","kind":"on_time","index":0,"overflow":false,
//    "key":{"src":"10.1.2.0/24","port":53},"values":{"packets":12,"average(length)":81.500000}}
//   sequence  null: a provisional row, which stands outside the order
//   start     null, as `end`: all of time
//   kind      "on_time"; "partial": the same, but fired by a drain before its time; "early": before
//             the window's end; "update": behind it; "retraction": a value that is taken back, the
//             next row of its key replaces it; "provisional": early, asked for by a clock
//   index     number of the firing on the window's own grid, from 0
//   empty     only of a query that fills: true: the window has no rows of this key
//   saturated only of a query that may: true: some value is beyond what can be shown, and the
//   largest
//             there is stands for it
//   overflow  true: some rows of this window went to its overflow row, or were lost and counted
//   key       the overflow row has "__overflow__" here; an absent field is null
//   numbers   integers and fixed-point decimals are JSON numbers with all their digits, whatever
//             their size, so that a field never changes its type; a reader that holds numbers as
//             doubles rounds beyond 2^53
//   values    null: there is none (the average of an empty window, the rate of a first one)
//   text      bytes outside printable ASCII are written \u00XX
//
// A late row, in sinks that are bound for them:
//   {"system":"edge1","query":"dns","kind":"late","reason":"late","time":"2024-...","watermark":
//    "2024-...","late_by_ns":1500000,"key":{"src":"10.1.2.0/24"},"values":{"length":82}}
//   reason      "late", "too_far_ahead", "too_far_behind", "before_min_time"
//   watermark   that met the row; null: none yet, or the input had ended
//   late_by_ns  watermark - time; below 0 where the row was kept out for another reason
//   values      the fields that the query aggregates, as they came
//
// CSV: RFC 4180 quoting, lines end in LF. A header line a query, before its first row; the first
// column names the query, columns as the fields of JSON. Absent: empty. Overflow row: __overflow__
// in the first key column.
//
// Table: for people. A heading where the query or the day changes; times of day; columns as wide as
// their widest text so far; what is not plainly on time says so behind the row.
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
  std::vector<uint8_t> seen;  // by query: 1 a result, 2 a late row
  bool opened = false;
  int32_t table = -1;  // of the last row
  int64_t day = 0;
  // Is this the first of its query and kind?
  bool first(const Result& row) {
    const uint8_t bit = row.kind == RunKind::kLate ? 2 : 1;
    const bool is_first = (seen[row.query] & bit) == 0;
    seen[row.query] |= bit;
    return is_first;
  }
};

// One row of `plan` and all that may stand before it, at most.
size_t encoded_bytes_max(const std::string& system_name, const Plan& plan);

class JsonEncoder {
 public:
  JsonEncoder(const std::string& system_name, const std::vector<const Plan*>& plans);
  void before(const Result&, SinkProgress&, TextWriter&) const {}
  void row(const Result& row, TextWriter& out);
  void late(const Result& row, TextWriter& out);

 private:
  struct Query {
    std::string opening;                        // {"system":...,"query":"..."
    std::vector<std::string> key, value, late;  // "name":
    bool fills = false, saturates = false;
  };
  void append_key(const Result& row, TextWriter& out) const;

  std::vector<Query> queries_;
};

class CsvEncoder {
 public:
  explicit CsvEncoder(const std::vector<const Plan*>& plans);
  void before(const Result& row, SinkProgress& progress, TextWriter& out) const;
  void row(const Result& row, TextWriter& out);
  void late(const Result& row, TextWriter& out);

 private:
  struct Query {
    std::string header, late_header, name;
    bool fills = false, saturates = false;
  };
  static void append_key(const Result& row, TextWriter& out);

  std::vector<Query> queries_;
};

class TableEncoder {
 public:
  TableEncoder(const std::vector<const Plan*>& plans, bool colour);
  void before(const Result& row, SinkProgress& progress, TextWriter& out) const;
  void row(const Result& row, TextWriter& out);
  void late(const Result& row, TextWriter& out);

 private:
  struct Column {
    std::string name;
    size_t width = 0;
    bool number = false;  // right-aligned
  };
  template <class Append>
  static void cell(Column& column, TextWriter& out, Append append);
  // Returns the column behind the key.
  static Column* append_key(const Result& row, Column* column, TextWriter& out);

  std::vector<std::vector<Column>> results_, late_;  // by query
  bool colour_;
};

class BinaryEncoder {
 public:
  BinaryEncoder(const std::string& system_name, const std::vector<const Plan*>& plans);
  void before(const Result& row, SinkProgress& progress, TextWriter& out) const;
  void row(const Result& row, TextWriter& out);
  void late(const Result& row, TextWriter& out);

 private:
  std::string stream_;
  std::vector<std::string> schemas_, late_schemas_;  // by query
};

using Encoder = std::variant<JsonEncoder, CsvEncoder, TableEncoder, BinaryEncoder>;
Encoder make_encoder(Encoding encoding, bool colour, const std::string& system_name,
                     const std::vector<const Plan*>& plans);

// Shared by the encoders.
void append_value(TextWriter& out, const Value& value);
std::span<const int64_t> words_of(const KeyField& field, const int64_t* key);
// How far behind the watermark a late row was, in ns; its watermark is a point in time.
inline int128 late_by(const Result& row) { return int128{row.place.ns} - row.start.ns; }

}  // namespace tidewire
