#include "query/having.h"

#include <algorithm>
#include <optional>

#include "query/schema.h"

namespace tidewire {
namespace {

using Kind = Condition::Kind;

constexpr int128 kMost = static_cast<int128>(~uint128{0} >> 1), kLeast = -kMost - 1;

// The results as if they were fields. Names are those of `outputs`, which outlives it.
Schema schema_of(std::span<const Output> outputs) {
  Schema schema;
  for (const Output& output : outputs) {
    Field field;
    field.name = output.name;
    field.type = shown_type(output);
    field.decimals = shown_decimals(output);
    schema.fields.push_back(field);
  }
  return schema;
}

class Lowering {
 public:
  explicit Lowering(std::vector<HavingStep>& steps) : steps_(steps) {}

  // Masks that stand on the stack at once.
  uint32_t lower(const Condition& c) {
    switch (c.kind) {
      case Kind::kAnd:
      case Kind::kOr: {
        const auto op = c.kind == Kind::kAnd ? HavingStep::Op::kAnd : HavingStep::Op::kOr;
        uint32_t depth = lower(c.parts.front());
        for (size_t i = 1; i < c.parts.size(); ++i) {
          depth = std::max(depth, lower(c.parts[i]) + 1);
          steps_.push_back({op, 0, 0, 0});
        }
        return depth;
      }
      case Kind::kNot: {
        const uint32_t depth = lower(c.parts.front());
        steps_.push_back({HavingStep::Op::kNot, 0, 0, 0});
        return depth;
      }
      case Kind::kPresent:
        return range(c, kLeast, kMost);
      case Kind::kEqual:
        return range(c, c.words[0], c.words[0]);
      case Kind::kRange:  // an end of int64 is the parser's word for none
        return range(c, c.words[0] == INT64_MIN ? kLeast : c.words[0],
                     c.words[1] == INT64_MAX ? kMost : c.words[1]);
      case Kind::kAnyOf: {
        uint32_t depth = 1;
        for (size_t i = 0; i < c.words.size(); ++i) {
          range(c, c.words[i], c.words[i]);
          if (i == 0) continue;
          steps_.push_back({HavingStep::Op::kOr, 0, 0, 0});
          depth = 2;
        }
        return depth;
      }
      case Kind::kHas:  // fields of more than one word, and flags, are no results
      case Kind::kPrefix:
        break;
    }
    return 0;
  }

 private:
  uint32_t range(const Condition& c, int128 low, int128 high) {
    steps_.push_back({HavingStep::Op::kRange, static_cast<uint16_t>(c.field), low, high});
    return 1;
  }

  std::vector<HavingStep>& steps_;
};

// What having cannot test: empty if it can.
std::string refusal(const Condition& c, std::span<const Output> outputs) {
  if (c.kind == Kind::kHas)
    return "'has' is for events: test the flags of '" + outputs[c.field].name + "' in `where`";
  if (c.kind == Kind::kPrefix) return "prefixes are for events: test them in `where`";
  for (const Condition& part : c.parts)
    if (std::string text = refusal(part, outputs); !text.empty()) return text;
  return {};
}

}  // namespace

bool compile_having(std::string_view text, std::span<const Output> outputs,
                    std::span<const KeyField> key, std::vector<HavingStep>& steps,
                    ExpressionError& error) {
  const Schema schema = schema_of(outputs);
  const std::optional<Condition> condition = parse_where(text, schema, error);
  if (!condition) {
    for (const KeyField& field : key)
      if (text.substr(error.at).starts_with(field.name) && schema.find(field.name) < 0)
        error.text = "'" + field.name +
                     "' is of the key, known before anything is counted: test "
                     "it in `where`";
    return false;
  }
  if (std::string why = refusal(*condition, outputs); !why.empty()) {
    error = {0, std::move(why)};
    return false;
  }
  const uint32_t depth = Lowering(steps).lower(*condition);
  if (depth > kPredicateDepthMax || steps.size() > kPredicateStepsMax) {
    error = {0, "the condition is too large: " + std::to_string(steps.size()) + " steps and " +
                    std::to_string(depth) + " partial results at once; " +
                    std::to_string(kPredicateStepsMax) + " and " +
                    std::to_string(kPredicateDepthMax) + " are the limits"};
    return false;
  }
  return true;
}

}  // namespace tidewire
