#include "line.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tidewire::conformance {
namespace {

std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t at = std::min(text.find(by), text.size());
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(std::min(at + by.size(), text.size()));
  }
  return parts;
}

// Spaces stand between options only, never inside parentheses.
bool parse_operator(std::string_view text, Line& line) {
  const std::vector<std::string> words = split(text, " ");
  if (words.empty()) return false;
  const std::string& first = words[0];
  const size_t open = first.find('(');
  line.name = first.substr(0, open);
  if (open != std::string::npos) {
    if (first.back() != ')') return false;
    line.arguments = split(std::string_view(first).substr(open + 1, first.size() - open - 2), ",");
  }
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) return false;
    line.options[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return true;
}

// MIN and MAX as numbers where they are words of their own.
std::string with_numbers(std::string text) {
  const auto in_word = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (const auto& [word, edge] : {std::pair("MIN", INT64_MIN), std::pair("MAX", INT64_MAX)})
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at)
      if (!in_word(at + 3) && (at == 0 || !in_word(at - 1)))
        text.replace(at, 3, std::to_string(edge));
  return text;
}

}  // namespace

std::string normal_form(std::string_view text, bool sorted) {
  std::vector<std::string> tokens = split(with_numbers(std::string(text)), "; ");
  const auto stays = [](const std::string& token) {
    return token.starts_with("w ") || token.starts_with("drop ");
  };
  for (auto from = tokens.begin(); sorted && from != tokens.end();) {
    const auto to = std::find_if(from, tokens.end(), stays);
    std::sort(from, to);
    from = to == tokens.end() ? to : to + 1;
  }
  std::string form;
  for (const std::string& token : tokens) form += token + "; ";
  return form;
}

std::optional<int64_t> parse_number(std::string_view text) {
  if (text == "MIN") return INT64_MIN;
  if (text == "MAX") return INT64_MAX;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return number;
}

int64_t Line::number(size_t argument) const {
  return argument < arguments.size() ? parse_number(arguments[argument]).value_or(0) : 0;
}

std::optional<Line> parse_line(std::string_view text, std::string& error) {
  error.clear();
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.empty() || text.front() == '#') return std::nullopt;
  std::vector<std::string> fields;
  for (int field = 0; field < 4; ++field) {
    const size_t bar = text.find(" | ");
    // An empty last field may have lost the space behind its bar.
    const bool last = field == 3 && bar == std::string_view::npos && text.ends_with(" |");
    if (bar == std::string_view::npos && !last) {
      error = "has not the five fields ID | origin | operator | script | expected";
      return std::nullopt;
    }
    fields.emplace_back(text.substr(0, last ? text.size() - 2 : bar));
    text.remove_prefix(last ? text.size() : bar + 3);
  }
  Line line;
  line.id = fields[0];
  line.script = split(fields[3], "; ");
  line.expected = text;
  if (!parse_operator(fields[2], line)) {
    error = "has an operator that cannot be read: " + fields[2];
    return std::nullopt;
  }
  return line;
}

}  // namespace tidewire::conformance
