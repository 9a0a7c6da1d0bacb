// From what was asked (QuerySpec) to what the data path runs (Plan): names become columns, texts
// become words, sizes become sums. All problems of all queries in one go; the caller knows where in
// the file each stands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/time.h"
#include "query/plan.h"
#include "query/schema.h"
#include "query/spec.h"

namespace tidewire {

// A source as queries see it.
struct QuerySource {
  std::string name;
  const Schema* schema = nullptr;
  std::string partition;  // field that must have a column as well; empty: none
  std::vector<LaneId> lanes;
  // How far apart its events may be, for the number of panes open at once; INT64_MAX: unbounded.
  // A single lane has no drift, a single partition none behind it.
  Duration bound, max_ahead, max_behind, max_drift;
};

struct QueryProblem {
  uint32_t query = 0;   // index into the specs
  std::string option;   // "where", "key", "aggregates", "window.slide", ...
  int32_t item = -1;    // of a list
  int32_t column = -1;  // offset inside the text
  std::string text;
};

// Beside the plan, for `explain`.
struct PaneSum {
  Duration pane;              // gcd(size, slide)
  uint64_t worst = 0;         // panes that the source's bounds allow to be open at once
  bool unbounded = false;     // some bound is "never": `worst` counts the others
  uint64_t bytes_a_pane = 0;  // all shards
  bool limited_by_memory = false;
};

struct Compiled {
  std::vector<ColumnMap> columns;  // one a source
  std::vector<Plan> plans;         // one a spec, plans[i].id == i
  std::vector<PaneSum> panes;      // one a spec; sessions: zeros
};

// With problems the result is not to be used.
Compiled compile(std::span<const QuerySpec> specs, std::span<const QuerySource> sources,
                 HashSeed seed, std::vector<QueryProblem>& problems);

}  // namespace tidewire
