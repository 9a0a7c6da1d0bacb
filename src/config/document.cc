#include "config/document.h"

#include <toml++/toml.h>
#include <algorithm>

namespace tidewire {
namespace {

Place place_of(const toml::source_position& position) {
  return {static_cast<uint32_t>(position.line), static_cast<uint32_t>(position.column)};
}

// toml++ keeps a table's keys sorted by name; people think in the order of the file.
void sort_by_place(std::vector<Node>& nodes) {
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
    return std::min(a.key_place, a.place) < std::min(b.key_place, b.place);
  });
}

Node convert(const toml::node& from) {
  Node to{Node::Type::kTable, {}, {}, place_of(from.source().begin), {}, 0, {}};
  if (const toml::table* table = from.as_table()) {
    for (const auto& [key, value] : *table) {
      Node child = convert(value);
      child.key = std::string(key.str());
      child.key_place = place_of(key.source().begin);
      to.children.push_back(std::move(child));
    }
    sort_by_place(to.children);
  } else if (const toml::array* array = from.as_array()) {
    to.type = Node::Type::kArray;
    for (const toml::node& value : *array) to.children.push_back(convert(value));
  } else if (const auto* text = from.as_string()) {
    to.type = Node::Type::kText;
    to.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    to.type = Node::Type::kInteger;
    to.integer = integer->get();
  } else if (const auto* flag = from.as_boolean()) {
    to.type = Node::Type::kBool;
    to.integer = flag->get() ? 1 : 0;
  } else {
    to.type = from.is_floating_point() ? Node::Type::kFloat : Node::Type::kTime;
  }
  return to;
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Byte offset of a place; the end if it is not there.
size_t byte_at(std::string_view source, Place place) {
  size_t at = 0;
  for (uint32_t line = 1; line < place.line; ++line) {
    const size_t end = source.find('\n', at);
    if (end == std::string_view::npos) return source.size();
    at = end + 1;
  }
  for (uint32_t column = 1; column < place.column && at < source.size(); ++column) {
    ++at;
    while (at < source.size() && continues(source[at])) ++at;
  }
  return at;
}

bool is_toml(std::string_view text) {
  try {
    return !toml::parse(text).empty();
  } catch (const toml::parse_error&) {
    return false;
  }
}

// Whether the parser stopped in a text without quotes: it then speaks of floats, booleans and
// dates. What is a value by itself is not the mistake.
bool unquoted(std::string_view source, Place place) {
  size_t at = std::min(byte_at(source, place), source.size());
  while (at > 0 && std::string_view("=[{,\n").find(source[at - 1]) == std::string_view::npos) --at;
  if (at == 0 || source[at - 1] == '\n') return false;
  at = std::min(source.find_first_not_of(' ', at), source.size());
  const std::string value(source.substr(at, source.find_first_of(",]}#\r\n", at) - at));
  if (value.empty() || std::string_view("\"'[{=").find(value[0]) != std::string_view::npos)
    return false;
  return !is_toml("value = " + value);
}

}  // namespace

std::string to_string(const Problem& problem, std::string_view file) {
  std::string text(file);
  if (problem.place.line > 0)
    text += ":" + std::to_string(problem.place.line) + ":" + std::to_string(problem.place.column);
  return text + ": " + problem.text;
}

const Node* Node::find(std::string_view name) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const Node& child) { return child.key == name; });
  return found == children.end() ? nullptr : &*found;
}

std::string_view to_string(Node::Type type) {
  switch (type) {
    case Node::Type::kTable:
      return "a table";
    case Node::Type::kArray:
      return "a list";
    case Node::Type::kText:
      return "a text";
    case Node::Type::kInteger:
      return "an integer";
    case Node::Type::kFloat:
      return "a float";
    case Node::Type::kBool:
      return "true or false";
    case Node::Type::kTime:
      return "a date or time";
  }
  return {};
}

Document parse_document(std::string_view text) {
  Document document;
  try {
    const toml::table root = toml::parse(text);
    document.root = convert(root);
  } catch (const toml::parse_error& error) {
    document.error = {place_of(error.source().begin), std::string(error.description())};
    if (unquoted(text, document.error->place))
      document.error->text += "; texts, times and sizes stand in quotes: \"10 s\"";
  }
  return document;
}

Place place_inside(std::string_view source, Place start, size_t offset) {
  size_t at = byte_at(source, start);
  if (at >= source.size()) return start;
  const char quote = source[at];
  const bool three = source.substr(at, 3) == std::string(3, quote);
  const bool escapes = quote == '"';
  Place place = start;
  const auto step = [&] {
    if (source[at] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (at + 1 >= source.size() || !continues(source[at + 1])) {
      ++place.column;
    }
    ++at;
  };
  for (int i = three ? 3 : 1; i > 0 && at < source.size(); --i) step();
  if (three && at < source.size() && source[at] == '\r') step();
  if (three && at < source.size() && source[at] == '\n') step();  // it does not belong to the value
  for (; offset > 0 && at < source.size(); --offset) {
    if (escapes && source[at] == '\\' && at + 1 < source.size()) {
      // A backslash at a line's end joins the next line's text; \u has 4 digits, \U 8.
      const char kind = source[at + 1];
      for (int n = kind == 'u' ? 6 : kind == 'U' ? 10 : 2; n > 0 && at < source.size(); --n) step();
      if (kind == '\n')
        while (at < source.size() && (source[at] == ' ' || source[at] == '\t')) step();
      continue;
    }
    step();
  }
  return place;
}

}  // namespace tidewire
