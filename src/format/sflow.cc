// Layout, XDR: big-endian words of 4 bytes, what is shorter is padded.
//
//   version 5 | address type, address | sub agent | sequence | uptime ms | samples
//   sample    enterprise 20, format 12 | length | ...
//     1 flow       sequence | source | rate | pool | drops | in | out | records
//     3 expanded   sequence | source 2 | rate | pool | drops | in 2 | out 2 | records
//     2 counters   sequence | source | records            4 expanded: source 2
//   record    enterprise 20, format 12 | length | ...
//
// Source: "sFlow Version 5" (sflow.org, sflow_version_5.txt), sections 4 and 5.

#include "format/sflow.h"

#include "format/datagram.h"
#include "format/flow_exporters.h"
#include "format/message_parser.h"

namespace tidewire {
namespace {

constexpr uint32_t kFlow = 1, kCounters = 2, kFlowExpanded = 3, kCountersExpanded = 4;
// Records of flow samples, and the one of counters that every agent has.
constexpr uint32_t kRawHeader = 1, kEthernet = 2, kIpv4 = 3, kIpv6 = 4, kSwitch = 1001,
                   kRouter = 1002, kGateway = 1003, kInterface = 1;
constexpr uint32_t kProtocolEthernet = 1, kProtocolIpv4 = 11, kProtocolIpv6 = 12;
constexpr uint32_t kInterfaceBytes = 88;

// A sample and where its parts stand; null or absent: it has none.
struct Sample {
  bool is_counter = false;
  int64_t source = kAbsent;
  int64_t rate = kAbsent, factor = 1;
  int64_t drops = kAbsent, in_if = kAbsent, out_if = kAbsent;
  int64_t frame_length = kAbsent;
  int64_t src_vlan = kAbsent, dst_vlan = kAbsent;
  int64_t src_as = kAbsent, dst_as = kAbsent;
  TwoWords next_hop{kAbsent, kAbsent};
  Headers header;                      // of the sampled packet; frame null: none
  const uint8_t* addresses = nullptr;  // of a record kIpv4 or kIpv6, where there is no header
  bool addresses_are_ipv6 = false;
  const uint8_t* counters = nullptr;  // kInterfaceBytes
  // Of the datagram.
  TwoWords agent{kAbsent, kAbsent};
  int64_t sub_agent = 0, sequence = 0;
};

using S = const Sample&;
constexpr auto kInteger = FieldType::kInteger;

int64_t word_at(const uint8_t* at) { return read_be32(at); }
// A counter of an agent that does not have it is all ones.
int64_t counter32(S s, uint32_t at) {
  if (s.counters == nullptr) return kAbsent;
  const uint32_t value = read_be32(s.counters + at);
  return value == UINT32_MAX ? kAbsent : int64_t{value};
}
int64_t counter64(S s, uint32_t at) {
  if (s.counters == nullptr) return kAbsent;
  const uint64_t value = read_be64(s.counters + at);
  return value > uint64_t{INT64_MAX} ? kAbsent : static_cast<int64_t>(value);
}
// Unicast, multicast and broadcast packets.
int64_t packets(S s, uint32_t at) {
  int64_t sum = kAbsent;
  for (uint32_t i = 0; i < 3; ++i)
    if (const int64_t n = counter32(s, at + 4 * i); n != kAbsent)
      sum = sum == kAbsent ? n : sum + n;
  return sum;
}

TwoWords mapped(uint32_t address) { return {0, int64_t{0xFFFF} << 32 | address}; }
TwoWords ipv6_at(const uint8_t* at) {
  return {static_cast<int64_t>(read_be64(at)), static_cast<int64_t>(read_be64(at + 8))};
}
// `which`: 0 the source's, 1 the target's.
TwoWords address(S s, uint32_t which) {
  if (s.header.frame != nullptr)
    return s.header.address_at(which == 0 ? s.header.source : s.header.target);
  if (s.addresses == nullptr) return {kAbsent, kAbsent};
  const uint8_t* const at = s.addresses + 8;  // behind length and protocol
  return s.addresses_are_ipv6 ? ipv6_at(at + 16 * which) : mapped(read_be32(at + 4 * which));
}
// Ports, flags and class of a record kIpv4 or kIpv6 stand behind its addresses.
int64_t behind_addresses(S s, uint32_t at) {
  return s.addresses == nullptr ? kAbsent
                                : word_at(s.addresses + (s.addresses_are_ipv6 ? 40 : 16) + at);
}
int64_t port(S s, uint32_t which) {
  if (s.header.frame == nullptr) return behind_addresses(s, 4 * which);
  return s.header.has_ports ? int64_t{read_be16(s.header.at(s.header.transport) + 2 * which)}
                            : kAbsent;
}
int64_t mac(S s, uint16_t place) {
  return s.header.frame != nullptr && place != kNowhere
             ? static_cast<int64_t>(read_be48(s.header.at(place)))
             : kAbsent;
}

// name, type, words, bits, decimals, may be absent, help
const ItemField<Sample> kFields[] = {
    {{"src", FieldType::kAddress, 2, 63, 0, true, "source address of the sampled packet"},
     fill<[](S s) { return address(s, 0); }>},
    {{"dst", FieldType::kAddress, 2, 63, 0, true, "its destination address"},
     fill<[](S s) { return address(s, 1); }>},
    {{"src_port", kInteger, 1, 32, 0, true, "its source port"},
     fill<[](S s) { return port(s, 0); }>},
    {{"dst_port", kInteger, 1, 32, 0, true, "its destination port"},
     fill<[](S s) { return port(s, 1); }>},
    {{"protocol", FieldType::kProtocol, 1, 32, 0, true, "its IP protocol"}, fill<[](S s) {
       if (s.header.frame != nullptr) return int64_t{s.header.protocol};
       return s.addresses != nullptr ? word_at(s.addresses + 4) : kAbsent;
     }>},
    {{"tcp_flags", FieldType::kFlags, 1, 32, 0, true, "its TCP flags"}, fill<[](S s) {
       if (s.header.frame == nullptr)
         return behind_addresses(s, 0) == kAbsent || word_at(s.addresses + 4) != kTcp
                    ? kAbsent
                    : behind_addresses(s, 8);
       return s.header.has_tcp_flags ? int64_t{s.header.at(s.header.transport)[13]} : kAbsent;
     }>},
    {{"ethertype", FieldType::kEthertype, 1, 16, 0, true, "its Ethernet type"},
     fill<[](S s) { return s.header.frame != nullptr ? int64_t{s.header.ethertype} : kAbsent; }>},
    {{"vlan", kInteger, 1, 16, 0, true,
      "its VLAN; where its header has none, what the switch says"},
     fill<[](S s) {
       if (s.header.frame != nullptr && s.header.vlan != kAbsent) return int64_t{s.header.vlan};
       return s.src_vlan;
     }>},
    {{"dst_vlan", kInteger, 1, 32, 0, true, "VLAN on which the switch sent it on"},
     fill<[](S s) { return s.dst_vlan; }>},
    {{"src_mac", FieldType::kMac, 1, 48, 0, true, "its source MAC address"},
     fill<[](S s) { return mac(s, s.header.source_mac); }>},
    {{"dst_mac", FieldType::kMac, 1, 48, 0, true, "its destination MAC address"},
     fill<[](S s) { return mac(s, s.header.target_mac); }>},
    {{"bytes", kInteger, 1, 63, 0, true,
      "length of the sampled frame; times the sampling rate where `sampling` says so"},
     fill<[](S s) { return s.frame_length == kAbsent ? kAbsent : s.frame_length * s.factor; }>},
    {{"packets", kInteger, 1, 32, 0, true, "1 a flow sample; as `bytes`"},
     fill<[](S s) { return s.is_counter ? kAbsent : s.factor; }>},
    {{"frame_length", kInteger, 1, 32, 0, true, "length of the sampled frame on the wire"},
     fill<[](S s) { return s.frame_length; }>},
    {{"sampling", kInteger, 1, 32, 0, true, "sampling rate, one of so many packets"},
     fill<[](S s) { return s.rate; }>},
    {{"drops", kInteger, 1, 32, 0, true, "samples that the agent lost so far"},
     fill<[](S s) { return s.drops; }>},
    {{"in_if", kInteger, 1, 32, 0, true, "interface on which it came"},
     fill<[](S s) { return s.in_if; }>},
    {{"out_if", kInteger, 1, 32, 0, true, "interface on which it left"},
     fill<[](S s) { return s.out_if; }>},
    {{"next_hop", FieldType::kAddress, 2, 63, 0, true, "next hop, by the agent's router"},
     fill<[](S s) { return s.next_hop; }>},
    {{"src_as", kInteger, 1, 32, 0, true, "autonomous system of the source"},
     fill<[](S s) { return s.src_as; }>},
    {{"dst_as", kInteger, 1, 32, 0, true, "autonomous system of the destination"},
     fill<[](S s) { return s.dst_as; }>},
    {{"if_index", kInteger, 1, 32, 0, true, "counter samples: the interface"},
     fill<[](S s) { return counter32(s, 0); }>},
    {{"if_speed", kInteger, 1, 63, 0, true, "its speed, bits a second"},
     fill<[](S s) { return counter64(s, 8); }>},
    {{"in_octets", kInteger, 1, 63, 0, true, "octets received, as counted since its start"},
     fill<[](S s) { return counter64(s, 24); }>},
    {{"in_packets", kInteger, 1, 34, 0, true, "packets received"},
     fill<[](S s) { return packets(s, 32); }>},
    {{"in_discards", kInteger, 1, 32, 0, true, "packets received and thrown away"},
     fill<[](S s) { return counter32(s, 44); }>},
    {{"in_errors", kInteger, 1, 32, 0, true, "damaged packets received"},
     fill<[](S s) { return counter32(s, 48); }>},
    {{"out_octets", kInteger, 1, 63, 0, true, "octets sent"},
     fill<[](S s) { return counter64(s, 56); }>},
    {{"out_packets", kInteger, 1, 34, 0, true, "packets sent"},
     fill<[](S s) { return packets(s, 64); }>},
    {{"out_discards", kInteger, 1, 32, 0, true, "packets thrown away before they were sent"},
     fill<[](S s) { return counter32(s, 76); }>},
    {{"out_errors", kInteger, 1, 32, 0, true, "packets that could not be sent"},
     fill<[](S s) { return counter32(s, 80); }>},
    {{"counter_sample", kInteger, 1, 1, 0, false, "1: a counter sample, 0: a flow sample"},
     fill<[](S s) { return int64_t{s.is_counter}; }>},
    {{"source", kInteger, 1, 32, 0, false, "data source within the agent, its type left off"},
     fill<[](S s) { return s.source; }>},
    {{"agent", FieldType::kAddress, 2, 63, 0, true, "the agent, as it calls itself"},
     fill<[](S s) { return s.agent; }>},
    {{"sub_agent", kInteger, 1, 32, 0, false, "its part that sent this"},
     fill<[](S s) { return s.sub_agent; }>},
    {{"sequence", kInteger, 1, 32, 0, false, "number of the datagram"},
     fill<[](S s) { return s.sequence; }>},
};

class SflowParser final : public MessageParser<SflowParser, Sample> {
 public:
  SflowParser(const ParserOptions& options, const ColumnMap& columns, bool multiply)
      : MessageParser(options, {kFields, options, columns}), multiply_(multiply), agents_(1024) {}

  void open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts);
  void read_packet(EventBatch& batch, LaneCounts& counts);

 private:
  bool take_words(uint32_t words, const uint8_t*& at, const uint8_t* end, LaneCounts& counts) const;
  void read_sample(uint32_t format, const uint8_t* at, const uint8_t* end, EventBatch& batch,
                   LaneCounts& counts);
  void read_flow_record(uint32_t format, const uint8_t* at, uint32_t bytes, Sample& sample,
                        LaneCounts& counts) const;
  void read_raw_header(const uint8_t* at, uint32_t bytes, Sample& sample, LaneCounts& counts) const;

  bool multiply_;
  flow::KeyedTable<flow::Stream> agents_;
  Fragments fragments_;

  // The open datagram.
  EventTime arrival_{};
  TwoWords agent_{};
  int64_t sub_agent_ = 0, sequence_ = 0;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint32_t left_ = 0;  // samples
  bool cut_ = false;
};

// An address with its type before it; behind it, or null where it is cut or of no known kind.
const uint8_t* take_address(const uint8_t* at, const uint8_t* end, TwoWords& out) {
  if (end - at < 4) return nullptr;
  const uint32_t type = read_be32(at), bytes = type == 1 ? 4 : type == 2 ? 16 : 0;
  at += 4;
  out = {kAbsent, kAbsent};
  if (type > 2 || end - at < bytes) return nullptr;
  if (bytes > 0) out = bytes == 4 ? mapped(read_be32(at)) : ipv6_at(at);
  return at + bytes;
}

void SflowParser::open_packet(uint32_t i, EventBatch&, LaneCounts& counts) {
  Datagram datagram;
  if (const auto reason = read_datagram(burst(), i, datagram, counts, &fragments_)) {
    counts.drop(*reason);
    return;
  }
  if (datagram.at == nullptr) {
    ++counts.packets_parsed;
    return;
  }
  const uint8_t* at = datagram.at;
  end_ = datagram.end;
  cut_ = datagram.cut;
  if (end_ - at < 8) {
    counts.drop(DropReason::kTruncated);
    return;
  }
  if (read_be32(at) != 5) {
    counts.drop(DropReason::kNotThisFormat);
    return;
  }
  at = take_address(at + 4, end_, agent_);
  if (at == nullptr || end_ - at < 16) {
    counts.drop(DropReason::kTruncated);
    return;
  }
  sub_agent_ = word_at(at);
  sequence_ = word_at(at + 4);
  const uint32_t uptime = read_be32(at + 8);
  left_ = read_be32(at + 12);
  at_ = at + 16;
  arrival_ = burst().arrival[i];
  flow::StreamKey key;
  key.exporter = agent_;
  key.domain = static_cast<uint32_t>(sub_agent_);
  const int64_t words[4] = {agent_.high, agent_.low, sub_agent_, 0};
  flow::Stream& stream = agents_.find(
      key, hash_words<4>(words, HashSeed{}), [&](const flow::StreamKey& k) { return k == key; },
      counts);
  if (stream.restarts(uptime)) counts.note(Note::kRestart);
  const auto sequence = static_cast<uint32_t>(sequence_);
  if (!stream.sequence.take(sequence, flow::content_of(datagram.at, end_), counts)) {
    counts.drop(DropReason::kDuplicate);
    return;
  }
  stream.sequence.expect(sequence + 1);
  ++counts.packets_parsed;
  open_ = true;
}

void SflowParser::read_packet(EventBatch& batch, LaneCounts& counts) {
  while (left_ > 0 && !is_full(batch)) {
    const auto there = static_cast<size_t>(end_ - at_);
    const uint32_t format = there >= 8 ? read_be32(at_) : 0;
    const uint32_t length = there >= 8 ? read_be32(at_ + 4) : 0;
    if (there < 8 || length > there - 8) {
      counts.note(cut_ ? Note::kTruncatedHeader : Note::kBadLength);
      left_ = 0;
      break;
    }
    read_sample(format, at_ + 8, at_ + 8 + length, batch, counts);
    at_ += 8 + length;
    --left_;
  }
  if (left_ == 0) open_ = false;
}

bool SflowParser::take_words(uint32_t words, const uint8_t*& at, const uint8_t* end,
                             LaneCounts& counts) const {
  if (end - at < std::ptrdiff_t{4} * words) {
    counts.note(Note::kUnreadable);
    return false;
  }
  at += 4 * words;
  return true;
}

void SflowParser::read_sample(uint32_t format, const uint8_t* at, const uint8_t* end,
                              EventBatch& batch, LaneCounts& counts) {
  const bool is_flow = format == kFlow || format == kFlowExpanded;
  if (!is_flow && format != kCounters && format != kCountersExpanded)
    return counts.note(Note::kUnknownMessage);
  const bool expanded = format == kFlowExpanded || format == kCountersExpanded;
  const uint8_t* const head = at;
  if (!take_words(is_flow ? (expanded ? 11 : 8) : (expanded ? 4 : 3), at, end, counts)) return;
  Sample sample;
  sample.is_counter = !is_flow;
  sample.agent = agent_;
  sample.sub_agent = sub_agent_;
  sample.sequence = sequence_;
  sample.source = expanded ? word_at(head + 8) : word_at(head + 4) & 0xFFFFFF;
  if (is_flow) {
    const uint8_t* const rest = head + (expanded ? 12 : 8);
    sample.rate = word_at(rest);
    sample.drops = word_at(rest + 8);
    // Of the short form the two top bits say what else the number could be: dropped, or several.
    sample.in_if = expanded ? word_at(rest + 16) : word_at(rest + 12) & 0x3FFFFFFF;
    sample.out_if = expanded ? word_at(rest + 24) : word_at(rest + 16) & 0x3FFFFFFF;
    if (sample.rate == 0 && multiply_) counts.note(Note::kNoSampling);
    if (multiply_ && sample.rate > 0) sample.factor = sample.rate;
  }
  for (uint32_t records = read_be32(at - 4); records > 0; --records) {
    if (end - at < 8) {
      counts.note(Note::kBadLength);
      break;
    }
    const uint32_t kind = read_be32(at), length = read_be32(at + 4);
    at += 8;
    if (length > static_cast<size_t>(end - at)) {
      counts.note(Note::kBadLength);
      break;
    }
    if (is_flow)
      read_flow_record(kind, at, length, sample, counts);
    else if (kind == kInterface && length >= kInterfaceBytes)
      sample.counters = at;
    // What agents forget to pad is read all the same: the next record begins behind it.
    at += std::min<size_t>((length + 3) & ~size_t{3}, static_cast<size_t>(end - at));
  }
  append(arrival_, arrival_, sample, batch, counts);
}

void SflowParser::read_flow_record(uint32_t format, const uint8_t* at, uint32_t bytes,
                                   Sample& sample, LaneCounts& counts) const {
  switch (format) {
    case kRawHeader:
      return read_raw_header(at, bytes, sample, counts);
    case kEthernet:
      if (bytes >= 4 && sample.frame_length == kAbsent) sample.frame_length = word_at(at);
      return;
    case kIpv4:
    case kIpv6:
      if (bytes < (format == kIpv4 ? 32u : 56u)) return counts.note(Note::kUnreadable);
      sample.addresses = at;
      sample.addresses_are_ipv6 = format == kIpv6;
      if (sample.frame_length == kAbsent) sample.frame_length = word_at(at);
      return;
    case kSwitch:
      if (bytes < 16) return counts.note(Note::kUnreadable);
      sample.src_vlan = word_at(at);
      sample.dst_vlan = word_at(at + 8);
      return;
    case kRouter:
      if (take_address(at, at + bytes, sample.next_hop) == nullptr) counts.note(Note::kUnreadable);
      return;
    case kGateway: {
      // Next hop | AS of the router | of the source | of its peer | path to the destination: its
      // segments, the last AS of the last one being the destination's.
      TwoWords hop{};
      const uint8_t* const end = at + bytes;
      const uint8_t* rest = take_address(at, end, hop);
      if (rest == nullptr || end - rest < 16) return counts.note(Note::kUnreadable);
      sample.src_as = word_at(rest + 4);
      uint32_t segments = read_be32(rest + 12);
      for (rest += 16; segments > 0 && end - rest >= 8; --segments) {
        const uint32_t length = read_be32(rest + 4);
        rest += 8;
        if (length > static_cast<size_t>(end - rest) / 4) return counts.note(Note::kUnreadable);
        rest += size_t{4} * length;
        if (length > 0) sample.dst_as = word_at(rest - 4);
      }
      return;
    }
    default:
      return;
  }
}

void SflowParser::read_raw_header(const uint8_t* at, uint32_t bytes, Sample& sample,
                                  LaneCounts& counts) const {
  if (bytes < 16) return counts.note(Note::kUnreadable);
  const uint32_t protocol = read_be32(at), length = read_be32(at + 12);
  sample.frame_length = word_at(at + 4);
  LinkType link{};
  switch (protocol) {
    case kProtocolEthernet:
      link = LinkType::kEthernet;
      break;
    case kProtocolIpv4:
      link = LinkType::kIpv4;
      break;
    case kProtocolIpv6:
      link = LinkType::kIpv6;
      break;
    default:
      return counts.note(Note::kUnknownProtocol);
  }
  // Samples are cut as a rule: what lacks is no fault of theirs.
  LaneCounts unseen;
  const uint32_t there = std::min(length, bytes - 16);
  const auto on_wire = std::max(there, static_cast<uint32_t>(sample.frame_length));
  if (read_headers(link, reinterpret_cast<const std::byte*>(at + 16), there, on_wire, sample.header,
                   unseen)) {
    sample.header = {};
    counts.note(Note::kUnreadable);
  }
}

class SflowFormat final : public Format {
 public:
  explicit SflowFormat(bool multiply) : multiply_(multiply) {}
  const Schema& schema() const override { return schema_; }
  std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                      const ColumnMap& columns) const override {
    return std::make_unique<SflowParser>(options, columns, multiply_);
  }

 private:
  const Schema schema_ = schema_of<Sample>("sflow", kFields);
  const bool multiply_;
};

}  // namespace

absl::StatusOr<FormatPtr> open_sflow_format(const FormatOptions& options) {
  return std::make_unique<SflowFormat>(options.multiply_sampling);
}

}  // namespace tidewire
