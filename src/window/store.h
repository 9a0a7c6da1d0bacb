// A query's windows on one worker: keys, cells, deferred rows and the timeline that fires them.
// What is a template and what is not: core.md section 4. Everything is sized at start from the
// plan; add and fire allocate nothing.
//
//   add    rows in any order of lanes: natural rows are combined at once (they commute), others are
//   deferred or late fire   runs the timeline up to a place, in bounded slices, in canonical order
//   (core.md rules 3 to 5)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/check.h"
#include "event/drop_reason.h"
#include "event/rows.h"
#include "memory/arena.h"
#include "query/plan.h"
#include "window/result_block.h"

namespace tidewire {

// Every row ends in exactly one of these; still_deferred is a moment's count.
struct StoreCounts {
  uint64_t natural = 0;
  uint64_t deferred = 0;  // applied
  uint64_t late = 0;
  uint64_t overflow =
      0;  // went to __overflow__, or found no pane or deferred slot; its windows are flagged
  uint64_t no_window = 0;  // between windows (slide > size)
  uint64_t still_deferred = 0;
  uint64_t results = 0;  // rows written
  uint64_t unshown = 0;  // late or diverted rows that found no room on their way to the late sink
  uint64_t flagged = 0;  // windows fired with kFlagOverflow
};

// For explain and the summary.
struct StoreUse {
  uint64_t keys = 0, max_keys = 0;
  uint64_t panes = 0, max_panes = 0;  // sessions: open sessions
  uint64_t deferred = 0, max_deferred = 0;
  uint64_t changes = 0, max_changes = 0;
};

class WindowStore {
 public:
  virtual ~WindowStore() = default;
  virtual void add(const Rows& rows) = 0;
  // All these rows are natural in one pane, here and on every worker, and nothing but their bounds
  // says when they were: times and stamps need not cross to their owner.
  virtual bool bounds_suffice(const Rows&) const { return false; }
  // Where bounds suffice: these rows, which are of one key, as one cell (Rows::cell).
  virtual void fold(const Rows&, std::span<const uint8_t> /*rows*/, int64_t* /*cell*/) const {
    CHECK(!"asked of a store whose bounds never suffice");
  }
  // Rows that a guard of the source keeps out of all windows (Plan::late_rows): they wait among the
  // deferred ones and are shown at their place, in canonical order. They need not be of a key that
  // this worker owns, and are in none of the counts but `unshown`.
  virtual void divert(const Rows& rows, LateReason reason) = 0;
  // Is there room for a whole batch, whatever it holds? One batch of a sparse recording may open a
  // pane with every event, and the timeline gives them back only when it runs: whoever can wait
  // waits while something is due and there is no room. With nothing due the pools are what the
  // config's bounds ask for, and add() has a policy.
  virtual bool has_room() const = 0;
  // Runs the timeline through place `until` and no further: fire points, deferred rows that are due
  // at `frontier` (stamp < frontier, or <= where one lane feeds the store), clean-up; canonical
  // order, shard by shard, about `budget` units of work a call; returns what it used, 0 when
  // nothing is due or no result block is free.
  virtual uint32_t fire(EventTime frontier, EventTime until, uint32_t budget,
                        ResultWriter& out) = 0;
  // The next place that is due at `frontier`. Empty is not end_of_time(): at drain that is itself a
  // place.
  virtual std::optional<EventTime> next(EventTime frontier) const = 0;
  // What the open windows hold now, asked for by a clock: RunKind::kProvisional runs outside the
  // timeline, counted nowhere, changing nothing. begin_provisional() starts a walk over all keys
  // (one on its way starts over); provisional() goes on with it, about `budget` units of work a
  // call, and rows and firing may come in between: a window that leaves meanwhile is not shown any
  // more. It returns what it used, 0 when no result block is free or the walk is over.
  virtual void begin_provisional() = 0;
  virtual uint32_t provisional(uint32_t budget, ResultWriter& out) = 0;
  virtual bool is_showing() const = 0;  // a walk has begun and is not over
  virtual StoreCounts counts() const = 0;
  virtual StoreUse use() const = 0;
};

// The only place where the closed set {key words 0, 1, 2, 4} x {Stats, Wide} x {panes, sessions} is
// spelled out. Takes all memory from the arena.
std::unique_ptr<WindowStore> make_store(const Plan& plan, ShardRange shards, Arena& arena);

// Bytes that make_store will take, term by term, without taking them: what `explain` prints.
std::vector<ArenaTerm> store_memory(const Plan& plan, ShardRange shards);

}  // namespace tidewire
