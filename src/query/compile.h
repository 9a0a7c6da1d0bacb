// From what was asked (QuerySpec) to what the data path runs (Plan): names become columns, texts
// become words, sizes become sums. All problems of all queries in one go; the caller knows where in
// the file each stands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/time.h"
#include "query/column_program.h"
#include "query/derive.h"
#include "query/panes.h"
#include "query/plan.h"
#include "query/schema.h"
#include "query/spec.h"

namespace tidewire {

struct QueryProblem {
  uint32_t query = 0;   // index into the specs
  std::string option;   // "where", "key", "aggregates", "window.slide", ...
  int32_t item = -1;    // of a list
  int32_t column = -1;  // offset inside the text
  std::string text;
};

struct Compiled {
  std::vector<ColumnMap> columns;       // one a source
  std::vector<Predicate> progress;      // one a source
  std::vector<ColumnProgram> programs;  // one a source: of its derived columns
  std::vector<Plan> plans;              // one a spec, plans[i].id == i
  std::vector<PaneSum> panes;           // one a spec; sessions: zeros
};

// Checks a source's `progress`. False: `problem` says what is wrong, at an offset of the text.
bool compile_progress(std::string_view text, const Schema& schema, std::string& problem,
                      size_t& at);

// With problems the result is not to be used.
Compiled compile(std::span<const QuerySpec> specs, std::span<const QuerySource> sources,
                 HashSeed seed, std::vector<QueryProblem>& problems);

}  // namespace tidewire
