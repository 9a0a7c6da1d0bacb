// A row that no window took, on its way to a late sink (RunKind::kLate).
#pragma once

#include <algorithm>
#include <cstdint>

#include "query/plan.h"
#include "window/cell.h"
#include "window/deferred.h"
#include "window/result_block.h"

namespace tidewire {

// The caller has made sure of room for one row.
inline void write_late(QueryId query, uint32_t key_words, uint32_t values, const SingleRow& single,
                       ResultWriter& out) {
  out.begin(query,
            {.place = single.stamp,
             .position = position_of(single.rows(), 0),
             .index = static_cast<uint32_t>(single.reason),
             .kind = RunKind::kLate},
            2 + key_words + values);
  int64_t* row = out.row();
  *row++ = single.time.ns;
  *row++ = static_cast<int64_t>(single.hash);
  row = std::copy_n(single.key.begin(), key_words, row);
  std::copy_n(single.value.begin(), values, row);
}

}  // namespace tidewire
