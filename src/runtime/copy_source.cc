#include "runtime/copy_source.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace tidewire {
namespace {
constexpr size_t kRoom = size_t{1} << 20;
constexpr uint32_t kNoLongerThan = kRoom / 4;
}  // namespace

CopySource::CopySource(std::unique_ptr<Source> source, Arena& arena)
    : source_(std::move(source)), room_(arena.take_bytes(kRoom, 64, "copied bursts")) {
  original_.count = 0;
}

Received CopySource::receive(Burst& burst) {
  if (at_ == original_.count) {
    const Received got = source_->receive(original_);
    if (got != Received::kPackets) return got;
    at_ = 0;
  }
  uint32_t n = 0;
  size_t used = 0;
  burst.unstamped = 0;
  for (; at_ < original_.count && n < burst.limit; ++at_, ++n) {
    const uint32_t length = original_.length[at_];
    CHECK(length <= kNoLongerThan);
    if (used + length > room_.size()) break;
    std::byte* const to = room_.data() + used;
    if (length > 0) std::memcpy(to, original_.data[at_], length);
    used += length;
    burst.data[n] = to;
    burst.length[n] = length;
    burst.wire_length[n] = original_.wire_length[at_];
    burst.arrival[n] = original_.arrival[at_];
    burst.interface[n] = original_.interface[at_];
    burst.link[n] = original_.link[at_];
    burst.owner[n] = nullptr;
    burst.unstamped += static_cast<uint32_t>(burst.arrival[n] == EventTime::before_all());
  }
  burst.count = n;
  if (at_ == original_.count) {
    source_->release(original_);
    at_ = original_.count = 0;
  }
  return Received::kPackets;
}

void CopySource::release(Burst& burst) {
#ifdef TIDEWIRE_DEBUG_CHECKS
  for (uint32_t i = 0; i < burst.count; ++i)
    std::fill_n(room_.data() + (burst.data[i] - room_.data()), burst.length[i], std::byte{0xDB});
#endif
  burst.count = 0;
}

}  // namespace tidewire
