#include "app/peek.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/clock_hints.h"
#include "app/layout.h"
#include "base/strings.h"
#include "format/catalog.h"
#include "query/field_text.h"
#include "runtime/clock.h"

namespace tidewire {
namespace {

int refuse(const std::string& text, int code) {
  std::fprintf(stderr, "tidewire: error: %s\n", text.c_str());
  return code;
}

// The configured source of that name; else a source made up for a file or a device.
absl::StatusOr<SourceConfig> find_source(const CommandLine& line) {
  SourceConfig source;
  if (!line.config.empty()) {
    const Loaded loaded = load_config_file(line.config);
    if (!loaded.ok())
      return absl::InvalidArgumentError(line.config + " has problems: tidewire check " +
                                        line.config);
    std::string names;
    for (const SourceConfig& s : loaded.config.sources) {
      if (s.name == line.source) return s;
      names += " " + s.name;
    }
    return absl::NotFoundError("no source '" + line.source + "' in " + line.config +
                               "; there are:" + names);
  }
  source.name = line.source;
  std::error_code error;
  const bool device =
      line.source.starts_with("net_") ||
      (line.source.find(':') != std::string::npos && !std::filesystem::exists(line.source, error));
  if (device) {
    source.type = SourceType::kPort;
    source.port.device = line.source;
  } else {
    source.file.paths = {line.source};
  }
  return source;
}

// As many fields as there are columns, in the schema's order.
ColumnMap all_columns(const Schema& fields) {
  ColumnMap map;
  for (uint32_t f = 0; f < fields.fields.size(); ++f) {
    if (map.used + fields.fields[f].words > kColumnMax) continue;
    map.column[f] = static_cast<uint8_t>(map.used);
    map.used += fields.fields[f].words;
  }
  return map;
}

class Printer {
 public:
  Printer(const Schema& fields, const ColumnMap& columns) : fields_(fields), columns_(columns) {}
  void print(const EventBatch& batch, uint32_t i) {
    std::array<char, 4096> room;
    TextWriter out(room);
    append_time(out, batch.time[i]);
    out.put("  skew ");
    if (batch.arrival[i].is_point())
      append_decimal(out, int128{batch.arrival[i].ns} - batch.time[i].ns, 9);
    else
      out.put('-');
    out.put(" s  partition ");
    append_integer(out, index_of(batch.partition[i]));
    for (uint32_t f = 0; f < fields_.fields.size(); ++f) {
      if (!columns_.wants(f)) continue;
      const Field& field = fields_.fields[f];
      std::array<int64_t, kMaxKeyWords> words{};
      for (uint32_t w = 0; w < field.words; ++w) words[w] = batch.column[columns_.column[f] + w][i];
      if (is_absent(field, std::span(words).first(field.words))) continue;
      out.put("  ");
      out.put(field.name);
      out.put('=');
      append_field(out, field, std::span(words).first(field.words));
    }
    out.put('\n');
    std::fwrite(out.text().data(), 1, out.size(), stdout);
  }

 private:
  const Schema& fields_;
  const ColumnMap& columns_;
};

void print_counts(uint64_t printed, const LaneCounts& counts) {
  std::fprintf(stderr,
               "tidewire: %" PRIu64 " events printed; read until then: %" PRIu64
               " packets, %" PRIu64 " events",
               printed, counts.packets, counts.events);
  for (size_t i = 0; i < counts.dropped.size(); ++i)
    if (counts.dropped[i])
      std::fprintf(stderr, ", dropped %s: %" PRIu64, to_string(static_cast<DropReason>(i)).data(),
                   counts.dropped[i]);
  for (size_t i = 0; i < counts.noted.size(); ++i)
    if (counts.noted[i])
      std::fprintf(stderr, ", noted %s: %" PRIu64, to_string(static_cast<Note>(i)).data(),
                   counts.noted[i]);
  std::fprintf(stderr, "\n");
}

// What is wrong at first sight: with the clock, or with the choice of format.
void print_hints(const ClockHints& clock, const SourceConfig& source, const LaneCounts& counts) {
  if (clock.any_offset()) std::fprintf(stderr, "tidewire: %s\n", clock.offsets().c_str());
  for (const std::string& hint : clock.hints())
    std::fprintf(stderr, "tidewire: hint: %s\n", hint.c_str());
  if (counts.packets == 0 || counts.ended.passed_on > 0) return;
  const EventCounts& ended = counts.ended;
  if (ended.no_time + ended.out_of_range > 0)
    std::fprintf(stderr,
                 "tidewire: hint: no event has a usable time: %" PRIu64 " have none, %" PRIu64
                 " are out of range (a wrong unit, or a wrong place)\n",
                 ended.no_time, ended.out_of_range);
  else
    std::fprintf(stderr,
                 "tidewire: hint: nothing here is an event of format %s; another one may "
                 "read it: tidewire help fields lists them\n",
                 source.format_name.c_str());
}

bool interrupted() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

}  // namespace

int peek(const CommandLine& line, const Topology& topology) {
  absl::StatusOr<SourceConfig> found = find_source(line);
  const auto text = [](const absl::Status& status) {
    return std::string(from_absl(status.message()));
  };
  if (!found.ok()) return refuse(text(found.status()), kExitConfig);
  SourceConfig source = *std::move(found);
  if (!source.format || !line.format.empty()) {
    if (!line.format.empty()) source.format_name = line.format;
    auto format = open_format(source.format_name, source.format_options);
    if (absl::IsNotFound(format.status())) {
      std::string names;
      for (const std::string_view name : format_names()) names += " " + std::string(name);
      return refuse("no format '" + source.format_name + "'; there are:" + names, kExitUsage);
    }
    if (!format.ok()) return refuse(text(format.status()), kExitConfig);
    source.format = *std::move(format);
  }
  const Schema& fields = source.format->schema();
  source.port.queues = 1;
  auto layout = lay_out(source);
  if (!layout.ok()) return refuse(text(layout.status()), kExitSetup);
  OpenOptions options;
  options.control_core = topology.allowed.front().id;
  auto sources = OpenSources::open(std::span(&source, 1), std::span(&*layout, 1), options);
  if (!sources.ok()) return refuse(text(sources.status()), kExitSetup);
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  std::string said;
  auto lane = (*sources)->open_lane(0, 0, arena, said);
  if (!lane.ok()) return refuse(text(lane.status()), kExitSetup);

  const ColumnMap columns = all_columns(fields);
  ParserOptions parser_options;
  parser_options.max_partitions = std::max(source.max_partitions, 64u);
  parser_options.partition_field = source.partition.empty() ? -1 : fields.find(source.partition);
  const auto parser = source.format->make_parser(parser_options, columns);

  Printer printer(fields, columns);
  LaneCounts counts;
  ClockHints clock;
  auto burst = std::make_unique<Burst>();
  auto batch = std::make_unique<EventBatch>();
  uint64_t printed = 0;
  Received got = Received::kNothing;
  const auto show = [&] {
    parser->begin(*burst);
    for (bool more = true; more;) {
      more = parser->next(*batch, counts);
      for (uint32_t i = 0; i < batch->count; ++i) clock.add(batch->time[i], batch->arrival[i]);
      for (uint32_t i = 0; i < batch->count && printed < line.count; ++i, ++printed)
        printer.print(*batch, i);
    }
  };
  while (printed < line.count && !interrupted() && std::ferror(stdout) == 0) {
    got = (*lane)->receive(*burst);
    if (got == Received::kEnded || got == Received::kFailed) break;
    if (got != Received::kPackets) continue;
    for (uint32_t i = 0; layout->live && burst->unstamped > 0 && i < burst->count; ++i)
      if (burst->arrival[i] == EventTime::before_all()) burst->arrival[i] = system_clock().wall();
    burst->first = Position{counts.packets};
    counts.packets += burst->count;
    show();
    (*lane)->release(*burst);
  }
  if (parser->holds_back()) {
    burst->count = 0;
    show();
  }
  std::fflush(stdout);
  print_counts(printed, counts);
  print_hints(clock, source, counts);
  if (got != Received::kFailed) return kExitOk;
  SourceCounters counters;
  (*lane)->sample(counters);
  return refuse(counters.failure ? counters.failure : "the source failed", kExitFailed);
}

}  // namespace tidewire
