#include "query/formula.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/strings.h"
#include "query/column_program.h"
#include "query/field_text.h"
#include "query/formula_shape.h"
#include "query/nearest.h"
#include "query/scanner.h"

namespace tidewire {
namespace {

using Kind = Formula::Kind;

constexpr uint32_t kDefaultPrefixIpv6 = 64;
constexpr std::array<std::string_view, 6> kFunctions = {"round",  "bucket",  "case",
                                                        "prefix", "forward", "lookup"};

class Parser : Scanner {
 public:
  Parser(std::string_view text, const Schema& schema, std::span<const std::string> below,
         std::vector<LookupSpec>& lookups, ExpressionError& error)
      : Scanner(text, error), schema_(schema), below_(below), lookups_(lookups) {
    advance();
  }

  std::optional<Formula> parse() {
    Formula formula = sum();
    if (!failed_ && token_.kind != Token::Kind::kEnd)
      fail(token_.at, "expected +, -, *, / or the end, found " + found());
    if (formula.kind == Kind::kText) fail_if(0, as_text(formula, 1));
    if (!failed_ && registers(formula) > kRegisterMax)
      fail(0, "the formula is nested too deeply: it needs " + std::to_string(registers(formula)) +
                  " values at once, " + std::to_string(kRegisterMax) + " is the limit");
    if (failed_) return std::nullopt;
    return formula;
  }

 private:
  void fail_if(uint32_t at, std::string problem) {
    if (!problem.empty()) fail(at, std::move(problem));
  }

  void advance() {
    if (next_is_common()) return;
    const char c = rest().front();
    const auto run = [&](auto belongs) {
      return static_cast<size_t>(std::find_if_not(rest().begin(), rest().end(), belongs) -
                                 rest().begin());
    };
    if (is_letter(c))
      return give(Token::Kind::kWord, run([](char x) { return is_letter(x) || is_digit(x); }));
    if (is_digit(c))
      return give(Token::Kind::kNumber,
                  run([](char x) { return is_letter(x) || is_digit(x) || x == '.'; }));
    if (std::string_view("+-*/(),").find(c) != std::string_view::npos)
      return give(Token::Kind::kSign, 1);
    refuse("in a formula");
  }

  bool is(char sign) const {
    return token_.kind == Token::Kind::kSign && token_.text.front() == sign;
  }
  bool take(char sign) {
    if (!is(sign)) return false;
    advance();
    return true;
  }
  void expect(char sign) {
    if (!take(sign)) fail(token_.at, "expected '" + std::string(1, sign) + "', found " + found());
  }

  // ---- numbers
  void need_number(const Formula& formula, uint32_t at) {
    if (!failed_ && !is_number(formula))
      fail(at, std::string("expected a number, found ") +
                   (formula.kind == Kind::kText ? "a text" : name_of(formula.shape.type)));
  }

  Formula sum() {
    const uint32_t first = token_.at;
    Formula left = product();
    while (is('+') || is('-')) {
      const bool plus = is('+');
      const uint32_t at = token_.at;
      need_number(left, first);
      advance();
      Formula right = product_number();
      if (failed_) return left;
      fail_if(at, plus ? add(left, std::move(right)) : subtract(left, std::move(right)));
    }
    return left;
  }
  Formula product_number() {
    const uint32_t at = token_.at;
    Formula formula = product();
    need_number(formula, at);
    return formula;
  }

  Formula product() {
    const uint32_t first = token_.at;
    Formula left = unary();
    while (is('*') || is('/')) {
      const bool times = is('*');
      const uint32_t at = token_.at;
      need_number(left, first);
      advance();
      const uint32_t second = token_.at;
      Formula right = unary();
      need_number(right, second);
      if (failed_) return left;
      if (times)
        fail_if(at, multiply(left, std::move(right)));
      else
        fail_if(at, divide(left, std::move(right)));
    }
    return left;
  }

  Formula unary() {
    if (depth_ == kExpressionNestingMax) {
      fail(token_.at, "more than " + std::to_string(kExpressionNestingMax) +
                          " parentheses and functions inside each other");
      return {};
    }
    ++depth_;
    Formula formula;
    const uint32_t at = token_.at;
    if (take('-')) {
      const uint32_t inner = token_.at;
      formula = unary();
      need_number(formula, inner);
      if (!failed_) fail_if(at, negate(formula));
    } else if (take('(')) {
      formula = sum();
      expect(')');
    } else {
      formula = primary();
    }
    --depth_;
    return formula;
  }

  Formula number() {
    const Token token = token_;
    advance();
    const size_t point = token.text.find('.');
    const size_t decimals = point == std::string_view::npos ? 0 : token.text.size() - point - 1;
    if (decimals > kDecimalsMax) {
      fail(token.at, "'" + std::string(token.text) + "' has more than " +
                         std::to_string(kDecimalsMax) + " decimals");
      return {};
    }
    const auto read = decimals == 0 ? parse_integer(token.text)
                                    : parse_decimal(token.text, static_cast<uint32_t>(decimals));
    if (!read.ok()) {
      fail(token.at, std::string(from_absl(read.status().message())));
      return {};
    }
    if (*read == INT64_MIN)
      fail(token.at, "'" + std::string(token.text) + "' does not fit 64 bits");
    return number_constant(*read, static_cast<uint32_t>(decimals));
  }

  Formula primary() {
    const Token token = token_;
    switch (token.kind) {
      case Token::Kind::kNumber:
        return number();
      case Token::Kind::kQuoted: {
        advance();
        Formula formula;
        formula.kind = Kind::kText;
        formula.shape.type = FieldType::kText;
        formula.text = token.text;
        return formula;
      }
      case Token::Kind::kWord:
        advance();
        return take('(') ? call(token) : field(token);
      case Token::Kind::kSign:
      case Token::Kind::kEnd:
        break;
    }
    fail(token.at, "expected a field, a number or a function, found " + found());
    return {};
  }

  Formula field(const Token& token) {
    const int index = schema_.find(token.text);
    if (index < 0) {
      unknown(token);
      return {};
    }
    Formula formula;
    formula.kind = Kind::kField;
    formula.field = static_cast<uint32_t>(index);
    formula.shape = schema_.fields[formula.field];
    const auto there = [&](const Condition& c) { return implies_present(c, formula.field); };
    if (std::any_of(assumed_.begin(), assumed_.end(), there)) formula.shape.may_be_absent = false;
    if (is_number(formula)) formula.shape.absent = kAbsentNumber;
    return formula;
  }

  void unknown(const Token& token) {
    const std::string name(token.text);
    for (const std::string& other : below_)
      if (other == name)
        return fail(token.at, "'" + name + "' does not stand above: a column reads the fields of " +
                                  "the format and the columns above it");
    if (std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end())
      return fail(token.at, "'" + name + "' is a function: write " + name + "(...)");
    std::vector<std::string_view> names;
    for (const Field& f : schema_.fields) names.push_back(f.name);
    fail(token.at, "there is no field '" + name + "'" + suggestion(name, names));
  }

  // ---- functions
  Formula call(const Token& name) {
    Formula formula;
    if (name.text == "round")
      formula = round();
    else if (name.text == "bucket")
      formula = bucket_of();
    else if (name.text == "case")
      formula = choice(name.at);
    else if (name.text == "prefix")
      formula = prefix();
    else if (name.text == "forward")
      formula = forward();
    else if (name.text == "lookup")
      formula = lookup();
    else
      fail(name.at, "there is no function '" + std::string(name.text) + "'" +
                        suggestion(name.text, kFunctions));
    expect(')');
    return formula;
  }

  Formula numeric_argument() {
    const uint32_t at = token_.at;
    Formula formula = sum();
    need_number(formula, at);
    return formula;
  }

  // A whole number that is written out.
  uint32_t count(uint32_t least, uint32_t most, const char* what) {
    const Token token = token_;
    uint32_t value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto [stop, code] = std::from_chars(token.text.data(), end, value);
    if (token.kind != Token::Kind::kNumber || code != std::errc() || stop != end || value < least ||
        value > most)
      fail(token.at, std::string("expected ") + what + " from " + std::to_string(least) + " to " +
                         std::to_string(most) + ", found " + found());
    advance();
    return value;
  }

  Formula round() {
    const uint32_t at = token_.at;
    Formula value = numeric_argument();
    expect(',');
    const uint32_t decimals = count(0, kDecimalsMax, "a number of decimals");
    if (failed_) return {};
    fail_if(at, round_to(value, decimals));
    return value;
  }

  Formula bucket_of() {
    Formula value = numeric_argument();
    expect(',');
    const uint32_t at = token_.at;
    Formula width = numeric_argument();
    if (!failed_) fail_if(at, bucket(value, std::move(width)));
    return value;
  }

  Formula prefix() {
    const uint32_t at = token_.at;
    Formula formula;
    formula.kind = Kind::kPrefix;
    Formula address = sum();
    if (!failed_ && (address.kind == Kind::kText || address.shape.type != FieldType::kAddress))
      fail(at, std::string("expected an address, found ") + name_of(address.shape.type));
    expect(',');
    formula.shape = address.shape;
    const uint32_t ipv4 = count(0, 32, "a prefix length");
    const uint32_t ipv6 = take(',') ? count(0, 128, "a prefix length") : kDefaultPrefixIpv6;
    formula.shape.prefix_ipv4 = std::min(address.shape.prefix_ipv4, static_cast<uint8_t>(ipv4));
    formula.shape.prefix_ipv6 = std::min(address.shape.prefix_ipv6, static_cast<uint8_t>(ipv6));
    formula.parts.push_back(std::move(address));
    return formula;
  }

  Formula forward() {
    Formula formula;
    formula.kind = Kind::kForward;
    formula.shape.bits = 1;
    formula.shape.non_negative = true;
    formula.shape.absent = kAbsentNumber;
    for (int end = 0; end < 2; ++end) {
      if (end > 0) expect(',');
      uint32_t at = token_.at;
      Formula address = sum();
      if (!failed_ && (address.kind == Kind::kText || address.shape.type != FieldType::kAddress))
        fail(at, std::string("expected an address, found ") + name_of(address.shape.type));
      expect(',');
      Formula port = numeric_argument();
      formula.shape.may_be_absent |= address.shape.may_be_absent;
      formula.parts.push_back(std::move(address));
      formula.parts.push_back(std::move(port));
    }
    return formula;
  }

  // ---- case
  // The condition up to the comma that is in no bracket and no quote.
  std::string_view condition_text() {
    int nested = 0;
    char quote = 0;
    for (size_t at = token_.at; at < text_.size(); ++at) {
      const char c = text_[at];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(' || c == '{') {
        ++nested;
      } else if (c == ')' || c == '}') {
        --nested;
      }
      if (quote == 0 && (nested < 0 || (c == ',' && nested == 0)))
        return text_.substr(token_.at, at - token_.at);
    }
    return text_.substr(token_.at);
  }

  Formula choice(uint32_t name_at) {
    Formula formula;
    formula.kind = Kind::kCase;
    // Whatever the condition begins with, the token that stands for it was read as a formula's.
    if (failed_) return {};
    const uint32_t start = token_.at;
    const std::string_view text = condition_text();
    ExpressionError error;
    std::optional<Condition> condition = parse_where(text, schema_, error);
    if (!condition) {
      fail(start + error.at, error.text);
      return {};
    }
    formula.condition = *std::move(condition);
    Plan ignored;
    ColumnMap anywhere;
    anywhere.column.fill(0);
    if (std::string problem;
        !compile_where(formula.condition, schema_, anywhere, ignored, problem)) {
      fail(start, problem);
      return {};
    }
    at_ = start + text.size();
    advance();
    expect(',');
    assumed_.push_back(formula.condition);
    Formula yes = sum();
    Condition negated{Condition::Kind::kNot, 0, {}, {}};
    negated.parts.push_back(formula.condition);
    assumed_.back() = std::move(negated);
    expect(',');
    Formula no = sum();
    assumed_.pop_back();
    if (failed_) return {};
    fail_if(name_at, agree(yes, no, formula.shape));
    formula.parts.push_back(std::move(yes));
    formula.parts.push_back(std::move(no));
    return formula;
  }

  // ---- lookup
  Formula lookup() {
    Formula formula;
    formula.kind = Kind::kLookup;
    const uint32_t at = token_.at;
    Formula key = sum();
    if (failed_) return {};
    if (key.kind == Kind::kText || key.shape.type == FieldType::kFlow ||
        key.shape.words > kLookupWords) {
      fail(at, "a file can be asked for a number, an address, a name of up to 16 bytes, not for " +
                   std::string(key.kind == Kind::kText ? "a constant" : name_of(key.shape.type)));
      return {};
    }
    expect(',');
    LookupSpec spec;
    spec.path = token_.text;
    if (token_.kind != Token::Kind::kQuoted || token_.text.empty())
      fail(token_.at, "expected the name of a file in quotes, found " + found());
    advance();
    spec.key = key.shape;
    spec.key.name = {};
    formula.shape = {};
    formula.shape.may_be_absent = key.shape.may_be_absent;
    if (take(',')) {
      const uint32_t default_at = token_.at;
      Formula fallback = sum();
      if (fallback.kind == Kind::kText) fail_if(default_at, as_text(fallback, kLookupWords));
      if (!failed_ && fallback.kind != Kind::kConstant)
        fail(default_at, "the default of lookup is a text in quotes or a number");
      spec.fallback = fallback.words;
      formula.shape.type = fallback.shape.type;
      formula.shape.decimals = fallback.shape.decimals;
    } else {
      formula.shape.type = FieldType::kText;
      formula.shape.may_be_absent = true;
      spec.fallback.fill(kAbsent);
    }
    const bool text = formula.shape.type == FieldType::kText;
    formula.shape.words = text ? kLookupWords : 1;
    formula.shape.absent = text ? kAbsent : kAbsentNumber;
    spec.value = formula.shape;
    spec.value.may_be_absent = false;
    formula.field = static_cast<uint32_t>(lookups_.size());
    lookups_.push_back(std::move(spec));
    formula.parts.push_back(std::move(key));
    return formula;
  }

  const Schema& schema_;
  std::span<const std::string> below_;
  std::vector<LookupSpec>& lookups_;
  std::vector<Condition> assumed_;  // what holds where the value is used
  uint32_t depth_ = 0;
};

}  // namespace

uint32_t registers(const Formula& formula) {
  uint32_t used = formula.shape.words, below = 0;
  const bool wide = formula.kind == Kind::kCase;  // its branches are made equally wide
  for (const Formula& part : formula.parts) {
    const uint32_t words = wide ? formula.shape.words : part.shape.words;
    used = std::max(used, below + std::max(registers(part), words));
    below += words;
  }
  return used;
}

std::optional<Formula> parse_formula(std::string_view text, const Schema& schema,
                                     std::span<const std::string> below,
                                     std::vector<LookupSpec>& lookups, ExpressionError& error) {
  if (text.size() > kExpressionMax) {
    error = {0, "a formula has at most " + std::to_string(kExpressionMax) + " characters"};
    return std::nullopt;
  }
  return Parser(text, schema, below, lookups, error).parse();
}

}  // namespace tidewire
