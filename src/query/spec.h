// What was asked and of whom, as the configuration says it: words, not yet checked against a
// schema. query/compile.h turns it into a Plan; nothing on the data path reads this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "query/plan.h"
#include "query/schema.h"

namespace tidewire {

enum class PlacementChoice : uint8_t {
  kAuto,   // local where one lane feeds the query, else exchange
  kLocal,  // the user vouches that the lane determines the key (RSS on the flow, key with the flow)
  kExchange,  // rows go to the owner of their key
};

struct DerivedColumns;  // query/derive.h

// A source as queries see it.
struct QuerySource {
  std::string name;
  const Schema* schema = nullptr;
  const DerivedColumns* derived = nullptr;  // null: none; else `schema` is its
  std::string progress;                     // which events mark progress, as `where`; empty: none
  std::string partition;                    // field that must have a column as well; empty: none
  std::vector<LaneId> lanes;
  // How far apart its events may be, for the number of panes open at once; INT64_MAX: unbounded.
  // A single lane has no drift, a single partition none behind it.
  Duration bound, max_ahead, max_behind, max_drift;
  // The stamps of a lane's rows never fall: one partition, or lateness by the lane's frontier. Only
  // then is the order of the timeline that of the lane (core.md rule 6).
  bool lane_order = true;
};

struct QuerySpec {
  std::string name;
  std::string source;                   // name of the source that feeds it
  std::string where;                    // query/expression.h; empty: all events
  std::vector<std::string> key;         // "protocol", "src/24", "src/24/48"; empty: one group
  std::vector<std::string> aggregates;  // "count", "sum(wire_length) as bytes"
  WindowShape window;
  std::string gap_field;  // session: the gap is this field's value, in `gap_unit`
  Duration gap_unit;
  std::string having;  // as `where`, over the names of the results; empty: all
  EmptyFill fill = EmptyFill::kNone;
  uint32_t fill_windows = 1;  // of a key, behind its last window with rows
  uint32_t top = 0;           // results of a window; 0: all
  std::string top_by;         // a result's name
  bool top_least = false;     // the least instead of the greatest
  std::vector<std::string> sinks;
  std::vector<std::string> late_sinks;  // of rows that no window took
  uint64_t max_keys = 65'536;
  uint64_t max_sessions = 16'384;  // beyond one a key
  uint64_t max_deferred = 16'384;
  uint64_t max_changes = 16'384;  // windows of a key that late rows have changed
  uint64_t max_panes = 0;         // 0: from the source's bounds (query/compile.h), within `memory`
  uint64_t memory = uint64_t{256} << 20;  // bytes that the panes of the query may take
  PlacementChoice placement = PlacementChoice::kAuto;
};

}  // namespace tidewire
