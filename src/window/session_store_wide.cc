// Session windows over WideCells.
#include "window/by_key_words.h"
#include "window/session_store_add.h"
#include "window/session_store_fire.h"
#include "window/session_store_late.h"

namespace tidewire {

std::unique_ptr<WindowStore> make_session_store_wide(const Plan& plan, ShardRange range,
                                                     Reserve& reserve) {
  return make_by_key_words<SessionStore, WideCells>(plan, range, reserve);
}

}  // namespace tidewire
