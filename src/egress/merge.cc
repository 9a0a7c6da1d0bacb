#include "egress/merge.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "window/cell_merge.h"

namespace tidewire {
namespace {

constexpr int64_t kLongestMonth = 31 * 86'400 * kSecond + 3'600 * kSecond;

// {hash, key, cell}, {start, end, hash, key, cell} or {time, hash, key, values}.
uint32_t words_of_row(const Plan& plan, RunKind kind) {
  switch (kind) {
    case RunKind::kPlaced:
      return 3 + plan.key_words + plan.cell_words;
    case RunKind::kLate:
      return 2 + plan.key_words + static_cast<uint32_t>(plan.values.size());
    case RunKind::kPoint:
    case RunKind::kLost:
    case RunKind::kUpdate:
    case RunKind::kProvisional:
      break;
  }
  return 1 + plan.key_words + plan.cell_words;
}

constexpr bool is_row_update(RunKind kind) {
  return kind == RunKind::kUpdate || kind == RunKind::kLate;
}

// How long behind its place a flagged window may matter: to its updates, to the windows that are
// filled in behind it, or to whatever is compared with it.
int64_t keep_flagged(const Plan& plan) {
  const WindowShape& window = plan.window;
  for (const Output& output : plan.outputs)
    if (output.op == OutputOp::kDelta || output.op == OutputOp::kRate) return kWindowLengthMax;
  int64_t fill = 0;
  const int64_t one = std::max(window.slide.ns, kLongestMonth);
  if (plan.shaping.fill != EmptyFill::kNone &&
      __builtin_mul_overflow(one, int64_t{plan.shaping.fill_windows} + 1, &fill))
    return kWindowLengthMax;
  return std::min(kWindowLengthMax, std::min(fill, kWindowLengthMax) +
                                        std::min(window.lateness.ns, kWindowLengthMax));
}

}  // namespace

bool Merge::Order::operator<(const Order& o) const {
  if (place != o.place) return place < o.place;
  if (query != o.query) return query < o.query;
  if (after != o.after) return after < o.after;
  if (end != o.end) return end < o.end;
  if (after != 0) return false;  // of one row, and so of one worker: in its order
  if (rank != o.rank) return rank < o.rank;
  if (hash != o.hash) return hash < o.hash;
  for (uint32_t w = 0; w < key_words; ++w)
    if (key[w] != o.key[w]) return key[w] < o.key[w];
  if (start != o.start) return start < o.start;
  return !replaces && o.replaces;
}

Merge::Merge(std::vector<const Plan*> plans, std::vector<ResultRing*> rings)
    : plans_(std::move(plans)), heads_(rings.size()), flagged_(plans_.size()) {
  uint32_t cell_words = 0;
  for (size_t i = 0; i < plans_.size(); ++i) {
    CHECK(index_of(plans_[i]->id) == i);
    cell_words = std::max(cell_words, plans_[i]->cell_words);
    keep_.push_back(keep_flagged(*plans_[i]));
  }
  overflow_row_.resize(cell_words);
  for (size_t i = 0; i < rings.size(); ++i) heads_[i].ring = rings[i];
}

bool Merge::next(Result& out) {
  if (current_) leave_row();
  while (current_ || choose()) {
    Head& head = *current_;
    if (head.order.rank == 0) {
      if (head.is(RunKind::kLost))
        flagged_[head.order.query].add(head.run->start.ns, head.run->end.ns);
      advance(*std::exchange(current_, nullptr));
      continue;
    }
    if (head.is(RunKind::kProvisional)) {
      describe(head, out);
      return true;
    }
    if (head.is(RunKind::kPoint) && !(in_window_ && head.order.same_window(window_)))
      enter_window(head.order);
#ifdef TIDEWIRE_DEBUG_CHECKS
    DCHECK(!any_ || !(head.order < last_));
    any_ = true;
    last_ = head.order;
    std::copy_n(head.order.key, head.order.key_words, last_key_.begin());
    last_.key = last_key_.data();
#endif
    describe(head, out);
    if (head.order.rank == 2) {
      combine_overflow(head);
      out.cell = overflow_row_.data();
      out.key = no_key_.data();
    }
    return true;
  }
  return false;
}

// Steps past the row that was returned. The same ring goes on where nothing can come before its
// next row: mostly, as workers own ranges of the hash.
void Merge::leave_row() {
  Head& head = *current_;
  const bool was_row = head.order.rank == 1 && !head.is(RunKind::kProvisional);
  advance(head);
  const bool goes_on = was_row && head.block && head.order.rank == 1 &&
                       !head.is(RunKind::kProvisional) && may_leave(head.order.place) &&
                       (!head.is(RunKind::kPoint) || head.order.same_window(window_)) &&
                       (!runner_up_ || head.order < runner_up_->order);
  if (!goes_on) current_ = nullptr;
}

// Makes `current_` the head that may leave now; false if none may.
bool Merge::choose() {
  Head* smallest = nullptr;
  Head* second = nullptr;
  int64_t least_fired = INT64_MAX;
  for (Head& head : heads_) {
    if (!head.block && !refill(head)) {
      least_fired = std::min(least_fired, head.fired);
      continue;
    }
    if (head.is(RunKind::kProvisional)) {
      current_ = &head;
      return true;
    }
    if (!smallest || head.order < smallest->order) {
      second = std::exchange(smallest, &head);
    } else if (!second || head.order < second->order) {
      second = &head;
    }
  }
  least_fired_ = least_fired;
  const bool leaves = smallest && may_leave(smallest->order.place);
  const int64_t before =
      leaves ? smallest->order.place - static_cast<int64_t>(smallest->order.place > INT64_MIN)
             : least_fired;
  passed_ = std::max(passed_, EventTime{before});
  if (!leaves) return false;
  current_ = smallest;
  runner_up_ = second;
  return true;
}

// Finds the next row or empty run of a ring.
bool Merge::refill(Head& head) {
  // Before the look: whatever stands at or below this place is in the ring already.
  head.fired = head.ring->fired.load(std::memory_order_acquire);
  for (;;) {
    head.block = head.ring->blocks.front();
    if (!head.block) return false;
    CHECK(index_of(head.block->query) < plans_.size());
    head.offset = 0;
    if (open_run(head)) return true;
    head.ring->blocks.pop();
  }
}

// The run at the head's offset; false at the end of the block.
bool Merge::open_run(Head& head) {
  const ResultBlock& block = *head.block;
  if (head.offset >= block.used) return false;
  head.run = reinterpret_cast<const Run*>(block.bytes.data() + head.offset);
  head.offset += static_cast<uint32_t>(sizeof(Run));
  head.rows_left = head.run->rows;
  const Plan& plan = *plans_[index_of(block.query)];
  CHECK(block.row_words == words_of_row(plan, head.run->kind));
  CHECK(head.offset + uint64_t{head.rows_left} * block.row_words * 8 <= block.used);
  read_row(head);
  return true;
}

void Merge::read_row(Head& head) {
  const Run& run = *head.run;
  Order& order = head.order;
  order.query = index_of(head.block->query);
  order.key_words = 0;
  order.hash = 0;
  order.rank = 0;
  order.after = is_row_update(run.kind) ? run.position + 1 : 0;
  order.replaces = run.fire != FireKind::kRetraction;
  order.place = run.place.ns;
  order.start = run.start.ns;
  order.end = run.kind == RunKind::kLost ? run.start.ns : run.end.ns;  // before those windows
  if (head.rows_left == 0) return;
  const auto* row = reinterpret_cast<const int64_t*>(head.block->bytes.data() + head.offset);
  if (run.kind == RunKind::kPlaced) {
    if (order.replaces) {
      order.start = row[0];
      order.end = row[1];
    }
    if (run.fire == FireKind::kOnTime) order.place = std::max(run.place.ns, row[1]);
    row += 2;
  } else if (run.kind == RunKind::kLate) {
    order.start = order.end = row[0];
    row += 1;
  }
  order.rank = (run.flags & kFlagOverflowRow) != 0 && order.after == 0 ? 2 : 1;
  if (order.rank == 1) {
    order.hash = static_cast<uint64_t>(row[0]);
    order.key_words = plans_[order.query]->key_words;
  }
  order.key = row + 1;
}

void Merge::advance(Head& head) {
  if (head.rows_left > 0) {
    head.offset += head.block->row_words * 8;
    if (--head.rows_left > 0) return read_row(head);
  }
  if (open_run(head)) return;
  head.block = nullptr;
  head.ring->blocks.pop();
}

void Merge::enter_window(const Order& window) {
  window_ = window;
  in_window_ = true;
  window_flags_ = 0;
  FlaggedIntervals& flagged = flagged_[window.query];
  if (flagged.meets(window.end, window.end)) window_flags_ = kFlagOverflow;
  for (const Head& head : heads_)
    if (head.block && head.is(RunKind::kPoint) && head.order.same_window(window))
      window_flags_ |= head.run->flags & kFlagOverflow;
  const int64_t keep = keep_[window.query];
  if (window_flags_ != 0 && keep > 0) flagged.add(window.end, window.end);
  if (!flagged.empty()) flagged.drop_through(earlier(EventTime{window.place}, {keep}).ns - 1);
}

// One row for all workers' __overflow__ rows of this window. Every other ring's head is known, and
// these rows are the last of the window, so all of them are at the heads.
void Merge::combine_overflow(Head& first) {
  const Plan& plan = *plans_[first.order.query];
  const Order order = first.order;
  std::copy_n(order.key + plan.key_words, plan.cell_words, overflow_row_.begin());
  for (Head& head : heads_) {
    if (&head == &first || !head.block || head.order.rank != 2 || head.is(RunKind::kProvisional) ||
        !head.order.same_window(order) || head.order.replaces != order.replaces)
      continue;
    merge_cells(plan, overflow_row_.data(), head.order.key + plan.key_words);
    advance(head);
  }
}

void Merge::describe(const Head& head, Result& out) const {
  const Plan& plan = *plans_[head.order.query];
  out.plan = &plan;
  out.query = head.order.query;
  out.kind = head.run->kind;
  out.fire = out.kind == RunKind::kProvisional ? FireKind::kProvisional : head.run->fire;
  out.index = head.run->index;
  out.position = head.run->position;
  out.flags = head.run->flags;
  if (out.kind == RunKind::kPoint) out.flags |= window_flags_;
  if (out.kind == RunKind::kUpdate && plan.window.is_aligned() &&
      flagged(out.query, out.end.ns, out.end.ns))
    out.flags |= kFlagOverflow;
  out.sequence = 0;
  out.place = EventTime{head.order.place};
  const bool placed = out.kind == RunKind::kPlaced;  // {start, end, hash, key}
  out.start = EventTime{placed ? head.order.key[-3] : head.order.start};
  out.end = EventTime{placed ? head.order.key[-2] : head.order.end};
  out.hash = head.order.hash;
  out.key = head.order.key;
  out.cell = head.order.key + plan.key_words;
  out.values = nullptr;
}

}  // namespace tidewire
