#include "query/items.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "query/field_text.h"
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

enum class Form : uint8_t { kPlain, kField, kShare, kSize, kTwoFields, kOhlc };
struct Operation {
  std::string_view name;
  OutputOp op;
  Form form = Form::kField;
  uint32_t share = 0;  // of a quantile that the name gives, in millionths
};
constexpr uint32_t kWhole = 1'000'000;
constexpr std::array kOperations = {
    Operation{"count", OutputOp::kCount, Form::kPlain},
    Operation{"sum", OutputOp::kSum},
    Operation{"min", OutputOp::kMin},
    Operation{"max", OutputOp::kMax},
    Operation{"avg", OutputOp::kAverage},
    Operation{"first", OutputOp::kFirst},
    Operation{"last", OutputOp::kLast},
    Operation{"variance", OutputOp::kVariance},
    Operation{"stddev", OutputOp::kDeviation},
    Operation{"variance_samp", OutputOp::kVarianceSample},
    Operation{"stddev_samp", OutputOp::kDeviationSample},
    Operation{"quantile", OutputOp::kQuantile, Form::kShare},
    Operation{"median", OutputOp::kQuantile, Form::kField, kWhole / 2},
    Operation{"distinct", OutputOp::kDistinct},
    Operation{"top", OutputOp::kTop, Form::kSize},
    Operation{"bottom", OutputOp::kBottom, Form::kSize},
    Operation{"ohlc", OutputOp::kFirst, Form::kOhlc},
    Operation{"vwap", OutputOp::kVwap, Form::kTwoFields},
    Operation{"any", OutputOp::kAny},
    Operation{"all", OutputOp::kAll},
};

// p99, p999: a quantile by its decimals.
std::optional<Operation> short_quantile(std::string_view name) {
  if (name.size() < 3 || name.size() > 7 || name[0] != 'p') return std::nullopt;
  uint32_t share = 0, unit = kWhole;
  for (const char c : name.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    unit /= 10;
    share += static_cast<uint32_t>(c - '0') * unit;
  }
  return Operation{name, OutputOp::kQuantile, Form::kField, share};
}

// What an operation can be asked of: sums need numbers, the others an order, or just their words.
const char* refusal(OutputOp op, const Field& field) {
  switch (op) {
    case OutputOp::kCount:
    case OutputOp::kDelta:
    case OutputOp::kRate:
      return nullptr;
    case OutputOp::kSum:
    case OutputOp::kAverage:
    case OutputOp::kVariance:
    case OutputOp::kVarianceSample:
    case OutputOp::kDeviation:
    case OutputOp::kDeviationSample:
    case OutputOp::kVwap:
    case OutputOp::kQuantile:
      return field.type == FieldType::kInteger ? nullptr : "is not a number";
    case OutputOp::kMin:
    case OutputOp::kMax:
    case OutputOp::kTop:
    case OutputOp::kBottom:
      return field.type == FieldType::kInteger || field.type == FieldType::kTime
                 ? nullptr
                 : "is neither a number nor a time";
    case OutputOp::kFirst:
    case OutputOp::kLast:
    case OutputOp::kAny:
    case OutputOp::kAll:
      return field.words == 1 ? nullptr : "is wider than one word of 8 bytes; use it as a key";
    case OutputOp::kDistinct:
      return field.words <= 2 ? nullptr : "is wider than two words of 8 bytes";
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

// One aggregate on its way from text to items.
class AggregateParser {
 public:
  AggregateParser(std::string_view text, const Schema& schema, ItemError& error)
      : text_(text), schema_(schema), error_(error) {}

  std::vector<AggregateItem> parse() {
    call_ = trim(text_);
    if (!take_alias()) return {};
    const size_t open = call_.find('(');
    name_ = trim(call_.substr(0, open));
    if (!find_operation()) return {};
    if (operation_.form == Form::kPlain) {
      if (open == std::string_view::npos) return {AggregateItem{named("", ""), operation_.op}};
      return refuse(call_.substr(open), "count takes no field: write \"count\"");
    }
    if (open == std::string_view::npos || !call_.ends_with(')')) return refuse_form(call_);
    take_arguments(call_.substr(open + 1, call_.size() - open - 2));
    return items();
  }

 private:
  std::vector<AggregateItem> refuse(std::string_view part, std::string why) {
    error_ = {static_cast<uint32_t>(part.data() - text_.data()), std::move(why)};
    return {};
  }
  std::vector<AggregateItem> refuse_form(std::string_view part) {
    const std::string call = std::string(name_) + "(";
    switch (operation_.form) {
      case Form::kPlain:
      case Form::kField:
      case Form::kOhlc:
        return refuse(part, "write it with its field: " + call + "FIELD)");
      case Form::kShare:
        return refuse(part,
                      "write it with its field and a share from 0 to 1: " + call + "FIELD, 0.99)");
      case Form::kSize:
        return refuse(part, "write it with its field and how many, 1 to " +
                                std::to_string(kTopMax) + ": " + call + "FIELD, 3)");
      case Form::kTwoFields:
        return refuse(part, "write it with both fields: " + call + "PRICE, VOLUME)");
    }
    return {};
  }

  bool take_alias() {
    const size_t as = call_.find(" as ");
    if (as == std::string_view::npos) return true;
    alias_ = trim(call_.substr(as + 4));
    call_ = trim(call_.substr(0, as));
    if (is_name(alias_)) return true;
    refuse(alias_, "'" + std::string(alias_) +
                       "' is no name: a letter, then letters, digits and '_', at most 64");
    return false;
  }

  bool find_operation() {
    const auto found = std::find_if(kOperations.begin(), kOperations.end(),
                                    [&](const Operation& o) { return o.name == name_; });
    if (found != kOperations.end()) {
      operation_ = *found;
      return true;
    }
    if (const std::optional<Operation> quantile = short_quantile(name_)) {
      operation_ = *quantile;
      return true;
    }
    std::array<std::string_view, kOperations.size()> names;
    std::transform(kOperations.begin(), kOperations.end(), names.begin(),
                   [](const Operation& o) { return o.name; });
    refuse(name_, "there is no aggregate '" + std::string(name_) + "'" + suggestion(name_, names));
    return false;
  }

  void take_arguments(std::string_view inside) {
    for (;;) {
      const size_t comma = inside.find(',');
      arguments_.push_back(trim(inside.substr(0, comma)));
      if (comma == std::string_view::npos) return;
      inside.remove_prefix(comma + 1);
    }
  }

  std::optional<uint32_t> field_of(std::string_view argument) {
    const auto at = static_cast<uint32_t>(argument.data() - text_.data());
    const std::optional<uint32_t> field = find_field(argument, at, schema_, error_);
    if (!field) return std::nullopt;
    const char* why = refusal(operation_.form == Form::kOhlc ? OutputOp::kSum : operation_.op,
                              schema_.fields[*field]);
    if (!why) return field;
    error_ = {at, std::string(name_) + ": '" + std::string(argument) + "' " + why};
    return std::nullopt;
  }

  // The alias, or the call as it would be written without spaces; `part` where it gives several.
  std::string named(const std::string& before, const std::string& behind) const {
    if (!alias_.empty()) {
      const std::string& part = before.empty() ? behind : before;
      return std::string(alias_) + (part.empty() ? "" : "_" + part);
    }
    std::string name = before.empty() ? std::string(name_) : before;
    for (size_t i = 0; i < arguments_.size(); ++i)
      name += (i == 0 ? "(" : ",") + std::string(arguments_[i]);
    if (!arguments_.empty()) name += ")";
    return behind.empty() ? name : name + "." + behind;
  }

  std::vector<AggregateItem> items() {
    const size_t wanted = operation_.form == Form::kField || operation_.form == Form::kOhlc ? 1 : 2;
    if (arguments_.size() != wanted) return refuse_form(call_);
    const std::optional<uint32_t> field = field_of(arguments_[0]);
    if (!field) return {};
    AggregateItem item{"", operation_.op, *field, *field, operation_.share};
    switch (operation_.form) {
      case Form::kPlain:
      case Form::kField:
        item.name = named("", "");
        return {item};
      case Form::kOhlc:
        return ohlc(item);
      case Form::kShare: {
        const absl::StatusOr<int64_t> share = parse_decimal(arguments_[1], 6);
        if (!share.ok() || *share < 0 || *share > int64_t{kWhole})
          return refuse(arguments_[1],
                        "expected a share from 0 to 1 with at most 6 decimals, found '" +
                            std::string(arguments_[1]) + "'");
        item.parameter = static_cast<uint32_t>(*share);
        item.name = named("", "");
        return {item};
      }
      case Form::kSize:
        return best(item);
      case Form::kTwoFields: {
        const std::optional<uint32_t> second = field_of(arguments_[1]);
        if (!second) return {};
        item.second = *second;
        item.name = named("", "");
        return {item};
      }
    }
    return {};
  }

  std::vector<AggregateItem> ohlc(AggregateItem item) {
    std::vector<AggregateItem> items;
    const std::pair<const char*, OutputOp> parts[] = {{"open", OutputOp::kFirst},
                                                      {"high", OutputOp::kMax},
                                                      {"low", OutputOp::kMin},
                                                      {"close", OutputOp::kLast}};
    for (const auto& [name, op] : parts) {
      item.name = named(name, "");
      item.op = op;
      items.push_back(item);
    }
    return items;
  }

  std::vector<AggregateItem> best(AggregateItem item) {
    const absl::StatusOr<int64_t> size = parse_decimal(arguments_[1], 0);
    if (!size.ok() || *size < 1 || *size > int64_t{kTopMax})
      return refuse(arguments_[1], "expected a number from 1 to " + std::to_string(kTopMax) +
                                       ", found '" + std::string(arguments_[1]) + "'");
    item.size = static_cast<uint32_t>(*size);
    std::vector<AggregateItem> items;
    for (uint32_t rank = 1; rank <= item.size; ++rank) {
      item.name = named("", std::to_string(rank));
      item.parameter = rank;
      items.push_back(item);
    }
    return items;
  }

  std::string_view text_, call_, name_, alias_;
  const Schema& schema_;
  ItemError& error_;
  Operation operation_;
  std::vector<std::string_view> arguments_;
};

// delta(NAME), rate(NAME): a name may have parentheses of its own.
std::vector<AggregateItem> parse_comparison(std::string_view text,
                                            std::span<const AggregateItem> before,
                                            ItemError& error) {
  const auto open = static_cast<uint32_t>(text.find('(')) + 1;
  const size_t as = text.rfind(") as ");
  const size_t close = as != std::string_view::npos ? as : text.rfind(')');
  const size_t written = as != std::string_view::npos ? text.size() : close + 1;
  if (close == std::string_view::npos || written != text.size()) {
    error = {static_cast<uint32_t>(text.size()), "expected ')', or ') as NAME' at the end"};
    return {};
  }
  AggregateItem item;
  item.op = text.starts_with("delta") ? OutputOp::kDelta : OutputOp::kRate;
  item.name = as != std::string_view::npos ? text.substr(as + 5) : text;
  if (item.name.empty() || item.name.find_first_of(" ,\"") != std::string::npos) {
    error = {static_cast<uint32_t>(as + 5), "expected a name of letters, digits and _ behind 'as'"};
    return {};
  }
  const std::string_view name = text.substr(open, close - open);
  std::vector<std::string_view> names;
  for (const AggregateItem& other : before)
    if (!other.compares()) names.push_back(other.name);
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i].name == name && !before[i].compares()) {
      item.of = static_cast<uint16_t>(i);
      return {item};
    }
  error = {open,
           "no aggregate before it is named '" + std::string(name) + "'" + suggestion(name, names)};
  return {};
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

std::vector<AggregateItem> parse_aggregate_item(std::string_view text, const Schema& schema,
                                                std::span<const AggregateItem> before,
                                                ItemError& error) {
  if (text.starts_with("delta(") || text.starts_with("rate("))
    return parse_comparison(text, before, error);
  return AggregateParser(text, schema, error).parse();
}

}  // namespace tidewire
