#include <algorithm>
#include <array>
#include <string_view>

#include "egress/encode.h"

namespace tidewire {
namespace {

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of("\",\r\n") != std::string_view::npos;
}

// RFC 4180 2.5 to 2.7.
void append_text(TextWriter& out, std::string_view text) {
  if (!needs_quotes(text)) return out.put(text);
  out.put('"');
  for (const char c : text) {
    if (c == '"') out.put('"');
    out.put(c);
  }
  out.put('"');
}

std::string quoted_name(std::string_view name) {
  std::string room(2 * name.size() + 2, '\0');
  TextWriter out(room);
  append_text(out, name);
  return std::string(out.text());
}

void append_csv_time(TextWriter& out, EventTime time) {
  out.put(',');
  if (time.is_point()) append_time(out, time);
}

void append_csv_field(TextWriter& out, const KeyField& field, std::span<const int64_t> words) {
  if (is_absent(field, words)) return;
  std::array<char, kFieldTextMax> room;
  TextWriter text(room);
  append_field(text, field, words);
  append_text(out, text.text());
}

}  // namespace

CsvEncoder::CsvEncoder(const std::vector<const Plan*>& plans) {
  for (const Plan* plan : plans) {
    Query& query = queries_.emplace_back();
    query.name = quoted_name(plan->name);
    query.fills = plan->shaping.fill != EmptyFill::kNone;
    query.saturates = std::any_of(plan->outputs.begin(), plan->outputs.end(), may_saturate);
    std::string key;
    for (const KeyField& field : plan->key_fields) key += "," + quoted_name(field.name);
    query.header = "query,sequence,start,end,kind,index,overflow";
    if (query.fills) query.header += ",empty";
    if (query.saturates) query.header += ",saturated";
    query.header += key;
    for (const Output& output : plan->outputs) query.header += "," + quoted_name(output.name);
    query.header += '\n';
    query.late_header = "query,kind,reason,time,watermark,late_by_ns" + key;
    for (const KeyField& field : plan->value_fields)
      query.late_header += "," + quoted_name(field.name);
    query.late_header += '\n';
  }
}

void CsvEncoder::before(const Result& row, SinkProgress& progress, TextWriter& out) const {
  const Query& query = queries_[row.query];
  if (progress.first(row)) out.put(row.kind == RunKind::kLate ? query.late_header : query.header);
}

void CsvEncoder::append_key(const Result& row, TextWriter& out) {
  for (size_t i = 0; i < row.plan->key_fields.size(); ++i) {
    const KeyField& field = row.plan->key_fields[i];
    out.put(',');
    if (!row.is_overflow_row())
      append_csv_field(out, field, words_of(field, row.key));
    else if (i == 0)
      out.put("__overflow__");
  }
}

void CsvEncoder::row(const Result& row, TextWriter& out) {
  const Query& query = queries_[row.query];
  out.put(query.name);
  out.put(',');
  if (row.sequence != 0) append_integer(out, row.sequence);
  append_csv_time(out, row.start);
  append_csv_time(out, row.end);
  out.put(',');
  out.put(kind_name(row));
  out.put(',');
  append_integer(out, row.index);
  out.put((row.flags & kFlagOverflow) != 0 ? ",true" : ",false");
  if (query.fills) out.put((row.flags & kFlagEmpty) != 0 ? ",true" : ",false");
  if (query.saturates) out.put((row.flags & kFlagSaturated) != 0 ? ",true" : ",false");
  append_key(row, out);
  for (size_t i = 0; i < row.plan->outputs.size(); ++i) {
    out.put(',');
    if (!row.values[i].is_absent()) append_value(out, row.values[i]);
  }
  out.put('\n');
}

void CsvEncoder::late(const Result& row, TextWriter& out) {
  out.put(queries_[row.query].name);
  out.put(",late,");
  out.put(to_string(row.reason()));
  append_csv_time(out, row.start);
  append_csv_time(out, row.place);
  out.put(',');
  if (row.place.is_point()) append_integer(out, late_by(row));
  append_key(row, out);
  for (size_t i = 0; i < row.plan->value_fields.size(); ++i) {
    out.put(',');
    append_csv_field(out, row.plan->value_fields[i], words_of(row.plan->value_fields[i], row.cell));
  }
  out.put('\n');
}

}  // namespace tidewire
