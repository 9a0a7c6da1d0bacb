// What one writes first in C++ for event-time windows: containers off the shelf, with the watermark
// of a bounded disorder, all results written out, and nothing else.
//
//   absl   tumbling, sliding: one flat_hash_map for each open window, cleared when it closes; an
//          event goes into each window that holds it. Sessions: a flat_hash_map of the keys' open
//          sessions, and a heap of timers
//   std    tumbling, sliding: one unordered_map of (key, window), and a heap with a timer for each
//          entry. Sessions: as above, in an unordered_map
//
// The watermark moves once in 256 events, as the pipeline's batches do.
#pragma once

#include <memory>

#include "bench/floor/floor.h"

namespace tidewire::bench {

std::unique_ptr<floor_kernel::Kernel> make_absl(floor_kernel::Work work, int64_t gap_ns);
std::unique_ptr<floor_kernel::Kernel> make_std(floor_kernel::Work work, int64_t gap_ns);

}  // namespace tidewire::bench
