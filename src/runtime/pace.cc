#include "runtime/pace.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/int128.h"

namespace tidewire {
namespace {

template <class Better>
void improve(std::atomic<int64_t>& to, int64_t value, Better better) {
  int64_t seen = to.load(std::memory_order_relaxed);
  while (better(value, seen) && !to.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void PaceOrigin::report(EventTime first, MonotonicTime now) {
  improve(first_, first.ns, std::less<>{});
  improve(start_, now.ns, std::greater<>{});
  const uint32_t before = waiting_.fetch_sub(1, std::memory_order_release);
  CHECK(before > 0);
}

bool PaceOrigin::known(EventTime& first, MonotonicTime& start) const {
  if (waiting_.load(std::memory_order_acquire) != 0) return false;
  first = {first_.load(std::memory_order_relaxed)};
  start = {start_.load(std::memory_order_relaxed)};
  return true;
}

PacedSource::PacedSource(std::unique_ptr<Source> source, std::shared_ptr<PaceOrigin> origin,
                         Clock& clock, double speed)
    : source_(std::move(source)),
      origin_(std::move(origin)),
      clock_(clock),
      speed_(speed),
      held_(std::make_unique<Burst>()) {
  CHECK(speed_ > 0);
}

PacedSource::~PacedSource() {
  if (held_->count) source_->release(*held_);
}

void PacedSource::report(EventTime first) {
  if (reported_) return;
  reported_ = true;
  origin_->report(first, clock_.now());
}

Received PacedSource::receive(Burst& burst) {
  burst.count = 0;
  burst.unstamped = 0;
  if (held_->count == 0) {
    const Received got = source_->receive(*held_);
    switch (got) {
      case Received::kPackets:
        break;
      case Received::kNothing:
        held_->count = 0;
        return got;
      case Received::kEnded:
      case Received::kFailed:
        held_->count = 0;
        report(EventTime::end_of_time());
        return got;
    }
    at_ = 0;
    // Packets without a stamp do not say when the recording began.
    const auto end = held_->arrival.begin() + held_->count;
    const auto first = std::find_if(held_->arrival.begin(), end,
                                    [](EventTime arrival) { return arrival.is_point(); });
    report(first == end ? EventTime::end_of_time() : *first);
  }
  if (!origin_->known(first_, start_)) return Received::kNothing;
  const MonotonicTime now = clock_.now();
  uint32_t count = 0;
  while (at_ + count < held_->count && count < burst.limit && due(held_->arrival[at_ + count], now))
    ++count;
  if (count == 0) return Received::kNothing;
  hand_on(burst, count);
  return Received::kPackets;
}

bool PacedSource::due(EventTime arrival, MonotonicTime now) const {
  if (!arrival.is_point() || arrival <= first_) return true;
  // In 128 bits: recordings may jump by centuries, and their wait is scaled without overflow.
  const int128 offset = static_cast<int128>(arrival.ns) - first_.ns;
  const double passed = static_cast<double>(between(start_, now).ns) * speed_;
  return static_cast<double>(offset) <= passed;
}

void PacedSource::hand_on(Burst& burst, uint32_t count) {
  const auto part = [&](const auto& from, auto& to) {
    std::copy_n(from.begin() + at_, count, to.begin());
  };
  part(held_->data, burst.data);
  part(held_->length, burst.length);
  part(held_->wire_length, burst.wire_length);
  part(held_->arrival, burst.arrival);
  part(held_->interface, burst.interface);
  part(held_->link, burst.link);
  part(held_->owner, burst.owner);
  burst.count = count;
  for (uint32_t i = 0; i < count; ++i)
    if (burst.arrival[i] == EventTime::before_all()) ++burst.unstamped;
  at_ += count;
}

void PacedSource::release(Burst& burst) {
  burst.count = 0;
  if (at_ < held_->count) return;  // the rest of the source's burst is still to be handed on
  source_->release(*held_);
  held_->count = 0;
}

}  // namespace tidewire
