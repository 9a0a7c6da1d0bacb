#include "app/explain.h"

#include <array>
#include <cinttypes>
#include <optional>
#include <vector>

#include "app/chart.h"
#include "app/first_event.h"
#include "base/units.h"
#include "format/catalog.h"
#include "pipeline/exchange.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

// 2024-01-01T00:00:00Z: where a source has no first event to be asked for.
constexpr EventTime kExample{19'723 * 86'400 * kSecond};

std::string never_or(Duration d) { return d.ns == INT64_MAX ? "never" : format_duration(d); }

const char* name_of(WindowKind kind) {
  switch (kind) {
    case WindowKind::kTumbling:
      return "tumbling";
    case WindowKind::kSliding:
      return "sliding";
    case WindowKind::kSession:
      return "session";
    case WindowKind::kCumulate:
      return "cumulate";
    case WindowKind::kCalendar:
      return "calendar";
    case WindowKind::kCount:
      return "count";
    case WindowKind::kGlobal:
      return "global";
  }
  return "?";
}

const char* name_of(CalendarUnit unit) {
  switch (unit) {
    case CalendarUnit::kHour:
      return "hour";
    case CalendarUnit::kDay:
      return "day";
    case CalendarUnit::kWeek:
      return "week";
    case CalendarUnit::kMonth:
      return "month";
  }
  return "?";
}

std::string watermark_text(const SourceConfig& source) {
  switch (source.watermark) {
    case WatermarkStrategy::kBounded:
      return "= highest event time - " + format_duration(source.out_of_orderness) +
             ", per partition";
    case WatermarkStrategy::kMonotonous:
      return "= highest event time, per partition";
    case WatermarkStrategy::kPunctuated: {
      std::string text;
      if (!source.progress.empty())
        text = "= time of the last event with " + source.progress +
               (source.progress_of == MarkOf::kLane ? ", of the lane" : ", per partition");
      if (source.format->has_marks() || source.has_clock())
        text += (text.empty() ? "" : "; ") + std::string("at marks of the feed, arrival - ") +
                format_duration(source.out_of_orderness) + ", of the lane";
      return text;
    }
    case WatermarkStrategy::kNone:
      return "none: windows stay open until the input ends";
  }
  return {};
}

std::string guards_text(const SourceConfig& source) {
  static constexpr const char* kBecomes[] = {"accepted", "dropped", "diverted"};
  const auto becomes = [](GuardPolicy policy) { return kBecomes[static_cast<size_t>(policy)]; };
  std::string text = std::string("events beyond max_ahead are ") +
                     becomes(source.beyond_max_ahead) + ", beyond max_behind " +
                     becomes(source.beyond_max_behind);
  if (source.min_time == EventTime::before_all()) return text;
  char room[64];
  TextWriter time(room);
  append_time(time, source.min_time);
  return text + ", before " + std::string(time.text()) + " " + becomes(source.before_min_time);
}

void print_source(const Layout& layout, uint32_t s, std::FILE* out) {
  const SourceConfig& source = layout.config.sources[s];
  std::fprintf(out, "\nsource %s: format %s\n", source.name.c_str(), source.format_name.c_str());
  if (source.type == SourceType::kPort) {
    std::fprintf(out, "  port %s, %u queue(s) of %u descriptors\n", source.port.device.c_str(),
                 source.port.queues, source.port.descriptors);
  } else {
    const char* reader = source.file.reader == FileReader::kPread ? "pread" : "io_uring";
    std::fprintf(out,
                 "  file(s) read by %s, %u blocks of %s in flight%s; .gz and .zst through a "
                 "decompressing reader\n",
                 reader, source.file.depth, format_size(source.file.block_size).c_str(),
                 source.file.follow ? ", followed as they grow" : "");
  }
  std::fprintf(out,
               "  watermark %s\n"
               "  max_ahead %s, max_behind %s, max_drift %s, idle_after %s",
               watermark_text(source).c_str(), never_or(source.max_ahead).c_str(),
               never_or(source.max_behind).c_str(), never_or(source.max_drift).c_str(),
               never_or(source.idle_after).c_str());
  // A file that does not grow waits for its reader: its pauses say nothing.
  if (source.type == SourceType::kPort || source.file.follow)
    std::fprintf(out, ", silent_after %s", never_or(source.silent_after).c_str());
  std::fprintf(out, "\n  %s", guards_text(source).c_str());
  if (!source.partitions.empty())
    std::fprintf(out, "\n  waits at the start for %zu partitions%s", source.partitions.size(),
                 source.start_hold.ns > 0
                     ? (", " + format_duration(source.start_hold) + " at most").c_str()
                     : "");
  else if (source.start_hold.ns > 0)
    std::fprintf(out, "\n  waits at the start for %s", format_duration(source.start_hold).c_str());
  if (source.partition.empty())
    std::fprintf(out, "\n  one partition a lane\n");
  else
    std::fprintf(out, "\n  partition by %s, at most %u a lane\n", source.partition.c_str(),
                 source.max_partitions);
  for (const LaneLayout& lane : layout.lanes) {
    if (lane.source != s) continue;
    std::fprintf(out, "  lane %u -> worker %u", index_of(lane.id), lane.worker);
    if (source.type == SourceType::kPort) std::fprintf(out, "   queue %u", lane.index);
    if (source.type == SourceType::kFile) {
      const auto& files = layout.sources[s].files[lane.index];
      std::fprintf(
          out, "   %s%s", files.front().c_str(),
          files.size() > 1
              ? (" and " + std::to_string(files.size() - 1) + " more, in this order").c_str()
              : "");
    }
    std::fprintf(out, "\n");
  }
  if (source.derived)
    for (const DerivedColumns::Column& column : source.derived->columns)
      std::fprintf(out, "  derived: %s %s\n", column.name.c_str(), column.help.c_str());
  std::fprintf(out, "  columns:");
  const ColumnMap& columns = layout.compiled.columns[s];
  for (uint32_t f = 0; f < layout.schemas[s]->fields.size(); ++f)
    if (columns.wants(f))
      std::fprintf(out, " %s", std::string(layout.schemas[s]->fields[f].name).c_str());
  std::fprintf(out, "   (%u of %u words)\n", columns.used, kColumnMax);
  if (const size_t steps = layout.compiled.programs[s].steps.size(); steps > 0)
    std::fprintf(out, "  derived in %zu column loops a batch\n", steps);
}

std::string panes_text(const Plan& plan, const PaneSum& panes) {
  std::string text = "panes of " + format_duration(panes.pane) + ", " +
                     std::to_string(panes.window_panes) + " a window; at most " +
                     std::to_string(plan.max_panes) + " open, " + bytes_text(panes.bytes_a_pane) +
                     " each";
  if (panes.unbounded)
    return text + " (some bound of the source is 'never': the worst case is not known)";
  return text + " (worst case " + std::to_string(panes.worst) +
         (panes.limited_by_memory ? ", limited by memory)" : ")");
}

std::string shape_text(const Plan& plan) {
  const WindowShape& w = plan.window;
  std::string text = name_of(w.kind);
  switch (w.kind) {
    case WindowKind::kTumbling:
    case WindowKind::kSliding:
    case WindowKind::kCumulate:
      text += ", size " + format_duration(w.size);
      if (w.slide != w.size) text += ", slide " + format_duration(w.slide);
      if (w.kind == WindowKind::kCumulate) text += ", step " + format_duration(w.early);
      if (w.offset.ns != 0) text += ", offset " + format_duration(w.offset);
      break;
    case WindowKind::kCalendar:
      text += std::string(", each ") + name_of(w.unit) + " of " + w.zone;
      break;
    case WindowKind::kSession:
      text += plan.gap_value >= 0
                  ? ", gap from " + plan.value_fields[static_cast<size_t>(plan.gap_value)].name +
                        " in " + format_duration(plan.gap_unit)
                  : ", gap " + format_duration(w.gap);
      if (w.max_duration.ns > 0) text += ", none crosses " + format_duration(w.max_duration);
      text += "; at most " + std::to_string(plan.max_sessions) + " sessions beyond one a key";
      break;
    case WindowKind::kCount:
      text += ", " + std::to_string(w.rows) + " rows, every " + std::to_string(w.row_slide);
      break;
    case WindowKind::kGlobal:
      text += ", ends with the input";
      break;
  }
  return text;
}

// When it shows what it holds, beside its end.
std::string firing_text(const WindowShape& w) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (w.early.ns > 0 && w.kind != WindowKind::kCumulate)
    add("early every " + format_duration(w.early));
  if (w.early_rows > 0) add("early every " + std::to_string(w.early_rows) + " rows of a key");
  if (w.lateness.ns > 0)
    add("late events count for " + format_duration(w.lateness) + ", " +
        (w.gather.ns > 0 ? "gathered every " + format_duration(w.gather) : "a result for each"));
  if (w.accumulation == Accumulation::kDiscarding) add("each result what is new");
  if (w.accumulation == Accumulation::kRetracting) add("each result behind the one it replaces");
  if (w.provisional.ns > 0) add("provisional by the clock every " + format_duration(w.provisional));
  return text;
}

// What no pool may pass, where it has a meaning.
std::string limits_text(const Plan& plan) {
  std::string text = "at most " + std::to_string(plan.max_deferred) + " rows deferred";
  if (plan.max_changes > 0)
    text += ", " + std::to_string(plan.max_changes) + " windows of a key changed by late rows";
  return text;
}

void print_window(const Plan& plan, const PaneSum& panes, std::FILE* out) {
  std::fprintf(out, "  window: %s", shape_text(plan).c_str());
  if (plan.window.is_aligned()) std::fprintf(out, "; %s", panes_text(plan, panes).c_str());
  std::fprintf(out, "\n");
  if (const std::string firing = firing_text(plan.window); !firing.empty())
    std::fprintf(out, "  firing: at the end; %s\n", firing.c_str());
  std::fprintf(out, "  limits: %s\n", limits_text(plan).c_str());
}

void print_leaving(const QuerySpec& spec, std::FILE* out) {
  if (!spec.having.empty()) std::fprintf(out, "  having %s\n", spec.having.c_str());
  if (spec.fill != EmptyFill::kNone)
    std::fprintf(out, "  fill: %s in the %u windows behind a key's last with events\n",
                 spec.fill == EmptyFill::kZero ? "zero" : "the last result", spec.fill_windows);
  if (spec.top > 0)
    std::fprintf(out, "  top: of each window the %u with the %s %s\n", spec.top,
                 spec.top_least ? "least" : "greatest", spec.top_by.c_str());
  if (spec.late_sinks.empty()) return;
  std::fprintf(out, "  late events go to");
  for (const std::string& sink : spec.late_sinks) std::fprintf(out, " %s", sink.c_str());
  std::fprintf(out, "\n");
}

using FirstEvents = std::vector<std::optional<EventTime>>;  // of the sources

void print_chart(const Layout& layout, const Plan& plan, const QuerySpec& spec,
                 const FirstEvents& firsts, std::FILE* out) {
  uint32_t source = 0;
  while (layout.config.sources[source].name != spec.source) ++source;
  const EventTime from = firsts[source].value_or(kExample);
  std::fprintf(out, "  next windows");
  if (plan.window.is_aligned() || plan.window.kind == WindowKind::kSession) {
    std::array<char, 64> room;
    TextWriter time(room);
    append_time(time, from);
    std::fprintf(out, ", from %s (%.*s)",
                 firsts[source] ? "the first event of its source" : "some time",
                 static_cast<int>(time.size()), time.text().data());
  }
  std::fprintf(out, "\n%s", window_chart(plan, from).c_str());
}

void print_query(const Layout& layout, size_t q, const FirstEvents& firsts, std::FILE* out) {
  const Plan& plan = layout.pipeline.plans[q];
  const QuerySpec& spec = layout.config.queries[q].spec;
  std::fprintf(out, "\nquery %s: from %s\n", plan.name.c_str(), spec.source.c_str());
  if (!spec.where.empty())
    std::fprintf(out, "  where %s   (%zu column loops)\n", spec.where.c_str(), plan.where.size());
  std::fprintf(out, "  key:");
  for (const KeyField& key : plan.key_fields) {
    std::fprintf(out, " %s", key.name.c_str());
    if (key.type == FieldType::kAddress && (key.prefix_ipv4 < 32 || key.prefix_ipv6 < 128))
      std::fprintf(out, " (IPv4 /%u, IPv6 /%u)", key.prefix_ipv4, key.prefix_ipv6);
  }
  std::fprintf(out, "%s   %u word(s), at most %" PRIu64 " keys in %u shard(s)\n",
               plan.key_fields.empty() ? " none" : "", plan.key_words, plan.max_keys, plan.shards);
  print_window(plan, layout.compiled.panes[q], out);
  std::fprintf(out, "  aggregates:");
  for (const Output& output : plan.outputs) std::fprintf(out, " %s", output.name.c_str());
  std::fprintf(out, "   (%s cell of %u bytes)\n", plan.cell == CellKind::kStats ? "stats" : "wide",
               plan.cell_words * 8);
  print_leaving(spec, out);
  std::fprintf(out, "  placement: %s\n",
               describe_placement(plan, layout.config.runtime.workers).c_str());
  print_chart(layout, plan, spec, firsts, out);
}

}  // namespace

std::string describe_placement(const Plan& plan, uint32_t workers) {
  if (plan.placement == Placement::kLocal)
    return plan.one_lane() ? "local: one lane feeds it, so no row crosses to another worker"
                           : "local, as the config says: each lane must bring keys of its own (RSS "
                             "on fields that the key contains); no row crosses to another worker";
  if (workers == 1) return "exchange, but one worker owns every key: no row crosses";
  const ExchangeShape shape{plan.key_words, static_cast<uint32_t>(plan.values.size())};
  const auto bytes = [&](bool narrow) {
    return std::to_string(shape.row_bytes(narrow)) + " bytes";
  };
  std::string text =
      "exchange: any of " + std::to_string(plan.lanes.size()) +
      " lanes may bring a key, so a row goes to the worker that owns it.\n    About " +
      std::to_string(workers - 1) + " of " + std::to_string(workers) + " rows cross, " +
      bytes(plan.only_key_and_values()) + " each";
  if (plan.only_key_and_values())
    text += "; " + bytes(false) + " where a batch lies in several panes or is late";
  return text +
         ".\n    placement = \"local\" spares them where a lane brings keys of its own "
         "(RSS on fields that the key contains)";
}

void print_explanation(const Layout& layout, std::FILE* out) {
  const Config& c = layout.config;
  std::fprintf(out, "system %s", c.system.system_name.c_str());
  if (c.system.replication_factor > 1)
    std::fprintf(out,
                 ": replication_factor %u without peers runs as a single host "
                 "(consensus_timeout_ms %u has no effect)",
                 c.system.replication_factor, c.system.consensus_timeout_ms);
  std::fprintf(out, "\nbuffers are %s\n",
               c.system.enable_zero_copy ? "parsed in place" : "copied at the door");
  for (uint32_t w = 0; w < c.runtime.workers; ++w)
    std::fprintf(out, "worker %u: core %d, node %d, idle policy %s\n", w,
                 layout.placement.worker_core[w], layout.placement.worker_node[w],
                 std::string(to_string(layout.idle[w])).c_str());
  if (layout.placement.shared)
    std::fprintf(out, "workers share cores: there are fewer cores than workers\n");
  for (uint32_t s = 0; s < c.sources.size(); ++s) print_source(layout, s, out);
  FirstEvents firsts;
  for (uint32_t s = 0; s < c.sources.size(); ++s) firsts.push_back(first_event(layout, s));
  for (size_t q = 0; q < c.queries.size(); ++q) print_query(layout, q, firsts, out);

  std::fprintf(out, "\nmemory, reserved at start\n");
  uint64_t sum = 0;
  for (const MemoryTerm& term : memory_terms(layout)) {
    std::fprintf(out, "  %12s  %-16s  %s\n", bytes_text(term.bytes).c_str(), term.where.c_str(),
                 term.what.c_str());
    sum += term.bytes;
  }
  std::fprintf(out, "  %12s  in all\n", bytes_text(sum).c_str());
  if (!c.defaulted.empty()) std::fprintf(out, "\nnot in the config, so by default\n");
  for (const Defaulted& d : c.defaulted)
    std::fprintf(out, "  %s = %s\n", d.name.c_str(), d.value.empty() ? "\"\"" : d.value.c_str());
}

}  // namespace tidewire
