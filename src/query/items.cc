#include "query/items.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "query/nearest.h"

namespace tidewire {
namespace {

constexpr uint8_t kDefaultPrefixIpv6 = 64;  // a site's subnet, what one host or home usually has

std::optional<uint32_t> find_field(std::string_view name, uint32_t at, const Schema& schema,
                                   ItemError& error) {
  const int found = schema.find(name);
  if (found >= 0) return static_cast<uint32_t>(found);
  std::vector<std::string_view> names;
  for (const Field& field : schema.fields) names.push_back(field.name);
  error = {at, "format '" + std::string(schema.format) + "' has no field '" + std::string(name) +
                   "'" + suggestion(name, names)};
  return std::nullopt;
}

bool read_prefix(std::string_view text, uint32_t at, uint8_t most, uint8_t& out, ItemError& error) {
  unsigned bits = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, bits);
  if (code == std::errc() && stop == end && bits <= most) {
    out = static_cast<uint8_t>(bits);
    return true;
  }
  error = {at, "expected a prefix length from 0 to " + std::to_string(most) + ", found '" +
                   std::string(text) + "'"};
  return false;
}

struct Operation {
  std::string_view name;
  OutputOp op;
};
constexpr std::array<Operation, 7> kOperations = {{{"count", OutputOp::kCount},
                                                   {"sum", OutputOp::kSum},
                                                   {"min", OutputOp::kMin},
                                                   {"max", OutputOp::kMax},
                                                   {"avg", OutputOp::kAverage},
                                                   {"first", OutputOp::kFirst},
                                                   {"last", OutputOp::kLast}}};

// What an operation can be asked of: sums need numbers, the others an order, or just one word.
const char* refusal(OutputOp op, const Field& field) {
  switch (op) {
    case OutputOp::kCount:
    case OutputOp::kDelta:
    case OutputOp::kRate:
      return nullptr;
    case OutputOp::kSum:
    case OutputOp::kAverage:
      return field.type == FieldType::kInteger ? nullptr : "is not a number";
    case OutputOp::kMin:
    case OutputOp::kMax:
      return field.type == FieldType::kInteger || field.type == FieldType::kTime
                 ? nullptr
                 : "is neither a number nor a time";
    case OutputOp::kFirst:
    case OutputOp::kLast:
      return field.words == 1 ? nullptr : "is wider than one word of 8 bytes; use it as a key";
  }
  return nullptr;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Names of result columns stand in CSV headers and JSON keys: they need no quoting.
bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= 64 && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

std::optional<KeyItem> parse_key_item(std::string_view text, const Schema& schema,
                                      ItemError& error) {
  const size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  const std::optional<uint32_t> field = find_field(name, 0, schema, error);
  if (!field) return std::nullopt;
  KeyItem item{std::string(text), *field, 32, 128};
  if (slash == std::string_view::npos) return item;
  const auto at = static_cast<uint32_t>(slash + 1);
  if (schema.fields[*field].type != FieldType::kAddress) {
    error = {at, "'" + std::string(name) + "' is not an address: it has no prefixes"};
    return std::nullopt;
  }
  const size_t second = text.find('/', at);
  item.prefix_ipv6 = kDefaultPrefixIpv6;
  if (!read_prefix(text.substr(at, second - at), at, 32, item.prefix_ipv4, error))
    return std::nullopt;
  if (second != std::string_view::npos &&
      !read_prefix(text.substr(second + 1), static_cast<uint32_t>(second + 1), 128,
                   item.prefix_ipv6, error))
    return std::nullopt;
  return item;
}

std::optional<AggregateItem> parse_aggregate_item(std::string_view text, const Schema& schema,
                                                  ItemError& error) {
  const auto offset = [&](std::string_view part) {
    return static_cast<uint32_t>(part.data() - text.data());
  };
  std::string_view call = trim(text), alias;
  if (const size_t as = call.find(" as "); as != std::string_view::npos) {
    alias = trim(call.substr(as + 4));
    call = trim(call.substr(0, as));
    if (!is_name(alias)) {
      error = {offset(alias),
               "'" + std::string(alias) +
                   "' is no name: a letter, then letters, digits and '_', at most 64"};
      return std::nullopt;
    }
  }
  const size_t open = call.find('(');
  const std::string_view name = trim(call.substr(0, open));
  const auto operation = std::find_if(kOperations.begin(), kOperations.end(),
                                      [&](const Operation& o) { return o.name == name; });
  if (operation == kOperations.end()) {
    std::array<std::string_view, kOperations.size()> names;
    std::transform(kOperations.begin(), kOperations.end(), names.begin(),
                   [](const Operation& o) { return o.name; });
    error = {offset(name),
             "there is no aggregate '" + std::string(name) + "'" + suggestion(name, names)};
    return std::nullopt;
  }
  AggregateItem item{std::string(alias.empty() ? call : alias), operation->op, 0};
  if (operation->op == OutputOp::kCount) {
    if (open == std::string_view::npos) return item;
    error = {offset(call.substr(open)), "count takes no field: write \"count\""};
    return std::nullopt;
  }
  if (open == std::string_view::npos || !call.ends_with(')')) {
    error = {offset(call), "write it with its field: " + std::string(name) + "(FIELD)"};
    return std::nullopt;
  }
  const std::string_view argument = trim(call.substr(open + 1, call.size() - open - 2));
  const std::optional<uint32_t> field = find_field(argument, offset(argument), schema, error);
  if (!field) return std::nullopt;
  item.field = *field;
  if (alias.empty()) item.name = std::string(name) + "(" + std::string(argument) + ")";
  if (const char* why = refusal(item.op, schema.fields[*field])) {
    error = {offset(argument), std::string(name) + ": '" + std::string(argument) + "' " + why};
    return std::nullopt;
  }
  return item;
}

}  // namespace tidewire
