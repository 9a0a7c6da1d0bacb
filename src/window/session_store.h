// Session windows of one query on one worker: rows of a key whose windows [time, time + gap) touch
// are one session, the cover of those windows (Flink TimeWindow.intersects: exactly gap apart
// touches; a window may be empty). With max_duration no session crosses the grid of its multiples:
// a row's window ends with its cell, and only rows of one cell meet.
//
//   slot      one a key id: the newest session inline, a list of older ones in a pool
//   wheel     one lazy entry a key, at or before the first place of its sessions
//   due       what stands in the wheel's current tick, by (place, window end, hash, key): each
//             session is a fire point of its own (due_queue.h). What a late row has brought forward
//             waits here too, however far ahead: the wheel keeps the entry that it has
//
// Places of a session: its end, where it fires; with lateness it stays, is changed by late rows
// (core.md rule 6), fires again where it has grown past the cursor, and leaves at end + lateness:
//
//   open --end--> fired --late row--> fired, due at the next point of end + k * gather
//                   |  ^----------------'        (or answered at once, as the row's update)
//                   |  late row, the merged end lies ahead --> open
//                   '--end + lateness--> gone
//
// Rows: natural iff time > S, combined at once. Every other row is deferred, however old, because
// only its place on the timeline tells which session it meets: there it joins what still is kept,
// or is late where the session it would make has passed end + lateness by S (core.md rule 4). A
// store with results every n rows defers all.
//
// `plain` stores (a fixed gap, nothing kept, nothing early) are what they would be without all
// that: sessions have no Kept, keys no Watch, and a key's entry in `due_` is never too late. Two
// sessions of a key then end more than gap apart, and a tick is shorter.
//
// Discarding: a result empties the cell. Retracting: what a session has said and a late row has
// changed since is copied to `old_` until it is taken back.
//
// A full pool (rule 9): the row goes to the sessions of one reserved slot, which leave as
// __overflow__ rows, and every session it would have touched is flagged. Where that slot has no
// room either it stretches the session it has, or loses the row's value.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "window/cell.h"
#include "window/deferred.h"
#include "window/dictionary.h"
#include "window/due_queue.h"
#include "window/flagged.h"
#include "window/old_results.h"
#include "window/reserve.h"
#include "window/session_shape.h"
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
  // In front of its cell. A slot without a session starts after it ends. In the pool `older` chains
  // a key's list or the free ones.
  struct alignas(32) Session {
    int64_t start, end;
    uint64_t hash;   // slots only
    uint32_t older;  // index into the pool; 0: none
    uint32_t armed;  // slots only: the wheel's word
  };
  static_assert(sizeof(Session) == 32);
  // Behind its cell, where the store is not plain.
  struct alignas(32) Kept {
    int64_t due;     // changed: the point at which that is told; else kNever
    uint32_t old;    // list in old_
    uint32_t since;  // early_rows: rows since the last multiple
    uint32_t index;  // row updates and early results so far
    bool fired;
    bool changed;  // since it fired, by late rows that are gathered
    bool said;     // retracting: the cell holds what the last result said
  };
  static_assert(sizeof(Kept) == 32);
  // A key's entries in due_, where the store is not plain. Those but the first are stale.
  struct Watch {
    int64_t place, end;  // of the first one, if `live`
    uint32_t entries;
    bool live;
  };
  // What a deferred row has changed and is answered by, while result blocks are awaited.
  struct Answer {
    uint32_t slot = kNone;
    int64_t start = 0, place = 0;
    uint64_t position = 0;
    FireKind fire = FireKind::kUpdate;
  };
  enum class Merge : uint8_t { kJoined, kLate, kNoRoom };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr int64_t kNatural = INT64_MIN;  // the place of a row that need not wait for it

  Session& slot(uint32_t g) {
    return *reinterpret_cast<Session*>(&slots_.data()[size_t{g} * stride_]);
  }
  Session& pooled(uint32_t o) {
    return *reinterpret_cast<Session*>(&pool_.data()[size_t{o} * stride_]);
  }
  // Of a slot that is not the overflow slot; its hash says the shard without a division.
  uint32_t shard_of(uint32_t g) { return keys_.shard_of(slot(g).hash); }
  uint32_t id_of(uint32_t g) { return g - shard_of(g) * keys_.capacity(); }
  static int64_t* cell(Session& session) { return reinterpret_cast<int64_t*>(&session + 1); }
  Kept& kept(Session& session) { return *reinterpret_cast<Kept*>(cell(session) + cells_.words()); }
  static bool empty(const Session& session) { return session.start > session.end; }
  static void make_empty(Session& session) {
    session.start = INT64_MAX;
    session.end = INT64_MIN;
  }
  // All sessions of a key, the newest first.
  template <class Visit>
  void each(uint32_t g, Visit visit) {
    Session& s = slot(g);
    if (empty(s)) return;
    visit(s);
    for (uint32_t o = s.older; o; o = pooled(o).older) visit(pooled(o));
  }

  int64_t end_of(const Rows& rows, uint32_t row) const {
    return shape_.end(rows.time[row].ns, shape_.gap(rows, row));
  }
  int64_t place_of(Session& session) {
    if (plain_ || !kept(session).fired) return session.end;
    return std::min(kept(session).due, shape_.leaves(session.end));
  }

  uint32_t slot_of(const Rows& rows, uint32_t row, uint64_t line);
  void defer(const Rows& rows, uint32_t row);
  template <bool kPlain>
  uint32_t join_all(const Rows& rows, uint32_t good);
  void join_another(uint32_t g, const Rows& rows, uint32_t row);
  Merge merge(uint32_t g, const Rows& rows, uint32_t row, int64_t place, Session*& into);
  Merge begin_another(uint32_t g, const Rows& rows, uint32_t row, int64_t place, Session*& into);
  void take_in(Session& into, Session& other);
  void copy(Session& to, Session& from);
  bool overflow(const Rows& rows, uint32_t row, int64_t place, Session*& into);
  void settle(const Rows& rows, uint32_t row);
  void give_pooled(uint32_t o);
  bool room_to_watch(uint32_t g) const;

  // late rows and what they are answered by
  void keep_old(Session& session);
  void move_past(Session& session, int64_t place);
  void apply(const SingleRow& row, ResultWriter& out);
  void late(const SingleRow& row, ResultWriter& out);
  void answer(uint32_t g, Session& session, const SingleRow& row);
  bool finish_answer(ResultWriter& out);
  bool say(uint32_t g, Session& session, Run head, ResultWriter& out);
  bool take_back(uint32_t g, Run head, const Session& by, int64_t start, int64_t end,
                 const int64_t* cell, ResultWriter& out);
  void put(uint32_t g, const Run& head, int64_t start, int64_t end, const int64_t* cell,
           ResultWriter& out);

  void arm(uint32_t g, Session& session, bool brought_forward);
  void push_due(uint32_t g, int64_t place, int64_t end);
  void rearm(uint32_t g);
  void drained(uint32_t g);
  auto by_place() const {
    return [this](const DueSession& a, const DueSession& b) { return after(a, b); };
  }
  bool after(const DueSession& a, const DueSession& b) const;
  bool emit(ResultWriter& out);
  bool emit_plain(ResultWriter& out);
  bool fire_session(uint32_t g, Session& session, int64_t place, ResultWriter& out);
  bool write(uint32_t g, Session& session, ResultWriter& out);
  uint16_t flags_of(uint32_t g, const Session& session) const;
  void write_key(int64_t* at, uint32_t g);
  void leave(uint32_t g, Session& session);
  void closed(uint32_t g);
  bool show(uint32_t g, ResultWriter& out);
  uint32_t forget_keys(uint32_t budget);
  void recycle(uint32_t shard);

  QueryId query_;
  SessionShape shape_;
  bool plain_, retracts_, discards_;
  uint64_t early_rows_;
  Cells cells_;
  Dictionary<W> keys_;
  Deferred deferred_;
  uint64_t extra_;  // sessions beyond one a key
  uint32_t overflow_slot_;
  uint64_t watched_max_;  // entries of due_
  TimingWheel wheel_;
  DueQueue due_;
  FlaggedIntervals flagged_;
  OldResults old_;
  StoreCounts counts_;
  uint32_t row_words_, stride_;  // words
  uint32_t values_;
  bool late_rows_;

  std::span<int64_t> slots_, pool_;
  std::span<Watch> watch_;
  uint64_t open_ = 0;
  uint64_t armed_count_ = 0;  // not plain: keys with an entry in the wheel, which will want due_
  uint32_t free_pooled_ = 0;
  uint64_t free_pooled_count_ = 0;
  Answer answer_;

  int64_t fired_ = INT64_MIN;      // every place up to here is done
  int64_t frontier_ = INT64_MIN;   // what fire() was last told
  int64_t emptied_ = INT64_MIN;    // the frontier at which the last open session left
  int64_t last_lost_ = INT64_MIN;  // the place of the last row that went to __overflow__
  uint32_t forget_at_ = 0;
  uint32_t show_at_ = kNone;  // the next slot to be shown
  uint32_t rows_left_ = 0;    // that surely fit the open run
  uint16_t run_flags_ = 0;

  // One batch on its way. Zeroed at start: a page must not be new to the first batch.
  std::array<uint64_t, kBatchMax> line_{};
  std::array<uint32_t, kBatchMax> at_{};
  std::array<uint8_t, kBatchMax + 1> good_{}, odd_{}, missed_{};
};

// Instantiated for W in {0, 1, 2, 4} in session_store_stats.cc and session_store_wide.cc.
std::unique_ptr<WindowStore> make_session_store_stats(const Plan& plan, ShardRange range,
                                                      Reserve& reserve);
std::unique_ptr<WindowStore> make_session_store_wide(const Plan& plan, ShardRange range,
                                                     Reserve& reserve);

}  // namespace tidewire
