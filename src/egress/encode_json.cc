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

void append_key_field(TextWriter& out, const KeyField& field, std::span<const int64_t> words) {
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

}  // namespace

JsonEncoder::JsonEncoder(const std::string& system_name, const std::vector<const Plan*>& plans) {
  for (const Plan* plan : plans) {
    Query& query = queries_.emplace_back();
    query.opening = "{\"system\":" + quoted_name(system_name) +
                    ",\"query\":" + quoted_name(plan->name) + ",\"sequence\":";
    for (const KeyField& field : plan->key_fields)
      query.key.push_back((query.key.empty() ? "" : ",") + quoted_name(field.name) + ":");
    for (const Output& output : plan->outputs)
      query.value.push_back((query.value.empty() ? "" : ",") + quoted_name(output.name) + ":");
  }
}

void JsonEncoder::row(const Result& row, TextWriter& out) {
  const Query& query = queries_[row.query];
  const Plan& plan = *row.plan;
  out.put(query.opening);
  append_integer(out, row.sequence);
  out.put(",\"start\":\"");
  append_time(out, row.start);
  out.put("\",\"end\":\"");
  append_time(out, row.end);
  out.put((row.flags & kFlagPartial) != 0 ? "\",\"kind\":\"partial\",\"overflow\":"
                                          : "\",\"kind\":\"on_time\",\"overflow\":");
  out.put((row.flags & kFlagOverflow) != 0 ? "true,\"key\":" : "false,\"key\":");
  if (row.is_overflow_row()) {
    out.put("\"__overflow__\"");
  } else {
    out.put('{');
    for (size_t i = 0; i < plan.key_fields.size(); ++i) {
      out.put(query.key[i]);
      append_key_field(out, plan.key_fields[i], words_of(plan.key_fields[i], row.key));
    }
    out.put('}');
  }
  out.put(",\"values\":{");
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const Value value = lower(plan.outputs[i], row.cell);
    out.put(query.value[i]);
    if (is_number(value.type)) {
      append_value(out, value);
      continue;
    }
    out.put('"');
    append_value(out, value);
    out.put('"');
  }
  out.put("}}\n");
}

}  // namespace tidewire
