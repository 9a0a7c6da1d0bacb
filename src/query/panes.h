// How many panes a query has open at once, and what they take: core.md section 5.
#pragma once

#include <cstdint>
#include <optional>

#include "query/plan.h"
#include "query/spec.h"
#include "query/window_check.h"

namespace tidewire {

// Beside the plan, for `explain`.
struct PaneSum {
  Duration pane;              // calendar without steps: the shortest that the unit gets
  uint64_t window_panes = 0;  // of one window
  uint64_t worst = 0;         // panes that the source's bounds allow to be open at once
  bool unbounded = false;     // some bound is "never": `worst` counts the others
  uint64_t bytes_a_pane = 0;  // all shards
  bool limited_by_memory = false;
};

// Fills max_panes and batch_panes of a plan that is else complete, if its windows are aligned.
PaneSum size_panes(const QuerySpec& spec, const QuerySource& source, Plan& plan,
                   std::optional<WindowProblem>& problem);

}  // namespace tidewire
