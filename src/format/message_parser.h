// The cursor of formats whose packets hold any number of events: one packet of the burst is opened
// after the other, and the open one is read on in where the batch before was full. Self has
//
//   void open_packet(uint32_t i, EventBatch&, LaneCounts&)
//       packet i of burst(). Sets open_ where there is something to read. Each packet ends as
//       parsed or dropped: here, or when it is read through.
//   void read_packet(EventBatch&, LaneCounts&)
//       appends events while the batch is not full; clears open_ behind the packet's last one
//
// and, if it holds packets back, holds_back() and
//
//   void open_end()
//       the lane's end or silence: sets open_ if something was held back
//
// An Item says where an event's fields stand; it may point into the packet, since the columns are
// written before the burst goes.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "format/columns.h"
#include "format/parser.h"

namespace tidewire {

template <class Self, class Item, class Writer = ColumnWriter<Item>>
class MessageParser : public Parser {
 public:
  void begin(const Burst& burst) final {
    CHECK(burst.count <= kBurstMax);
    burst_ = &burst;
    packet_ = 0;
    open_ = false;
    if constexpr (requires(Self & self) { self.open_end(); })
      if (burst.count == 0) static_cast<Self*>(this)->open_end();
  }

  bool next(EventBatch& batch, LaneCounts& counts) final {
    batch.lane = lane_;
    batch.ordinal = ordinal_;
    batch.count = batch.marks = 0;
    auto& self = static_cast<Self&>(*this);
    while (burst_ != nullptr && !is_full(batch)) {
      if (open_)
        self.read_packet(batch, counts);
      else if (packet_ < burst_->count)
        self.open_packet(packet_++, batch, counts);
      else
        burst_ = nullptr;
    }
    writer_.write(item_.data(), batch, counts);
    ordinal_ = Ordinal{index_of(ordinal_) + batch.count};
    counts.ended.passed_on += batch.count;
    return burst_ != nullptr;
  }

  bool partition_value(PartitionId id, std::array<int64_t, 2>& words) const final {
    return writer_.partition_value(id, words);
  }

 protected:
  MessageParser(const ParserOptions& options, Writer writer)
      : lane_(options.lane), writer_(std::move(writer)) {}

  static bool is_full(const EventBatch& batch) { return batch.count == kBatchMax; }
  const Burst& burst() const { return *burst_; }
  // An event of the packet that was opened last; before_all(): it has no time. Where its time is
  // not usable it ends here, counted.
  void append(EventTime time, EventTime arrival, const Item& item, EventBatch& batch,
              LaneCounts& counts) {
    ++counts.events;
    if (!time.is_point()) {
      ++counts.ended.no_time;
      return;
    }
    if (!is_usable(time)) {
      ++counts.ended.out_of_range;
      return;
    }
    const uint32_t n = batch.count;
    place(batch, n + 1);
    batch.time[n] = time;
    batch.arrival[n] = arrival;
    item_[n] = item;
  }
  // Events of one arrival whose times are known to be usable: find(time, item) writes the next one
  // until it gives false or the batch is full.
  template <class Find>
  void append_usable(EventTime arrival, EventBatch& batch, LaneCounts& counts, Find find) {
    const uint32_t from = batch.count;
    uint32_t n = from;
    while (n < kBatchMax && find(batch.time[n], item_[n])) ++n;
    if (n == from) return;
    std::fill_n(batch.arrival.begin() + from, n - from, arrival);
    counts.events += n - from;
    place(batch, n);
  }

  bool open_ = false;

 private:
  void place(EventBatch& batch, uint32_t count) {
    if (batch.count == 0) batch.first = Position{index_of(burst_->first) + packet_ - 1};
    batch.count = count;
  }

  LaneId lane_;
  Writer writer_;
  Ordinal ordinal_{};
  const Burst* burst_ = nullptr;
  uint32_t packet_ = 0;  // the next one
  std::array<Item, kBatchMax> item_{};
};

}  // namespace tidewire
