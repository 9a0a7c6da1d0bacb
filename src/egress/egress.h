// From the workers' result rings to the sinks: order (merge.h), shape (shape.h), number, mark,
// encode, send. A step machine without clock or thread of its own; runtime turns it on its own
// thread, tests call step() directly.
//
// Order out: core.md rule 8. Every ring carries its own rows in that order, so egress is a
// streaming merge: the smallest head leaves once every other ring has a head or has *fired* beyond
// it.
//
// Late rows go to the sinks that are bound for them and are no results: neither numbered nor in the
// digest. Provisional results go to the result sinks, unnumbered and outside the digest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "io/sink.h"
#include "memory/arena.h"
#include "query/plan.h"
#include "window/result_block.h"

namespace tidewire {

enum class Encoding : uint8_t { kTable, kJsonLines, kCsv, kBinary };

struct SinkBinding {
  Sink* sink = nullptr;
  Encoding encoding = Encoding::kJsonLines;
  std::vector<QueryId> queries;  // whose results go here
  bool colour = false;           // kTable on a terminal
  std::vector<QueryId> late{};   // whose late rows go here
};

struct EgressOptions {
  std::string system_name;
  uint32_t rows_per_step = 256;        // results wait for no more than these
  uint32_t buffer_bytes = 256 * 1024;  // per sink: encoded bytes before send
};

struct EgressCounts {
  uint64_t results = 0;  // rows that left, numbered
  // Distinct (query, place, window) that fired on time: aligned windows; sessions count each.
  uint64_t windows = 0;
  uint64_t flagged = 0;  // rows of flagged windows: outside the digest
  uint64_t partial = 0;  // rows marked partial by drain
  uint64_t digest = 0;   // over all unflagged rows, in order
  // Of `results`, those that are not plainly on time.
  uint64_t early = 0, updates = 0, retractions = 0;
  // Beside `results`.
  uint64_t provisional = 0;
  uint64_t late_rows = 0;
  // What shaping did (shape.h): windows filled in, of `results`; results held back; keys that the
  // table of last windows had no room for.
  uint64_t empty = 0;
  uint64_t having = 0, below_top = 0;
  uint64_t keys_forgotten = 0;
};

class Egress {
 public:
  Egress(EgressOptions options, std::vector<const Plan*> plans, std::vector<ResultRing*> rings,
         const std::vector<SinkBinding>& sinks);
  ~Egress();

  // A bounded slice; returns rows handled, 0 = nothing can leave now. Sends what it has encoded,
  // and flushes when idle.
  uint32_t step();
  // Drain: results of places above `place` are marked partial. Set before any such result can have
  // been written.
  void partial_after(EventTime place);
  // Everything at or below this place is out.
  EventTime emitted() const;
  void flush();
  EgressCounts counts() const;  // any thread: a moment's sample

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Bytes that egress reserves for what queries ask of their results (Plan::shaping, delta, rate),
// term by term: what `explain` prints.
std::vector<ArenaTerm> egress_memory(const std::vector<const Plan*>& plans);

}  // namespace tidewire
