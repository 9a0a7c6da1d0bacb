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
  if (taken > 0) account_.written(taken, start);
  if (taken < records.ends.size()) account_.lost(records.ends.size() - taken, "refused as planned");
}

}  // namespace tidewire::sim
