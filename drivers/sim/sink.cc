#include "drivers/sim/sink.h"

#include <utility>

#include "base/check.h"

namespace tidewire::sim {

SimSink::SimSink(SinkOptions options) : options_(std::move(options)) {}

void SimSink::send(const Records& records) {
  size_t taken = records.ends.size();
  for (const SinkFault& fault : options_.faults) {
    if (sends_ < fault.after || sends_ - fault.after >= fault.times) continue;
    switch (fault.kind) {
      case SinkFault::Kind::kRefused:
        taken = 0;
        break;
      case SinkFault::Kind::kShort:
        taken /= 2;
        break;
    }
  }
  ++sends_;
  uint32_t start = 0;
  for (size_t i = 0; i < taken; ++i) {
    const uint32_t end = records.ends[i];
    CHECK(start <= end && end <= records.bytes.size());
    if (options_.keep)
      kept_.emplace_back(reinterpret_cast<const char*>(records.bytes.data()) + start, end - start);
    start = end;
  }
  records_.fetch_add(taken, std::memory_order_relaxed);
  bytes_.fetch_add(start, std::memory_order_relaxed);
  lost_.fetch_add(records.ends.size() - taken, std::memory_order_relaxed);
  degraded_.store(taken < records.ends.size(), std::memory_order_relaxed);
}

void SimSink::sample(SinkCounters& out) const {
  out.records = records_.load(std::memory_order_relaxed);
  out.bytes = bytes_.load(std::memory_order_relaxed);
  out.lost = lost_.load(std::memory_order_relaxed);
  out.degraded = degraded_.load(std::memory_order_relaxed);
  out.failure = out.degraded ? "refused as planned" : nullptr;
}

}  // namespace tidewire::sim
