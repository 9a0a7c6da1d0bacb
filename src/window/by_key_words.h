// The store of one kind and cell for a plan's key words. Each pair of kind and cell is instantiated
// in a file of its own, so that they compile side by side.
#pragma once

#include <memory>

#include "base/check.h"
#include "window/store.h"

namespace tidewire {

class Reserve;

template <template <uint32_t, class> class Store, class Cells>
std::unique_ptr<WindowStore> make_by_key_words(const Plan& plan, ShardRange range,
                                               Reserve& reserve) {
  switch (plan.key_words) {
    case 0:
      return std::make_unique<Store<0, Cells>>(plan, range, reserve);
    case 1:
      return std::make_unique<Store<1, Cells>>(plan, range, reserve);
    case 2:
      return std::make_unique<Store<2, Cells>>(plan, range, reserve);
    case 4:
      return std::make_unique<Store<4, Cells>>(plan, range, reserve);
  }
  check_failed("key_words is 0, 1, 2 or 4", __FILE__, __LINE__);
}

}  // namespace tidewire
