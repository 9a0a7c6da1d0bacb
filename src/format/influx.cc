#include "format/influx.h"

#include <absl/status/status.h>

#include <algorithm>
#include <array>

#include "format/text_parser.h"

namespace tidewire {
namespace {

using namespace text;

constexpr uint32_t kUnescapedMax = 4096;

using CharSet = std::array<bool, 256>;
constexpr CharSet set_of(std::string_view characters) {
  CharSet set{};
  for (const char c : characters) set[static_cast<unsigned char>(c)] = true;
  return set;
}
constexpr CharSet kEnds = set_of(" ,"), kKeyEnds = set_of("=, "), kQuote = set_of("\"");

class InfluxParser final : public TextParser<InfluxParser> {
 public:
  InfluxParser(const ParserOptions& options, const ColumnMap& columns, const TextOptions& text)
      : TextParser(options, columns, text), plain_(kUnescapedMax) {}

  void read_line(std::string_view line, EventBatch& batch, LaneCounts& counts) {
    if (line[0] == '#') return;  // a comment
    begin_line();
    next_ = 0;
    size_t at = end_of(line, 0, kEnds);
    if (at == 0) return counts.note(Note::kUnreadable);
    give("measurement", line.substr(0, at), counts);
    // Tags up to a space that no backslash stands before, then fields in which texts have quotes.
    while (at < line.size() && line[at] == ',')
      if (!pair(line, ++at, false, counts)) return counts.note(Note::kUnreadable);
    if (at >= line.size()) return counts.note(Note::kUnreadable);
    do
      if (!pair(line, ++at, true, counts)) return counts.note(Note::kUnreadable);
    while (at < line.size() && line[at] == ',');
    std::string_view stamp = line.substr(std::min(at + 1, line.size()));
    while (stamp.ends_with(' ')) stamp.remove_suffix(1);
    emit(stamp.empty() ? EventTime::before_all() : time_of(stamp, counts), batch, counts);
  }

 private:
  // Where one of `ends` stands that is not escaped; the line's end.
  static size_t end_of(std::string_view line, size_t at, const CharSet& ends) {
    for (; at < line.size(); ++at) {
      const auto c = static_cast<unsigned char>(line[at]);
      if (c == '\\')
        ++at;
      else if (ends[c])
        return at;
    }
    return line.size();
  }

  // KEY=VALUE at `at`, which is behind it afterwards. False: it is none.
  bool pair(std::string_view line, size_t& at, bool is_field, LaneCounts& counts) {
    const size_t equals = end_of(line, at, kKeyEnds);
    if (equals == at || equals >= line.size() || line[equals] != '=') return false;
    const std::string_view key = line.substr(at, equals - at);
    at = equals + 1;
    if (is_field && at < line.size() && line[at] == '"') {
      const size_t quote = end_of(line, at + 1, kQuote);
      if (quote >= line.size()) return false;
      give(key, line.substr(at + 1, quote - at - 1), counts);
      at = quote + 1;
      return at == line.size() || line[at] == ',' || line[at] == ' ';
    }
    const size_t end = end_of(line, at, kEnds);
    std::string_view value = line.substr(at, end - at);
    if (value.empty()) return false;
    // 12i and 12u are integers.
    const char last = value.back();
    if (is_field && (last == 'i' || last == 'u') && value.size() > 1) value.remove_suffix(1);
    give(key, value, counts);
    at = end;
    return true;
  }

  // Most lines have their parts in one order, which is the declared one: it is tried first.
  void give(std::string_view key, std::string_view value, LaneCounts& counts) {
    const std::vector<TextField>& fields = text().fields;
    const std::string_view name = unescape(key);
    for (size_t i = 0; i < fields.size(); ++i) {
      const size_t f = next_ + i < fields.size() ? next_ + i : next_ + i - fields.size();
      if (fields[f].place != name) continue;
      set(fields[f], unescape(value), counts);
      next_ = f + 1 < fields.size() ? f + 1 : 0;
      return;
    }
  }

  std::string_view unescape(std::string_view text) {
    if (text.find('\\') == std::string_view::npos) return text;
    size_t bytes = 0;
    for (size_t at = 0; at < text.size() && bytes < plain_.size(); ++at) {
      const bool escaped = text[at] == '\\' && at + 1 < text.size() &&
                           std::string_view(" ,=\"\\").find(text[at + 1]) != std::string_view::npos;
      at += escaped ? 1 : 0;
      plain_[bytes++] = text[at];
    }
    return {plain_.data(), bytes};
  }

  std::vector<char> plain_;
  size_t next_ = 0;
};

}  // namespace

absl::StatusOr<FormatPtr> open_influx_format(const FormatOptions& options) {
  auto made = make_text_options(options, TextTimeUnit::kNanoseconds);
  if (!made.ok()) return made.status();
  return std::make_unique<TextFormat<InfluxParser>>("influx", *std::move(made));
}

}  // namespace tidewire
