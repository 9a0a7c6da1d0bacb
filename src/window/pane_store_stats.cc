// Aligned windows over StatsCells; a file of its own so that the variants compile side by side.
#include "window/pane_store_add.h"
#include "window/pane_store_fire.h"

namespace tidewire {

template class PaneStore<0, StatsCells>;
template class PaneStore<1, StatsCells>;
template class PaneStore<2, StatsCells>;
template class PaneStore<4, StatsCells>;

std::unique_ptr<WindowStore> make_pane_store_stats(const Plan& plan, ShardRange range,
                                                   Reserve& reserve) {
  switch (plan.key_words) {
    case 0:
      return std::make_unique<PaneStore<0, StatsCells>>(plan, range, reserve);
    case 1:
      return std::make_unique<PaneStore<1, StatsCells>>(plan, range, reserve);
    case 2:
      return std::make_unique<PaneStore<2, StatsCells>>(plan, range, reserve);
    case 4:
      return std::make_unique<PaneStore<4, StatsCells>>(plan, range, reserve);
  }
  check_failed("key_words is 0, 1, 2 or 4", __FILE__, __LINE__);
}

}  // namespace tidewire
