#include "app/layout.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/lookups.h"
#include "base/strings.h"
#include "memory/resident.h"

namespace tidewire {
namespace {

// Measured: configuration, plans, parsers; EAL's tables and maps. Both are small beside the rest.
constexpr uint64_t kHeapBytes = 768 << 10;
constexpr uint64_t kDpdkBytes = 1 << 20;

std::string text_of(const absl::Status& status) { return std::string(from_absl(status.message())); }

// The file itself, by whatever name: what is appended to it would be the end of the capture.
bool reads(const SourceLayout& source, const std::string& path) {
  std::error_code error;
  const auto same = [&](const std::string& file) {
    return std::filesystem::equivalent(file, path, error) && !error;
  };
  return std::any_of(source.files.begin(), source.files.end(),
                     [&](const auto& lane) { return std::any_of(lane.begin(), lane.end(), same); });
}

}  // namespace

std::string Layout::lane_name(LaneId id) const {
  const LaneLayout& lane = lanes[index_of(id)];
  const SourceConfig& source = config.sources[lane.source];
  if (sources[lane.source].lanes == 1) return source.name;
  if (source.type == SourceType::kPort) return source.name + " queue " + std::to_string(lane.index);
  const std::string& file = sources[lane.source].files[lane.index].front();
  return source.name + " " + file.substr(file.rfind('/') + 1);
}

LayoutResult make_layout(Config config, const Topology& topology) {
  LayoutResult result;
  Layout& layout = result.layout;
  layout.config = std::move(config);
  const Config& c = layout.config;
  const auto problem = [&](Place place, std::string text) {
    result.problems.push_back({place, std::move(text)});
  };

  const std::vector<int> cores(c.runtime.cores.begin(), c.runtime.cores.end());
  auto placement = place_workers(topology, cores, c.runtime.workers);
  if (placement.ok())
    layout.placement = *std::move(placement);
  else
    problem({}, "runtime.cores: " + text_of(placement.status()));

  std::vector<uint32_t> lanes_of;
  for (uint32_t s = 0; s < c.sources.size(); ++s) {
    auto found = lay_out(c.sources[s]);
    if (!found.ok())
      problem(c.sources[s].place, "source." + c.sources[s].name + ": " + text_of(found.status()));
    layout.sources.push_back(found.ok() ? *std::move(found) : SourceLayout{});
    layout.schemas.push_back(fields_of(c.sources[s]));
    if (c.sources[s].derived)
      for (const LookupSpec& spec : c.sources[s].derived->lookups) {
        auto content = read_lookup(spec);
        if (!content.ok())
          problem(c.sources[s].place,
                  "source." + c.sources[s].name + ".columns: " + text_of(content.status()));
        layout.lookups.push_back(spec);
        layout.looked_up.push_back(content.ok() ? *std::move(content) : LookupContent{});
      }
    lanes_of.push_back(layout.sources.back().lanes);
    for (uint32_t i = 0; i < lanes_of.back(); ++i) {
      const auto id = static_cast<uint16_t>(layout.lanes.size());
      layout.lanes.push_back({LaneId{id}, s, i, id % c.runtime.workers});
    }
  }
  for (const SinkConfig& sink : c.sinks)
    for (uint32_t s = 0; sink.append && s < c.sources.size(); ++s)
      if (reads(layout.sources[s], sink.path))
        problem(sink.place, "sink." + sink.name + ".path: source." + c.sources[s].name +
                                " reads this file; results appended to it would spoil it");
  if (!result.ok()) return result;

  std::vector<QueryProblem> query_problems;
  layout.compiled =
      compile(query_specs(c), query_sources(c, lanes_of), hash_seed(c), query_problems);
  for (const QueryProblem& p : query_problems)
    problem(c.queries[p.query].place,
            "query." + c.queries[p.query].spec.name + "." + p.option + ": " + p.text);

  for (uint32_t w = 0; w < c.runtime.workers; ++w)
    layout.idle.push_back(
        c.runtime.idle.value_or(default_idle(topology, layout.placement.worker_core[w])));
  layout.pipeline.workers = c.runtime.workers;
  layout.pipeline.plans = layout.compiled.plans;
  layout.pipeline.programs = layout.compiled.programs;
  layout.pipeline.results_per_turn = c.runtime.results_per_turn;
  layout.pipeline.rows_per_turn = c.runtime.rows_per_turn;
  for (const LaneLayout& lane : layout.lanes)
    layout.pipeline.lanes.push_back({lane.id, lane.worker, c.sources[lane.source].lane_options(),
                                     layout.compiled.progress[lane.source], lane.source});
  return result;
}

std::vector<MemoryTerm> memory_terms(const Layout& layout) {
  std::vector<MemoryTerm> terms;
  const Config& c = layout.config;
  const uint32_t workers = c.runtime.workers;
  const auto arena_rounding = [](uint64_t bytes) { return -bytes % Arena::kPage; };
  for (uint32_t w = 0; w < workers; ++w) {
    const std::string where = "worker " + std::to_string(w);
    const size_t first = terms.size();
    for (const Plan& plan : layout.pipeline.plans) {
      const ShardRange shards = plan.placement == Placement::kLocal
                                    ? ShardRange{0, plan.shards}
                                    : shards_of(w, plan.shards, workers);
      for (const ArenaTerm& term : store_memory(plan, shards))
        terms.push_back({"query " + term.purpose, where, term.bytes});
    }
    PipelineOptions options = layout.pipeline;
    options.worker = w;
    for (const ArenaTerm& term : pipeline_memory(options))
      terms.push_back({term.purpose, where, term.bytes});
    terms.push_back({"results", where, uint64_t{c.runtime.result_blocks} * sizeof(ResultBlock)});
    for (const LaneLayout& lane : layout.lanes) {
      if (lane.worker != w) continue;
      const SourceConfig& source = c.sources[lane.source];
      if (source.type == SourceType::kFile)
        terms.push_back(
            {"lane " + layout.lane_name(lane.id) + ": blocks", where, source_memory(source)});
    }
    uint64_t arena = 0;
    for (size_t i = first; i < terms.size(); ++i) arena += terms[i].bytes;
    terms.push_back({"rounding to pages of 2 MiB", where, arena_rounding(arena)});
    terms.push_back({"burst and batch", where, kWorkerHeapBytes});
    terms.push_back({"stack", where, kStackBytes});
  }
  std::vector<const Plan*> plans;
  for (const Plan& plan : layout.pipeline.plans) plans.push_back(&plan);
  for (const ArenaTerm& term : egress_memory(plans))
    terms.push_back({term.purpose, "egress", term.bytes});
  for (size_t i = 0; i < layout.lookups.size(); ++i)
    terms.push_back({"lookup " + layout.lookups[i].path + ", two versions", "host",
                     lookup_memory(layout.lookups[i], layout.looked_up[i])});
  for (uint32_t s = 0; s < c.sources.size(); ++s)
    if (c.sources[s].type == SourceType::kPort)
      terms.push_back({"source " + c.sources[s].name + ": packet buffers", "its port's node",
                       source_memory(c.sources[s])});
  if (std::any_of(c.sources.begin(), c.sources.end(),
                  [](const SourceConfig& s) { return s.type == SourceType::kPort; }))
    terms.push_back({"DPDK itself, about", "host", kDpdkBytes});
  terms.push_back({"heaps of all threads, about", "host", kHeapBytes});
  terms.push_back({"program and libraries", "host", program_bytes()});
  return terms;
}

std::string bytes_text(uint64_t bytes) {
  char text[32];
  if (bytes >= uint64_t{10} << 20)
    std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  else
    std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
  return text;
}

}  // namespace tidewire
