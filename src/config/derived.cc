// How a configuration is read from a file, what others are given of it, and the one that is used
// where there is no file.
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/rng.h"
#include "config/config.h"
#include "format/catalog.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

constexpr size_t kFileMax = 1 << 20;  // bytes; a configuration that is larger is another file

}  // namespace

Loaded load_config_file(const std::string& path, std::span<const int> cpus) {
  Loaded failed;
  failed.config.file = path;
  std::ifstream in(path, std::ios::binary);
  std::string text(kFileMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.gcount() == 0 && !in.eof()) {
    failed.problems.push_back({{}, std::string("cannot be read: ") + std::strerror(errno)});
    return failed;
  }
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.find('\0') != std::string::npos) {
    failed.problems.push_back(
        {{}, "is no text, so no config; a capture is given as --pcap " + path});
    return failed;
  }
  if (text.size() > kFileMax) {
    failed.problems.push_back({{}, "is larger than 1 MiB, which no configuration is"});
    return failed;
  }
  return load_config(text, path, cpus);
}

const Schema* fields_of(const SourceConfig& source) {
  if (source.derived) return &source.derived->schema;
  return source.format ? &source.format->schema() : nullptr;
}

std::vector<QuerySource> query_sources(const Config& config, std::span<const uint32_t> lanes) {
  std::vector<QuerySource> sources;
  uint16_t lane = 0;
  for (size_t i = 0; i < config.sources.size(); ++i) {
    const SourceConfig& from = config.sources[i];
    QuerySource to;
    to.name = from.name;
    to.schema = fields_of(from);
    to.derived = from.derived.get();
    to.partition = from.partition;
    for (uint32_t n = 0; n < lanes[i]; ++n) to.lanes.push_back(LaneId{lane++});
    to.progress = from.progress;
    // Without a bound on events, windows may be open from the first one on.
    const LaneOptions lane_options = from.lane_options();
    to.bound = lane_options.watermark_by == WatermarkBy::kEvents ? lane_options.bound
                                                                 : Duration{INT64_MAX};
    to.max_ahead = from.max_ahead;
    to.max_behind = from.max_behind;
    to.max_drift = from.max_drift;
    to.lane_order = from.partition.empty() || from.lateness_by == LatenessBy::kLane;
    sources.push_back(std::move(to));
  }
  return sources;
}

LaneOptions SourceConfig::lane_options() const {
  LaneOptions lane;
  lane.bound = watermark == WatermarkStrategy::kMonotonous ? Duration{} : out_of_orderness;
  lane.idle_after = idle_after;
  lane.max_ahead = max_ahead;
  lane.max_behind = max_behind;
  lane.lateness_by = lateness_by;
  lane.max_partitions = max_partitions;
  lane.watermark_by = watermark == WatermarkStrategy::kPunctuated ? WatermarkBy::kMarks
                      : watermark == WatermarkStrategy::kNone     ? WatermarkBy::kNothing
                                                                  : WatermarkBy::kEvents;
  lane.mark_of = progress_of;
  lane.min_time = min_time;
  lane.beyond_max_ahead = beyond_max_ahead;
  lane.beyond_max_behind = beyond_max_behind;
  lane.before_min_time = before_min_time;
  lane.declared = static_cast<uint32_t>(partitions.size());
  lane.start_hold = start_hold;
  return lane;
}

bool SourceConfig::has_clock() const {
  return watermark == WatermarkStrategy::kPunctuated && type == SourceType::kPort &&
         port.clock != StampClock::kNone;
}

std::vector<std::array<int64_t, 2>> declared_partitions(const SourceConfig& source) {
  std::vector<std::array<int64_t, 2>> declared;
  const Schema& fields = source.format->schema();
  const int at = fields.find(source.partition);
  for (const std::string& value : source.partitions) {
    const FieldWords words = *parse_field(fields.fields[static_cast<size_t>(at)], value);
    declared.push_back({words.word[0], words.word[1]});
  }
  return declared;
}

std::vector<QuerySpec> query_specs(const Config& config) {
  std::vector<QuerySpec> specs;
  for (const QueryConfig& query : config.queries) specs.push_back(query.spec);
  return specs;
}

HashSeed hash_seed(const Config& config) {
  if (config.system.hash_seed == 0) return {};
  Rng rng(config.system.hash_seed);
  const uint64_t multiplier = rng.next() | 1;
  return {multiplier, rng.next()};
}

std::string embedded_default(std::string_view capture_path) {
  std::string path;
  for (const char c : capture_path) {
    if (c == '"' || c == '\\') path += '\\';
    path += c;
  }
  return R"(# What runs without a configuration: three questions to one capture.
[source.capture]
type = "file"
path = ")" +
         path + R"("
reader = "auto"

[query.per_second]
source = "capture"
key = "protocol"
aggregates = ["count as packets", "sum(wire_length) as bytes"]
window = { type = "tumbling", size = "1 s" }
max_keys = 256

[query.busy_networks]
source = "capture"
where = "src present"
key = "src/24"
aggregates = ["count as packets", "sum(wire_length) as bytes"]
window = { type = "sliding", size = "10 s", slide = "1 s" }
max_keys = 4096

[query.conversations]
source = "capture"
where = "flow present"
key = "flow"
aggregates = ["count as packets", "sum(wire_length) as bytes", "max(wire_length) as largest"]
window = { type = "session", gap = "2 s" }
max_keys = 16384

[sink.terminal]
type = "terminal"
)";
}

}  // namespace tidewire
