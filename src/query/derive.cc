#include "query/derive.h"

#include <algorithm>

#include "query/field_text.h"

namespace tidewire {
namespace {

using Kind = Formula::Kind;

// They would be misread in a condition.
constexpr std::array<std::string_view, 7> kReserved = {"and", "or",      "not",   "in",
                                                       "has", "present", "absent"};

class Compiler {
 public:
  Compiler(const DerivedColumns& derived, const ColumnMap& map, uint32_t first_table,
           ColumnProgram& out)
      : derived_(derived), map_(map), first_table_(first_table), out_(out) {}

  void column(uint32_t field, const Formula& root) {
    const size_t first = out_.steps.size();
    value(root, 0);
    ColumnStep store = step(ColumnStep::Op::kStore, 0);
    store.words = root.shape.words;
    store.column = map_.column[field];
    out_.steps.push_back(store);
    const auto begin = out_.steps.begin() + static_cast<std::ptrdiff_t>(first);
    const bool counted =
        std::any_of(begin, out_.steps.end(), [](const ColumnStep& s) { return s.may_pass; });
    std::for_each(begin, out_.steps.end(), [=](ColumnStep& s) { s.counted = counted; });
  }

 private:
  static ColumnStep step(ColumnStep::Op op, uint32_t to) {
    ColumnStep s;
    s.op = op;
    s.to = s.a = static_cast<uint8_t>(to);
    s.b = static_cast<uint8_t>(to + 1);
    return s;
  }
  void constant(int64_t word, uint32_t to) {
    ColumnStep s = step(ColumnStep::Op::kConstant, to);
    s.constant = word;
    out_.steps.push_back(s);
  }

  // Leaves the value in registers `to` and up.
  void value(const Formula& f, uint32_t to) {
    switch (f.kind) {
      case Kind::kField:
        return load(f, to);
      case Kind::kConstant:
        for (uint32_t w = 0; w < f.shape.words; ++w) constant(f.words[w], to + w);
        return;
      case Kind::kAdd:
        return arithmetic(ColumnStep::Op::kAdd, f, to);
      case Kind::kSubtract:
        return arithmetic(ColumnStep::Op::kSubtract, f, to);
      case Kind::kMultiply:
        return arithmetic(ColumnStep::Op::kMultiply, f, to);
      case Kind::kDivide:
        return arithmetic(ColumnStep::Op::kDivide, f, to);
      case Kind::kBucket: {
        value(f.parts[0], to);
        ColumnStep s = step(ColumnStep::Op::kBucket, to);
        s.constant = f.words[0];
        s.may_pass = std::max(f.parts[0].shape.bits, bits_of(f.words[0])) == 63;
        out_.steps.push_back(s);
        return;
      }
      case Kind::kPrefix:
        return cut(f, to);
      case Kind::kCase:
        return select(f, to);
      case Kind::kForward: {
        for (uint32_t p = 0, at = to; p < f.parts.size(); at += f.parts[p++].shape.words)
          value(f.parts[p], at);
        out_.steps.push_back(step(ColumnStep::Op::kForward, to));
        return;
      }
      case Kind::kLookup: {
        const Field& key = f.parts[0].shape;
        value(f.parts[0], to);
        ColumnStep s = step(ColumnStep::Op::kLookup, to);
        s.words = f.shape.words;
        s.key_words = key.words;
        s.number_key = key.type == FieldType::kInteger;
        s.first = first_table_ + f.field;
        out_.steps.push_back(s);
        return;
      }
      case Kind::kText:
        return;  // the parser has given it a type
    }
  }

  void load(const Formula& f, uint32_t to) {
    const Field& field = derived_.schema.fields[f.field];
    for (uint32_t w = 0; w < field.words; ++w) {
      ColumnStep s = step(ColumnStep::Op::kLoad, to + w);
      s.column = static_cast<uint8_t>(map_.column[f.field] + w);
      // What is no number stays as it is.
      const bool number = field.may_be_absent && field.type == FieldType::kInteger;
      s.constant = number ? field.absent : kAbsentNumber;
      out_.steps.push_back(s);
    }
  }

  void arithmetic(ColumnStep::Op op, const Formula& f, uint32_t to) {
    const Field &left = f.parts[0].shape, &right = f.parts[1].shape;
    value(f.parts[0], to);
    value(f.parts[1], to + 1);
    ColumnStep s = step(op, to);
    if (op == ColumnStep::Op::kMultiply) {
      s.may_pass = left.bits + uint32_t{right.bits} > 63;
    } else if (op == ColumnStep::Op::kDivide) {
      s.constant = power_of_ten(right.decimals);
      const uint32_t bits = left.bits + (right.decimals > 0 ? uint32_t{bits_of(s.constant)} : 0);
      s.wide = s.may_pass = bits > 63;
      if (right.decimals == 0) s.wide = s.may_pass = false;
    } else {
      s.may_pass = std::max(left.bits, right.bits) + 1u > 63;
    }
    out_.steps.push_back(s);
  }

  void cut(const Formula& f, uint32_t to) {
    value(f.parts[0], to);
    ColumnStep s = step(ColumnStep::Op::kCut, to);
    const PrefixMask ipv4 = prefix_mask(true, f.shape.prefix_ipv4);
    const PrefixMask ipv6 = prefix_mask(false, f.shape.prefix_ipv6);
    s.cut_ipv4[0] = ipv4.high;
    s.cut_ipv4[1] = ipv4.low;
    s.cut_ipv6[0] = ipv6.high;
    s.cut_ipv6[1] = ipv6.low;
    out_.steps.push_back(s);
  }

  // A narrower text is followed by what makes it as wide as the other.
  void branch(const Formula& f, uint32_t words, uint32_t to) {
    value(f, to);
    for (uint32_t w = f.shape.words; w < words; ++w) {
      ColumnStep s = step(ColumnStep::Op::kWiden, to + w);
      s.a = static_cast<uint8_t>(to);
      out_.steps.push_back(s);
    }
  }

  void select(const Formula& f, uint32_t to) {
    const uint32_t words = f.shape.words;
    branch(f.parts[0], words, to);
    branch(f.parts[1], words, to + words);
    Plan lowered;
    std::string ignored;  // the parser has tried it
    compile_where(f.condition, derived_.schema, map_, lowered, ignored);
    ColumnStep s = step(ColumnStep::Op::kSelect, to);
    s.b = static_cast<uint8_t>(to + words);
    s.words = static_cast<uint8_t>(words);
    s.first = static_cast<uint32_t>(out_.conditions.size());
    out_.conditions.push_back({std::move(lowered.where), std::move(lowered.set)});
    out_.steps.push_back(s);
  }

  const DerivedColumns& derived_;
  const ColumnMap& map_;
  uint32_t first_table_;
  ColumnProgram& out_;
};

void mark(const Formula& formula, std::vector<bool>& used) {
  if (formula.kind == Kind::kField) used[formula.field] = true;
  if (formula.kind == Kind::kCase) mark_fields(formula.condition, used);
  for (const Formula& part : formula.parts) mark(part, used);
}

std::string wrong_name(std::string_view name, const Schema& schema, const Schema& native) {
  const std::string quoted = "'" + std::string(name) + "'";
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto part = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  const bool plain = !name.empty() && name.size() <= 64 && letter(name.front()) &&
                     std::all_of(name.begin(), name.end(), part);
  if (!plain) return quoted + " is no name: a letter, then letters, digits and '_', at most 64";
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end())
    return quoted + " is a word of `where`; choose another name";
  if (native.find(name) >= 0)
    return quoted + " is a field of format '" + std::string(native.format) + "' already";
  if (schema.fields.size() == kFieldMax)
    return "more than " + std::to_string(kFieldMax - native.fields.size()) +
           " columns: with the fields of the format a source has at most " +
           std::to_string(kFieldMax);
  return {};
}

}  // namespace

void DerivedColumns::mark_reads(std::vector<bool>& used) const {
  for (size_t c = columns.size(); c-- > 0;)
    if (used[native + c]) mark(columns[c].root, used);
}

std::shared_ptr<const DerivedColumns> parse_columns(const Schema& native,
                                                    std::span<const ColumnSpec> specs,
                                                    std::vector<ColumnProblem>& problems) {
  auto out = std::make_shared<DerivedColumns>();
  out->schema = native;
  out->native = static_cast<uint32_t>(native.fields.size());
  out->columns.reserve(specs.size());  // the schema points into it
  std::vector<std::string> names;
  for (const ColumnSpec& spec : specs) names.push_back(spec.name);
  for (size_t c = 0; c < specs.size(); ++c) {
    const ColumnSpec& spec = specs[c];
    if (std::string why = wrong_name(spec.name, out->schema, native); !why.empty()) {
      problems.push_back({c, -1, std::move(why)});
      continue;
    }
    ExpressionError error;
    auto root =
        parse_formula(spec.formula, out->schema, std::span(names).subspan(c), out->lookups, error);
    if (!root) problems.push_back({c, static_cast<int32_t>(error.at), std::move(error.text)});
    if (!root) continue;
    auto& column = out->columns.emplace_back(
        DerivedColumns::Column{spec.name, spec.formula, "= " + spec.formula, *std::move(root)});
    Field field = column.root.shape;
    field.name = column.name;
    field.help = column.help;
    out->schema.fields.push_back(field);
  }
  return out;
}

ColumnProgram compile_columns(const DerivedColumns& derived, const ColumnMap& map,
                              uint32_t first_table) {
  ColumnProgram program;
  Compiler compiler(derived, map, first_table, program);
  for (uint32_t c = 0; c < derived.columns.size(); ++c)
    if (map.wants(derived.native + c)) compiler.column(derived.native + c, derived.columns[c].root);
  return program;
}

}  // namespace tidewire
