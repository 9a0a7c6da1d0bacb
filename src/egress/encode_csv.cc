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

}  // namespace

CsvEncoder::CsvEncoder(const std::vector<const Plan*>& plans) {
  for (const Plan* plan : plans) {
    Query& query = queries_.emplace_back();
    query.name = quoted_name(plan->name);
    query.header = "query,sequence,start,end,kind,overflow";
    for (const KeyField& field : plan->key_fields) query.header += "," + quoted_name(field.name);
    for (const Output& output : plan->outputs) query.header += "," + quoted_name(output.name);
    query.header += '\n';
  }
}

void CsvEncoder::before(const Result& row, SinkProgress& progress, TextWriter& out) const {
  if (progress.seen[row.query] == 0) out.put(queries_[row.query].header);
  progress.seen[row.query] = 1;
}

void CsvEncoder::row(const Result& row, TextWriter& out) {
  const Plan& plan = *row.plan;
  out.put(queries_[row.query].name);
  out.put(',');
  append_integer(out, row.sequence);
  out.put(',');
  append_time(out, row.start);
  out.put(',');
  append_time(out, row.end);
  out.put((row.flags & kFlagPartial) != 0 ? ",partial," : ",on_time,");
  out.put((row.flags & kFlagOverflow) != 0 ? "true" : "false");
  for (size_t i = 0; i < plan.key_fields.size(); ++i) {
    const KeyField& field = plan.key_fields[i];
    const std::span<const int64_t> words = words_of(field, row.key);
    out.put(',');
    if (row.is_overflow_row()) {
      if (i == 0) out.put("__overflow__");
    } else if (!is_absent(field, words)) {
      std::array<char, kFieldTextMax> room;
      TextWriter text(room);
      append_field(text, field, words);
      append_text(out, text.text());
    }
  }
  for (const Output& output : plan.outputs) {
    out.put(',');
    append_value(out, lower(output, row.cell));
  }
  out.put('\n');
}

}  // namespace tidewire
