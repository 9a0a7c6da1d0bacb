// The language of `where`, from text to the postfix program that select runs.
//
//   where = "protocol in {tcp, udp} and not (dst_port < 1024 or src in 10.0.0.0/8)"
//
//   condition   FIELD == VALUE    !=  <  <=  >  >=
//
//               FIELD in {ITEM, ITEM, ...}   FIELD in ITEM
//               ITEM: VALUE, LOW..HIGH, ADDRESS/BITS
//
//               FIELD has LETTERS            all these TCP flags are set: tcp_flags has SA
//
//               FIELD present                FIELD absent
//
//   together    not, and, or (in this order of strength), parentheses
//   VALUE       as the field is shown: 443, 0x1bb, 12.50 (fixed-point), 10.0.0.1, 2001:db8::1,
//               00:11:22:33:44:55, tcp, ipv6, 'text' or "text" in quotes, 2024-05-01T13:30:00Z
//
// A field that an event lacks equals nothing and lies in no range: every condition on it is false,
// so `!=`, which is `not ==`, is true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/plan.h"
#include "query/schema.h"

namespace tidewire {

// One node of the parsed text: fields are indexes into the schema, values are words.
struct Condition {
  enum class Kind : uint8_t {
    kEqual,    // words: the value's
    kAnyOf,    // words: values of a field of one word
    kRange,    // words: low, high; both included
    kHas,      // words: bits that are all set
    kPrefix,   // words: address high, low, mask high, low
    kPresent,  // not kAbsent
    kAnd,
    kOr,
    kNot,  // parts
  } kind = Kind::kAnd;
  uint32_t field = 0;
  std::vector<int64_t> words;
  std::vector<Condition> parts;
};

struct ExpressionError {
  uint32_t at = 0;  // offset in the text
  std::string text;
};

inline constexpr size_t kExpressionMax = 4096;         // characters
inline constexpr size_t kPredicateStepsMax = 256;      // of one query
inline constexpr uint32_t kExpressionNestingMax = 32;  // parentheses and nots inside each other

// A schema without a format is that of a query's results (query/having.h): names may be quoted.
std::optional<Condition> parse_where(std::string_view text, const Schema& schema,
                                     ExpressionError& error);

void mark_fields(const Condition& condition, std::vector<bool>& used);

// Whether an event that the condition accepts surely has the field.
bool implies_present(const Condition& condition, uint32_t field);

// Appends to plan.where and plan.set. False: the condition needs more than kPredicateDepthMax masks
// or kPredicateStepsMax steps; `problem` says so.
bool compile_where(const Condition& condition, const Schema& schema, const ColumnMap& columns,
                   Plan& plan, std::string& problem);

}  // namespace tidewire
