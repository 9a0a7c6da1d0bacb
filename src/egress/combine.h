// Two cells of one (window, key) into one: what egress needs where every worker has a row of its
// own for the same thing, the __overflow__ row. Commutative and associative, so the order of the
// workers does not show.
#pragma once

#include <cstdint>

#include "query/plan.h"

namespace tidewire {

// Both cells hold at least one row.
void combine_cells(const Plan& plan, int64_t* into, const int64_t* from);

}  // namespace tidewire
