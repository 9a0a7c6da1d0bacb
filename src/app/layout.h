// What a config comes to on this host, before anything is opened or reserved: lanes, who polls
// them, columns, plans, cores, memory. One way from config to plan for check, explain, run, replay
// and peek.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "config/config.h"
#include "drivers/catalog.h"
#include "event/burst.h"
#include "event/event_batch.h"
#include "pipeline/pipeline.h"
#include "query/compile.h"
#include "query/lookup.h"
#include "runtime/topology.h"

namespace tidewire {

struct LaneLayout {
  LaneId id{};
  uint32_t source = 0;  // index into Config::sources
  uint32_t index = 0;   // of this source's lanes
  uint32_t worker = 0;
};

struct MemoryTerm {
  std::string what;   // "query by_protocol: panes"
  std::string where;  // "worker 0", "host"
  uint64_t bytes = 0;
};

struct Layout {
  Config config;
  std::vector<SourceLayout> sources;  // as Config::sources: files found, number of lanes
  std::vector<LaneLayout> lanes;      // ascending id
  std::vector<const Schema*> schemas;
  std::vector<LookupSpec> lookups;  // of all sources, and what stands in their files
  std::vector<LookupContent> looked_up;
  Compiled compiled;
  WorkerPlacement placement;
  std::vector<IdlePolicy> idle;
  PipelineOptions pipeline;  // worker to be filled in

  std::string lane_name(LaneId id) const;  // "capture", "edge queue 3"
};

// All problems at once, as check prints them; setup problems (a folder that cannot be listed) are
// among them.
struct LayoutResult {
  Layout layout;
  std::vector<Problem> problems;
  bool ok() const { return problems.empty(); }
};
LayoutResult make_layout(Config config, const Topology& topology);

std::vector<MemoryTerm> memory_terms(const Layout& layout);
// What a worker takes beside its arena.
inline constexpr uint64_t kWorkerHeapBytes = sizeof(Burst) + sizeof(EventBatch);
// "1.5 KiB", "41.6 MiB"
std::string bytes_text(uint64_t bytes);

}  // namespace tidewire
