#include <algorithm>
#include <array>
#include <string_view>

#include "egress/encode.h"

namespace tidewire {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kYellow = "\x1b[33m",
                           kPlain = "\x1b[0m";
constexpr std::string_view kGap = "  ";
constexpr int64_t kDay = 86'400 * kSecond;
constexpr size_t kDateLength = 10;

// Bytes from the wire must not steer a terminal.
void append_printable(TextWriter& out, std::string_view text) {
  for (const char c : text) out.put(c >= 0x20 && c < 0x7F ? c : '?');
}

void append_cell(TextWriter& out, std::string_view text, size_t width, bool right) {
  const size_t padding = width > text.size() ? width - text.size() : 0;
  out.put(kGap);
  if (right) out.pad(' ', padding);
  append_printable(out, text);
  if (!right) out.pad(' ', padding);
}

}  // namespace

TableEncoder::TableEncoder(const std::vector<const Plan*>& plans, bool colour) : colour_(colour) {
  const size_t clock = std::string_view("00:00:00").size();
  for (const Plan* plan : plans) {
    auto& columns = queries_.emplace_back();
    const auto add = [&](const std::string& name, FieldType type, size_t width) {
      columns.push_back({name, std::max(width, name.size()), type == FieldType::kInteger});
    };
    add("start", FieldType::kTime, clock);
    add("end", FieldType::kTime, clock);
    for (const KeyField& field : plan->key_fields) add(field.name, field.type, 0);
    for (const Output& output : plan->outputs)
      add(output.name, output.op == OutputOp::kCount ? FieldType::kInteger : output.type, 0);
  }
}

void TableEncoder::before(const Result& row, SinkProgress& progress, TextWriter& out) const {
  const int64_t day = floor_div(row.start.ns, kDay);
  if (progress.opened && progress.query == row.query && progress.day == day) return;
  if (progress.opened) out.put('\n');
  progress.opened = true;
  progress.query = row.query;
  progress.day = day;
  if (colour_) out.put(kBold);
  append_printable(out, row.plan->name);
  if (colour_) out.put(kPlain);
  std::array<char, 32> room;
  TextWriter time(room);
  append_time(time, row.start);
  out.put(kGap);
  out.put(time.text().substr(0, kDateLength));
  out.put('\n');
  if (colour_) out.put(kDim);
  for (const Column& column : queries_[row.query])
    append_cell(out, column.name, column.width, column.number);
  if (colour_) out.put(kPlain);
  out.put('\n');
}

void TableEncoder::row(const Result& row, TextWriter& out) {
  const Plan& plan = *row.plan;
  std::vector<Column>& columns = queries_[row.query];
  size_t at = 0;
  const auto cell = [&](auto append) {
    std::array<char, kFieldTextMax> room;
    TextWriter text(room);
    append(text);
    Column& column = columns[at++];
    column.width = std::max(column.width, text.size());
    append_cell(out, text.text(), column.width, column.number);
  };
  const bool marked = row.flags != 0;
  if (colour_ && marked) out.put(kYellow);
  cell([&](TextWriter& text) { append_time_of_day(text, row.start); });
  cell([&](TextWriter& text) { append_time_of_day(text, row.end); });
  for (size_t i = 0; i < plan.key_fields.size(); ++i) {
    const KeyField& field = plan.key_fields[i];
    cell([&](TextWriter& text) {
      if (!row.is_overflow_row()) return append_field(text, field, words_of(field, row.key));
      if (i == 0) text.put("__overflow__");
    });
  }
  for (const Output& output : plan.outputs)
    cell([&](TextWriter& text) { append_value(text, lower(output, row.cell)); });
  if ((row.flags & kFlagPartial) != 0) out.put("  partial");
  if ((row.flags & kFlagOverflow) != 0) out.put("  overflow");
  if (colour_ && marked) out.put(kPlain);
  out.put('\n');
}

}  // namespace tidewire
