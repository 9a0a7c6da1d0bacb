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

void append_clock(TextWriter& out, EventTime time) {
  if (time.is_point())
    append_time_of_day(out, time);
  else
    out.put('-');
}

// 0.250 s; 3 s is "3.000 s"
void append_late_by(TextWriter& out, const Result& row) {
  if (!row.place.is_point()) return out.put('-');
  append_decimal(out, divide_half_even(late_by(row), kMillisecond, 0), 3);
  out.put(" s");
}

// What a row is where that is not plainly "on time".
void append_marks(TextWriter& out, const Result& row) {
  if (row.fire != FireKind::kOnTime || (row.flags & kFlagPartial) != 0) {
    out.put(kGap);
    out.put(kind_name(row));
  }
  if (row.fire == FireKind::kEarly || row.fire == FireKind::kUpdate) {
    out.put(' ');
    append_integer(out, row.index);
  }
  if ((row.flags & kFlagEmpty) != 0) out.put("  empty");
  if ((row.flags & kFlagSaturated) != 0) out.put("  saturated");
  if ((row.flags & kFlagOverflow) != 0) out.put("  overflow");
}

}  // namespace

TableEncoder::TableEncoder(const std::vector<const Plan*>& plans, bool colour) : colour_(colour) {
  const size_t clock = std::string_view("00:00:00").size();
  for (const Plan* plan : plans) {
    auto& columns = results_.emplace_back();
    auto& late = late_.emplace_back();
    const auto add = [](std::vector<Column>& to, const std::string& name, FieldType type,
                        size_t width) {
      to.push_back({name, std::max(width, name.size()), type == FieldType::kInteger});
    };
    add(columns, "start", FieldType::kTime, clock);
    add(columns, "end", FieldType::kTime, clock);
    add(late, "time", FieldType::kTime, clock);
    add(late, "reason", FieldType::kText, 0);
    add(late, "late by", FieldType::kInteger, 0);
    for (const KeyField& field : plan->key_fields) {
      add(columns, field.name, field.type, 0);
      add(late, field.name, field.type, 0);
    }
    for (const Output& output : plan->outputs) add(columns, output.name, shown_type(output), 0);
    for (const KeyField& field : plan->value_fields) add(late, field.name, field.type, 0);
  }
}

void TableEncoder::before(const Result& row, SinkProgress& progress, TextWriter& out) const {
  const bool late = row.kind == RunKind::kLate;
  const int64_t day = row.start.is_point() ? floor_div(row.start.ns, kDay) : INT64_MIN;
  const int32_t table = row.query * 2 + static_cast<int32_t>(late);
  if (progress.opened && progress.table == table && progress.day == day) return;
  if (progress.opened) out.put('\n');
  progress.opened = true;
  progress.table = table;
  progress.day = day;
  if (colour_) out.put(kBold);
  append_printable(out, row.plan->name);
  if (late) out.put(" (late)");
  if (colour_) out.put(kPlain);
  if (row.start.is_point()) {
    std::array<char, 32> room;
    TextWriter time(room);
    append_time(time, row.start);
    out.put(kGap);
    out.put(time.text().substr(0, kDateLength));
  }
  out.put('\n');
  if (colour_) out.put(kDim);
  for (const Column& column : (late ? late_ : results_)[row.query])
    append_cell(out, column.name, column.width, column.number);
  if (colour_) out.put(kPlain);
  out.put('\n');
}

template <class Append>
void TableEncoder::cell(Column& column, TextWriter& out, Append append) {
  std::array<char, kFieldTextMax> room;
  TextWriter text(room);
  append(text);
  column.width = std::max(column.width, text.size());
  append_cell(out, text.text(), column.width, column.number);
}

TableEncoder::Column* TableEncoder::append_key(const Result& row, Column* column, TextWriter& out) {
  for (const KeyField& field : row.plan->key_fields) {
    const bool first = &field == row.plan->key_fields.data();
    cell(*column++, out, [&](TextWriter& text) {
      if (!row.is_overflow_row()) return append_field(text, field, words_of(field, row.key));
      if (first) text.put("__overflow__");
    });
  }
  return column;
}

void TableEncoder::row(const Result& row, TextWriter& out) {
  Column* column = results_[row.query].data();
  const bool marked = row.flags != 0 || row.fire != FireKind::kOnTime;
  if (colour_ && marked) out.put(kYellow);
  cell(*column++, out, [&](TextWriter& text) { append_clock(text, row.start); });
  cell(*column++, out, [&](TextWriter& text) { append_clock(text, row.end); });
  column = append_key(row, column, out);
  for (size_t i = 0; i < row.plan->outputs.size(); ++i)
    cell(*column++, out, [&](TextWriter& text) {
      if (row.values[i].is_absent()) return text.put('-');
      append_value(text, row.values[i]);
    });
  append_marks(out, row);
  if (colour_ && marked) out.put(kPlain);
  out.put('\n');
}

void TableEncoder::late(const Result& row, TextWriter& out) {
  Column* column = late_[row.query].data();
  cell(*column++, out, [&](TextWriter& text) { append_clock(text, row.start); });
  cell(*column++, out, [&](TextWriter& text) { text.put(to_string(row.reason())); });
  cell(*column++, out, [&](TextWriter& text) { append_late_by(text, row); });
  column = append_key(row, column, out);
  for (size_t i = 0; i < row.plan->value_fields.size(); ++i)
    cell(*column++, out, [&](TextWriter& text) {
      const KeyField& field = row.plan->value_fields[i];
      append_field(text, field, words_of(field, row.cell));
    });
  out.put('\n');
}

}  // namespace tidewire
