// The simplest wire format, for tests of everything behind the parser: a packet is any number of
// records of 16 bytes { int64 time ns, int64 key }, host byte order. Column 0 is the key; a packet
// that holds no whole record is dropped as truncated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/sim/source.h"
#include "format/parser.h"

namespace tidewire {

struct Record {
  int64_t time = 0;
  int64_t key = 0;
};

class RecordParser final : public Parser {
 public:
  // `keeps`: the last packet of each burst is given before those of the next one.
  explicit RecordParser(LaneId lane, uint32_t batch = kBatchMax, bool keeps = false)
      : lane_(lane), most_(batch), keeps_(keeps) {}

  void begin(const Burst& burst) override {
    burst_ = &burst;
    packet_ = 0;
    record_ = gave_ = 0;
    given_.swap(kept_);
    kept_.clear();
    ++bursts_;
  }
  bool holds_back() const override { return !kept_.empty(); }

  bool next(EventBatch& batch, LaneCounts& counts) override {
    batch.lane = lane_;
    batch.count = 0;
    batch.ordinal = Ordinal{ordinal_};
    for (; gave_ < given_.size(); ++gave_) {
      if (batch.count == most_) return true;
      take(given_[gave_], EventTime::before_all(), batch, counts);
    }
    for (; packet_ < burst_->count; ++packet_, record_ = 0) {
      const uint32_t records = burst_->length[packet_] / sizeof(Record);
      if (records == 0) {
        counts.drop(DropReason::kTruncated);
        continue;
      }
      for (; record_ < records; ++record_) {
        if (batch.count == most_) return true;
        Record record;
        std::memcpy(&record, burst_->data[packet_] + record_ * sizeof(Record), sizeof record);
        if (keeps_ && packet_ + 1 == burst_->count)
          kept_.push_back(record);
        else
          take(record, burst_->arrival[packet_], batch, counts);
      }
      ++counts.packets_parsed;
    }
    return false;
  }
  uint64_t bursts() const { return bursts_; }

 private:
  void take(const Record& record, EventTime arrival, EventBatch& batch, LaneCounts& counts) {
    const uint32_t i = batch.count++;
    if (i == 0) batch.first = Position{index_of(burst_->first) + packet_};
    batch.time[i] = {record.time};
    batch.arrival[i] = arrival;
    batch.partition[i] = PartitionId{0};
    batch.column[0][i] = record.key;
    ++ordinal_;
    ++counts.events;
    ++counts.ended.passed_on;
  }

  LaneId lane_;
  uint32_t most_;
  const Burst* burst_ = nullptr;
  uint32_t packet_ = 0, record_ = 0;
  uint64_t ordinal_ = 0, bursts_ = 0;
  bool keeps_;
  std::vector<Record> kept_, given_;
  size_t gave_ = 0;
};

// Packets for it: one for each list of records.
inline sim::Packets record_packets(const std::vector<std::vector<Record>>& packets,
                                   EventTime arrival = EventTime::before_all()) {
  auto out = std::make_shared<std::vector<sim::Packet>>();
  for (const std::vector<Record>& records : packets) {
    sim::Packet packet;
    packet.bytes.resize(records.size() * sizeof(Record));
    if (!records.empty()) std::memcpy(packet.bytes.data(), records.data(), packet.bytes.size());
    packet.arrival = arrival;
    out->push_back(std::move(packet));
  }
  return out;
}

}  // namespace tidewire
