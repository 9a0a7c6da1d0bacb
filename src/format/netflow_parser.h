// The parser behind netflow.h: packets of any number of exporters to events.
#pragma once

#include <array>

#include "format/flow_exporters.h"
#include "format/flow_fields.h"
#include "format/flow_time.h"
#include "format/flow_waiting.h"
#include "format/fragments.h"
#include "format/message_parser.h"

namespace tidewire::flow {

// Numbers that a flow over several intervals is shared out in.
inline constexpr std::array<uint8_t, 5> kShared{kBytes, kPackets, kFlows, kBytesOut, kPacketsOut};

class NetflowParser final : public MessageParser<NetflowParser, TwoWords, PartitionWriter> {
 public:
  NetflowParser(const ParserOptions& options, const ColumnMap& columns,
                const NetflowOptions& netflow)
      : MessageParser(options, {netflow.fields, options}),
        options_(netflow),
        columns_(netflow.fields, options, columns),
        templates_(netflow.own, needed_by(columns_)),
        waiting_(netflow.template_wait) {
    describe5();
  }

  void open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts);
  void read_packet(EventBatch& batch, LaneCounts& counts);

 private:
  // Whose records are read at the moment.
  struct Context {
    StreamKey key;
    Moment moment;
    EventTime arrival;
    Domain* domain = nullptr;
    int64_t header_rate = 0;  // 5: in the packet itself
  };

  static std::array<bool, kSlots> needed_by(const ValueColumns& columns);
  void describe5();
  bool open5(const uint8_t* at, LaneCounts& counts);
  bool open_sets(const uint8_t* at, LaneCounts& counts);
  bool begin_stream(uint32_t sequence, const uint8_t* at, LaneCounts& counts);
  void close();
  bool next_set(LaneCounts& counts);
  bool open_waiting(LaneCounts& counts);
  bool open_set(uint16_t id, const uint8_t* body, const uint8_t* end, LaneCounts& counts);
  void learn_ahead(LaneCounts& counts);
  bool any_unknown();
  void learn(uint16_t set, const uint8_t* at, const uint8_t* end, LaneCounts& counts);
  const uint8_t* learn_one(uint16_t set, const uint8_t* at, const uint8_t* end, LaneCounts& counts);
  void open_data(const Context& context, const Template* layout, const uint8_t* at,
                 const uint8_t* end);
  void read_options(const Template& layout, const uint8_t* at, const uint8_t* end, bool of_packet,
                    LaneCounts& counts);
  void read_record(EventBatch& batch, LaneCounts& counts);
  void complete(LaneCounts& counts);
  int64_t sampling_rate(LaneCounts& counts) const;
  EventTime choose_time(LaneCounts& counts) const;
  void share_out(LaneCounts& counts);
  void emit(EventTime time, EventBatch& batch, LaneCounts& counts);
  void emit_piece(EventBatch& batch, LaneCounts& counts);

  const NetflowOptions& options_;
  ValueColumns columns_;
  TemplateTable templates_;
  Template record5_;
  Exporters exporters_;
  Waiting waiting_;
  Fragments fragments_;

  // The open packet.
  Context packet_;
  Stream* stream_ = nullptr;
  const uint8_t* at_ = nullptr;  // the next set
  const uint8_t* end_ = nullptr;
  bool learned_ = false;   // its templates were read ahead
  bool all_known_ = true;  // of its data sets so far
  bool cut_ = false;
  uint32_t sequence_ = 0;
  uint32_t records_ = 0;  // data records so far
  // The open data set: of the packet, or one that has waited.
  Context context_;
  const Template* layout_ = nullptr;
  const uint8_t* data_ = nullptr;
  const uint8_t* data_end_ = nullptr;
  bool of_packet_ = false;
  bool low_is_micros_ = false;
  Values values_;
  // A record that is shared out: the next piece, of how many, and where the first interval begins.
  int64_t piece_ = 0, pieces_ = 0, first_interval_ = 0;
  std::array<int64_t, kShared.size()> whole_{};
};

}  // namespace tidewire::flow
