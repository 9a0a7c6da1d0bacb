#include "drivers/uring/feed.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace tidewire::uring {
namespace {

constexpr uint32_t kMaxTries = 10'000;  // of one read, before the file counts as unreadable

}  // namespace

Feed::Feed(std::span<std::byte> memory, uint32_t block_bytes, uint32_t depth)
    : memory_(memory), block_bytes_(block_bytes), depth_(depth) {
  CHECK(block_bytes > 0 && depth > 0 && memory.size() >= block_bytes);
  slots_.resize(memory.size() / block_bytes);
}

void Feed::begin(uint64_t bytes, uint32_t align) {
  CHECK(out_ == 0 && align > 0 && (align == 1 || block_bytes_ % align == 0));
  for (Slot& slot : slots_) slot = {};
  front_ = next_ = 0;
  next_offset_ = 0;
  bytes_ = bytes;
  align_ = align;
  due_ = 0;
  error_ = 0;
}

void Feed::grow(uint64_t bytes) {
  CHECK(align_ == 1 && bytes >= bytes_);
  bytes_ = bytes;
}

bool Feed::order(Slot& slot, ReadOrder& out) {
  slot.state = State::kReading;
  slot.direct = align_ > 1;
  // An aligned read may have to begin again below what is there, and reach past the file's end.
  slot.from = slot.filled - slot.filled % align_;
  const uint32_t bytes = (slot.wanted - slot.from + align_ - 1) / align_ * align_;
  const auto index = static_cast<uint32_t>(&slot - slots_.data());
  out = {.slot = index,
         .to = memory_.subspan(uint64_t{index} * block_bytes_ + slot.from, bytes),
         .offset = slot.offset + slot.from};
  ++out_;
  return true;
}

bool Feed::next(ReadOrder& out) {
  if (out_ >= depth_ || error_ != 0) return false;
  if (due_ > 0) {
    // The earliest first: it is what the reader waits for.
    for (uint64_t block = front_; block != next_; ++block) {
      if (slot_of(block).state != State::kDue) continue;
      --due_;
      return order(slot_of(block), out);
    }
  }
  if (next_ - front_ == slots_.size() || next_offset_ >= bytes_) return false;
  Slot& slot = slot_of(next_++);
  slot = {.wanted = static_cast<uint32_t>(std::min<uint64_t>(block_bytes_, bytes_ - next_offset_)),
          .offset = next_offset_};
  next_offset_ += slot.wanted;
  return order(slot, out);
}

void Feed::fail(Slot& slot, int error) {
  slot.state = State::kFailed;
  if (error_ == 0) error_ = error;
}

bool Feed::complete(uint32_t index, int32_t result) {
  Slot& slot = slots_[index];
  DCHECK(slot.state == State::kReading);
  --out_;
  const auto again = [&] {
    slot.state = State::kDue;
    ++due_;
  };
  if (result == -EINTR || result == -EAGAIN) {
    if (++slot.tries > kMaxTries) {
      fail(slot, -result);
    } else {
      again();
    }
    return false;
  }
  if (result == -EINVAL && slot.direct) {
    align_ = 1;
    again();
    return true;
  }
  if (result < 0) {
    fail(slot, -result);
    return false;
  }
  slot.tries = 0;
  const uint32_t filled = std::min(slot.from + static_cast<uint32_t>(result), slot.wanted);
  if (filled == slot.wanted) {
    slot.filled = filled;
    slot.state = State::kReady;
  } else if (filled <= slot.filled) {
    fail(slot, kShrank);  // nothing more is there, though the file had it
  } else {
    slot.filled = filled;
    again();
  }
  return false;
}

Feed::Front Feed::front() const {
  if (front_ == next_) {
    if (error_ != 0) return Front::kFailed;
    return next_offset_ >= bytes_ ? Front::kEnded : Front::kWaiting;
  }
  switch (slot_of(front_).state) {
    case State::kReady:
      return Front::kReady;
    case State::kFailed:
      return Front::kFailed;
    case State::kFree:
    case State::kDue:
    case State::kReading:
      break;
  }
  return Front::kWaiting;
}

std::span<std::byte> Feed::block() const {
  DCHECK(front() == Front::kReady);
  const uint64_t index = front_ % slots_.size();
  return memory_.subspan(index * block_bytes_, slots_[index].filled);
}

void Feed::recycle() {
  DCHECK(front() == Front::kReady);
  slot_of(front_).state = State::kFree;
  ++front_;
}

}  // namespace tidewire::uring
