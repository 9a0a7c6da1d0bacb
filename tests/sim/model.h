// What Flink's window operator gives for the rows of ONE key of a query, in canonical order (rule 3
// of core.md), its watermark set to each row's stamp before the row: lists of rows, nothing shared,
// nothing clever. Early, late, gathered and retracted results by rule 6.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <tuple>
#include <vector>

#include "event/rows.h"
#include "query/plan.h"
#include "window/result_block.h"

namespace tidewire::sim {

// One row out. Ordered by its members: the order of rule 8.
struct Result {
  int64_t place = 0;
  uint32_t query = 0;
  bool update = false;    // of one late row: behind the points of its place
  uint64_t position = 0;  // of that row
  int64_t order_end = 0;  // window end; of a point's retraction that of what replaces it
  uint64_t hash = 0;
  std::array<int64_t, kMaxKeyWords> key{};
  int64_t order_start = 0;  // as order_end; of updates 0
  bool stands = true;       // false: a retraction
  int64_t start = 0, end = 0;
  FireKind fire = FireKind::kOnTime;
  uint32_t index = 0;
  int64_t count = 0, sum = 0, min = 0, max = 0;
  bool late = false;  // a row that no window took: `start` is its time, `sum` its value
  auto operator<=>(const Result&) const = default;
};

struct ModelRow {
  int64_t stamp = 0;
  uint32_t lane = 0;
  uint64_t ordinal = 0;
  int64_t time = 0, value = 0, gap = 0;
  uint64_t position() const { return uint64_t{lane} << 48 | ordinal; }
  auto order() const { return std::tuple(stamp, lane, ordinal); }
};

struct ModelAnswer {
  std::vector<Result> results;  // in no order
  uint64_t late = 0, no_window = 0;
};

// Of a key with so many words as the plan has, the others 0.
uint64_t hash_of(const Plan& plan, const std::array<int64_t, kMaxKeyWords>& key);

// `blank`: query, hash and key of the results. `rows`: in canonical order.
ModelAnswer model(const Plan& plan, const Result& blank, const std::vector<ModelRow>& rows);

}  // namespace tidewire::sim
