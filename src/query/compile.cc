#include "query/compile.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "base/int128.h"
#include "base/units.h"
#include "query/expression.h"
#include "query/field_text.h"
#include "query/items.h"
#include "query/nearest.h"

namespace tidewire {
namespace {

constexpr uint64_t kKeysPerShard = 512;  // at most, on average: core.md section 4
constexpr uint64_t kPanesPerWindowMax = 10'000;
constexpr uint64_t kDefaultPanes = 64;  // for the bounds that are "never"
constexpr uint32_t kRowsLog2Max = 40;   // rows of one cell; with 23 bits a sum stays below 2^63

struct Asked {  // a spec, its names found
  const QuerySource* source = nullptr;
  std::optional<Condition> where;
  std::vector<KeyItem> key;
  std::vector<AggregateItem> aggregates;
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
    for (const QuerySource& source : sources_) out.columns.push_back(assign_columns(source, asked));
    for (query_ = 0; query_ < specs_.size(); ++query_) {
      Plan plan;
      PaneSum panes;
      if (const Asked& a = asked[query_]; a.source != nullptr) {
        const auto at = static_cast<size_t>(a.source - sources_.data());
        plan = make_plan(specs_[query_], a, out.columns[at]);
        panes = size_panes(specs_[query_], *a.source, plan);
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

  // ---- names
  Asked resolve(const QuerySpec& spec) {
    Asked asked;
    const auto found = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const QuerySource& s) { return s.name == spec.source; });
    check_window(spec.window);
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
    return asked;
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
      const std::optional<AggregateItem> item =
          parse_aggregate_item(spec.aggregates[i], schema, error);
      if (!item) {
        problem("aggregates", error.text, at, static_cast<int32_t>(error.at));
        continue;
      }
      if (std::find(names.begin(), names.end(), item->name) != names.end())
        problem("aggregates",
                "the result has two columns named '" + item->name + "'; name this one with 'as'",
                at);
      names.push_back(item->name);
      if (item->op != OutputOp::kCount)
        check_presence(schema.fields[item->field], *item, asked, at);
      asked.aggregates.push_back(*item);
    }
  }

  // A cell cannot skip a row: kAbsent would be summed as -1.
  void check_presence(const Field& field, const AggregateItem& item, const Asked& asked,
                      int32_t at) {
    if (!field.may_be_absent || (asked.where && implies_present(*asked.where, item.field))) return;
    const std::string name(field.name);
    problem("aggregates",
            "'" + name + "' may be absent from an event, and then has no value; add '" + name +
                " present' to `where` (with 'and')",
            at);
  }

  // ---- windows
  void check_window(const WindowShape& w) {
    if (w.kind == WindowKind::kSession) {
      if (w.gap.ns <= 0) problem("window.gap", "a session's gap must be above zero");
      return;
    }
    if (w.size.ns <= 0) return problem("window.size", "a window's size must be above zero");
    if (w.slide.ns <= 0) return problem("window.slide", "a window's slide must be above zero");
    if (w.kind == WindowKind::kTumbling && w.slide != w.size)
      problem("window.slide", "a tumbling window slides by its size; choose type = \"sliding\"");
    if (w.offset.ns <= -w.slide.ns || w.offset.ns >= w.slide.ns)
      problem("window.offset",
              "the offset " + format_duration(w.offset) + " must be nearer to zero than " +
                  (w.kind == WindowKind::kTumbling ? "the size " : "the slide ") +
                  format_duration(w.slide) + ": windows repeat, so a smaller one means the same");
    const Duration pane = pane_of(w);
    const int64_t panes = w.size.ns / pane.ns;
    if (static_cast<uint64_t>(panes) > kPanesPerWindowMax)
      problem("window.slide", "size " + format_duration(w.size) + " and slide " +
                                  format_duration(w.slide) + " have only " + format_duration(pane) +
                                  " in common, so a window would be put together from " +
                                  std::to_string(panes) + " panes; " +
                                  std::to_string(kPanesPerWindowMax) +
                                  " is the limit: choose a slide that divides the size");
  }

  static Duration pane_of(const WindowShape& w) {
    return w.kind == WindowKind::kTumbling ? w.size : Duration{std::gcd(w.size.ns, w.slide.ns)};
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
        if (item.op != OutputOp::kCount) used[item.field] = true;
    }
    if (const int partition = schema.find(source.partition); partition >= 0)
      used[static_cast<size_t>(partition)] = true;
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
    choose_placement(spec, asked, plan);
    // One group needs one key; its other sizes are what they are.
    plan.max_keys = asked.key.empty() ? 1 : spec.max_keys;
    plan.shards =
        static_cast<uint32_t>(std::bit_ceil((plan.max_keys + kKeysPerShard - 1) / kKeysPerShard));
    plan.max_sessions = spec.window.kind == WindowKind::kSession ? spec.max_sessions : 0;
    plan.max_deferred = spec.max_deferred;
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
    shown.prefix_ipv4 = item.prefix_ipv4;
    shown.prefix_ipv6 = item.prefix_ipv6;
    shown.may_be_absent = field.may_be_absent;
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

  // Stats: at most one value, no sum that 64 bits could not hold, no first or last.
  static bool fits_stats(const std::vector<AggregateItem>& items, const Schema& schema) {
    const AggregateItem* value = nullptr;
    for (const AggregateItem& item : items) {
      if (item.op == OutputOp::kCount) continue;
      if (item.op == OutputOp::kFirst || item.op == OutputOp::kLast) return false;
      if (value != nullptr && value->field != item.field) return false;
      value = &item;
    }
    return value == nullptr || schema.fields[value->field].bits + kRowsLog2Max <= 63;
  }

  void add_aggregates(const Asked& asked, const Schema& schema, const ColumnMap& columns,
                      Plan& plan) {
    plan.cell = fits_stats(asked.aggregates, schema) ? CellKind::kStats : CellKind::kWide;
    uint16_t words = 1;  // word 0 is the row count
    for (const AggregateItem& item : asked.aggregates) {
      Output output;
      output.name = item.name;
      output.op = item.op;
      if (item.op == OutputOp::kCount) {
        plan.outputs.push_back(std::move(output));
        continue;
      }
      const Field& field = schema.fields[item.field];
      output.type = field.type;
      output.decimals = field.decimals;
      const uint8_t value = value_of(columns.column[item.field], plan);
      if (plan.cell == CellKind::kStats) {
        output.word = stats_word(item.op);
      } else {
        const CellOp op = cell_op(item.op, field);
        output.word = part_of(op, value, plan, words);
        output.sum128 = op == CellOp::kSum128;
      }
      plan.outputs.push_back(std::move(output));
    }
    plan.cell_words = (words + 3u) / 4 * 4;
    if (plan.values.size() > kValueMax)
      problem("aggregates", "they read " + std::to_string(plan.values.size()) +
                                " different fields; " + std::to_string(kValueMax) +
                                " is the limit");
  }

  static uint8_t value_of(uint8_t column, Plan& plan) {
    const auto found = std::find(plan.values.begin(), plan.values.end(), column);
    if (found == plan.values.end()) {
      plan.values.push_back(column);
      return static_cast<uint8_t>(plan.values.size() - 1);
    }
    return static_cast<uint8_t>(found - plan.values.begin());
  }

  // The Stats cell: {count, sum, min, max}.
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
        break;
    }
    return 0;
  }

  static CellOp cell_op(OutputOp op, const Field& field) {
    switch (op) {
      case OutputOp::kMin:
        return CellOp::kMin;
      case OutputOp::kMax:
        return CellOp::kMax;
      case OutputOp::kFirst:
        return CellOp::kFirst;
      case OutputOp::kLast:
        return CellOp::kLast;
      case OutputOp::kCount:
      case OutputOp::kSum:
      case OutputOp::kAverage:
        break;
    }
    return field.bits + kRowsLog2Max <= 63 ? CellOp::kSum64 : CellOp::kSum128;
  }

  // The cell's word of an operation; sum and average of one field share it.
  static uint16_t part_of(CellOp op, uint8_t value, Plan& plan, uint16_t& words) {
    for (const CellPart& part : plan.parts)
      if (part.op == op && part.value == value) return part.word;
    const uint16_t word = words;
    plan.parts.push_back({op, value, word});
    const bool placed = op == CellOp::kFirst || op == CellOp::kLast;
    words = static_cast<uint16_t>(words + (placed ? 3 : op == CellOp::kSum128 ? 2 : 1));
    return word;
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

  // ---- panes: core.md section 5
  // A chunk a shard, with a pointer to it, and the cell of __overflow__. Keys fall on shards by
  // hash: room for the mean, five standard deviations, and a constant for small ones
  // (window/dictionary.h).
  static uint64_t pane_bytes(const Plan& plan) {
    const uint64_t mean = (plan.max_keys + plan.shards - 1) / plan.shards;
    uint64_t sigma = 1;
    while (sigma * sigma < mean) ++sigma;
    const uint64_t keys = plan.shards == 1 ? mean : mean + 5 * sigma + 16;
    const uint64_t cell_bytes = plan.cell_words * 8;
    return plan.shards * ((keys + 1) / 2 * 2 * cell_bytes + 8) + cell_bytes;
  }

  PaneSum size_panes(const QuerySpec& spec, const QuerySource& source, Plan& plan) {
    PaneSum sum;
    const WindowShape& w = spec.window;
    if (w.kind == WindowKind::kSession || w.size.ns <= 0 || w.slide.ns <= 0) return sum;
    sum.pane = pane_of(w);
    const auto window_panes = static_cast<uint64_t>(w.size.ns / sum.pane.ns);
    if (window_panes > kPanesPerWindowMax) return sum;  // check_window has said so
    int128 span = w.size.ns;
    const auto add = [&](Duration term, bool applies) {
      if (!applies) return;
      if (term.ns == INT64_MAX)
        sum.unbounded = true;
      else
        span += term.ns;
    };
    add(source.bound, true);
    add(source.max_ahead, true);
    add(source.max_behind, !source.partition.empty());
    add(source.max_drift, source.lanes.size() > 1);
    // One more for the open pane, one for the pane that is being fired and read out meanwhile.
    const int128 panes = (span + sum.pane.ns - 1) / sum.pane.ns + 2;
    sum.worst = static_cast<uint64_t>(std::min<int128>(panes, int128{1} << 32));
    const uint64_t wanted = spec.max_panes > 0 ? spec.max_panes
                            : sum.unbounded    ? sum.worst + kDefaultPanes
                                               : sum.worst;
    sum.bytes_a_pane = pane_bytes(plan);
    const uint64_t least = window_panes + 2;  // one window and what comes next
    plan.max_panes = std::min(wanted, spec.memory / sum.bytes_a_pane);
    plan.batch_panes = kBatchMax;
    sum.limited_by_memory = plan.max_panes < wanted;
    if (plan.max_panes >= least) return sum;
    const std::string needs = "one window needs " + std::to_string(least) + " panes";
    if (spec.max_panes > 0 && spec.max_panes < least)
      problem("max_panes", needs + ", not " + std::to_string(spec.max_panes));
    else
      problem("memory", needs + " of " + format_size(sum.bytes_a_pane) + ", " +
                            format_size(least * sum.bytes_a_pane) + " in all; granted are " +
                            std::to_string(plan.max_panes) +
                            ": allow more memory, or fewer keys (max_keys)");
    return sum;
  }

  std::span<const QuerySpec> specs_;
  std::span<const QuerySource> sources_;
  HashSeed seed_;
  std::vector<QueryProblem>& problems_;
  uint32_t query_ = 0;
};

}  // namespace

Compiled compile(std::span<const QuerySpec> specs, std::span<const QuerySource> sources,
                 HashSeed seed, std::vector<QueryProblem>& problems) {
  return Compiler(specs, sources, seed, problems).run();
}

}  // namespace tidewire
