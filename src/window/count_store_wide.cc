// Count and global windows over WideCells.
#include "window/by_key_words.h"
#include "window/count_store_run.h"

namespace tidewire {

std::unique_ptr<WindowStore> make_count_store_wide(const Plan& plan, ShardRange range,
                                                   Reserve& reserve) {
  return make_by_key_words<CountStore, WideCells>(plan, range, reserve);
}

}  // namespace tidewire
