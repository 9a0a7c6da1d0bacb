// Rows and frontiers between workers: one ring per ordered pair, rows of a burst first, then the
// sender's frontier. So a row never arrives after a frontier above its stamp (I1; core.md rules 2,
// 5, 9).
//
//   ring from a to b, lines of 64 bytes:
//   | rows q0 ........ | rows q1 .... | frontier | wake | rows q0 ..... | skip to the end |
//                                                  (answer: the same, in the ring from b to a)
//
// A message lies in one piece, so that a store reads columns of the ring in place; what is left at
// the end of the ring is skipped. Nobody waits for room: has_room() says whether a whole batch of
// every exchanged query fits, and control messages that do not fit are told a turn later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/spsc_ring.h"
#include "base/time.h"
#include "event/rows.h"
#include "memory/arena.h"
#include "query/plan.h"
#include "watermark/frontier.h"
#include "window/store.h"

namespace tidewire {

struct alignas(64) ExchangeLine {
  std::byte bytes[64];
};

// First line of every message.
struct ExchangeMessage {
  enum class Kind : uint8_t { kRows, kFolded, kProgress, kWake, kAnswer, kSkip } kind;
  bool narrow;            // kRows: ExchangeShape
  Progress::State state;  // kProgress
  QueryId query;          // kRows
  LaneId lane;
  uint16_t count;
  uint32_t lines;  // of the whole message
  Ordinal first;
  EventTime min_time, max_time, max_stamp;
  EventTime watermark;  // kProgress, kAnswer
};
static_assert(sizeof(ExchangeMessage) <= sizeof(ExchangeLine));

// The columns of a message of rows, each 8 bytes a row and in this order: hash, values, key words,
// time, stamp; then `at`, one byte a row. Narrow, where bounds suffice: neither times, stamps and
// `at`, nor a key of one word, which is in its hash.
//
// Folded: one key whose rows of a batch lie in one cell. The cell's words, then hash and key words.
struct ExchangeShape {
  uint32_t key_words = 0, values = 0;
  uint32_t cell_words = 0;  // 0: too long, or nothing is ever folded
  constexpr uint32_t narrow_keys() const { return key_words == 1 ? 0 : key_words; }
  uint32_t row_bytes(bool narrow) const {
    return narrow ? 8 * (1 + values + narrow_keys()) : 8 * (3 + values + key_words) + 1;
  }
  uint32_t lines(uint32_t rows, bool narrow) const {
    return 1 + (rows * row_bytes(narrow) + 63) / 64;
  }
  constexpr uint32_t folded_lines() const {
    return 1 + (8 * (cell_words + 1 + narrow_keys()) + 63) / 64;
  }
};

inline constexpr uint32_t kFoldedWordsMax = 64;  // of a cell that is sent
inline constexpr uint32_t kFoldedLinesMax =
    ExchangeShape{kMaxKeyWords, 0, kFoldedWordsMax}.folded_lines();

// Keys that bring a good part of a query's rows: theirs are folded, batch by batch, before they
// are sent, or one owner would do the work of all (core.md, "Folding"). Looked for in each 64th
// batch; which they are changes no result.
class HotKeys {
 public:
  static constexpr uint32_t kMost = 4;
  // The rows of the hot keys of this batch, one list a key that has several.
  struct Found {
    std::array<std::array<uint8_t, kBatchMax>, kMost> row;
    std::array<uint32_t, kMost> rows{};
    uint32_t keys = 0;
  };
  void find(const Rows& rows, uint32_t key_words, Found& found);

 private:
  void look(const Rows& rows);

  std::array<uint64_t, kMost> hash_{};
  uint32_t count_ = 0, batches_ = 0;
};

// In lines: what one batch of every exchanged query takes at most with what is told beside it, the
// longest message, and one ring.
struct ExchangeSizes {
  explicit ExchangeSizes(std::span<const Plan> plans);
  uint32_t room_lines = 0, max_lines = 1;
  uint64_t ring_lines = 0;
};

// The rings between the workers of one appliance, made once for all of them.
class ExchangeFabric {
 public:
  // arenas[w] is worker w's; a ring lies with its reader. plans[i].id == i.
  ExchangeFabric(std::span<const Plan> plans, std::span<Arena* const> arenas);

  struct Ring {
    SpscRing<ExchangeLine> ring;
    std::span<ExchangeLine> lines;
    // Room for a message in one piece, or null. Followed by ring.push(count).
    ExchangeLine* claim(uint32_t count);
  };
  Ring& ring(uint32_t from, uint32_t to) { return *rings_[from * workers_ + to]; }
  uint32_t workers() const { return workers_; }
  // Lines that one batch of every exchanged query takes at most, with what is told beside it.
  uint32_t room_lines() const { return room_lines_; }
  uint32_t max_lines() const { return max_lines_; }  // of one message

 private:
  uint32_t workers_, room_lines_ = 0, max_lines_ = 1;
  std::vector<std::unique_ptr<Ring>> rings_;
};

// One worker's end of the fabric, and G as this worker knows it.
class Exchange {
 public:
  // `start`: what each worker promises before its first turn.
  Exchange(ExchangeFabric& fabric, uint32_t worker, std::span<const Plan> plans,
           std::span<const Progress> start, Arena& arena);

  bool has_room() const;  // a whole batch of every exchanged query fits every outgoing ring
  // Sends rows to the owners of their shards; returns those that this worker owns, valid until the
  // next call. What is folded for a key of this worker goes to the store at once.
  Rows route(const Plan& plan, const Rows& rows, WindowStore& store);
  // After the rows of this turn. `returning`: the lane that asked wake() is still silent, so the
  // promise that the others hold for it stays as it is.
  void publish(Progress own, bool returning);
  // Neighbours' messages in order, about `budget` rows: add(query, rows) for each block of rows,
  // which is valid during the call. Returns rows and messages taken.
  // While ready() is false rows stay in their ring.
  template <class Ready, class Add>
  uint32_t take(uint32_t budget, Ready&& ready, Add&& add);

  // Minimum over the workers that are not silent; all silent: the maximum; never back.
  EventTime frontier() const { return {frontier_.load(std::memory_order_relaxed)}; }
  // The floor for a silent lane of this worker that has received something (core.md, "Waking").
  // Where another lane holds what was published last, that is it. A wholly silent worker asks every
  // owner; each answers with its frontier and holds it until our next publish; the largest is the
  // floor. False: not all have answered yet.
  bool wake(EventTime& floor);

  // Nothing waits in the incoming rings, everything is told, nobody is being woken.
  bool at_rest() const;
  uint64_t rows_sent() const { return rows_sent_.load(std::memory_order_relaxed); }
  uint64_t rows_taken() const { return rows_taken_.load(std::memory_order_relaxed); }

 private:
  enum class Waking : uint8_t {
    kNo,     // nobody asked
    kAsked,  // waiting for answers
    kKnown,  // the floor is known; held until the next publish
  };
  struct Neighbour {
    ExchangeFabric::Ring* in = nullptr;  // null: this worker itself
    ExchangeFabric::Ring* out = nullptr;
    Progress theirs;       // what they promise, or what we hold for them
    Progress told;         // what they know of us
    bool told_now = true;  // told is what we promise now
    bool asks = false;     // a wake request is to be sent
    bool answers = false;  // an answer is to be sent
    EventTime answer;
  };

  const ExchangeMessage* front(Neighbour& neighbour) const;
  void obey(uint32_t from, const ExchangeMessage& message);
  void tell();
  bool send(Neighbour& to, ExchangeMessage::Kind kind, Progress progress);
  void advance();
  Rows rows_of(const ExchangeMessage& message) const;
  void pick_rows(const Plan& plan, const Rows& rows);
  void fold(const Plan& plan, const Rows& rows, WindowStore& store);
  void write(const Plan& plan, const Rows& rows, const uint8_t* pick, uint32_t count, bool narrow,
             ExchangeLine* to) const;
  void count(std::atomic<uint64_t>& counter, uint64_t by) const {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  uint32_t worker_, workers_, room_lines_;
  uint32_t turn_ = 0;  // which neighbour is read first
  std::vector<ExchangeShape> shapes_;
  std::vector<HotKeys> hot_;  // by query
  HotKeys::Found found_;
  std::vector<Neighbour> neighbours_;  // by worker; ours holds what we promise
  std::vector<uint32_t> picked_;       // rows for each worker in one batch
  std::span<std::array<uint8_t, kBatchMax>> pick_;
  std::span<ExchangeLine> own_;     // our rows of a batch that was split
  std::span<ExchangeLine> folded_;  // a key of ours
  Progress promised_;
  Waking waking_ = Waking::kNo;
  uint32_t unanswered_ = 0;
  EventTime floor_;
  std::atomic<int64_t> frontier_{INT64_MIN};
  std::atomic<uint64_t> rows_sent_{0}, rows_taken_{0};
};

template <class Ready, class Add>
uint32_t Exchange::take(uint32_t budget, Ready&& ready, Add&& add) {
  uint32_t taken = 0;
  for (uint32_t k = 0; k < workers_ && taken < budget; ++k) {
    const uint32_t from = (turn_ + k) % workers_;
    Neighbour& neighbour = neighbours_[from];
    if (!neighbour.in) continue;
    while (taken < budget) {
      const ExchangeMessage* message = front(neighbour);
      if (!message) break;
      const uint32_t lines = message->lines;
      if (message->kind == ExchangeMessage::Kind::kRows ||
          message->kind == ExchangeMessage::Kind::kFolded) {
        if (!ready()) break;
        // They lie in the other core's cache.
        for (uint32_t line = 1; line < lines; ++line)
          __builtin_prefetch(reinterpret_cast<const ExchangeLine*>(message) + line);
        const Rows rows = rows_of(*message);
        add(message->query, rows);
        count(rows_taken_, rows.count);
        taken += rows.count;
      } else {
        obey(from, *message);
        ++taken;
      }
      neighbour.in->ring.pop(lines);
    }
  }
  if (++turn_ == workers_) turn_ = 0;
  return taken;
}

}  // namespace tidewire
