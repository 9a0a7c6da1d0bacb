// The closed set of stores, chosen once a query at start.
#include "base/check.h"
#include "window/count_store.h"
#include "window/pane_store.h"
#include "window/reserve.h"
#include "window/session_store.h"
#include "window/store.h"

namespace tidewire {

static_assert(sizeof(Run) + kResultRowBytesMax <= ResultBlock::kBytes);

namespace {

std::unique_ptr<WindowStore> make(const Plan& plan, ShardRange shards, Reserve& reserve) {
  const bool stats = plan.cell == CellKind::kStats;
  switch (plan.window.kind) {
    case WindowKind::kTumbling:
    case WindowKind::kSliding:
    case WindowKind::kCumulate:
    case WindowKind::kCalendar:
      return stats ? make_pane_store_stats(plan, shards, reserve)
                   : make_pane_store_wide(plan, shards, reserve);
    case WindowKind::kSession:
      return stats ? make_session_store_stats(plan, shards, reserve)
                   : make_session_store_wide(plan, shards, reserve);
    case WindowKind::kCount:
    case WindowKind::kGlobal:
      return stats ? make_count_store_stats(plan, shards, reserve)
                   : make_count_store_wide(plan, shards, reserve);
  }
  check_failed("a store for this kind of window", __FILE__, __LINE__);
}

}  // namespace

std::unique_ptr<WindowStore> make_store(const Plan& plan, ShardRange shards, Arena& arena) {
  Reserve reserve(&arena, plan.name);
  return make(plan, shards, reserve);
}

std::vector<ArenaTerm> store_memory(const Plan& plan, ShardRange shards) {
  Reserve reserve(nullptr, plan.name);
  make(plan, shards, reserve);
  return reserve.terms();
}

}  // namespace tidewire
