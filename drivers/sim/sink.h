// A sink that keeps its records in memory, and can be told to fail: tests, simulation and benches.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "io/sink.h"
#include "io/sink_account.h"

namespace tidewire::sim {

// From send number `after` (counted from 0) on, `times` sends go so.
struct SinkFault {
  enum class Kind : uint8_t {
    kRefused,  // nothing is written: every record is lost
    kShort,    // the first half of the records is written, the rest is lost: a disk that fills up
  };
  uint64_t after = 0;
  uint64_t times = 1;
  Kind kind = Kind::kRefused;
};

struct SinkOptions {
  std::vector<SinkFault> faults = {};
  bool keep = true;  // false: count only, for benches
};

class SimSink final : public Sink {
 public:
  explicit SimSink(SinkOptions options = {});

  void send(const Records& records) override;
  void flush() override { flushes_.fetch_add(1, std::memory_order_relaxed); }
  void sample(SinkCounters& out) const override { account_.sample(out); }

  // For the test, when the sending thread is at rest.
  const std::vector<std::string>& records() const { return kept_; }
  uint64_t flushes() const { return flushes_.load(std::memory_order_relaxed); }

 private:
  SinkOptions options_;
  uint64_t sends_ = 0;
  std::vector<std::string> kept_;
  SinkAccount account_;
  std::atomic<uint64_t> flushes_{0};
};

}  // namespace tidewire::sim
