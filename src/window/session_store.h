// Session windows of one query on one worker: rows of a key that lie at most `gap` apart are one
// session, [first, last + gap). Exactly gap apart touches (Flink TimeWindow.intersects).
//
//   slot      one a key id: the newest session inline, a list of older ones in a pool
//   wheel     one lazy entry a key, at or before the first end of its sessions
//   heap      what ends in the wheel's current tick, by (end, hash, key): each session is a fire
//             point of its own. At most one entry a key: two sessions of a key end more than gap
//             apart, a tick is shorter, and a session that has grown is put back when it comes up
//
// Rows: natural iff time > S, combined at once. Every other row is deferred, however old, because
// only its place on the timeline tells which session it meets: there it joins what still is open,
// or is late where the session it would make has ended by S (core.md rule 4; lateness is 0).
//
// A full pool (rule 9): the row goes to the sessions of one reserved slot, which leave as
// __overflow__ rows, and every session it would have touched is flagged. That slot never fails: for
// want of a free session it stretches the one it has.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "window/cell.h"
#include "window/deferred.h"
#include "window/dictionary.h"
#include "window/flagged.h"
#include "window/reserve.h"
#include "window/store.h"
#include "window/timing_wheel.h"

namespace tidewire {

template <uint32_t W, class Cells>
class SessionStore final : public WindowStore {
 public:
  SessionStore(const Plan& plan, ShardRange range, Reserve& reserve);

  void add(const Rows& rows) override;
  void divert(const Rows& rows, LateReason reason) override;
  bool has_room() const override {
    return free_pooled_count_ >= std::min<uint64_t>(kBatchMax, extra_ / 2) && deferred_.has_room();
  }
  uint32_t fire(EventTime frontier, EventTime until, uint32_t budget, ResultWriter& out) override;
  std::optional<EventTime> next(EventTime frontier) const override;
  void begin_provisional() override { show_at_ = 0; }
  uint32_t provisional(uint32_t budget, ResultWriter& out) override;
  bool is_showing() const override { return show_at_ != kNone; }
  StoreCounts counts() const override;
  StoreUse use() const override;

 private:
  // In front of its cell. In the pool `older` chains a key's list or the free ones.
  struct alignas(32) Session {
    int64_t start, last;
    uint64_t hash;   // slots only
    uint32_t older;  // index into the pool; 0: none
    uint32_t armed;  // slots only: the wheel's word
  };
  static_assert(sizeof(Session) == 32);
  struct Due {
    int64_t end;
    uint64_t hash;
    uint32_t slot;
  };
  enum class Merge : uint8_t { kJoined, kLate, kNoRoom };
  static constexpr uint32_t kNone = UINT32_MAX;

  Session& slot(uint32_t g) {
    return *reinterpret_cast<Session*>(&slots_.data()[size_t{g} * stride_]);
  }
  Session& pooled(uint32_t o) {
    return *reinterpret_cast<Session*>(&pool_.data()[size_t{o} * stride_]);
  }
  static int64_t* cell(Session& session) { return reinterpret_cast<int64_t*>(&session + 1); }
  static bool empty(Session& session) { return Cells::empty(cell(session)); }
  int64_t end_of(const Session& session) const { return session.last + gap_; }

  uint32_t slot_of(const Rows& rows, uint32_t row, uint64_t line);
  void join(uint32_t g, const Rows& rows, uint32_t row);
  Merge merge(uint32_t g, const Rows& rows, uint32_t row, int64_t alive_after);
  Merge begin_another(uint32_t g, const Rows& rows, uint32_t row);
  bool overflow(const Rows& rows, uint32_t row, int64_t alive_after);
  void settle(const Rows& rows, uint32_t row);
  void apply(const SingleRow& row, ResultWriter& out);
  void late(const SingleRow& row, ResultWriter& out);
  void give_pooled(uint32_t o);

  void arm(uint32_t g, int64_t end);
  void rearm(uint32_t g);
  bool after(const Due& a, const Due& b) const;
  bool emit(ResultWriter& out);
  bool write(const Due& due, Session& session, ResultWriter& out);
  void closed(uint32_t g);
  bool show(uint32_t g, ResultWriter& out);
  uint32_t forget_keys(uint32_t budget);
  void recycle(uint32_t shard);

  QueryId query_;
  int64_t gap_;
  Cells cells_;
  Dictionary<W> keys_;
  Deferred deferred_;
  uint64_t extra_;  // sessions beyond one a key
  TimingWheel wheel_;
  FlaggedIntervals flagged_;
  StoreCounts counts_;
  uint32_t row_words_, stride_;  // words
  uint32_t values_;
  bool late_rows_;
  uint32_t overflow_slot_;

  std::span<int64_t> slots_, pool_;
  std::span<Due> heap_;
  uint64_t due_count_ = 0, open_ = 0;
  uint32_t free_pooled_ = 0;
  uint64_t free_pooled_count_ = 0;

  int64_t fired_ = INT64_MIN;     // every place up to here is done
  int64_t frontier_ = INT64_MIN;  // what fire() was last told
  int64_t emptied_ = INT64_MIN;   // the frontier at which the last open session left
  uint32_t forget_at_ = 0;
  uint32_t show_at_ = kNone;  // the next slot to be shown
  uint32_t rows_left_ = 0;    // that surely fit the open run
  uint16_t run_flags_ = 0;

  std::array<uint64_t, kBatchMax> line_;
  std::array<uint32_t, kBatchMax> at_;
  std::array<uint8_t, kBatchMax + 1> good_, odd_, missed_;
};

// Instantiated for W in {0, 1, 2, 4} in session_store_stats.cc and session_store_wide.cc.
std::unique_ptr<WindowStore> make_session_store_stats(const Plan& plan, ShardRange range,
                                                      Reserve& reserve);
std::unique_ptr<WindowStore> make_session_store_wide(const Plan& plan, ShardRange range,
                                                     Reserve& reserve);

}  // namespace tidewire
