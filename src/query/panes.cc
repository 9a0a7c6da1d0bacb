#include "query/panes.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/int128.h"
#include "base/units.h"

namespace tidewire {
namespace {

constexpr uint64_t kPanesPerWindowMax = 10'000;
constexpr uint64_t kDefaultPanes = 64;  // for the bounds that are "never"

// Length of the pieces that edges and steps of windows cut.
Duration pane_of(const WindowShape& w) {
  if (w.kind == WindowKind::kCalendar) return w.early.ns > 0 ? w.early : shortest(w.unit);
  return {std::gcd(std::gcd(w.size.ns, w.slide.ns), w.early.ns)};
}

// The longest window. Clocks leap back by an hour as well.
Duration longest(const WindowShape& w) {
  if (w.kind != WindowKind::kCalendar) return w.size;
  constexpr int64_t kHour = 3600 * kSecond;
  switch (w.unit) {
    case CalendarUnit::kHour:
      return {2 * kHour};
    case CalendarUnit::kDay:
      return {25 * kHour};
    case CalendarUnit::kWeek:
      return {(7 * 24 + 1) * kHour};
    case CalendarUnit::kMonth:
      return {(31 * 24 + 1) * kHour};
  }
  return {};
}

// A chunk a shard, with a pointer to it, and the cell of __overflow__. Keys fall on shards by
// hash: room for the mean, five standard deviations, and a constant for small ones
// (window/dictionary.h).
uint64_t pane_bytes(const Plan& plan) {
  const uint64_t mean = (plan.max_keys + plan.shards - 1) / plan.shards;
  uint64_t sigma = 1;
  while (sigma * sigma < mean) ++sigma;
  const uint64_t keys = plan.shards == 1 ? mean : mean + 5 * sigma + 16;
  const uint64_t cell_bytes = plan.cell_words * 8;
  return plan.shards * ((keys + 1) / 2 * 2 * cell_bytes + 8) + cell_bytes;
}

std::string too_many(const WindowShape& w, const PaneSum& sum) {
  std::string text = "size " + format_duration(w.size);
  if (w.slide != w.size)
    text += (w.early.ns > 0 ? ", slide " : " and slide ") + format_duration(w.slide);
  if (w.early.ns > 0) text += " and step " + format_duration(w.early);
  text += " have only " + format_duration(sum.pane) + " in common";
  if (w.kind == WindowKind::kCalendar) text = "the step is " + format_duration(w.early);
  const int128 bytes =
      int128{static_cast<int64_t>(sum.window_panes)} * static_cast<int64_t>(sum.bytes_a_pane);
  return text + ", so a window would be put together from " + std::to_string(sum.window_panes) +
         " panes, " + std::to_string(static_cast<uint64_t>(bytes >> 20)) + " MiB in all; " +
         std::to_string(kPanesPerWindowMax) + " panes are the limit: choose " +
         (w.kind == WindowKind::kCalendar ? "a longer one" : "lengths that divide each other");
}

}  // namespace

PaneSum size_panes(const QuerySpec& spec, const QuerySource& source, Plan& plan,
                   std::optional<WindowProblem>& problem) {
  PaneSum sum;
  const WindowShape& w = plan.window;
  const bool calendar = w.kind == WindowKind::kCalendar;
  if (!w.is_aligned() || (!calendar && (w.size.ns <= 0 || w.slide.ns <= 0))) return sum;
  sum.pane = pane_of(w);
  const Duration size = longest(w);
  sum.window_panes = static_cast<uint64_t>((size.ns + sum.pane.ns - 1) / sum.pane.ns);
  if (calendar && w.early.ns == 0) sum.window_panes = 1;
  sum.bytes_a_pane = pane_bytes(plan);
  if (sum.window_panes > kPanesPerWindowMax) {
    const bool steps = w.early.ns > 0 && (calendar || w.slide == w.size);
    problem = {w.kind == WindowKind::kCumulate ? "window.step"
               : steps                         ? "window.early_every"
                                               : "window.slide",
               too_many(w, sum)};
    return sum;
  }
  int128 span = int128{size.ns} + w.lateness.ns;
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
  int128 panes = (span + sum.pane.ns - 1) / sum.pane.ns + 2;
  // A calendar window ends where its unit does, so that its last step is shorter.
  if (calendar && w.early.ns > 0) panes += span / shortest(w.unit).ns + 1;
  sum.worst = static_cast<uint64_t>(std::min<int128>(panes, int128{1} << 32));
  const uint64_t wanted = spec.max_panes > 0 ? spec.max_panes
                          : sum.unbounded    ? sum.worst + kDefaultPanes
                                             : sum.worst;
  const uint64_t least = sum.window_panes + 2;  // one window and what comes next
  plan.max_panes = std::min(wanted, spec.memory / sum.bytes_a_pane);
  plan.batch_panes = kBatchMax;
  sum.limited_by_memory = plan.max_panes < wanted;
  if (plan.max_panes >= least) return sum;
  const std::string needs = "one window needs " + std::to_string(least) + " panes";
  if (spec.max_panes > 0 && spec.max_panes < least)
    problem = {"max_panes", needs + ", not " + std::to_string(spec.max_panes)};
  else
    problem = {"memory", needs + " of " + format_size(sum.bytes_a_pane) + ", " +
                             format_size(least * sum.bytes_a_pane) + " in all; granted are " +
                             std::to_string(plan.max_panes) +
                             ": allow more memory, or fewer keys (max_keys)"};
  return sum;
}

}  // namespace tidewire
