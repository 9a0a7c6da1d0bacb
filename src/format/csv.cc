#include "format/csv.h"

#include <absl/status/status.h>

#include <algorithm>
#include <charconv>

#include "format/text_parser.h"

namespace tidewire {
namespace {

using namespace text;

constexpr uint32_t kColumnsMax = 256;
constexpr uint32_t kHeaderMax = 16'384;
constexpr uint16_t kNobody = UINT16_MAX, kTime = UINT16_MAX - 1;

// "#3" is column 2; -1: it is a name.
int column_number(std::string_view place) {
  int number = 0;
  if (!place.starts_with('#')) return -1;
  const char* const end = place.data() + place.size();
  const auto [stop, code] = std::from_chars(place.data() + 1, end, number);
  return code == std::errc() && stop == end && number >= 1 ? number - 1 : -1;
}

class CsvParser final : public TextParser<CsvParser> {
 public:
  CsvParser(const ParserOptions& options, const ColumnMap& columns, const TextOptions& text)
      : TextParser(options, columns, text), header_(kHeaderMax), value_(kHeaderMax) {
    whose_.fill(kNobody);
    by_number();
  }

  void read_line(std::string_view line, EventBatch& batch, LaneCounts& counts) {
    if (text().header && header_bytes_ == 0) return take_header(line, counts);
    // Each file of a list begins with it again.
    if (header_bytes_ > 0 && line == std::string_view(header_.data(), header_bytes_)) return;
    begin_line();
    EventTime time = EventTime::before_all();
    uint32_t column = 0;
    for (bool more = true; more && column < kColumnsMax; ++column) {
      std::string_view value;
      if (!next_value(line, value, more)) return counts.note(Note::kUnreadable);
      const uint16_t whose = whose_[column];
      if (whose == kNobody || value.empty()) continue;
      if (whose == kTime)
        time = time_of(value, counts);
      else
        set(text().fields[whose], value, counts);
    }
    emit(time, batch, counts);
  }

 private:
  void by_number() {
    const auto assign = [this](std::string_view place, uint16_t whose) {
      const int column = column_number(place);
      if (column >= 0 && column < static_cast<int>(kColumnsMax))
        whose_[static_cast<size_t>(column)] = whose;
    };
    for (size_t f = 0; f < text().fields.size(); ++f)
      assign(text().fields[f].place, static_cast<uint16_t>(f));
    assign(text().time, kTime);
  }

  // What names no column stays absent; one line that names none at all is no header but counted.
  void take_header(std::string_view line, LaneCounts& counts) {
    header_bytes_ = static_cast<uint32_t>(std::min<size_t>(line.size(), kHeaderMax));
    std::copy_n(line.data(), header_bytes_, header_.data());
    std::string_view rest = line;
    bool any = false, more = true;
    for (uint32_t column = 0; more && column < kColumnsMax; ++column) {
      std::string_view name;
      if (!next_value(rest, name, more)) break;
      if (column == 0 && name.starts_with("\xEF\xBB\xBF")) name.remove_prefix(3);
      if (name == text().time) whose_[column] = kTime;
      for (size_t f = 0; f < text().fields.size(); ++f)
        if (text().fields[f].place == name) whose_[column] = static_cast<uint16_t>(f);
      any |= whose_[column] != kNobody;
    }
    if (!any) counts.note(Note::kUnreadable);
  }

  // Takes the first value off the line. False: a quote is not closed. Where quotes stand doubled in
  // a value, it is written anew.
  bool next_value(std::string_view& line, std::string_view& value, bool& more) {
    if (!line.starts_with('"')) {
      const size_t end = line.find(text().separator);
      value = line.substr(0, end);
      more = end != std::string_view::npos;
      line.remove_prefix(more ? end + 1 : line.size());
      return true;
    }
    line.remove_prefix(1);
    size_t written = 0;
    bool doubled = false;
    for (size_t at = 0;; ++at) {
      at = line.find('"', at);
      if (at == std::string_view::npos) return false;
      const bool is_double = at + 1 < line.size() && line[at + 1] == '"';
      const size_t from = doubled ? skip_ : 0, bytes = at + (is_double ? 1 : 0) - from;
      if (doubled || is_double) {
        const size_t room = std::min(bytes, value_.size() - written);
        std::copy_n(line.data() + from, room, value_.data() + written);
        written += room;
      }
      if (is_double) {
        doubled = true;
        skip_ = ++at + 1;
        continue;
      }
      value = doubled ? std::string_view(value_.data(), written) : line.substr(0, at);
      line.remove_prefix(at + 1);
      break;
    }
    more = line.starts_with(text().separator);
    if (more) line.remove_prefix(1);
    return more || line.empty();
  }

  std::array<uint16_t, kColumnsMax> whose_{};  // index of the field, by column
  std::vector<char> header_, value_;
  uint32_t header_bytes_ = 0;
  size_t skip_ = 0;
};

}  // namespace

absl::StatusOr<FormatPtr> open_csv_format(const FormatOptions& options) {
  auto made = make_text_options(options, TextTimeUnit::kText);
  if (!made.ok()) return made.status();
  if (made->time.empty() && !made->time_may_be_arrival)
    return absl::InvalidArgumentError(
        "time: name the column that holds it, or set missing_time to \"arrival\"");
  if (!made->header)
    for (const TextField& field : made->fields)
      if (column_number(field.place) < 0)
        return absl::InvalidArgumentError("fields: '" + field.name +
                                          "': without a header, columns go by number: \"NAME "
                                          "TYPE from #3\"");
  return std::make_unique<TextFormat<CsvParser>>("csv", *std::move(made));
}

}  // namespace tidewire
