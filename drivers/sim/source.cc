#include "drivers/sim/source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define TIDEWIRE_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TIDEWIRE_SIM_ASAN 1
#endif
#endif
#ifdef TIDEWIRE_SIM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tidewire::sim {
namespace {

constexpr uint32_t kPoolBursts = 4;  // a slot comes back only after that many bursts
constexpr size_t kRedZone = 16;
constexpr auto kPoison = std::byte{0xDB};

void close_memory([[maybe_unused]] std::byte* at, [[maybe_unused]] size_t bytes) {
#ifdef TIDEWIRE_SIM_ASAN
  __asan_poison_memory_region(at, bytes);
#endif
}
void open_memory([[maybe_unused]] std::byte* at, [[maybe_unused]] size_t bytes) {
#ifdef TIDEWIRE_SIM_ASAN
  __asan_unpoison_memory_region(at, bytes);
#endif
}

}  // namespace

SimSource::SimSource(Packets packets, SourceOptions options)
    : packets_(std::move(packets)), options_(std::move(options)), rng_(options_.seed) {
  CHECK(options_.burst >= 1 && options_.burst <= kBurstMax);
  size_t longest = 0;
  for (const Packet& packet : *packets_) {
    longest = std::max(longest, packet.bytes.size());
    total_bytes_ += packet.bytes.size();
  }
  if (!options_.copy) return;
  slot_bytes_ = (longest + 7) / 8 * 8 + kRedZone;  // ASan's grain is 8 bytes
  slots_ = options_.burst * kPoolBursts;
  pool_.resize(slot_bytes_ * slots_);
  close_memory(pool_.data(), pool_.size());
}

bool SimSource::closes_memory() {
#ifdef TIDEWIRE_SIM_ASAN
  return true;
#else
  return false;
#endif
}

SimSource::~SimSource() { open_memory(pool_.data(), pool_.size()); }

// What the plan says about this call. kPackets: hand out up to `want`.
Received SimSource::fault_or_packets(uint32_t& want) {
  want =
      options_.vary_burst ? 1 + static_cast<uint32_t>(rng_.below(options_.burst)) : options_.burst;
  for (const SourceFault& fault : options_.faults) {
    if (calls_ < fault.after || calls_ - fault.after >= fault.times) continue;
    switch (fault.kind) {
      case SourceFault::Kind::kNothing:
        return Received::kNothing;
      case SourceFault::Kind::kShortBurst:
        want = 1;
        break;
      case SourceFault::Kind::kEnded:
        return Received::kEnded;
      case SourceFault::Kind::kFailed:
        failure_.store("failed as planned", std::memory_order_relaxed);
        return Received::kFailed;
    }
  }
  return at_ == packets_->size() ? Received::kEnded : Received::kPackets;
}

Received SimSource::receive(Burst& burst) {
  CHECK(!outstanding_);
  CHECK(!ended_);
  burst.count = 0;
  burst.unstamped = 0;
  uint32_t want = 0;
  const Received answer = fault_or_packets(want);
  want = std::min(want, burst.limit);
  ++calls_;
  if (answer != Received::kPackets) {
    ended_ = answer != Received::kNothing;
    return answer;
  }
  const uint64_t limit =
      std::min<uint64_t>(limit_.load(std::memory_order_acquire), packets_->size());
  uint64_t bytes = 0;
  while (burst.count < want && at_ < limit) {
    const Packet& packet = (*packets_)[at_++];
    const uint32_t i = burst.count++;
    const auto length = static_cast<uint32_t>(packet.bytes.size());
    if (options_.copy) {
      std::byte* slot = pool_.data() + slot_bytes_ * next_slot_;
      next_slot_ = next_slot_ + 1 == slots_ ? 0 : next_slot_ + 1;
      burst.data[i] = copy_of(packet, slot);
      burst.owner[i] = slot;
    } else {
      burst.data[i] = packet.bytes.data();
      burst.owner[i] = nullptr;
    }
    burst.length[i] = length;
    burst.wire_length[i] = packet.wire_length ? packet.wire_length : length;
    burst.arrival[i] = packet.arrival;
    burst.interface[i] = packet.interface;
    burst.link[i] = packet.link;
    if (packet.arrival == EventTime::before_all()) ++burst.unstamped;
    bytes += length;
  }
  if (burst.count == 0) return Received::kNothing;
  outstanding_ = true;
  handed_out_.store(at_, std::memory_order_relaxed);
  bytes_read_.store(bytes_read_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  return Received::kPackets;
}

const std::byte* SimSource::copy_of(const Packet& packet, std::byte* slot) {
  std::byte* to = slot + slot_bytes_ - packet.bytes.size();
  open_memory(to, packet.bytes.size());
  if (!packet.bytes.empty()) std::memcpy(to, packet.bytes.data(), packet.bytes.size());
  return to;
}

void SimSource::release(Burst& burst) {
  CHECK(outstanding_);
  outstanding_ = false;
  for (uint32_t i = 0; i < burst.count; ++i) {
    if (burst.owner[i]) {
      auto* slot = static_cast<std::byte*>(burst.owner[i]);
#ifdef TIDEWIRE_DEBUG_CHECKS
      std::memset(slot + slot_bytes_ - burst.length[i], static_cast<int>(kPoison), burst.length[i]);
#endif
      close_memory(slot, slot_bytes_);
    }
    burst.data[i] = nullptr;
  }
  burst.count = 0;
}

void SimSource::sample(SourceCounters& out) const {
  out = SourceCounters{};
  out.bytes_read = bytes_read_.load(std::memory_order_relaxed);
  out.bytes_total = total_bytes_;
  out.failure = failure_.load(std::memory_order_relaxed);
}

}  // namespace tidewire::sim
