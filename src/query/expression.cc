#include "query/expression.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "query/field_text.h"
#include "query/nearest.h"
#include "query/scanner.h"

namespace tidewire {
namespace {

using Kind = Condition::Kind;

class Parser : Scanner {
 public:
  Parser(std::string_view text, const Schema& schema, ExpressionError& error)
      : Scanner(text, error), schema_(schema) {
    advance();
  }

  std::optional<Condition> parse() {
    Condition condition = parse_or();
    if (!failed_ && token_.kind != Token::Kind::kEnd)
      fail(token_.at, "expected 'and', 'or' or the end, found '" + std::string(token_.text) + "'");
    if (failed_) return std::nullopt;
    return condition;
  }

 private:
  // Names, numbers, addresses and times are one token: what they mean depends on the field.
  static bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == ':' || c == '-' || c == '+';
  }

  void advance() {
    if (next_is_common()) return;
    size_t word = 0;
    while (word < rest().size() && is_word(rest()[word]) && !rest().substr(word).starts_with(".."))
      ++word;
    if (word > 0) return give(Token::Kind::kWord, word);
    for (const std::string_view sign :
         {"==", "!=", "<=", ">=", "..", "<", ">", "{", "}", "(", ")", ",", "/"})
      if (rest().starts_with(sign)) return give(Token::Kind::kSign, sign.size());
    for (const auto& [written, meant] :
         {std::pair{"&&", "and"}, {"||", "or"}, {"=", "=="}, {"!", "not"}})
      if (rest().starts_with(written))
        return fail(static_cast<uint32_t>(at_),
                    "write '" + std::string(meant) + "' instead of '" + written + "'");
    refuse("here");
  }

  bool is(std::string_view word) const {
    return token_.kind != Token::Kind::kQuoted && token_.kind != Token::Kind::kEnd &&
           token_.text == word;
  }
  bool take(std::string_view word) {
    if (!is(word)) return false;
    advance();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail(token_.at, "expected '" + std::string(word) + "', found " + found());
  }

  Condition parse_or() { return parse_chain("or", Kind::kOr, &Parser::parse_and); }
  Condition parse_and() { return parse_chain("and", Kind::kAnd, &Parser::parse_not); }
  Condition parse_chain(std::string_view word, Kind kind, Condition (Parser::*next)()) {
    Condition first = (this->*next)();
    if (!is(word)) return first;
    Condition chain{kind, 0, {}, {}};
    chain.parts.push_back(std::move(first));
    while (!failed_ && take(word)) chain.parts.push_back((this->*next)());
    return chain;
  }
  Condition parse_not() {
    if (depth_ == kExpressionNestingMax) {
      fail(token_.at, "more than " + std::to_string(kExpressionNestingMax) +
                          " parentheses and nots inside each other");
      return {};
    }
    ++depth_;
    Condition result;
    if (take("not")) {
      result = negated(parse_not());
    } else if (take("(")) {
      result = parse_or();
      expect(")");
    } else {
      result = parse_test();
    }
    --depth_;
    return result;
  }
  static Condition negated(Condition inner) {
    Condition outer{Kind::kNot, 0, {}, {}};
    outer.parts.push_back(std::move(inner));
    return outer;
  }

  Condition parse_test() {
    const Token name = token_;
    const bool results = schema_.format.empty();  // of query/having.h; they need not be words
    if (name.kind != Token::Kind::kWord && !(results && name.kind == Token::Kind::kQuoted)) {
      fail(name.at, (results ? "expected a result, found " : "expected a field, found ") + found());
      return {};
    }
    const int found_at = schema_.find(name.text);
    if (found_at < 0) {
      std::vector<std::string_view> names;
      for (const Field& field : schema_.fields) names.push_back(field.name);
      fail(name.at, (results ? "the query has no result '"
                             : "format '" + std::string(schema_.format) + "' has no field '") +
                        std::string(name.text) + "'" + suggestion(name.text, names));
      return {};
    }
    field_ = static_cast<uint32_t>(found_at);
    advance();
    const Token verb = token_;
    if (take("==")) return equal();
    if (take("!=")) return negated(equal());
    for (const std::string_view sign : {"<", "<=", ">", ">="})
      if (take(sign)) return compare(sign, verb.at);
    if (take("in")) return membership();
    if (take("has")) return has(verb.at);
    if (take("present")) return {Kind::kPresent, field_, {}, {}};
    if (take("absent")) return negated({Kind::kPresent, field_, {}, {}});
    fail(verb.at, "expected ==, !=, <, <=, >, >=, in, has, present or absent after '" +
                      std::string(name.text) + "', found " + found());
    return {};
  }

  const Field& field() const { return schema_.fields[field_]; }

  // Reads one value of the current field.
  std::vector<int64_t> value() {
    const Token token = token_;
    const std::string name(field().name);
    std::vector<int64_t> words(field().words);
    if (token.kind != Token::Kind::kWord && token.kind != Token::Kind::kQuoted) {
      fail(token.at, "expected a value of '" + name + "', found " + found());
    } else if (field().type == FieldType::kText && token.kind != Token::Kind::kQuoted) {
      fail(token.at, "'" + name + "' is a text: write '" + std::string(token.text) + "' in quotes");
    } else if (const auto read = parse_field(field(), token.text); !read.ok()) {
      fail(token.at, std::string(from_absl(read.status().message())));
    } else {
      std::copy_n(read->word.begin(), words.size(), words.begin());
      if (is_absent(field(), words))
        fail(token.at, "'" + std::string(token.text) + "' is never a value of '" + name +
                           "'; write '" + name + " absent'");
    }
    advance();
    return words;
  }

  Condition equal() { return {Kind::kEqual, field_, value(), {}}; }

  bool ordered() const {
    switch (field().type) {
      case FieldType::kInteger:
      case FieldType::kMac:
      case FieldType::kProtocol:
      case FieldType::kEthertype:
      case FieldType::kTime:
        return true;
      case FieldType::kAddress:
      case FieldType::kText:
      case FieldType::kFlags:
      case FieldType::kFlow:
        return false;
    }
    return false;
  }

  Condition compare(std::string_view sign, uint32_t at) {
    if (!ordered()) fail(at, "'" + std::string(field().name) + "' has no order; use ==, != or in");
    const int64_t word = value()[0];
    int64_t low = INT64_MIN, high = INT64_MAX;
    bool never = false;
    if (sign == "<") never = __builtin_sub_overflow(word, int64_t{1}, &high);
    if (sign == "<=") high = word;
    if (sign == ">") never = __builtin_add_overflow(word, int64_t{1}, &low);
    if (sign == ">=") low = word;
    if (never) return {Kind::kRange, field_, {0, -1}, {}};  // an empty range
    return {Kind::kRange, field_, {low, high}, {}};
  }

  Condition has(uint32_t at) {
    if (field().type != FieldType::kFlags)
      fail(at, "'has' is for flags; '" + std::string(field().name) + "' has none");
    return {Kind::kHas, field_, {value()[0]}, {}};
  }

  Condition membership() {
    if (!take("{")) return item();
    Condition any{Kind::kOr, 0, {}, {}};
    Condition values{Kind::kAnyOf, field_, {}, {}};
    do {
      Condition one = item();
      if (one.kind == Kind::kEqual && one.words.size() == 1)
        values.words.push_back(one.words[0]);
      else
        any.parts.push_back(std::move(one));
    } while (!failed_ && take(","));
    expect("}");
    if (!values.words.empty()) any.parts.push_back(std::move(values));
    if (any.parts.size() == 1) return std::move(any.parts.front());
    return any;
  }

  Condition item() {
    const uint32_t at = token_.at;
    std::vector<int64_t> first = value();
    if (is("/")) return prefix(std::move(first), at);
    if (!take("..")) return {Kind::kEqual, field_, std::move(first), {}};
    const std::vector<int64_t> last = value();
    if (failed_) return {};
    const bool ipv4 = field().type == FieldType::kAddress && is_ipv4(first[0], first[1]) &&
                      is_ipv4(last[0], last[1]);
    if (!ordered() && !ipv4) {
      fail(at, field().type == FieldType::kAddress
                   ? "a range of IPv6 addresses is not supported; write prefixes (2001:db8::/32)"
                   : "'" + std::string(field().name) + "' has no order; name its values");
      return {};
    }
    const size_t word = ipv4 ? 1 : 0;
    if (first[word] > last[word]) fail(at, "the range is empty: its first value is above its last");
    return {Kind::kRange, field_, {first[word], last[word]}, {}};
  }

  Condition prefix(std::vector<int64_t> address, uint32_t at) {
    advance();
    if (field().type != FieldType::kAddress) {
      fail(at, "'" + std::string(field().name) + "' is not an address: it has no prefixes");
      return {};
    }
    if (failed_) return {};
    const bool ipv4 = is_ipv4(address[0], address[1]);
    const uint32_t width = ipv4 ? 32 : 128;
    uint32_t bits = 0;
    const char* end = token_.text.data() + token_.text.size();
    const auto [stop, code] = std::from_chars(token_.text.data(), end, bits);
    if (token_.kind != Token::Kind::kWord || code != std::errc() || stop != end || bits > width) {
      fail(token_.at,
           "expected a prefix length from 0 to " + std::to_string(width) + ", found " + found());
      return {};
    }
    advance();
    const PrefixMask mask = prefix_mask(ipv4, bits);
    if ((address[0] & ~mask.high) != 0 || (address[1] & ~mask.low) != 0)
      fail(at, "the address has bits beyond its prefix of " + std::to_string(bits));
    return {Kind::kPrefix, field_, {address[0], address[1], mask.high, mask.low}, {}};
  }

  const Schema& schema_;
  uint32_t field_ = 0;
  uint32_t depth_ = 0;
};

// ---- to postfix

// A condition in the steps that select knows, still as a tree: so that operands can change places.
struct Lowered {
  PredicateStep step;
  std::vector<Lowered> parts;
  uint32_t depth = 1;  // masks on the stack at once
};

class Lowering {
 public:
  Lowering(const Schema& schema, const ColumnMap& columns, Plan& plan)
      : schema_(schema), columns_(columns), plan_(plan) {}

  Lowered lower(const Condition& c) {
    switch (c.kind) {
      case Kind::kAnd:
      case Kind::kOr: {
        std::vector<Lowered> parts;
        for (const Condition& part : c.parts) parts.push_back(lower(part));
        return join(c.kind == Kind::kAnd ? PredicateStep::Op::kAnd : PredicateStep::Op::kOr,
                    std::move(parts));
      }
      case Kind::kNot:
        return invert(lower(c.parts.front()));
      case Kind::kPresent:
        return present(c.field);
      case Kind::kEqual:
      case Kind::kAnyOf:
      case Kind::kRange:
      case Kind::kHas:
      case Kind::kPrefix:
        break;
    }
    Lowered test = lower_test(c);
    const Field& field = schema_.fields[c.field];
    if (!field.may_be_absent || !accepts_absent(c, field.absent)) return test;
    std::vector<Lowered> both;
    both.push_back(std::move(test));
    both.push_back(present(c.field));
    return join(PredicateStep::Op::kAnd, std::move(both));
  }

  void emit(const Lowered& node) {
    if (node.parts.empty()) {
      plan_.where.push_back(node.step);
      return;
    }
    emit(node.parts.front());
    for (size_t i = 1; i < node.parts.size(); ++i) {
      emit(node.parts[i]);
      plan_.where.push_back(node.step);
    }
    if (node.step.op == PredicateStep::Op::kNot) plan_.where.push_back(node.step);
  }

 private:
  uint8_t column(uint32_t field) const { return columns_.column[field]; }

  static Lowered leaf(PredicateStep step) { return {step, {}, 1}; }
  static Lowered range(uint8_t column, int64_t low, int64_t high) {
    return leaf({PredicateStep::Op::kRange, column, low, high, 0, 0});
  }
  // `high`, `low`: as the columns stand, the high word first; the step names the low word first.
  static Lowered prefix(uint8_t column, int64_t high, int64_t low, int64_t mask_high,
                        int64_t mask_low) {
    return leaf({PredicateStep::Op::kPrefix, column, low, high, mask_low, mask_high});
  }

  // The deepest first: while part i > 0 is worked out, one mask waits below it.
  static Lowered join(PredicateStep::Op op, std::vector<Lowered> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Lowered& a, const Lowered& b) { return a.depth > b.depth; });
    const uint32_t depth = std::max(parts[0].depth, parts[1].depth + 1);
    return {{op, 0, 0, 0, 0, 0}, std::move(parts), depth};
  }
  static Lowered invert(Lowered inner) {
    if (inner.step.op == PredicateStep::Op::kNot) return std::move(inner.parts.front());
    const uint32_t depth = inner.depth;
    std::vector<Lowered> parts;
    parts.push_back(std::move(inner));
    return {{PredicateStep::Op::kNot, 0, 0, 0, 0, 0}, std::move(parts), depth};
  }

  Lowered present(uint32_t field) const {
    const uint8_t c = column(field);
    if (!schema_.fields[field].may_be_absent) return range(c, INT64_MIN, INT64_MAX);
    if (schema_.fields[field].words == 2) return invert(prefix(c, kAbsent, kAbsent, -1, -1));
    const int64_t absent = schema_.fields[field].absent;
    return invert(range(c, absent, absent));
  }

  // Whether the plain test would take the absent word for a value.
  static bool accepts_absent(const Condition& c, int64_t absent) {
    switch (c.kind) {
      case Kind::kRange:
        return c.words[0] <= absent && absent <= c.words[1];
      case Kind::kHas:
        return true;
      case Kind::kPrefix:
        return (kAbsent & c.words[2]) == c.words[0] && (kAbsent & c.words[3]) == c.words[1];
      case Kind::kEqual:
      case Kind::kAnyOf:
      case Kind::kPresent:
      case Kind::kAnd:
      case Kind::kOr:
      case Kind::kNot:
        return false;  // the parser refuses the absent word as a value
    }
    return false;
  }

  Lowered lower_test(const Condition& c) {
    const Field& field = schema_.fields[c.field];
    const uint8_t first = column(c.field);
    switch (c.kind) {
      case Kind::kEqual: {
        if (field.words == 2) return prefix(first, c.words[0], c.words[1], -1, -1);
        std::vector<Lowered> words;
        for (uint8_t i = 0; i < field.words; ++i)
          words.push_back(range(static_cast<uint8_t>(first + i), c.words[i], c.words[i]));
        return join(PredicateStep::Op::kAnd, std::move(words));
      }
      case Kind::kRange: {
        if (field.type != FieldType::kAddress) return range(first, c.words[0], c.words[1]);
        std::vector<Lowered> words;  // IPv4: the high word is 0, the low one positive
        words.push_back(range(first, 0, 0));
        words.push_back(range(static_cast<uint8_t>(first + 1), c.words[0], c.words[1]));
        return join(PredicateStep::Op::kAnd, std::move(words));
      }
      case Kind::kHas:
        return leaf({PredicateStep::Op::kMasked, first, c.words[0], c.words[0], 0, 0});
      case Kind::kPrefix:
        return prefix(first, c.words[0], c.words[1], c.words[2], c.words[3]);
      case Kind::kAnyOf:
      case Kind::kPresent:
      case Kind::kAnd:
      case Kind::kOr:
      case Kind::kNot:
        break;
    }
    std::vector<int64_t> values = c.words;
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.size() == 1) return range(first, values[0], values[0]);
    const auto start = static_cast<int64_t>(plan_.set.size());
    plan_.set.insert(plan_.set.end(), values.begin(), values.end());
    return leaf({PredicateStep::Op::kIn, first, start, static_cast<int64_t>(values.size()), 0, 0});
  }

  const Schema& schema_;
  const ColumnMap& columns_;
  Plan& plan_;
};

// Whether `condition` being `truth` means that the field is there.
bool present_if(const Condition& condition, uint32_t field, bool truth) {
  const auto implied = [&](const Condition& part) { return present_if(part, field, truth); };
  switch (condition.kind) {
    case Kind::kNot:
      return present_if(condition.parts.front(), field, !truth);
    case Kind::kAnd:
    case Kind::kOr:
      if ((condition.kind == Kind::kAnd) == truth)
        return std::any_of(condition.parts.begin(), condition.parts.end(), implied);
      return std::all_of(condition.parts.begin(), condition.parts.end(), implied);
    case Kind::kEqual:
    case Kind::kAnyOf:
    case Kind::kRange:
    case Kind::kHas:
    case Kind::kPrefix:
    case Kind::kPresent:
      return truth && condition.field == field;
  }
  return false;
}

}  // namespace

std::optional<Condition> parse_where(std::string_view text, const Schema& schema,
                                     ExpressionError& error) {
  if (text.size() > kExpressionMax) {
    error = {0, "the condition has " + std::to_string(text.size()) + " characters; " +
                    std::to_string(kExpressionMax) + " is the limit"};
    return std::nullopt;
  }
  return Parser(text, schema, error).parse();
}

void mark_fields(const Condition& condition, std::vector<bool>& used) {
  if (condition.parts.empty()) used[condition.field] = true;
  for (const Condition& part : condition.parts) mark_fields(part, used);
}

bool implies_present(const Condition& condition, uint32_t field) {
  return present_if(condition, field, true);
}

bool compile_where(const Condition& condition, const Schema& schema, const ColumnMap& columns,
                   Plan& plan, std::string& problem) {
  Lowering lowering(schema, columns, plan);
  const Lowered root = lowering.lower(condition);
  lowering.emit(root);
  if (root.depth > kPredicateDepthMax) {
    problem = "the condition is nested too deeply: it needs " + std::to_string(root.depth) +
              " partial results at once, " + std::to_string(kPredicateDepthMax) + " is the limit";
    return false;
  }
  if (plan.where.size() > kPredicateStepsMax) {
    problem = "the condition takes " + std::to_string(plan.where.size()) + " steps, " +
              std::to_string(kPredicateStepsMax) + " is the limit; a set ({a, b}) is one step";
    return false;
  }
  return true;
}

}  // namespace tidewire
