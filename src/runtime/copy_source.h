// A source whose packets are copied at the door: `enable_zero_copy = false`. For a driver or a
// debugger that needs its buffers back at once; costs a copy of every byte and changes no result.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "io/source.h"
#include "memory/arena.h"

namespace tidewire {

class CopySource final : public Source {
 public:
  // Holds 1 MiB: more than a burst of full frames, and four of the largest record that a capture
  // may have.
  CopySource(std::unique_ptr<Source> source, Arena& arena);

  Received receive(Burst& burst) override;
  void release(Burst& burst) override;
  void sample(SourceCounters& out) const override { source_->sample(out); }

 private:
  std::unique_ptr<Source> source_;
  std::span<std::byte> room_;
  Burst original_;  // what the source gave; packets [at_, count) are not copied yet
  uint32_t at_ = 0;
};

}  // namespace tidewire
