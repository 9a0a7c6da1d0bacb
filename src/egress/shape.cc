#include "egress/shape.h"

#include <algorithm>

#include "base/check.h"

namespace tidewire {
namespace {

bool is_comparison(OutputOp op) { return op == OutputOp::kDelta || op == OutputOp::kRate; }

bool compares(const Plan& plan) {
  return std::any_of(plan.outputs.begin(), plan.outputs.end(),
                     [](const Output& o) { return is_comparison(o.op); });
}
bool fills(const Plan& plan) {
  return plan.shaping.fill != EmptyFill::kNone && plan.shaping.fill_windows > 0;
}
bool is_plain(const Plan& plan) {
  return !fills(plan) && !compares(plan) && plan.shaping.having.empty() && plan.shaping.top == 0;
}
uint64_t keys_of(const Plan& plan) { return std::max<uint64_t>(plan.max_keys, 1); }
uint32_t windows_kept(const Plan& plan) { return compares(plan) ? 2 : 1; }

// Outputs whose values must be remembered, each once.
std::vector<uint16_t> kept_outputs(const Plan& plan) {
  std::vector<uint16_t> kept;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const Output& output = plan.outputs[i];
    if (is_comparison(output.op))
      kept.push_back(output.of);
    else if (fills(plan) && plan.shaping.fill == EmptyFill::kCarry)
      kept.push_back(static_cast<uint16_t>(i));
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

// Of a window without rows.
int128 empty_number(OutputOp op) {
  switch (op) {
    case OutputOp::kCount:
    case OutputOp::kSum:
    case OutputOp::kDistinct:
      return 0;
    case OutputOp::kAverage:
    case OutputOp::kMin:
    case OutputOp::kMax:
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
    case OutputOp::kDelta:
    case OutputOp::kRate:
      break;
  }
  return kAbsentValue;
}

}  // namespace

bool passes(const std::vector<HavingStep>& having, const Value* values) {
  uint64_t stack = 0;  // the top is the lowest bit
  for (const HavingStep& step : having) {
    switch (step.op) {
      case HavingStep::Op::kRange: {
        const Value& v = values[step.output];
        const bool in = !v.is_absent() && step.low <= v.number && v.number <= step.high;
        stack = stack << 1 | static_cast<uint64_t>(in);
        break;
      }
      case HavingStep::Op::kAnd:
        stack = stack >> 1 & (stack | ~uint64_t{1});
        break;
      case HavingStep::Op::kOr:
        stack = stack >> 1 | (stack & 1);
        break;
      case HavingStep::Op::kNot:
        stack ^= 1;
        break;
    }
  }
  return having.empty() || (stack & 1) != 0;
}

int128 rate_of(int128 delta, int64_t ns) {
  constexpr uint32_t kDecimals = 9 + kAverageDecimals;
  constexpr int128 kScale = 1'000'000'000'000'000;
  constexpr int128 kMost = static_cast<int128>(~static_cast<uint128>(0) >> 1) / kScale - 1;
  if (ns <= 0 || delta / ns > kMost || delta / ns < -kMost) return kAbsentValue;
  return divide_half_even(delta, ns, kDecimals);
}

std::vector<ArenaTerm> Shaper::memory(const std::vector<const Plan*>& plans) {
  std::vector<ArenaTerm> terms;
  for (const Plan* plan : plans) {
    if (!fills(*plan) && !compares(*plan)) continue;
    uint64_t bytes =
        KeyTable::bytes(keys_of(*plan), plan->key_words,
                        static_cast<uint32_t>(kept_outputs(*plan).size()), windows_kept(*plan));
    if (fills(*plan)) bytes += keys_of(*plan) * sizeof(Fill);
    terms.push_back({plan->name + ": last windows of its keys", bytes});
  }
  if (const uint64_t bytes = Ranking::bytes(plans); bytes > 0)
    terms.push_back({"best results of a window", bytes});
  return terms;
}

Shaper::Shaper(const std::vector<const Plan*>& plans, std::vector<ResultRing*> rings)
    : merge_(plans, std::move(rings)), ranking_(plans) {
  uint64_t fills_most = 0;
  for (const Plan* plan : plans) {
    Query& query = queries_.emplace_back();
    query.plan = plan;
    for (const Output& output : plan->outputs) query.values.push_back(lower_shape(output));
    query.filled = query.values;
    plain_ = plain_ && is_plain(*plan);
    query.compares = compares(*plan);
    CHECK(plan->shaping.top == 0 || plan->shaping.top_output < plan->outputs.size());
    for (const HavingStep& step : plan->shaping.having)
      CHECK(step.op != HavingStep::Op::kRange || step.output < plan->outputs.size());
    if (fills(*plan)) {
      CHECK(plan->window.is_aligned());
      query.geometry.emplace(plan->window);
      fills_most += keys_of(*plan);
    }
    if (!fills(*plan) && !query.compares) continue;
    query.kept = kept_outputs(*plan);
    for (const Output& output : plan->outputs) {
      CHECK(!is_comparison(output.op) ||
            (output.of < plan->outputs.size() && !is_comparison(plan->outputs[output.of].op)));
      const auto found = std::lower_bound(query.kept.begin(), query.kept.end(), output.of);
      query.kept_for.push_back(static_cast<uint16_t>(found - query.kept.begin()));
    }
    query.keys =
        std::make_unique<KeyTable>(keys_of(*plan), plan->key_words,
                                   static_cast<uint32_t>(query.kept.size()), windows_kept(*plan));
  }
  fills_.resize(fills_most);
}

bool Shaper::next(Result& out) {
  if (plain_) {
    if (!fetch()) return false;
    out = row_;
    held_ = false;
    return true;
  }
  for (;;) {
    if (ranking_.is_closed() && ranking_.pop(out)) return true;
    if (!held_) held_ = fetch();
    const bool fill = fill_is_due();
    if (!held_ && !fill) {
      if (!ranking_.is_busy() || merge_.passed() < ranking_.place()) return false;
      ranking_.close();
      continue;
    }
    const bool outside = !fill && row_.kind == RunKind::kProvisional;
    if (ranking_.is_busy() && !outside &&
        !(fill ? is_of_open_window(fills_[0]) : ranking_.is_of_window(row_))) {
      ranking_.close();
      continue;
    }
    if (fill) {
      make_fill(out);
    } else {
      out = row_;
      held_ = false;
    }
    if (shape(out)) return true;
  }
}

EventTime Shaper::passed() const {
  int64_t passed = merge_.passed().ns;
  const auto still_to_come = [&](int64_t place) {
    if (place > INT64_MIN) passed = std::min(passed, place - 1);
  };
  if (ranking_.is_busy()) still_to_come(ranking_.place().ns);
  if (fills_used_ > 0) still_to_come(fills_[0].end);
  if (held_) still_to_come(row_.place.ns);
  return EventTime{passed};
}

bool Shaper::fetch() {
  if (!merge_.next(row_)) return false;
  std::vector<Value>& values = queries_[row_.query].values;
  row_.values = values.data();
  if (row_.kind == RunKind::kLate) return true;
  const std::vector<Output>& outputs = row_.plan->outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    lower(outputs[i], row_.cell, values[i]);
    if (values[i].saturated) row_.flags |= kFlagSaturated;
  }
  return true;
}

// False: the row does not leave, or not now.
bool Shaper::shape(Result& row) {
  if (row.kind == RunKind::kLate) return true;
  Query& query = queries_[row.query];
  const Shaping& shaping = row.plan->shaping;
  const bool carried = (row.flags & kFlagEmpty) != 0 && !query.compares;  // says nothing new
  if (query.keys && !row.is_overflow_row() && !carried) remember(query, row);
  if (!passes(shaping.having, row.values)) {
    ++counts_.having;
    return false;
  }
  if (shaping.top == 0 || row.kind != RunKind::kPoint || row.is_overflow_row()) return true;
  if (!ranking_.add(row)) ++counts_.below_top;
  return false;
}

// ---- the windows before

// Takes note of a result of one key, and compares it. Filled windows are among them.
void Shaper::remember(Query& query, Result& row) {
  KeyTable& keys = *query.keys;
  const bool advances = row.fire == FireKind::kOnTime;
  // A discarded early result may be the only sign that its window has rows.
  const bool has_rows = (row.flags & kFlagEmpty) == 0 &&
                        (advances || (query.geometry && row.fire == FireKind::kEarly));
  uint32_t at = keys.find(row.hash, row.key);
  if (at == KeyTable::kNone) {
    if (query.compares && merge_.flagged(row.query, INT64_MIN, row.end.ns))
      row.flags |= kFlagOverflow;
    if (!advances && !has_rows) return;
    if (keys.full()) {
      forget(query, keys.oldest());
      ++counts_.keys_forgotten;
    }
    at = keys.add(row.hash, row.key);
  }
  KeyTable::Entry& entry = keys[at];
  if (query.compares) compare(query, row, entry, at, advances);
  if (advances) {
    if (query.compares) std::copy_n(keys.latest(at), query.kept.size(), keys.previous(at));
    for (size_t i = 0; i < query.kept.size(); ++i)
      keys.latest(at)[i] = row.values[query.kept[i]].number;
    entry.previous = std::exchange(entry.latest, row.end.ns);
  }
  if (!has_rows) return;
  keys.touch(at);
  if (row.end.ns <= entry.with_rows) return;
  entry.with_rows = row.end.ns;
  if (query.geometry) plan_fill(query, row, at);
}

void Shaper::compare(Query& query, Result& row, KeyTable::Entry& entry, uint32_t at,
                     bool advances) {
  KeyTable& keys = *query.keys;
  const bool against_latest = advances || row.end.ns > entry.latest;
  if (!against_latest && row.end.ns < entry.latest) return;  // of an older window: absent
  const int64_t end = against_latest ? entry.latest : entry.previous;
  const int128* before = against_latest ? keys.latest(at) : keys.previous(at);
  if (merge_.flagged(row.query, end, row.end.ns)) row.flags |= kFlagOverflow;
  if (end == INT64_MIN) return;
  std::vector<Value>& values = row.values == query.values.data() ? query.values : query.filled;
  for (size_t i = 0; i < row.plan->outputs.size(); ++i) {
    const Output& output = row.plan->outputs[i];
    if (!is_comparison(output.op)) continue;
    const int128 was = before[query.kept_for[i]], is = values[output.of].number;
    int128 delta = 0;
    if (was == kAbsentValue || is == kAbsentValue || __builtin_sub_overflow(is, was, &delta))
      continue;
    values[i].number = output.op == OutputOp::kDelta ? delta : rate_of(delta, row.end.ns - end);
  }
}

void Shaper::forget(Query& query, uint32_t at) {
  KeyTable& keys = *query.keys;
  if (keys[at].heap_at != KeyTable::kNone) remove_fill(keys[at].heap_at);
  keys.erase(at);
}

// ---- filling

void Shaper::plan_fill(Query& query, const Result& row, uint32_t at) {
  KeyTable::Entry& entry = (*query.keys)[at];
  entry.fills_left = row.plan->shaping.fill_windows;
  const Fill fill{query.geometry->next_end(row.end.ns), row.hash, at, row.query};
  if (entry.heap_at != KeyTable::kNone) remove_fill(entry.heap_at);
  if (fill.end == INT64_MAX) return;
  fills_[fills_used_] = fill;
  sift_up(fills_used_++);
}

void Shaper::make_fill(Result& out) {
  const Fill fill = fills_[0];
  Query& query = queries_[fill.query];
  const Plan& plan = *query.plan;
  KeyTable& keys = *query.keys;
  KeyTable::Entry& entry = keys[fill.entry];
  out = Result{};
  out.plan = &plan;
  out.query = fill.query;
  out.flags = kFlagEmpty;
  if (merge_.flagged(fill.query, entry.with_rows, fill.end)) out.flags |= kFlagOverflow;
  const Span window{query.geometry->start_of(fill.end), fill.end};
  out.place = out.end = EventTime{window.end};
  out.start = EventTime{window.start};
  out.index = query.geometry->index_of(window, window.end);
  out.hash = fill.hash;
  out.key = keys.key(fill.entry);
  for (size_t i = 0; i < plan.outputs.size(); ++i)
    query.filled[i].number = empty_number(plan.outputs[i].op);
  if (plan.shaping.fill == EmptyFill::kCarry)
    for (size_t i = 0; i < query.kept.size(); ++i)
      query.filled[query.kept[i]].number = keys.latest(fill.entry)[i];
  out.values = query.filled.data();
  ++counts_.empty;
  const int64_t next = query.geometry->next_end(fill.end);
  if (--entry.fills_left > 0 && next < INT64_MAX) {
    fills_[0].end = next;
    sift_down(0);
    return;
  }
  remove_fill(0);
  if (!query.compares) keys.erase(fill.entry);  // nothing is asked of it any more
}

// A fill may leave when all that stands before it has left.
bool Shaper::fill_is_due() const {
  if (fills_used_ == 0) return false;
  if (!held_) return fills_[0].end <= merge_.passed().ns;
  return row_.kind != RunKind::kProvisional && stands_before(fills_[0], row_);
}

bool Shaper::stands_before(const Fill& fill, const Result& row) const {
  if (fill.end != row.place.ns) return fill.end < row.place.ns;
  if (fill.query != row.query) return fill.query < row.query;
  if (row.kind != RunKind::kPoint) return true;  // row updates stand behind all points
  if (fill.end != row.end.ns) return fill.end < row.end.ns;
  if (row.is_overflow_row()) return true;
  if (fill.hash != row.hash) return fill.hash < row.hash;
  const KeyTable& keys = *queries_[fill.query].keys;
  const uint32_t words = row.plan->key_words;
  const int64_t* key = keys.key(fill.entry);
  return std::lexicographical_compare(key, key + words, row.key, row.key + words);
}

bool Shaper::is_of_open_window(const Fill& fill) const {
  return ranking_.is_of_window(fill.query, {fill.end}, {fill.end});
}

// ---- the heap of fills

bool Shaper::comes_first(const Fill& a, const Fill& b) const {
  if (a.end != b.end) return a.end < b.end;
  if (a.query != b.query) return a.query < b.query;
  if (a.hash != b.hash) return a.hash < b.hash;
  const KeyTable& keys = *queries_[a.query].keys;
  const uint32_t words = queries_[a.query].plan->key_words;
  return std::lexicographical_compare(keys.key(a.entry), keys.key(a.entry) + words,
                                      keys.key(b.entry), keys.key(b.entry) + words);
}

void Shaper::put(size_t at, const Fill& fill) {
  fills_[at] = fill;
  (*queries_[fill.query].keys)[fill.entry].heap_at = static_cast<uint32_t>(at);
}

void Shaper::sift_up(size_t at) {
  const Fill fill = fills_[at];
  for (; at > 0 && comes_first(fill, fills_[(at - 1) / 2]); at = (at - 1) / 2)
    put(at, fills_[(at - 1) / 2]);
  put(at, fill);
}

void Shaper::sift_down(size_t at) {
  const Fill fill = fills_[at];
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= fills_used_) break;
    if (child + 1 < fills_used_ && comes_first(fills_[child + 1], fills_[child])) ++child;
    if (!comes_first(fills_[child], fill)) break;
    put(at, fills_[child]);
    at = child;
  }
  put(at, fill);
}

void Shaper::remove_fill(size_t at) {
  (*queries_[fills_[at].query].keys)[fills_[at].entry].heap_at = KeyTable::kNone;
  const Fill last = fills_[--fills_used_];
  if (at == fills_used_) return;
  put(at, last);
  sift_up(at);
  sift_down((*queries_[last.query].keys)[last.entry].heap_at);
}

}  // namespace tidewire
