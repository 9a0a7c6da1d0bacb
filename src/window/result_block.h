// Results on their way from a worker to egress: cells as they are, no text, in the order of the
// worker's timeline.
//
//   block: | Run | row row row ... | Run | row ... |        one query; runs by (place, window end)
//
//   kPoint    the window stands in the run   row = { hash, key words, cell words }
//             order of its rows: (hash, key)
//   kUpdate   the same, for what one late row changed: runs by (place, position, window end),
//             behind the points of that place
//   kPlaced   each row has its window        row = { start, end, hash, key words, cell words }
//             order of its rows: (end, hash, key). On time each row's end is its place, else the
//             run's place is. start and end of a retraction: the window that replaces it, in whose
//             place in the order it stands (its own may be another, as sessions merge)
//   kLost     no rows: this worker has lost rows of every window that ends in [start, end], of
//             which it may have nothing else to show; place == start
//   kLate     rows that no window took: row = { time, hash, key words, values }; order and place
//             as kUpdate, `index` is a LateReason
//   kProvisional   as kPoint, but asked for by a clock: outside the order, leaves as it comes
//
// A retraction stands in a run of its own just before what replaces it, key by key.
//
// A worker's ring of blocks carries them in order and then its *fired* place: no row at or below it
// is still to come.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "base/ids.h"
#include "base/spsc_ring.h"
#include "base/time.h"

namespace tidewire {

enum class RunKind : uint8_t { kPoint, kPlaced, kLost, kUpdate, kLate, kProvisional };
enum class FireKind : uint8_t { kOnTime, kEarly, kUpdate, kRetraction, kProvisional };

// Flags of a window. kOverflow: rows went to __overflow__ or were counted lost there; such windows
// stand outside the digest. kOverflowRow: this run's rows are the __overflow__ rows themselves
// (their key words are 0). Egress sets the others. kFlagPartial: fired by a drain. kFlagEmpty: a
// window without rows that was asked for. kFlagSaturated: some value is beyond what can be shown.
enum ResultFlags : uint16_t {
  kFlagOverflow = 1,
  kFlagOverflowRow = 2,
  kFlagPartial = 4,
  kFlagEmpty = 8,
  kFlagSaturated = 16
};

struct Run {
  EventTime place{};         // fire point; kPlaced: place of its first row
  EventTime start{}, end{};  // kPoint, kUpdate, kProvisional, kLost; kPlaced retractions
  uint64_t position = 0;     // kUpdate, kLate: of the row, lane << 48 | ordinal
  uint32_t rows = 0;
  // Firing index: the number of the point on the window's own grid (steps, end, gathered points,
  // from 0); row updates count on from the end.
  uint32_t index = 0;
  RunKind kind = RunKind::kPoint;
  FireKind fire = FireKind::kOnTime;
  uint16_t flags = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(Run) == 48 && std::has_unique_object_representations_v<Run>);  // memcmp

struct ResultBlock {
  static constexpr uint32_t kBytes = 16 * 1024;
  QueryId query{};
  uint32_t row_words = 0;
  uint32_t used = 0;  // bytes
  uint32_t rows = 0;
  alignas(64) std::array<std::byte, kBytes> bytes;
};

// One per worker. The worker writes through ResultWriter; egress reads blocks and `fired`.
struct ResultRing {
  SpscRing<ResultBlock> blocks;
  // Publish after the blocks; read before looking whether the ring is empty.
  alignas(64) std::atomic<int64_t> fired{INT64_MIN};
};

// The worker's end. No free block means that firing pauses and the cursor is kept: reserve() says
// so before anything is written.
class ResultWriter {
 public:
  explicit ResultWriter(ResultRing& ring) : ring_(ring) {}

  // Blocks that could be opened now, the open one not counted.
  bool room_for(uint32_t blocks) {
    return ring_.blocks.free_slot(block_ ? blocks : blocks - 1) != nullptr;
  }

  // Starts a run or goes on with an equal one; `rows` of `head` is 0. The caller has made sure of
  // room (room_for). `row_words` counts every word of a row, window words included.
  void begin(QueryId query, const Run& head, uint32_t row_words) {
    if (block_ && (block_->query != query || block_->row_words != row_words)) close();
    if (block_ && std::memcmp(&head, &head_, sizeof(Run)) == 0) return;
    head_ = head;
    query_ = query;
    row_words_ = row_words;
    if (!block_ || block_->used + sizeof(Run) + row_words * 8 > ResultBlock::kBytes) open();
    start_run();
  }
  // Place for one row, to be filled by the caller.
  int64_t* row() {
    if (block_->used + row_words_ * 8 > ResultBlock::kBytes) {
      close();
      open();
      start_run();
    }
    auto* at = reinterpret_cast<int64_t*>(block_->bytes.data() + block_->used);
    block_->used += row_words_ * 8;
    ++block_->rows;
    ++reinterpret_cast<Run*>(block_->bytes.data() + run_)->rows;
    return at;
  }
  // Places for several rows that stand side by side: at least one, as many as the open block holds.
  // took() says how many were filled. Same promise about room as for row().
  struct Space {
    int64_t* at;
    uint32_t rows;
  };
  Space space() {
    if (block_->used + row_words_ * 8 > ResultBlock::kBytes) {
      close();
      open();
      start_run();
    }
    return {reinterpret_cast<int64_t*>(block_->bytes.data() + block_->used),
            (ResultBlock::kBytes - block_->used) / (row_words_ * 8)};
  }
  void took(uint32_t rows) {
    block_->used += rows * row_words_ * 8;
    block_->rows += rows;
    reinterpret_cast<Run*>(block_->bytes.data() + run_)->rows += rows;
  }
  // Rows of one new run that surely fit `blocks` free blocks.
  static uint32_t rows_in(uint32_t blocks, uint32_t row_words) {
    return blocks * static_cast<uint32_t>((ResultBlock::kBytes - sizeof(Run)) / (row_words * 8));
  }
  // Hands the open block over. The pipeline does so at the end of a slice, then publishes how far
  // it has fired.
  void close() {
    if (!block_) return;
    block_ = nullptr;
    ring_.blocks.push();
  }
  void publish_fired(EventTime place) {
    close();
    DCHECK(place.ns >= ring_.fired.load(std::memory_order_relaxed));
    ring_.fired.store(place.ns, std::memory_order_release);
  }

 private:
  void open() {
    close();
    block_ = ring_.blocks.free_slot();
    CHECK(block_ != nullptr);
    block_->query = query_;
    block_->row_words = row_words_;
    block_->used = 0;
    block_->rows = 0;
  }
  void start_run() {
    run_ = block_->used;
    std::memcpy(block_->bytes.data() + run_, &head_, sizeof(Run));
    block_->used += sizeof(Run);
  }

  ResultRing& ring_;
  ResultBlock* block_ = nullptr;
  Run head_;
  QueryId query_{};
  uint32_t row_words_ = 0;
  uint32_t run_ = 0;  // offset of the open run
};

}  // namespace tidewire
