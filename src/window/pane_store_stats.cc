// Aligned windows over StatsCells.
#include "window/by_key_words.h"
#include "window/pane_store_add.h"
#include "window/pane_store_changes.h"
#include "window/pane_store_fire.h"
#include "window/pane_store_show.h"

namespace tidewire {

std::unique_ptr<WindowStore> make_pane_store_stats(const Plan& plan, ShardRange range,
                                                   Reserve& reserve) {
  return make_by_key_words<PaneStore, StatsCells>(plan, range, reserve);
}

}  // namespace tidewire
