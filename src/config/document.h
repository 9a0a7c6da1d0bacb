// A TOML text as a plain tree that remembers where everything stands. The library that reads TOML
// is named in document.cc only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidewire {

// Line and column (of characters) count from 1; line 0: the file as a whole.
struct Place {
  uint32_t line = 0, column = 0;
  auto operator<=>(const Place&) const = default;
};

struct Problem {
  Place place;
  std::string text;  // cause, and the nearest valid name where one is near
};
// "FILE:LINE:COLUMN: text"
std::string to_string(const Problem& problem, std::string_view file);

struct Node {
  enum class Type : uint8_t { kTable, kArray, kText, kInteger, kFloat, kBool, kTime } type;
  std::string key;  // in its table
  Place key_place, place;
  std::string text;            // kText
  int64_t integer = 0;         // kInteger, kBool
  std::vector<Node> children;  // of tables and arrays, in file order
  const Node* find(std::string_view name) const;
};
// "a text", "an integer", ...
std::string_view to_string(Node::Type type);

struct Document {
  Node root{Node::Type::kTable, {}, {}, {}, {}, 0, {}};
  std::optional<Problem> error;  // not TOML
};
Document parse_document(std::string_view text);

// Where character `offset` of a text's value stands in the source: `start` is the place of its
// opening quote. Escapes count as the one character that they mean.
Place place_inside(std::string_view source, Place start, size_t offset);

}  // namespace tidewire
