// A recorded input at the pace at which it was recorded, or a multiple of it: a source around
// another one that hands a packet on only when its offset from the first packet of the whole
// recording has passed. As fast as possible needs no wrapper.
//
//   recorded    first --3 s--> packet          start --3 s / speed--> handed on
//
// The lanes of one run share a PaceOrigin: "first" is the earliest first packet among them, so they
// keep their distances. Pace decides when, never what: stamps and order are the recording's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "io/source.h"
#include "runtime/clock.h"

namespace tidewire {

class PaceOrigin {
 public:
  // `lanes`: how many paced sources will report their first packet, on any threads.
  explicit PaceOrigin(uint32_t lanes) : waiting_(lanes) {}

  // A lane's first arrival stamp; end_of_time() from a lane that has none to give.
  void report(EventTime first, MonotonicTime now);
  // False until all lanes have reported.
  bool known(EventTime& first, MonotonicTime& start) const;

 private:
  std::atomic<int64_t> first_{INT64_MAX};
  std::atomic<int64_t> start_{INT64_MIN};  // the latest report
  std::atomic<uint32_t> waiting_;
};

class PacedSource final : public Source {
 public:
  // `speed`: recorded seconds per second of the clock, > 0.
  PacedSource(std::unique_ptr<Source> source, std::shared_ptr<PaceOrigin> origin, Clock& clock,
              double speed);
  ~PacedSource() override;

  Received receive(Burst& burst) override;
  void release(Burst& burst) override;
  void sample(SourceCounters& out) const override { source_->sample(out); }

 private:
  bool due(EventTime arrival, MonotonicTime now) const;
  void hand_on(Burst& burst, uint32_t count);
  void report(EventTime first);

  std::unique_ptr<Source> source_;
  std::shared_ptr<PaceOrigin> origin_;
  Clock& clock_;
  double speed_;
  std::unique_ptr<Burst> held_;  // what the source gave; packets [at_, count) wait
  uint32_t at_ = 0;
  bool reported_ = false;
  EventTime first_;
  MonotonicTime start_;
};

}  // namespace tidewire
