// A source over packets held in memory: tests, simulation and benches. The same seed and fault plan
// give the same sequence of answers.
//
// With copies (the default) every packet handed out is a fresh copy in a rotating pool, placed so
// that its last byte is the last of its slot:
//
//   slot   | red zone ............ | packet bytes |      read past either end: caught by ASan
//
// and release overwrites it (builds with debug checks) and closes it to ASan, so a pointer that was
// kept shows. Without copies the packets are handed out in place, for benches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "io/source.h"

namespace tidewire::sim {

struct Packet {
  std::vector<std::byte> bytes;
  EventTime arrival = EventTime::before_all();
  uint32_t wire_length = 0;  // 0: as many as there are
  uint16_t interface = 0;
  LinkType link = LinkType::kEthernet;
};
using Packets = std::shared_ptr<const std::vector<Packet>>;

// From receive call number `after` (counted from 0) on, `times` calls answer so.
struct SourceFault {
  enum class Kind : uint8_t {
    kNothing,     // no packets at this moment
    kShortBurst,  // one packet
    kEnded,       // the end comes early
    kFailed,      // as kEnded, with a reason in sample()
  };
  uint64_t after = 0;
  uint64_t times = 1;
  Kind kind = Kind::kNothing;
};

struct SourceOptions {
  uint32_t burst = 32;      // largest
  bool vary_burst = false;  // sizes from 1 to `burst`, by seed
  uint64_t seed = 1;
  std::vector<SourceFault> faults = {};
  bool copy = true;
};

class SimSource final : public Source {
 public:
  SimSource(Packets packets, SourceOptions options);
  ~SimSource() override;
  SimSource(const SimSource&) = delete;
  SimSource& operator=(const SimSource&) = delete;

  Received receive(Burst& burst) override;
  void release(Burst& burst) override;
  void sample(SourceCounters& out) const override;

  // Packets from this one on are not there yet (any thread; no limit at first).
  void hold_at(uint64_t packet) { limit_.store(packet, std::memory_order_release); }
  uint64_t handed_out() const { return handed_out_.load(std::memory_order_relaxed); }
  uint64_t calls() const { return calls_; }
  // Whether reading a released packet is a report of ASan rather than a read of poison.
  static bool closes_memory();

 private:
  Received fault_or_packets(uint32_t& want);
  const std::byte* copy_of(const Packet& packet, std::byte* slot);

  Packets packets_;
  SourceOptions options_;
  Rng rng_;
  uint64_t at_ = 0;
  uint64_t calls_ = 0;
  bool ended_ = false;
  bool outstanding_ = false;
  std::vector<std::byte> pool_;
  size_t slot_bytes_ = 0;
  uint32_t slots_ = 0;
  uint32_t next_slot_ = 0;
  uint64_t total_bytes_ = 0;
  std::atomic<uint64_t> limit_{UINT64_MAX};
  std::atomic<uint64_t> handed_out_{0};
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<const char*> failure_{nullptr};
};

}  // namespace tidewire::sim
