// Layouts, all big-endian:
//
//   5      version 2 | count 2 | uptime ms 4 | seconds 4 | nanoseconds 4 | sequence 4 | engine 2 |
//          sampling 2 (mode 2 bits, interval 14) | records of 48
//   9      version 2 | count 2 | uptime ms 4 | seconds 4 | sequence 4 | source id 4 | sets
//   IPFIX  version 2 | length 2 | seconds 4 | sequence 4 | domain 4 | sets
//   set    id 2 | length 2 | ...     9: 0 templates, 1 options templates; IPFIX: 2, 3; data from
//   256
//
// Counts and lengths on the wire are believed only as far as bytes are there. Sources: Cisco's
// NetFlow 5 export format, RFC 3954, RFC 7011.

#include "format/netflow_parser.h"

#include <algorithm>

#include "base/int128.h"
#include "format/datagram.h"

namespace tidewire::flow {
namespace {

constexpr uint32_t kHeader5 = 24, kRecord5 = 48, kHeader9 = 20, kHeaderIpfix = 16;
constexpr uint16_t kIpfix = 10;
constexpr uint16_t kFirstData = 256;
// Of a flow that is shared out: what covers more intervals is not.
constexpr int64_t kPiecesMax = 4096;

struct Element5 {
  uint16_t number, length;
};
constexpr uint16_t kNothing = 210;  // paddingOctets
constexpr Element5 kRecord[] = {{8, 4},  {12, 4},       {15, 4}, {10, 2}, {14, 2},
                                {2, 4},  {1, 4},        {22, 4}, {21, 4}, {7, 2},
                                {11, 2}, {kNothing, 1}, {6, 1},  {4, 1},  {5, 1},
                                {16, 2}, {17, 2},       {9, 1},  {13, 1}, {kNothing, 2}};

}  // namespace

// What the columns show, and what times, sampling and ICMP are worked out from.
std::array<bool, kSlots> NetflowParser::needed_by(const ValueColumns& columns) {
  std::array<bool, kSlots> needed{};
  for (uint32_t slot = 0; slot < kSlots; ++slot)
    needed[slot] = columns.wants(static_cast<uint8_t>(slot)) ||
                   (slot >= kSampler && slot < kFirstOwn) || slot == kIcmpType || slot == kIcmpCode;
  return needed;
}

void NetflowParser::describe5() {
  values_.fill(kAbsent);
  templates_.begin({}, 0, false);
  for (const Element5& e : kRecord) templates_.element(e.number, e.length, 0);
  record5_ = *templates_.seal();
}

void NetflowParser::open_packet(uint32_t i, EventBatch&, LaneCounts& counts) {
  Datagram datagram;
  if (const auto reason = read_datagram(burst(), i, datagram, counts, &fragments_)) {
    counts.drop(*reason);
    return;
  }
  if (datagram.at == nullptr) {
    ++counts.packets_parsed;
    return;
  }
  const uint8_t* const at = datagram.at;
  end_ = datagram.end;
  cut_ = datagram.cut;
  if (end_ - at < 2) {
    counts.drop(DropReason::kTruncated);
    return;
  }
  packet_ = {};
  packet_.key.exporter = datagram.source;
  packet_.key.port = datagram.source_port;
  packet_.key.version = read_be16(at);
  packet_.arrival = burst().arrival[i];
  layout_ = nullptr;
  data_ = data_end_ = nullptr;
  pieces_ = 0;
  records_ = 0;
  learned_ = false;
  all_known_ = true;
  waiting_.expire(packet_.arrival);
  const bool opened = packet_.key.version == 5 ? open5(at, counts) : open_sets(at, counts);
  if (!opened) return;
  ++counts.packets_parsed;
  open_ = true;
}

bool NetflowParser::open5(const uint8_t* at, LaneCounts& counts) {
  if (end_ - at < kHeader5) {
    counts.drop(DropReason::kTruncated);
    return false;
  }
  const uint32_t count = read_be16(at + 2);
  packet_.moment = {
      {int64_t{read_be32(at + 8)} * kSecond + read_be32(at + 12)}, true, read_be32(at + 4)};
  packet_.key.domain = read_be16(at + 20);
  packet_.header_rate = std::max(1, read_be16(at + 22) & 0x3FFF);  // 0: not sampled
  if (!begin_stream(read_be32(at + 16), at, counts)) return false;
  const auto there = static_cast<uint32_t>(end_ - at - kHeader5) / kRecord5;
  if (count > there) counts.note(cut_ ? Note::kTruncatedHeader : Note::kBadLength);
  const uint32_t records = std::min(count, there);
  stream_->sequence.expect(sequence_ + count);
  at_ = end_;
  at += kHeader5;
  open_data(packet_, &record5_, at, at + size_t{records} * kRecord5);
  return true;
}

bool NetflowParser::open_sets(const uint8_t* at, LaneCounts& counts) {
  const bool is9 = packet_.key.version == 9;
  if (!is9 && packet_.key.version != kIpfix) {
    counts.drop(DropReason::kNotThisFormat);
    return false;
  }
  const uint32_t header = is9 ? kHeader9 : kHeaderIpfix;
  if (end_ - at < header) {
    counts.drop(DropReason::kTruncated);
    return false;
  }
  if (is9) {
    packet_.moment = {{int64_t{read_be32(at + 8)} * kSecond}, true, read_be32(at + 4)};
    packet_.key.domain = read_be32(at + 16);
  } else {
    packet_.moment = {{int64_t{read_be32(at + 4)} * kSecond}, false, 0};
    packet_.key.domain = read_be32(at + 12);
    const uint32_t length = read_be16(at + 2);
    if (length < header) {
      counts.drop(DropReason::kMalformed);
      return false;
    }
    if (length > end_ - at)
      counts.note(cut_ ? Note::kTruncatedHeader : Note::kBadLength);
    else
      end_ = at + length;
  }
  if (!begin_stream(read_be32(at + (is9 ? 12 : 8)), at, counts)) return false;
  if (is9) stream_->sequence.expect(sequence_ + 1);
  at_ = at + header;
  learn_ahead(counts);
  return true;
}

// Finds whose packet it is and where it stands in the stream. False: it had come before.
bool NetflowParser::begin_stream(uint32_t sequence, const uint8_t* at, LaneCounts& counts) {
  sequence_ = sequence;
  stream_ = &exporters_.stream(packet_.key, counts);
  packet_.domain = &exporters_.domain(packet_.key, counts);
  if (packet_.moment.has_uptime && stream_->restarts(packet_.moment.uptime))
    counts.note(Note::kRestart);
  if (stream_->sequence.take(sequence, content_of(at, end_), counts)) return true;
  counts.drop(DropReason::kDuplicate);
  return false;
}

void NetflowParser::close() {
  open_ = false;
  if (packet_.key.version != kIpfix) return;
  if (all_known_)
    stream_->sequence.expect(sequence_ + records_);
  else
    stream_->sequence.lose_track();
}

void NetflowParser::read_packet(EventBatch& batch, LaneCounts& counts) {
  while (!is_full(batch)) {
    if (piece_ < pieces_)
      emit_piece(batch, counts);
    else if (data_ < data_end_)
      read_record(batch, counts);
    else if (!next_set(counts))
      return close();
  }
}

// ---------------------------------------------------------------- sets
// Opens the next data set, learning from what comes before it. False: the packet is read through.
bool NetflowParser::next_set(LaneCounts& counts) {
  while (!open_waiting(counts)) {
    if (end_ - at_ < 4) return false;
    const uint16_t id = read_be16(at_), length = read_be16(at_ + 2);
    if (length < 4 || length > end_ - at_) {
      const bool zeros = std::all_of(at_, end_, [](uint8_t byte) { return byte == 0; });
      if (!zeros) counts.note(cut_ ? Note::kTruncatedHeader : Note::kBadLength);
      at_ = end_;
      return false;
    }
    const uint8_t* const body = at_ + 4;
    at_ += length;
    if (id >= kFirstData) {
      if (open_set(id, body, at_, counts)) return true;
    } else if (!learned_) {
      learn(id, body, at_, counts);
    }
  }
  return true;
}

// A set whose template has come at last.
bool NetflowParser::open_waiting(LaneCounts& counts) {
  const uint8_t* kept = nullptr;
  while (const Waiting::Set* set = waiting_.take(kept)) {
    const Template* layout = templates_.find(set->stream, set->waited_for);
    if (!layout) continue;
    if (layout->options) {
      read_options(*layout, kept, kept + set->bytes, false, counts);
      continue;
    }
    Context context;
    context.key = set->stream;
    context.moment = set->moment;
    context.arrival = set->arrival;
    context.domain = &exporters_.domain(set->stream, counts);
    open_data(context, layout, kept, kept + set->bytes);
    of_packet_ = false;
    return true;
  }
  return false;
}

// A data set of the packet. False: there is nothing to read in it now.
bool NetflowParser::open_set(uint16_t id, const uint8_t* body, const uint8_t* end,
                             LaneCounts& counts) {
  const Template* layout = templates_.find(packet_.key, id);
  if (layout && !layout->options) {
    open_data(packet_, layout, body, end);
    return true;
  }
  if (layout) {
    read_options(*layout, body, end, true, counts);
    return false;
  }
  all_known_ = false;
  counts.note(Note::kNoTemplate);
  Waiting::Set set;
  set.stream = packet_.key;
  set.moment = packet_.moment;
  set.arrival = packet_.arrival;
  set.id = set.waited_for = id;
  waiting_.keep(set, body, static_cast<uint32_t>(end - body));
  return false;
}

bool NetflowParser::any_unknown() {
  for (const uint8_t* at = at_; end_ - at >= 4;) {
    const uint16_t id = read_be16(at), length = read_be16(at + 2);
    if (length < 4 || length > end_ - at) return false;
    if (id >= kFirstData && !templates_.find(packet_.key, id)) return true;
    at += length;
  }
  return false;
}

// Data may stand before its template in one packet: then the templates are read first.
void NetflowParser::learn_ahead(LaneCounts& counts) {
  if (!any_unknown()) return;
  learned_ = true;
  for (const uint8_t* at = at_; end_ - at >= 4;) {
    const uint16_t id = read_be16(at), length = read_be16(at + 2);
    if (length < 4 || length > end_ - at) return;
    if (id < kFirstData) learn(id, at + 4, at + length, counts);
    at += length;
  }
}

void NetflowParser::learn(uint16_t set, const uint8_t* at, const uint8_t* end, LaneCounts& counts) {
  const bool is9 = packet_.key.version == 9;
  const uint16_t templates = is9 ? 0 : 2;
  if (set != templates && set != templates + 1) return counts.note(Note::kUnknownMessage);
  while (at != nullptr && end - at >= 4) {
    if (std::all_of(at, end, [](uint8_t byte) { return byte == 0; })) return;  // padding
    at = learn_one(set, at, end, counts);
  }
}

// Where the next one begins; null: what is left cannot be read.
const uint8_t* NetflowParser::learn_one(uint16_t set, const uint8_t* at, const uint8_t* end,
                                        LaneCounts& counts) {
  const bool is9 = packet_.key.version == 9, options = (set & 1) != 0;
  const auto refuse = [&]() -> const uint8_t* {
    counts.note(Note::kUnreadable);
    return nullptr;
  };
  const uint16_t id = read_be16(at);
  uint32_t fields = read_be16(at + 2), scopes = 0;
  at += 4;
  if (!is9 && fields == 0) {  // RFC 7011, 8.1: withdrawn; all of them by the set's own id
    counts.note(Note::kTemplateWithdrawn);
    if (id == set)
      templates_.withdraw_all(packet_.key, options);
    else
      templates_.withdraw(packet_.key, id);
    return at;
  }
  if (options) {
    if (end - at < 2) return refuse();
    const uint32_t second = read_be16(at);
    at += 2;
    if (is9) {  // lengths in bytes: of the scopes, of the options
      scopes = fields / 4;
      fields = scopes + second / 4;
    } else {
      scopes = second;
    }
  }
  if (id < kFirstData) return refuse();
  templates_.begin(packet_.key, id, options);
  for (uint32_t i = 0; i < fields; ++i) {
    if (end - at < 4) return refuse();
    const uint16_t element = read_be16(at), length = read_be16(at + 2);
    at += 4;
    uint32_t enterprise = 0;
    if (!is9 && (element & 0x8000) != 0) {
      if (end - at < 4) return refuse();
      enterprise = read_be32(at);
      at += 4;
    }
    if (is9 && i < scopes)
      templates_.scope(element, length);
    else
      templates_.element(is9 ? element : element & 0x7FFF, length, enterprise);
  }
  bool made_room = false;
  switch (templates_.finish(made_room)) {
    case TemplateTable::Learned::kRefused:
      counts.note(Note::kUnreadable);
      return at;
    case TemplateTable::Learned::kChanged:
      counts.note(Note::kTemplateChanged);
      break;
    case TemplateTable::Learned::kNew:
      waiting_.wake(packet_.key, id);
      break;
    case TemplateTable::Learned::kSame:
      break;
  }
  if (made_room) counts.note(Note::kTableFull);
  return at;
}

// ---------------------------------------------------------------- records
void NetflowParser::open_data(const Context& context, const Template* layout, const uint8_t* at,
                              const uint8_t* end) {
  context_ = context;
  layout_ = layout;
  data_ = at;
  data_end_ = end;
  of_packet_ = true;
  values_.fill(kAbsent);
  values_[kExporter] = context.key.exporter.high;
  values_[kExporter + 1] = context.key.exporter.low;
  values_[kExporterPort] = context.key.port;
  values_[kDomain] = context.key.domain;
  values_[kVersion] = context.key.version;
  values_[kTemplateId] = layout->id;
  values_[kExportTime] = context.moment.exported.ns;
  const TwoWords stream = stream_words(context.key);
  values_[kStream] = stream.high;
  values_[kStream + 1] = stream.low;
  low_is_micros_ = options_.has_micros(context.key.exporter);
}

void NetflowParser::read_options(const Template& layout, const uint8_t* at, const uint8_t* end,
                                 bool of_packet, LaneCounts& counts) {
  Domain& domain = exporters_.domain(layout.stream, counts);
  while (at < end) {
    values_.fill(kAbsent);
    const uint32_t bytes = layout.read(at, end, values_);
    if (bytes == 0) break;
    at += bytes;
    if (of_packet) ++records_;
    if (values_[kSystemInit] != kAbsent) domain.system_init = values_[kSystemInit];
    if (const int64_t rate = rate_said(values_); rate > 0) domain.learn(values_[kSampler], rate);
  }
}

void NetflowParser::read_record(EventBatch& batch, LaneCounts& counts) {
  if (!layout_->fixed || layout_->both)
    std::fill(values_.begin(), values_.begin() + kExporter, kAbsent);
  const uint32_t bytes = layout_->read(data_, data_end_, values_);
  if (bytes == 0) {  // padding, or a record that is cut
    data_ = data_end_;
    return;
  }
  data_ += bytes;
  if (of_packet_) ++records_;
  complete(counts);
  if (pieces_ == 0) emit(choose_time(counts), batch, counts);
}

// What follows from the record's values.
void NetflowParser::complete(LaneCounts& counts) {
  const int64_t rate = sampling_rate(counts);
  values_[kSampling] = rate > 0 ? rate : kAbsent;
  if (options_.multiply && rate > 1)
    for (const uint8_t slot : {kBytes, kPackets, kBytesOut, kPacketsOut})
      if (values_[slot] > 0 && __builtin_mul_overflow(values_[slot], rate, &values_[slot]))
        values_[slot] = INT64_MAX;
  if (values_[kFlows] == kAbsent) values_[kFlows] = 1;
  if (values_[kIcmpType] != kAbsent && values_[kIcmpCode] != kAbsent)
    values_[kIcmpBoth] = (values_[kIcmpType] & 0xFF) << 8 | (values_[kIcmpCode] & 0xFF);
  const int64_t init =
      values_[kSystemInit] != kAbsent ? values_[kSystemInit] : context_.domain->system_init;
  EventTime end = time_of(values_, kEndUptime, context_.moment, init, low_is_micros_);
  EventTime start = time_of(values_, kStartUptime, context_.moment, init, low_is_micros_);
  if (!end.is_point() && !start.is_point()) end = start = observed(values_, low_is_micros_);
  const Duration lasted = duration_said(values_);
  if (lasted.ns >= 0 && !end.is_point()) end = later(start, lasted);
  if (lasted.ns >= 0 && !start.is_point()) start = earlier(end, lasted);
  values_[kStart] = start.is_point() ? start.ns : kAbsentNumber;
  values_[kEnd] = end.is_point() ? end.ns : kAbsentNumber;
  values_[kDuration] = kAbsent;
  pieces_ = piece_ = 0;
  if (!start.is_point() || !end.is_point()) return;
  int64_t duration = 0;
  if (end < start || __builtin_sub_overflow(end.ns, start.ns, &duration))
    return counts.note(Note::kReversed);
  values_[kDuration] = duration;
  if (options_.spread.ns > 0 && duration > 0) share_out(counts);
}

int64_t NetflowParser::sampling_rate(LaneCounts& counts) const {
  int64_t rate = rate_said(values_);
  if (rate == 0) rate = context_.domain->rate_of(values_[kSampler]);
  if (rate == 0) rate = context_.header_rate;
  if (rate == 0 && options_.multiply) counts.note(Note::kNoSampling);
  return rate;
}

EventTime NetflowParser::choose_time(LaneCounts& counts) const {
  int64_t time = kAbsentNumber;
  switch (options_.time) {
    case FlowTime::kEnd:
      time = values_[kEnd];
      break;
    case FlowTime::kStart:
      time = values_[kStart];
      break;
    case FlowTime::kExport:
      return context_.moment.exported;
    case FlowTime::kArrival:
      if (context_.arrival.is_point()) return context_.arrival;
      break;
  }
  if (time != kAbsentNumber) return {time};
  counts.note(Note::kTimeFallback);
  return context_.moment.exported;
}

// ---------------------------------------------------------------- a flow over its intervals
//
//   intervals   |          |          |          |
//   flow             [============================]
//   pieces           [=====|==========|===========]     shares by time, their sum is the whole
//
// A piece's time is the flow's own where it begins or ends, else the edge of its interval: with
// flow_start the first, with flow_end the last nanosecond.
void NetflowParser::share_out(LaneCounts& counts) {
  const int64_t width = options_.spread.ns;
  const int64_t first = floor_div(values_[kStart], width), last = floor_div(values_[kEnd], width);
  if (first == last) return;
  if (last - first >= kPiecesMax) return counts.note(Note::kTooDeep);
  first_interval_ = first;
  pieces_ = last - first + 1;
  for (uint32_t i = 0; i < kShared.size(); ++i) whole_[i] = values_[kShared[i]];
}

void NetflowParser::emit_piece(EventBatch& batch, LaneCounts& counts) {
  const int64_t width = options_.spread.ns, start = values_[kStart], end = values_[kEnd];
  const auto edge = [&](int64_t piece) {  // where it begins, within the flow
    return std::clamp((first_interval_ + piece) * width, start, end);
  };
  const int64_t from = edge(piece_), to = piece_ + 1 == pieces_ ? end : edge(piece_ + 1);
  // The share up to a moment, rounded down, of numbers that a product of 128 bits holds.
  const auto share = [&](int64_t whole, int64_t at) {
    return static_cast<int64_t>(static_cast<int128>(whole) * (at - start) / (end - start));
  };
  for (uint32_t i = 0; i < kShared.size(); ++i)
    if (whole_[i] > 0) values_[kShared[i]] = share(whole_[i], to) - share(whole_[i], from);
  const bool is_last = piece_ + 1 == pieces_;
  const bool by_start = options_.time == FlowTime::kStart;
  const EventTime time{by_start ? from : is_last ? end : to - 1};
  ++piece_;
  emit(time, batch, counts);
  if (!is_last) return;
  for (uint32_t i = 0; i < kShared.size(); ++i) values_[kShared[i]] = whole_[i];
  pieces_ = piece_ = 0;
}

void NetflowParser::emit(EventTime time, EventBatch& batch, LaneCounts& counts) {
  const uint32_t n = batch.count;
  append(time, context_.arrival, columns_.partition(values_.data()), batch, counts);
  if (batch.count > n) columns_.write(values_.data(), batch, n);
}

}  // namespace tidewire::flow
