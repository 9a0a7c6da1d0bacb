#include <algorithm>
#include <array>
#include <string_view>

#include "egress/encode.h"

namespace tidewire {
namespace {

bool is_plain(unsigned char c) { return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F; }

void append_escape(TextWriter& out, unsigned char c) {
  if (c == '"' || c == '\\') {
    out.put('\\');
    out.put(static_cast<char>(c));
    return;
  }
  out.put("\\u");
  append_hex(out, c, 4);
}

// Names come from the configuration and are UTF-8.
std::string quoted_name(std::string_view name) {
  std::array<char, 6> room;
  std::string quoted = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte)) {
      quoted += c;
      continue;
    }
    TextWriter escape(room);
    append_escape(escape, byte);
    quoted += escape.text();
  }
  return quoted + '"';
}

bool is_number(FieldType type) { return type == FieldType::kInteger; }

void append_json_field(TextWriter& out, const KeyField& field, std::span<const int64_t> words) {
  if (is_absent(field, words)) return out.put("null");
  if (is_number(field.type)) return append_field(out, field, words);
  std::array<char, kFieldTextMax> room;
  TextWriter text(room);
  append_field(text, field, words);
  out.put('"');
  for (const char c : text.text()) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte) && byte < 0x80)
      out.put(c);
    else
      append_escape(out, byte);
  }
  out.put('"');
}

// A window of all time has no start and no end.
void append_json_time(TextWriter& out, std::string_view name, EventTime time) {
  out.put(name);
  if (!time.is_point()) return out.put("null");
  out.put('"');
  append_time(out, time);
  out.put('"');
}

}  // namespace

JsonEncoder::JsonEncoder(const std::string& system_name, const std::vector<const Plan*>& plans) {
  for (const Plan* plan : plans) {
    Query& query = queries_.emplace_back();
    query.opening =
        "{\"system\":" + quoted_name(system_name) + ",\"query\":" + quoted_name(plan->name);
    query.fills = plan->shaping.fill != EmptyFill::kNone;
    query.saturates = std::any_of(plan->outputs.begin(), plan->outputs.end(), may_saturate);
    for (const KeyField& field : plan->key_fields)
      query.key.push_back((query.key.empty() ? "" : ",") + quoted_name(field.name) + ":");
    for (const Output& output : plan->outputs)
      query.value.push_back((query.value.empty() ? "" : ",") + quoted_name(output.name) + ":");
    for (const KeyField& field : plan->value_fields)
      query.late.push_back((query.late.empty() ? "" : ",") + quoted_name(field.name) + ":");
  }
}

void JsonEncoder::append_key(const Result& row, TextWriter& out) const {
  if (row.is_overflow_row()) return out.put(",\"key\":\"__overflow__\"");
  const Query& query = queries_[row.query];
  out.put(",\"key\":{");
  for (size_t i = 0; i < query.key.size(); ++i) {
    const KeyField& field = row.plan->key_fields[i];
    out.put(query.key[i]);
    append_json_field(out, field, words_of(field, row.key));
  }
  out.put('}');
}

void JsonEncoder::row(const Result& row, TextWriter& out) {
  const Query& query = queries_[row.query];
  out.put(query.opening);
  out.put(",\"sequence\":");
  if (row.sequence == 0)
    out.put("null");
  else
    append_integer(out, row.sequence);
  append_json_time(out, ",\"start\":", row.start);
  append_json_time(out, ",\"end\":", row.end);
  out.put(",\"kind\":\"");
  out.put(kind_name(row));
  out.put("\",\"index\":");
  append_integer(out, row.index);
  out.put((row.flags & kFlagOverflow) != 0 ? ",\"overflow\":true" : ",\"overflow\":false");
  if (query.fills) out.put((row.flags & kFlagEmpty) != 0 ? ",\"empty\":true" : ",\"empty\":false");
  if (query.saturates)
    out.put((row.flags & kFlagSaturated) != 0 ? ",\"saturated\":true" : ",\"saturated\":false");
  append_key(row, out);
  out.put(",\"values\":{");
  for (size_t i = 0; i < row.plan->outputs.size(); ++i) {
    const Value& value = row.values[i];
    out.put(query.value[i]);
    if (value.is_absent()) {
      out.put("null");
    } else if (is_number(value.type)) {
      append_value(out, value);
    } else {
      out.put('"');
      append_value(out, value);
      out.put('"');
    }
  }
  out.put("}}\n");
}

void JsonEncoder::late(const Result& row, TextWriter& out) {
  const Query& query = queries_[row.query];
  out.put(query.opening);
  out.put(",\"kind\":\"late\",\"reason\":\"");
  out.put(to_string(row.reason()));
  out.put('"');
  append_json_time(out, ",\"time\":", row.start);
  append_json_time(out, ",\"watermark\":", row.place);
  out.put(",\"late_by_ns\":");
  if (row.place.is_point())
    append_integer(out, late_by(row));
  else
    out.put("null");
  append_key(row, out);
  out.put(",\"values\":{");
  for (size_t i = 0; i < query.late.size(); ++i) {
    out.put(query.late[i]);
    append_json_field(out, row.plan->value_fields[i],
                      words_of(row.plan->value_fields[i], row.cell));
  }
  out.put("}}\n");
}

}  // namespace tidewire
