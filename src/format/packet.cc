// Two passes over a burst. The first finds where the headers of each packet stand (headers.h); the
// second writes one column after the other, only those that a query uses, each in a loop of its
// own. So a query pays for the columns that it names, and a new field is one line in kFields.

#include "format/packet.h"

#include <utility>

#include "base/check.h"
#include "format/bytes.h"
#include "format/columns.h"
#include "format/headers.h"
#include "query/flow_key.h"

namespace tidewire {
namespace {

TwoWords flow(const Headers& h) {
  if (h.ip == kNowhere || h.protocol == kAbsent) return {kAbsent, kAbsent};
  const uint16_t source_port = h.has_ports ? read_be16(h.at(h.transport)) : uint16_t{0};
  const uint16_t target_port = h.has_ports ? read_be16(h.at(h.transport) + 2) : uint16_t{0};
  const auto protocol = static_cast<uint8_t>(h.protocol);
  const uint8_t* source = h.at(h.source);
  const uint8_t* target = h.at(h.target);
  FlowKey key;
  if (h.ip_version == 4) {
    key = flow_key_ipv4({0, read_be32(source), source_port}, {0, read_be32(target), target_port},
                        protocol, h.has_ports);
  } else {
    key = flow_key_ipv6({read_be64(source), read_be64(source + 8), source_port},
                        {read_be64(target), read_be64(target + 8), target_port}, protocol,
                        h.has_ports);
  }
  return {key.high, key.low};
}

// The IPv4 type of service or the IPv6 traffic class: DSCP 6 bits, ECN 2 (RFC 2474, RFC 3168).
uint32_t traffic_class(const Headers& h) {
  return h.ip_version == 4 ? h.at(h.ip)[1] : read_be16(h.at(h.ip)) >> 4 & 0xFFu;
}

using H = const Headers&;
constexpr auto kInteger = FieldType::kInteger;

// name, type, words, bits, decimals, may be absent, help
const ItemField<Headers> kFields[] = {
    {{"src", FieldType::kAddress, 2, 63, 0, true, "source address; IPv4, IPv6, or ARP's sender"},
     fill<[](H h) { return h.address_at(h.source); }>},
    {{"dst", FieldType::kAddress, 2, 63, 0, true, "destination address; ARP: the target"},
     fill<[](H h) { return h.address_at(h.target); }>},
    {{"src_port", kInteger, 1, 16, 0, true, "source port: TCP, UDP, SCTP, not in later fragments"},
     fill<[](H h) { return h.has_ports ? int64_t{read_be16(h.at(h.transport))} : kAbsent; }>},
    {{"dst_port", kInteger, 1, 16, 0, true, "destination port, as src_port"},
     fill<[](H h) { return h.has_ports ? int64_t{read_be16(h.at(h.transport) + 2)} : kAbsent; }>},
    {{"protocol", FieldType::kProtocol, 1, 8, 0, true,
      "IP protocol, behind IPv6 extension headers"},
     fill<[](H h) { return int64_t{h.protocol}; }>},
    {{"flow", FieldType::kFlow, 2, 63, 0, true,
      "addresses, ports and protocol, the same for both directions"},
     fill<flow>},
    {{"wire_length", kInteger, 1, kLengthBits, 0, false, "bytes of the frame on the wire"},
     fill<[](H h) { return int64_t{h.wire_length}; }>},
    {{"captured_length", kInteger, 1, kLengthBits, 0, false,
      "bytes of the frame that were captured"},
     fill<[](H h) { return int64_t{h.captured_length}; }>},
    {{"ip_length", kInteger, 1, kLengthBits, 0, true, "bytes of the IP packet, header included"},
     fill<[](H h) { return int64_t{h.ip_length}; }>},
    {{"payload_length", kInteger, 1, kLengthBits, 0, true,
      "bytes behind the transport header, as the headers say"},
     fill<[](H h) { return int64_t{h.payload_length}; }>},
    {{"ethertype", FieldType::kEthertype, 1, 16, 0, true, "what the frame holds, behind VLAN tags"},
     fill<[](H h) { return int64_t{h.ethertype}; }>},
    {{"vlan", kInteger, 1, 12, 0, true, "VLAN id of the outermost tag"},
     fill<[](H h) { return int64_t{h.vlan}; }>},
    {{"vlan_inner", kInteger, 1, 12, 0, true, "VLAN id of the second tag"},
     fill<[](H h) { return int64_t{h.vlan_inner}; }>},
    {{"mpls", kInteger, 1, 20, 0, true, "outermost MPLS label"},
     fill<[](H h) { return int64_t{h.mpls}; }>},
    {{"src_mac", FieldType::kMac, 1, 48, 0, true, "source MAC address"}, fill<[](H h) {
       return h.source_mac != kNowhere ? static_cast<int64_t>(read_be48(h.at(h.source_mac)))
                                       : kAbsent;
     }>},
    {{"dst_mac", FieldType::kMac, 1, 48, 0, true, "destination MAC address"}, fill<[](H h) {
       return h.target_mac != kNowhere ? static_cast<int64_t>(read_be48(h.at(h.target_mac)))
                                       : kAbsent;
     }>},
    {{"ip_version", kInteger, 1, 3, 0, true, "4 or 6"},
     fill<[](H h) { return h.ip_version != 0 ? int64_t{h.ip_version} : kAbsent; }>},
    {{"dscp", kInteger, 1, 6, 0, true, "differentiated services code point"},
     fill<[](H h) { return h.ip != kNowhere ? int64_t{traffic_class(h) / 4} : kAbsent; }>},
    {{"ecn", kInteger, 1, 2, 0, true, "explicit congestion notification: 3 is congested"},
     fill<[](H h) { return h.ip != kNowhere ? int64_t{traffic_class(h) % 4} : kAbsent; }>},
    {{"ttl", kInteger, 1, 8, 0, true, "IPv4 time to live, IPv6 hop limit"}, fill<[](H h) {
       return h.ip != kNowhere ? int64_t{h.at(h.ip)[h.ip_version == 4 ? 8 : 7]} : kAbsent;
     }>},
    {{"fragment", kInteger, 1, 2, 0, true, "0 whole, 1 first fragment, 2 later fragment"},
     fill<[](H h) { return h.ip != kNowhere ? static_cast<int64_t>(h.fragment) : kAbsent; }>},
    {{"tcp_flags", FieldType::kFlags, 1, 8, 0, true, "TCP flags: CWR ECE URG ACK PSH RST SYN FIN"},
     fill<[](H h) { return h.has_tcp_flags ? int64_t{h.at(h.transport)[13]} : kAbsent; }>},
    {{"icmp_type", kInteger, 1, 8, 0, true, "type of ICMP or ICMPv6"},
     fill<[](H h) { return h.has_icmp ? int64_t{h.at(h.transport)[0]} : kAbsent; }>},
    {{"icmp_code", kInteger, 1, 8, 0, true, "code of ICMP or ICMPv6"},
     fill<[](H h) { return h.has_icmp ? int64_t{h.at(h.transport)[1]} : kAbsent; }>},
    {{"arp_operation", kInteger, 1, 16, 0, true, "1 request, 2 reply"},
     fill<[](H h) { return int64_t{h.arp_operation}; }>},
    {{"interface", kInteger, 1, 16, 0, false, "index of the capture's interface, or of the port"},
     fill<[](H h) { return int64_t{h.interface}; }>},
};
static_assert(std::size(kFields) <= kFieldMax);

class PacketParser final : public Parser {
 public:
  PacketParser(const ParserOptions& options, const ColumnMap& columns)
      : lane_(options.lane), writer_(kFields, options, columns) {}

  void begin(const Burst& burst) override {
    CHECK(burst.count <= kBurstMax);
    burst_ = &burst;
  }

  // A packet is at most one event, so a burst always fits one batch.
  bool next(EventBatch& batch, LaneCounts& counts) override {
    static_assert(kBurstMax <= kBatchMax);
    batch.lane = lane_;
    batch.ordinal = ordinal_;
    batch.count = 0;
    if (burst_ == nullptr) return false;
    const Burst& burst = *std::exchange(burst_, nullptr);
    batch.count = read_burst(burst, batch, counts);
    writer_.write(packet_.data(), batch, counts);
    ordinal_ = Ordinal{index_of(ordinal_) + batch.count};
    return false;
  }

  bool partition_value(PartitionId id, std::array<int64_t, 2>& words) const override {
    return writer_.partition_value(id, words);
  }

 private:
  uint32_t read_burst(const Burst& burst, EventBatch& batch, LaneCounts& counts) {
    constexpr uint32_t kAhead = 6;  // packets whose first line is asked for before it is needed
    uint32_t events = 0;
    uint64_t taken = 0;
    for (uint32_t i = 0; i < burst.count; ++i) {
      if (i + kAhead < burst.count) __builtin_prefetch(burst.data[i + kAhead]);
      const EventTime time = burst.arrival[i];
      if (!time.is_point()) {
        counts.drop(DropReason::kNoTime);
        continue;
      }
      Headers& headers = packet_[events];
      if (const auto reason = read_headers(burst.link[i], burst.data[i], burst.length[i],
                                           burst.wire_length[i], headers, counts)) {
        counts.drop(*reason);
        continue;
      }
      headers.interface = burst.interface[i];
      ++taken;
      if (!is_usable(time)) continue;
      if (events == 0) batch.first = Position{index_of(burst.first) + i};
      batch.time[events] = batch.arrival[events] = time;
      ++events;
    }
    counts.packets_parsed += taken;
    counts.events += taken;
    counts.ended.out_of_range += taken - events;
    counts.ended.passed_on += events;
    return events;
  }

  LaneId lane_;
  ColumnWriter<Headers> writer_;
  const Burst* burst_ = nullptr;
  Ordinal ordinal_{};
  alignas(64) std::array<Headers, kBurstMax> packet_;
};

class PacketFormat final : public Format {
 public:
  const Schema& schema() const override { return schema_; }
  std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                      const ColumnMap& columns) const override {
    return std::make_unique<PacketParser>(options, columns);
  }

 private:
  const Schema schema_ = schema_of<Headers>("packet", kFields);
};

}  // namespace

absl::StatusOr<FormatPtr> open_packet_format(const FormatOptions&) {
  return std::make_unique<PacketFormat>();
}

}  // namespace tidewire
