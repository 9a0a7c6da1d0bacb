// Session windows over StatsCells; a file of its own so that the variants compile side by side.
#include "window/session_store_add.h"
#include "window/session_store_fire.h"

namespace tidewire {

template class SessionStore<0, StatsCells>;
template class SessionStore<1, StatsCells>;
template class SessionStore<2, StatsCells>;
template class SessionStore<4, StatsCells>;

std::unique_ptr<WindowStore> make_session_store_stats(const Plan& plan, ShardRange range,
                                                      Reserve& reserve) {
  switch (plan.key_words) {
    case 0:
      return std::make_unique<SessionStore<0, StatsCells>>(plan, range, reserve);
    case 1:
      return std::make_unique<SessionStore<1, StatsCells>>(plan, range, reserve);
    case 2:
      return std::make_unique<SessionStore<2, StatsCells>>(plan, range, reserve);
    case 4:
      return std::make_unique<SessionStore<4, StatsCells>>(plan, range, reserve);
  }
  check_failed("key_words is 0, 1, 2 or 4", __FILE__, __LINE__);
}

}  // namespace tidewire
