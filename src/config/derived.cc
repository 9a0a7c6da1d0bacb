// What others are given of a configuration, and the one that is used where there is no file.
#include "base/rng.h"
#include "config/config.h"
#include "format/catalog.h"

namespace tidewire {

std::vector<QuerySource> query_sources(const Config& config, std::span<const uint32_t> lanes) {
  std::vector<QuerySource> sources;
  uint16_t lane = 0;
  for (size_t i = 0; i < config.sources.size(); ++i) {
    const SourceConfig& from = config.sources[i];
    QuerySource to;
    to.name = from.name;
    to.schema = schema(from.format);
    to.partition = from.partition;
    for (uint32_t n = 0; n < lanes[i]; ++n) to.lanes.push_back(LaneId{lane++});
    to.bound = from.out_of_orderness;
    to.max_ahead = from.max_ahead;
    to.max_behind = from.max_behind;
    to.max_drift = from.max_drift;
    to.lane_order = from.partition.empty() || from.lateness_by == LatenessBy::kLane;
    sources.push_back(std::move(to));
  }
  return sources;
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
