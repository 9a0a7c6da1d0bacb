// Runs the derived columns of a source on one batch: the program of query/column_program.h, one
// loop over the rows for each step. Before any query looks at the batch, and once for all of them.
#pragma once

#include <array>
#include <cstdint>

#include "event/drop_reason.h"
#include "event/event_batch.h"
#include "pipeline/select.h"
#include "query/column_program.h"
#include "query/lookup.h"

namespace tidewire {

// In the worker's arena.
struct DeriveScratch {
  alignas(64) std::array<std::array<int64_t, kBatchMax>, kRegisterMax> word;
  // 1: the value, or one that it was made of, has passed 64 bits. Of counted columns only.
  alignas(64) std::array<std::array<uint8_t, kBatchMax>, kRegisterMax> passed;
  alignas(64) std::array<uint32_t, kBatchMax> at;  // interval of a lookup
};

// `tables`, of which `version` is in force: null where no column looks anything up. Uses the masks
// of `select`.
void derive(const ColumnProgram& program, const LookupTables* tables, uint32_t version,
            EventBatch& batch, SelectScratch& select, DeriveScratch& scratch, LaneCounts& counts);

}  // namespace tidewire
