#include "query/compile.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "base/int128.h"
#include "base/units.h"
#include "query/expression.h"
#include "query/field_text.h"
#include "query/having.h"
#include "query/items.h"
#include "query/nearest.h"
#include "query/sketch.h"

namespace tidewire {
namespace {

constexpr uint64_t kKeysPerShard = 512;  // at most, on average: core.md section 4
constexpr uint32_t kRowsLog2Max = 40;    // rows of one cell; with 23 bits a sum stays below 2^63

struct Asked {  // a spec, its names found
  const QuerySource* source = nullptr;
  std::optional<Condition> where;
  std::vector<KeyItem> key;
  std::vector<AggregateItem> aggregates;
  bool aggregates_amiss = false;  // some could not be read
  int gap_field = -1;
};

class Compiler {
 public:
  Compiler(std::span<const QuerySpec> specs, std::span<const QuerySource> sources, HashSeed seed,
           std::vector<QueryProblem>& problems)
      : specs_(specs), sources_(sources), seed_(seed), problems_(problems) {}

  Compiled run() {
    std::vector<Asked> asked(specs_.size());
    for (query_ = 0; query_ < specs_.size(); ++query_) asked[query_] = resolve(specs_[query_]);
    Compiled out;
    uint32_t tables = 0;
    for (const QuerySource& source : sources_) {
      out.columns.push_back(assign_columns(source, asked));
      out.progress.push_back(make_progress(source, out.columns.back()));
      out.programs.emplace_back();
      if (source.derived == nullptr) continue;
      out.programs.back() = compile_columns(*source.derived, out.columns.back(), tables);
      tables += static_cast<uint32_t>(source.derived->lookups.size());
    }
    for (query_ = 0; query_ < specs_.size(); ++query_) {
      Plan plan;
      PaneSum panes;
      if (const Asked& a = asked[query_]; a.source != nullptr) {
        const auto at = static_cast<size_t>(a.source - sources_.data());
        plan = make_plan(specs_[query_], a, out.columns[at]);
        std::optional<WindowProblem> wrong;
        panes = size_panes(specs_[query_], *a.source, plan, wrong);
        if (wrong) problem(wrong->option, wrong->text);
      }
      out.plans.push_back(std::move(plan));
      out.panes.push_back(panes);
    }
    return out;
  }

 private:
  void problem(std::string option, std::string text, int32_t item = -1, int32_t column = -1) {
    problems_.push_back({query_, std::move(option), item, column, std::move(text)});
  }

  void report(const std::vector<WindowProblem>& found) {
    for (const WindowProblem& p : found) problem(p.option, p.text);
  }

  // ---- names
  Asked resolve(const QuerySpec& spec) {
    Asked asked;
    const auto found = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const QuerySource& s) { return s.name == spec.source; });
    report(check_window(spec));
    if (found == sources_.end()) {
      std::vector<std::string_view> names;
      for (const QuerySource& source : sources_) names.push_back(source.name);
      problem("source",
              "no source is named '" + spec.source + "'" + suggestion(spec.source, names));
      return asked;
    }
    if (found->schema == nullptr) return asked;  // its unknown format is a problem of the source
    asked.source = &*found;
    const Schema& schema = *found->schema;
    if (!spec.where.empty()) {
      ExpressionError error;
      asked.where = parse_where(spec.where, schema, error);
      if (!asked.where) problem("where", error.text, -1, static_cast<int32_t>(error.at));
    }
    resolve_key(spec, schema, asked);
    resolve_aggregates(spec, schema, asked);
    resolve_gap(spec, schema, asked);
    return asked;
  }

  void resolve_gap(const QuerySpec& spec, const Schema& schema, Asked& asked) {
    if (spec.window.kind != WindowKind::kSession || spec.gap_field.empty()) return;
    const int found = schema.find(spec.gap_field);
    if (found < 0) {
      std::vector<std::string_view> numbers;
      for (const Field& field : schema.fields)
        if (is_whole_number(field)) numbers.push_back(field.name);
      return problem("window.gap_field", "format '" + std::string(schema.format) +
                                             "' has no field '" + spec.gap_field + "'" +
                                             suggestion(spec.gap_field, numbers));
    }
    const Field& field = schema.fields[static_cast<size_t>(found)];
    if (!is_whole_number(field))
      return problem("window.gap_field",
                     "'" + spec.gap_field + "' is no whole number, so it counts no gap_unit");
    check_presence(static_cast<uint32_t>(found), schema, asked, "window.gap_field", -1);
    asked.gap_field = found;
  }
  static bool is_whole_number(const Field& field) {
    return field.type == FieldType::kInteger && field.decimals == 0;
  }

  void resolve_key(const QuerySpec& spec, const Schema& schema, Asked& asked) {
    uint32_t words = 0;
    std::string sum;
    for (size_t i = 0; i < spec.key.size(); ++i) {
      ItemError error;
      const std::optional<KeyItem> item = parse_key_item(spec.key[i], schema, error);
      if (!item) {
        problem("key", error.text, static_cast<int32_t>(i), static_cast<int32_t>(error.at));
        continue;
      }
      const Field& field = schema.fields[item->field];
      words += field.words;
      sum += (sum.empty() ? "" : " + ") + spec.key[i] + " " + std::to_string(field.words);
      for (const KeyItem& other : asked.key)
        if (other.field == item->field)
          problem("key", "'" + std::string(field.name) + "' stands in the key twice",
                  static_cast<int32_t>(i));
      asked.key.push_back(*item);
    }
    if (words > kMaxKeyWords)
      problem("key", "the key takes " + std::to_string(words) + " words of 8 bytes (" + sum +
                         "); " + std::to_string(kMaxKeyWords) + " is the limit");
  }

  void resolve_aggregates(const QuerySpec& spec, const Schema& schema, Asked& asked) {
    if (spec.aggregates.empty())
      problem("aggregates", "a query needs at least one, e.g. \"count\"");
    std::vector<std::string> names = spec.key;
    for (size_t i = 0; i < spec.aggregates.size(); ++i) {
      const auto at = static_cast<int32_t>(i);
      ItemError error;
      const std::vector<AggregateItem> items =
          parse_aggregate_item(spec.aggregates[i], schema, asked.aggregates, error);
      if (items.empty()) {
        asked.aggregates_amiss = true;
        problem("aggregates", error.text, at, static_cast<int32_t>(error.at));
        continue;
      }
      for (const AggregateItem& item : items) {
        if (std::find(names.begin(), names.end(), item.name) != names.end())
          problem("aggregates",
                  "the result has two columns named '" + item.name + "'; name this one with 'as'",
                  at);
        names.push_back(item.name);
      }
      const AggregateItem& item = items.front();
      if (item.compares() && !spec.window.is_aligned())
        problem("aggregates",
                "'" + item.name + "' compares a key's window with the one before; " +
                    "only windows of event time follow one another",
                at);
      if (item.reads_field()) check_presence(item.field, schema, asked, "aggregates", at);
      if (item.second != item.field) check_presence(item.second, schema, asked, "aggregates", at);
      asked.aggregates.insert(asked.aggregates.end(), items.begin(), items.end());
    }
  }

  // A cell cannot skip a row: kAbsent would be summed as -1.
  void check_presence(uint32_t index, const Schema& schema, const Asked& asked, std::string option,
                      int32_t at) {
    const Field& field = schema.fields[index];
    if (!field.may_be_absent || (asked.where && implies_present(*asked.where, index))) return;
    const std::string name(field.name);
    problem(std::move(option),
            "'" + name + "' may be absent from an event, and then has no value; add '" + name +
                " present' to `where` (with 'and')",
            at);
  }

  // ---- columns
  ColumnMap assign_columns(const QuerySource& source, const std::vector<Asked>& asked) {
    ColumnMap map;
    if (source.schema == nullptr) return map;
    const Schema& schema = *source.schema;
    std::vector<bool> used(schema.fields.size());
    uint32_t last = 0;
    for (uint32_t q = 0; q < asked.size(); ++q) {
      if (asked[q].source != &source) continue;
      last = q;
      if (asked[q].where) mark_fields(*asked[q].where, used);
      for (const KeyItem& item : asked[q].key) used[item.field] = true;
      for (const AggregateItem& item : asked[q].aggregates)
        if (item.reads_field()) used[item.field] = used[item.second] = true;
      if (asked[q].gap_field >= 0) used[static_cast<size_t>(asked[q].gap_field)] = true;
    }
    if (const int partition = schema.find(source.partition); partition >= 0)
      used[static_cast<size_t>(partition)] = true;
    if (ExpressionError error; !source.progress.empty())
      if (const auto progress = parse_where(source.progress, schema, error))
        mark_fields(*progress, used);
    if (source.derived != nullptr) source.derived->mark_reads(used);
    uint32_t needed = 0;
    std::string sum;
    for (uint32_t f = 0; f < schema.fields.size(); ++f) {
      if (!used[f]) continue;
      const Field& field = schema.fields[f];
      if (needed + field.words <= kColumnMax) map.column[f] = static_cast<uint8_t>(needed);
      needed += field.words;
      sum +=
          (sum.empty() ? "" : ", ") + std::string(field.name) + " " + std::to_string(field.words);
    }
    map.used = std::min(needed, kColumnMax);
    if (needed > kColumnMax) {
      query_ = last;
      problem("source", "the queries on '" + source.name + "' use " + std::to_string(needed) +
                            " columns (" + sum + "); " + std::to_string(kColumnMax) +
                            " is the limit: read the source twice");
    }
    return map;
  }

  // What is wrong with it, compile_progress has told.
  static Predicate make_progress(const QuerySource& source, const ColumnMap& columns) {
    ExpressionError error;
    Plan plan;
    std::string text;
    if (source.schema == nullptr || source.progress.empty()) return {};
    const auto condition = parse_where(source.progress, *source.schema, error);
    if (condition) compile_where(*condition, *source.schema, columns, plan, text);
    return {std::move(plan.where), std::move(plan.set)};
  }

  // ---- the plan
  Plan make_plan(const QuerySpec& spec, const Asked& asked, const ColumnMap& columns) {
    const Schema& schema = *asked.source->schema;
    Plan plan;
    plan.id = QueryId{static_cast<uint16_t>(query_)};
    plan.name = spec.name;
    plan.seed = seed_;
    plan.lanes = asked.source->lanes;
    plan.window = spec.window;
    if (std::string text; asked.where && !compile_where(*asked.where, schema, columns, plan, text))
      problem("where", text);
    for (const KeyItem& item : asked.key) add_key(item, schema, columns, plan);
    plan.key_words = static_cast<uint32_t>(plan.key.size() == 3 ? 4 : plan.key.size());
    add_aggregates(asked, schema, columns, plan);
    add_gap(spec, asked, schema, columns, plan);
    if (plan.values.size() > kValueMax)
      problem("aggregates", "they read " + std::to_string(plan.values.size()) +
                                " words of 8 bytes" +
                                (asked.gap_field >= 0 ? " with the gap" : "") + "; " +
                                std::to_string(kValueMax) + " is the limit");
    choose_placement(spec, asked, plan);
    report(check_lane_order(spec, *asked.source, plan.placement == Placement::kLocal));
    // With an aggregate amiss its name would be amiss here as well.
    if (!asked.aggregates_amiss) shape(spec, plan);
    plan.late_rows = !spec.late_sinks.empty();
    // One group needs one key; its other sizes are what they are.
    plan.max_keys = asked.key.empty() ? 1 : spec.max_keys;
    plan.shards =
        static_cast<uint32_t>(std::bit_ceil((plan.max_keys + kKeysPerShard - 1) / kKeysPerShard));
    plan.max_sessions = spec.window.kind == WindowKind::kSession ? spec.max_sessions : 0;
    plan.max_deferred = spec.max_deferred;
    // What late rows have changed behind a window's end, or behind a step that had left.
    const WindowShape& w = spec.window;
    if (w.lateness.ns > 0 || w.early.ns > 0 || w.early_rows > 0)
      plan.max_changes = spec.max_changes;
    return plan;
  }

  static void add_key(const KeyItem& item, const Schema& schema, const ColumnMap& columns,
                      Plan& plan) {
    const Field& field = schema.fields[item.field];
    const uint8_t first = columns.column[item.field];
    KeyField shown;
    shown.name = item.name;
    shown.type = field.type;
    shown.first_word = static_cast<uint8_t>(plan.key.size());
    shown.words = field.words;
    shown.decimals = field.decimals;
    shown.prefix_ipv4 = std::min(item.prefix_ipv4, field.prefix_ipv4);
    shown.prefix_ipv6 = std::min(item.prefix_ipv6, field.prefix_ipv6);
    shown.may_be_absent = field.may_be_absent;
    shown.absent = field.absent;
    plan.key_fields.push_back(std::move(shown));
    const bool cut = item.prefix_ipv4 < 32 || item.prefix_ipv6 < 128;
    if (!cut) {
      for (uint8_t w = 0; w < field.words; ++w)
        plan.key.push_back({static_cast<uint8_t>(first + w), KeyWord::Cut::kNone, 0, -1, -1});
      return;
    }
    const PrefixMask ipv4 = prefix_mask(true, item.prefix_ipv4);
    const PrefixMask ipv6 = prefix_mask(false, item.prefix_ipv6);
    plan.key.push_back({first, KeyWord::Cut::kHighWord, first, ipv4.high, ipv6.high});
    plan.key.push_back(
        {static_cast<uint8_t>(first + 1), KeyWord::Cut::kLowWord, first, ipv4.low, ipv6.low});
  }

  // Stats: at most one value, no sum that 64 bits could not hold, nothing but what it has.
  static bool fits_stats(const std::vector<AggregateItem>& items, const Schema& schema,
                         const WindowShape& window) {
    const AggregateItem* value = nullptr;
    for (const AggregateItem& item : items) {
      if (!item.reads_field()) continue;
      if (stats_word(item.op) == 0) return false;
      if (value != nullptr && value->field != item.field) return false;
      value = &item;
    }
    return value == nullptr || fits_sum64(schema.fields[value->field], window);
  }

  // A window without an end may see more rows than any other.
  static bool fits_sum64(const Field& field, const WindowShape& window) {
    return window.kind != WindowKind::kGlobal && field.bits + kRowsLog2Max <= 63;
  }

  void add_aggregates(const Asked& asked, const Schema& schema, const ColumnMap& columns,
                      Plan& plan) {
    plan.cell =
        fits_stats(asked.aggregates, schema, plan.window) ? CellKind::kStats : CellKind::kWide;
    uint32_t words = 1;  // word 0 is the row count
    for (const AggregateItem& item : asked.aggregates) {
      Output output;
      output.name = item.name;
      output.op = item.op;
      output.parameter = item.parameter;
      if (item.compares()) {
        output.of = item.of;
        const Output& of = plan.outputs[item.of];
        output.decimals = shown_decimals(of);
        if (shown_type(of) != FieldType::kInteger)
          problem("aggregates", "'" + of.name + "' is no number, so it has no difference");
      } else if (item.reads_field()) {
        const Field& field = schema.fields[item.field];
        output.type = field.type;
        output.decimals = field.decimals;
        output.range = {field.bits, field.non_negative};
        const uint8_t value = value_of(field, columns.column[item.field], plan);
        if (plan.cell == CellKind::kStats)
          output.word = stats_word(item.op);
        else
          add_parts(item, value, schema, columns, plan, output, words);
      }
      plan.outputs.push_back(std::move(output));
    }
    plan.cell_words = plan.cell == CellKind::kStats ? 4 : (words + 3) / 4 * 4;
    check_cell(plan);
  }

  // The words of a field among the plan's values: where the first of them stands.
  static uint8_t value_of(const Field& field, uint8_t column, Plan& plan) {
    const auto found = std::find(plan.values.begin(), plan.values.end(), column);
    const auto at = static_cast<uint8_t>(found - plan.values.begin());
    if (found != plan.values.end()) return at;
    for (uint8_t w = 0; w < field.words; ++w)
      plan.values.push_back(static_cast<uint8_t>(column + w));
    KeyField shown;
    shown.name = field.name;
    shown.type = field.type;
    shown.first_word = at;
    shown.words = field.words;
    shown.decimals = field.decimals;
    shown.may_be_absent = field.may_be_absent;
    shown.absent = field.absent;
    shown.prefix_ipv4 = field.prefix_ipv4;
    shown.prefix_ipv6 = field.prefix_ipv6;
    plan.value_fields.push_back(std::move(shown));
    return at;
  }

  void add_gap(const QuerySpec& spec, const Asked& asked, const Schema& schema,
               const ColumnMap& columns, Plan& plan) {
    if (asked.gap_field < 0) return;
    const auto field = static_cast<size_t>(asked.gap_field);
    plan.gap_value = value_of(schema.fields[field], columns.column[field], plan);
    plan.gap_unit = spec.gap_unit;
  }

  // ---- what egress makes of results
  void shape(const QuerySpec& spec, Plan& plan) {
    ExpressionError error;
    if (!spec.having.empty() &&
        !compile_having(spec.having, plan.outputs, plan.key_fields, plan.shaping.having, error))
      problem("having", error.text, -1, static_cast<int32_t>(error.at));
    plan.shaping.fill = spec.fill;
    plan.shaping.fill_windows = spec.fill == EmptyFill::kNone ? 0 : spec.fill_windows;
    plan.shaping.top = spec.top;
    plan.shaping.top_least = spec.top_least;
    if (spec.top == 0 || spec.top_by.empty()) return;
    std::vector<std::string_view> names;
    for (const Output& output : plan.outputs) names.push_back(output.name);
    const auto found = std::find(names.begin(), names.end(), spec.top_by);
    if (found == names.end())
      return problem("top_by", "the query has no result '" + spec.top_by + "'" +
                                   suggestion(spec.top_by, names));
    plan.shaping.top_output = static_cast<uint16_t>(found - names.begin());
    const Output& by = plan.outputs[plan.shaping.top_output];
    const FieldType type = shown_type(by);
    if (type != FieldType::kInteger && type != FieldType::kTime)
      problem("top_by",
              "'" + spec.top_by + "' is neither a number nor a time, so it ranks nothing");
  }

  // The Stats cell: {count, sum, min, max}. 0: it has no such word.
  static uint16_t stats_word(OutputOp op) {
    switch (op) {
      case OutputOp::kSum:
      case OutputOp::kAverage:
        return 1;
      case OutputOp::kMin:
        return 2;
      case OutputOp::kMax:
        return 3;
      case OutputOp::kCount:
      case OutputOp::kFirst:
      case OutputOp::kLast:
      case OutputOp::kVariance:
      case OutputOp::kVarianceSample:
      case OutputOp::kDeviation:
      case OutputOp::kDeviationSample:
      case OutputOp::kVwap:
      case OutputOp::kAny:
      case OutputOp::kAll:
      case OutputOp::kTop:
      case OutputOp::kBottom:
      case OutputOp::kQuantile:
      case OutputOp::kDistinct:
      case OutputOp::kDelta:
      case OutputOp::kRate:
        break;
    }
    return 0;
  }

  // The parts of a Wide cell that an output is read from.
  static void add_parts(const AggregateItem& item, uint8_t value, const Schema& schema,
                        const ColumnMap& columns, Plan& plan, Output& output, uint32_t& words) {
    const Field& field = schema.fields[item.field];
    const auto part = [&](CellOp op) { return part_of({op, value, 0, value}, plan, words); };
    const auto sum = [&](const Field& of, uint8_t v) {
      output.sum128 = !fits_sum64(of, plan.window);
      return part_of({output.sum128 ? CellOp::kSum128 : CellOp::kSum64, v, 0, v}, plan, words);
    };
    switch (item.op) {
      case OutputOp::kCount:
        return;
      case OutputOp::kSum:
      case OutputOp::kAverage:
        output.word = sum(field, value);
        return;
      case OutputOp::kMin:
        output.word = part(CellOp::kMin);
        return;
      case OutputOp::kMax:
        output.word = part(CellOp::kMax);
        return;
      case OutputOp::kFirst:
        output.word = part(CellOp::kFirst);
        return;
      case OutputOp::kLast:
        output.word = part(CellOp::kLast);
        return;
      case OutputOp::kVariance:
      case OutputOp::kVarianceSample:
      case OutputOp::kDeviation:
      case OutputOp::kDeviationSample:
        output.word = part(CellOp::kSumProducts);
        output.sum_word = sum(field, value);
        return;
      case OutputOp::kVwap: {
        const Field& volume = schema.fields[item.second];
        const uint8_t second = value_of(volume, columns.column[item.second], plan);
        output.word = part_of({CellOp::kSumProducts, value, 0, second}, plan, words);
        output.sum_word = sum(volume, second);
        return;
      }
      case OutputOp::kAny:
      case OutputOp::kAll:
        output.word = part(CellOp::kNonZero);
        return;
      case OutputOp::kTop:
      case OutputOp::kBottom: {
        const CellOp op = item.op == OutputOp::kTop ? CellOp::kTop : CellOp::kBottom;
        const auto size = static_cast<uint8_t>(item.size);
        output.word = part_of({op, value, 0, value, size}, plan, words);
        return;
      }
      case OutputOp::kQuantile:
        output.word = part_of({CellOp::kHistogram, value, 0, value, 0, output.range}, plan, words);
        return;
      case OutputOp::kDistinct: {
        const auto last = static_cast<uint8_t>(value + field.words - 1);
        output.word = part_of({CellOp::kDistinct, value, 0, last}, plan, words);
        return;
      }
      case OutputOp::kDelta:
      case OutputOp::kRate:
        return;
    }
  }

  // The cell's word of a part; outputs that read the same one share it.
  static uint16_t part_of(CellPart part, Plan& plan, uint32_t& words) {
    for (const CellPart& other : plan.parts)
      if (other.op == part.op && other.value == part.value && other.second == part.second &&
          other.size == part.size)
        return other.word;
    part.word = static_cast<uint16_t>(words);
    words += words_of(part);
    plan.parts.push_back(part);
    return part.word;
  }

  // A result travels in a block of fixed size.
  void check_cell(const Plan& plan) {
    if (plan.parts.size() > kCellPartsMax)
      problem("aggregates", "they keep " + std::to_string(plan.parts.size()) +
                                " different things of each key; " + std::to_string(kCellPartsMax) +
                                " is the limit");
    const uint64_t bytes =
        (uint64_t{kResultHeadWords} + plan.key_words + plan.cell_words) * sizeof(int64_t);
    if (bytes <= kResultRowBytesMax) return;
    std::string largest;
    for (const CellPart& part : plan.parts)
      if (part.op == CellOp::kHistogram)
        largest += (largest.empty() ? "" : ", ") + value_name(plan, part.value) + " " +
                   std::to_string(words_of(part) * 8) + " B";
    problem("aggregates", "a result takes " + std::to_string(bytes) + " B, and " +
                              std::to_string(kResultRowBytesMax) +
                              " B is the limit; quantiles take most (" + largest +
                              "): ask for fewer of them, or in queries of their own");
  }

  static std::string value_name(const Plan& plan, uint8_t value) {
    for (const KeyField& field : plan.value_fields)
      if (field.first_word == value) return field.name;
    return "";
  }

  void choose_placement(const QuerySpec& spec, const Asked& asked, Plan& plan) {
    const bool one_lane = plan.lanes.size() == 1;
    const bool local = spec.placement == PlacementChoice::kLocal ||
                       (spec.placement == PlacementChoice::kAuto && one_lane);
    plan.placement = local ? Placement::kLocal : Placement::kExchange;
    if (local && !one_lane && asked.key.empty())
      problem(
          "placement",
          "\"local\" would give one result a worker: without a key no lane determines it, and '" +
              asked.source->name + "' has several lanes; leave it at \"auto\"");
  }

  std::span<const QuerySpec> specs_;
  std::span<const QuerySource> sources_;
  HashSeed seed_;
  std::vector<QueryProblem>& problems_;
  uint32_t query_ = 0;
};

}  // namespace

bool compile_progress(std::string_view text, const Schema& schema, std::string& problem,
                      size_t& at) {
  ExpressionError error;
  const auto condition = parse_where(text, schema, error);
  if (!condition) {
    problem = error.text;
    at = error.at;
    return false;
  }
  at = 0;
  ColumnMap columns;
  for (size_t f = 0; f < schema.fields.size(); ++f) columns.column[f] = 0;
  Plan plan;
  return compile_where(*condition, schema, columns, plan, problem);
}

Compiled compile(std::span<const QuerySpec> specs, std::span<const QuerySource> sources,
                 HashSeed seed, std::vector<QueryProblem>& problems) {
  return Compiler(specs, sources, seed, problems).run();
}

}  // namespace tidewire
