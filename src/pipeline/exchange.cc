#include "pipeline/exchange.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "base/check.h"

namespace tidewire {
namespace {

// Beside the rows of a batch one turn tells each neighbour at most: a skip, a frontier, a wake
// request and an answer.
constexpr uint32_t kControlLines = 4;
constexpr uint8_t kFolded = UINT8_MAX;  // owner of a row that was folded

ExchangeShape shape_of(const Plan& plan) {
  const bool folds = plan.only_key_and_values() && plan.cell_words <= kFoldedWordsMax;
  return {plan.key_words, static_cast<uint32_t>(plan.values.size()), folds ? plan.cell_words : 0};
}

template <class T>
T* column(std::byte*& at, uint32_t rows) {
  auto* start = reinterpret_cast<T*>(at);
  at += sizeof(T) * rows;
  return start;
}
template <class T>
const T* column(const std::byte*& at, uint32_t rows) {
  const auto* start = reinterpret_cast<const T*>(at);
  at += sizeof(T) * rows;
  return start;
}

template <class T>
void gather(const T* from, const uint8_t* pick, uint32_t count, T* to) {
  for (uint32_t i = 0; i < count; ++i) to[i] = from[pick[i]];
}

}  // namespace

// ---------------------------------------------------------------- fabric
ExchangeSizes::ExchangeSizes(std::span<const Plan> plans) {
  uint32_t batch = 0;
  for (const Plan& plan : plans) {
    if (plan.placement == Placement::kLocal) continue;
    const ExchangeShape shape = shape_of(plan);
    const uint32_t lines = shape.lines(kBatchMax, false);
    batch += lines + HotKeys::kMost * shape.folded_lines();
    max_lines = std::max(max_lines, lines);
  }
  // A ring's end is met at most once in a batch, and skips less than one message.
  room_lines = batch + max_lines + kControlLines;
  ring_lines = std::bit_ceil(uint64_t{2} * room_lines);
}

ExchangeFabric::ExchangeFabric(std::span<const Plan> plans, std::span<Arena* const> arenas)
    : workers_(static_cast<uint32_t>(arenas.size())) {
  CHECK(workers_ > 0);
  const ExchangeSizes sizes(plans);
  room_lines_ = sizes.room_lines;
  max_lines_ = sizes.max_lines;
  rings_.resize(size_t{workers_} * workers_);
  for (uint32_t to = 0; to < workers_; ++to) {
    for (uint32_t from = 0; from < workers_; ++from) {
      if (from == to) continue;
      auto ring = std::make_unique<Ring>();
      ring->lines = arenas[to]->take<ExchangeLine>(sizes.ring_lines, "exchange rings");
      ring->ring.adopt(ring->lines);
      rings_[from * workers_ + to] = std::move(ring);
    }
  }
}

ExchangeLine* ExchangeFabric::Ring::claim(uint32_t count) {
  ExchangeLine* first = ring.free_slot();
  if (!first) return nullptr;
  const auto left = static_cast<uint32_t>(lines.data() + lines.size() - first);
  if (count <= left) return ring.free_slot(count - 1) ? first : nullptr;
  if (!ring.free_slot(left + count - 1)) return nullptr;
  auto* skip = new (first) ExchangeMessage{};
  skip->kind = ExchangeMessage::Kind::kSkip;
  skip->lines = left;
  ring.push(left);
  return lines.data();
}

// ---------------------------------------------------------------- one worker
Exchange::Exchange(ExchangeFabric& fabric, uint32_t worker, std::span<const Plan> plans,
                   std::span<const Progress> start, Arena& arena)
    : worker_(worker),
      workers_(fabric.workers()),
      room_lines_(fabric.room_lines()),
      neighbours_(fabric.workers()),
      picked_(fabric.workers()),
      promised_(start[worker]) {
  CHECK(worker_ < workers_ && start.size() == workers_ && workers_ <= kFolded);
  for (const Plan& plan : plans) shapes_.push_back(shape_of(plan));
  hot_.resize(plans.size());
  if (workers_ > 1) {
    pick_ = arena.take<std::array<uint8_t, kBatchMax>>(workers_, "exchange scratch");
    own_ = arena.take<ExchangeLine>(fabric.max_lines(), "exchange scratch");
    folded_ = arena.take<ExchangeLine>(kFoldedLinesMax, "exchange scratch");
  }
  for (uint32_t w = 0; w < workers_; ++w) {
    Neighbour& n = neighbours_[w];
    n.theirs = start[w];
    n.told = promised_;
    if (w == worker_) continue;
    n.in = &fabric.ring(w, worker_);
    n.out = &fabric.ring(worker_, w);
  }
  advance();
}

bool Exchange::has_room() const {
  for (const Neighbour& n : neighbours_)
    if (n.out && !n.out->ring.free_slot(room_lines_ - 1)) return false;
  return true;
}

Rows Exchange::route(const Plan& plan, const Rows& rows, WindowStore& store) {
  if (workers_ == 1 || rows.count == 0) return rows;
  const bool narrow = store.bounds_suffice(rows);
  found_.keys = 0;
  if (narrow && shapes_[index_of(plan.id)].cell_words > 0) {
    hot_[index_of(plan.id)].find(rows, plan.key_words, found_);
    if (found_.keys > 0) fold(plan, rows, store);
  }
  pick_rows(plan, rows);
  for (uint32_t w = 0; w < workers_; ++w) {
    if (w == worker_ || picked_[w] == 0) continue;
    ExchangeFabric::Ring& out = *neighbours_[w].out;
    const uint32_t lines = shapes_[index_of(plan.id)].lines(picked_[w], narrow);
    ExchangeLine* to = out.claim(lines);
    CHECK(to != nullptr);  // a batch is taken only where has_room()
    write(plan, rows, pick_[w].data(), picked_[w], narrow, to);
    out.ring.push(lines);
    count(rows_sent_, picked_[w]);
  }
  const uint32_t own = picked_[worker_];
  if (own == rows.count) return rows;
  if (own == 0) return {};
  write(plan, rows, pick_[worker_].data(), own, narrow, own_.data());
  return rows_of(*std::launder(reinterpret_cast<const ExchangeMessage*>(own_.data())));
}

// Each hot key's rows in one cell to its owner.
void Exchange::fold(const Plan& plan, const Rows& rows, WindowStore& store) {
  const ExchangeShape& shape = shapes_[index_of(plan.id)];
  for (uint32_t k = 0; k < found_.keys; ++k) {
    const std::span<const uint8_t> of(found_.row[k].data(), found_.rows[k]);
    const uint64_t hash = rows.hash[of[0]];
    const uint32_t owner = owner_of(shard_of(hash, plan.shards), plan.shards, workers_);
    ExchangeFabric::Ring* const out = owner == worker_ ? nullptr : neighbours_[owner].out;
    const uint32_t lines = shape.folded_lines();
    ExchangeLine* const to = out ? out->claim(lines) : folded_.data();
    CHECK(to != nullptr);  // a batch is taken only where has_room()
    auto* message = new (to) ExchangeMessage{};
    message->kind = ExchangeMessage::Kind::kFolded;
    message->query = plan.id;
    message->lane = rows.lane;
    message->count = 1;
    message->first = rows.first;
    message->min_time = rows.min_time;
    message->max_time = rows.max_time;
    message->max_stamp = rows.max_stamp;
    message->lines = lines;
    std::byte* at = to[1].bytes;
    store.fold(rows, of, column<int64_t>(at, shape.cell_words));
    *column<uint64_t>(at, 1) = hash;
    for (uint32_t w = 0; w < shape.narrow_keys(); ++w) *column<int64_t>(at, 1) = rows.key[w][of[0]];
    if (out) {
      out->ring.push(lines);
      count(rows_sent_, 1);
    } else {
      store.add(rows_of(*message));
    }
  }
}

void HotKeys::find(const Rows& rows, uint32_t key_words, Found& found) {
  if (batches_++ % 64 == 0) look(rows);
  for (uint32_t h = 0; h < count_; ++h) {
    std::array<uint8_t, kBatchMax>& of = found.row[found.keys];
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows.count; ++i) {
      of[n] = static_cast<uint8_t>(i);
      n += static_cast<uint32_t>(rows.hash[i] == hash_[h]);
    }
    if (n < 2) continue;
    // One word is in its hash; of more, others may share it.
    const auto other = [&](uint8_t row) {
      bool same = true;
      for (uint32_t w = 0; w < key_words; ++w) same &= rows.key[w][row] == rows.key[w][of[0]];
      return !same;
    };
    if (key_words > 1)
      n = static_cast<uint32_t>(std::remove_if(of.begin(), of.begin() + n, other) - of.begin());
    found.rows[found.keys++] = n;
  }
}

// Whoever has an eighth of the rows survives a count in which each row of another key takes one
// away (Misra and Gries); then it is counted.
void HotKeys::look(const Rows& rows) {
  constexpr uint32_t kCandidates = 8;
  std::array<uint64_t, kCandidates> candidate{};
  std::array<uint32_t, kCandidates> left{};
  for (uint32_t i = 0; i < rows.count; ++i) {
    uint32_t at = kCandidates, empty = kCandidates;
    for (uint32_t c = 0; c < kCandidates; ++c) {
      if (left[c] > 0 && candidate[c] == rows.hash[i]) at = c;
      if (left[c] == 0) empty = c;
    }
    if (at == kCandidates && empty < kCandidates) candidate[at = empty] = rows.hash[i];
    if (at < kCandidates)
      ++left[at];
    else
      for (uint32_t& n : left) --n;
  }
  count_ = 0;
  for (uint32_t c = 0; c < kCandidates && count_ < kMost; ++c) {
    if (left[c] == 0) continue;
    const auto n =
        static_cast<uint32_t>(std::count(rows.hash, rows.hash + rows.count, candidate[c]));
    if (n >= 4 && 8 * n >= rows.count) hash_[count_++] = candidate[c];
  }
}

// Owners first, which vectorises; then, worker by worker, the places where they stand: each row is
// visited once, and nothing waits for a counter in memory.
void Exchange::pick_rows(const Plan& plan, const Rows& rows) {
  alignas(32) std::array<uint8_t, kBatchMax> owner;
  static_assert(kBatchMax % 32 == 0);
  const int bits = std::countr_zero(plan.shards);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const auto shard = static_cast<uint32_t>(rows.hash[i] >> 1 >> (63 - bits));
    owner[i] = static_cast<uint8_t>(shard * workers_ >> bits);
  }
  for (uint32_t k = 0; k < found_.keys; ++k)
    for (uint32_t i = 0; i < found_.rows[k]; ++i) owner[found_.row[k][i]] = kFolded;
  for (uint32_t w = 0; w < workers_; ++w) {
    uint8_t* const pick = pick_[w].data();
    const __m256i wanted = _mm256_set1_epi8(static_cast<char>(w));
    uint32_t picked = 0;
    for (uint32_t i = 0; i < rows.count; i += 32) {
      const auto* at = reinterpret_cast<const __m256i*>(owner.data() + i);
      auto here = static_cast<uint32_t>(
          _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_load_si256(at), wanted)));
      if (rows.count - i < 32) here &= (1u << (rows.count - i)) - 1;
      for (; here; here &= here - 1)
        pick[picked++] = static_cast<uint8_t>(i + static_cast<uint32_t>(std::countr_zero(here)));
    }
    picked_[w] = picked;
  }
}

void Exchange::write(const Plan& plan, const Rows& rows, const uint8_t* pick, uint32_t count,
                     bool narrow, ExchangeLine* to) const {
  auto* message = new (to) ExchangeMessage{};
  message->kind = ExchangeMessage::Kind::kRows;
  message->narrow = narrow;
  message->query = plan.id;
  message->lane = rows.lane;
  message->count = static_cast<uint16_t>(count);
  message->first = rows.first;
  message->min_time = rows.min_time;
  message->max_time = rows.max_time;
  message->max_stamp = rows.max_stamp;
  const ExchangeShape& shape = shapes_[index_of(plan.id)];
  message->lines = shape.lines(count, narrow);
  std::byte* at = to[1].bytes;
  gather(rows.hash, pick, count, column<uint64_t>(at, count));
  for (uint32_t v = 0; v < shape.values; ++v)
    gather(rows.value[v], pick, count, column<int64_t>(at, count));
  for (uint32_t w = 0; w < (narrow ? shape.narrow_keys() : shape.key_words); ++w)
    gather(rows.key[w], pick, count, column<int64_t>(at, count));
  if (narrow) return;
  gather(rows.time, pick, count, column<EventTime>(at, count));
  gather(rows.stamp, pick, count, column<EventTime>(at, count));
  auto* index = column<uint8_t>(at, count);
  if (rows.at)
    gather(rows.at, pick, count, index);
  else
    std::memcpy(index, pick, count);
}

Rows Exchange::rows_of(const ExchangeMessage& message) const {
  Rows rows;
  rows.count = message.count;
  rows.lane = message.lane;
  rows.first = message.first;
  rows.min_time = message.min_time;
  rows.max_time = message.max_time;
  rows.max_stamp = message.max_stamp;
  const ExchangeShape& shape = shapes_[index_of(message.query)];
  const std::byte* at = reinterpret_cast<const std::byte*>(&message) + sizeof(ExchangeLine);
  if (message.kind == ExchangeMessage::Kind::kFolded) {
    rows.cell = column<int64_t>(at, shape.cell_words);
    rows.hash = column<uint64_t>(at, 1);
    for (uint32_t w = 0; w < shape.narrow_keys(); ++w) rows.key[w] = column<int64_t>(at, 1);
    return rows;
  }
  rows.hash = column<uint64_t>(at, rows.count);
  for (uint32_t v = 0; v < shape.values; ++v) rows.value[v] = column<int64_t>(at, rows.count);
  for (uint32_t w = 0; w < (message.narrow ? shape.narrow_keys() : shape.key_words); ++w)
    rows.key[w] = column<int64_t>(at, rows.count);
  if (message.narrow) return rows;
  rows.time = column<EventTime>(at, rows.count);
  rows.stamp = column<EventTime>(at, rows.count);
  rows.at = column<uint8_t>(at, rows.count);
  return rows;
}

const ExchangeMessage* Exchange::front(Neighbour& neighbour) const {
  ExchangeLine* line = neighbour.in->ring.front();
  return line ? std::launder(reinterpret_cast<const ExchangeMessage*>(line)) : nullptr;
}

void Exchange::obey(uint32_t from, const ExchangeMessage& message) {
  Neighbour& n = neighbours_[from];
  switch (message.kind) {
    case ExchangeMessage::Kind::kProgress:
      n.theirs = {message.state, message.watermark};
      advance();
      break;
    case ExchangeMessage::Kind::kWake:
      // From here to its next publish it counts as holding our frontier, so that whatever floor it
      // takes, the rows above that floor find us at or below it.
      n.theirs = {Progress::State::kHolds, frontier()};
      n.answer = frontier();
      n.answers = true;
      break;
    case ExchangeMessage::Kind::kAnswer:
      CHECK(waking_ == Waking::kAsked && unanswered_ > 0);
      floor_ = std::max(floor_, message.watermark);
      if (--unanswered_ == 0) waking_ = Waking::kKnown;
      break;
    case ExchangeMessage::Kind::kSkip:
    case ExchangeMessage::Kind::kRows:
    case ExchangeMessage::Kind::kFolded:
      break;
  }
}

// I1 rests on this: whoever holds never promises less than the frontier that stores have run to.
void Exchange::advance() {
  Combined all;
  for (const Neighbour& n : neighbours_) all.take(n.theirs);
  const Progress result = all.result();
  CHECK(result.state != Progress::State::kHolds || result.watermark >= frontier());
  frontier_.store(std::max(frontier(), result.frontier()).ns, std::memory_order_relaxed);
}

void Exchange::publish(Progress own, bool returning) {
  const bool waits = waking_ == Waking::kAsked || (waking_ == Waking::kKnown && returning &&
                                                   own.state == Progress::State::kSilent);
  if (!waits) {
    // A promise is never taken back. Only who wakes may say less than in its silence, where it
    // said what it had reached: it has asked, and takes the floor that it was given.
    if (promised_.state == Progress::State::kSilent && own.state == Progress::State::kHolds)
      CHECK(waking_ == Waking::kKnown && own.watermark >= floor_);
    else
      CHECK(own.watermark >= promised_.watermark);
    CHECK(promised_.state != Progress::State::kEnded || own.state == Progress::State::kEnded);
    // Who has answered holds a promise in our name, and drops it only when told the next one.
    const bool held = waking_ == Waking::kKnown;
    waking_ = Waking::kNo;
    promised_ = own;
    for (Neighbour& n : neighbours_) n.told_now = !held && n.told_now && n.told == own;
    neighbours_[worker_].theirs = own;
    advance();
  }
  tell();
}

// What could not be told for want of room is told in a later turn; each pair is in order by itself.
void Exchange::tell() {
  for (Neighbour& n : neighbours_) {
    if (!n.out) continue;
    if (n.asks && send(n, ExchangeMessage::Kind::kWake, {})) n.asks = false;
    if (n.answers && send(n, ExchangeMessage::Kind::kAnswer, {Progress::State::kHolds, n.answer}))
      n.answers = false;
    if (!n.told_now && waking_ == Waking::kNo &&
        send(n, ExchangeMessage::Kind::kProgress, promised_)) {
      n.told = promised_;
      n.told_now = true;
    }
  }
}

bool Exchange::send(Neighbour& to, ExchangeMessage::Kind kind, Progress progress) {
  ExchangeLine* line = to.out->claim(1);
  if (!line) return false;
  auto* message = new (line) ExchangeMessage{};
  message->kind = kind;
  message->state = progress.state;
  message->watermark = progress.watermark;
  message->lines = 1;
  to.out->ring.push();
  return true;
}

bool Exchange::wake(EventTime& floor) {
  if (promised_.state == Progress::State::kHolds) {
    floor = promised_.watermark;
    return true;
  }
  CHECK(promised_.state == Progress::State::kSilent);
  if (waking_ == Waking::kNo) {
    neighbours_[worker_].theirs = {Progress::State::kHolds, frontier()};  // our own store waits too
    floor_ = frontier();
    unanswered_ = workers_ - 1;
    waking_ = unanswered_ == 0 ? Waking::kKnown : Waking::kAsked;
    for (Neighbour& n : neighbours_) n.asks = n.out != nullptr;
  }
  if (waking_ != Waking::kKnown) return false;
  floor = floor_;
  return true;
}

bool Exchange::at_rest() const {
  if (waking_ != Waking::kNo) return false;
  for (const Neighbour& n : neighbours_)
    if (n.out && (n.asks || n.answers || !n.told_now || n.in->ring.size() != 0)) return false;
  return true;
}

}  // namespace tidewire
