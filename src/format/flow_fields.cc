#include "format/flow_fields.h"

namespace tidewire::flow {
namespace {

constexpr auto kInteger = FieldType::kInteger;
constexpr auto kAddress = FieldType::kAddress;

Field number(std::string_view name, uint8_t bits, std::string_view help) {
  return {name, kInteger, 1, bits, 0, true, help};
}
Field address(std::string_view name, std::string_view help) {
  return {name, kAddress, 2, 63, 0, true, help};
}
Field moment(std::string_view name, std::string_view help) {
  Field field{name, FieldType::kTime, 1, 63, 0, true, help};
  field.absent = kAbsentNumber;
  return field;
}

}  // namespace

std::vector<ValueField> flow_fields(const std::vector<OwnElement>& own) {
  std::vector<ValueField> fields = {
      {address("src", "source address"), kSrc},
      {address("dst", "destination address"), kDst},
      {number("src_port", 16, "source port"), kSrcPort},
      {number("dst_port", 16, "destination port"), kDstPort},
      {{"protocol", FieldType::kProtocol, 1, 8, 0, true, "IP protocol"}, kProtocol},
      {{"tcp_flags", FieldType::kFlags, 1, 16, 0, true, "TCP flags, all that were seen"},
       kTcpFlags},
      {number("tos", 8, "type of service or traffic class"), kTos},
      {number("bytes", 63, "octets of the flow; times the sampling rate where `sampling` says so"),
       kBytes},
      {number("packets", 63, "packets of the flow; as `bytes`"), kPackets},
      {{"flows", kInteger, 1, 63, 0, false, "flows in the record, mostly 1; sum this, not count"},
       kFlows},
      {number("bytes_out", 63, "octets behind the observation point; as `bytes`"), kBytesOut},
      {number("packets_out", 63, "packets behind the observation point; as `bytes`"), kPacketsOut},
      {number("in_if", 32, "interface on which it came"), kInIf},
      {number("out_if", 32, "interface on which it left"), kOutIf},
      {address("next_hop", "next hop"), kNextHop},
      {address("bgp_next_hop", "next hop by BGP"), kBgpNextHop},
      {number("src_as", 32, "autonomous system of the source"), kSrcAs},
      {number("dst_as", 32, "autonomous system of the destination"), kDstAs},
      {number("src_mask", 8, "prefix length of the source"), kSrcMask},
      {number("dst_mask", 8, "prefix length of the destination"), kDstMask},
      {number("vlan", 16, "VLAN on the way in"), kVlan},
      {number("vlan_out", 16, "VLAN on the way out"), kVlanOut},
      {{"src_mac", FieldType::kMac, 1, 48, 0, true, "source MAC address"}, kSrcMac},
      {{"dst_mac", FieldType::kMac, 1, 48, 0, true, "destination MAC address"}, kDstMac},
      {number("icmp", 16, "ICMP type times 256 and code"), kIcmpBoth},
      {number("direction", 8, "0 ingress, 1 egress"), kDirection},
      {number("end_reason", 8, "why the flow ended (flowEndReason)"), kEndReason},
      {number("application", 63, "application id: engine in the first byte, then its number"),
       kApplication},
      {number("forwarding", 32, "forwarding status"), kForwarding},
      {number("firewall_event", 8, "firewall event"), kFirewallEvent},
      {number("vrf", 32, "VRF on the way in"), kVrf},
      {address("nat_src", "source address behind NAT"), kNatSrc},
      {address("nat_dst", "destination address behind NAT"), kNatDst},
      {number("nat_src_port", 16, "source port behind NAT"), kNatSrcPort},
      {number("nat_dst_port", 16, "destination port behind NAT"), kNatDstPort},
      {number("flow_label", 32, "IPv6 flow label"), kFlowLabel},
      {moment("start", "when the flow began"), kStart},
      {moment("end", "when it ended"), kEnd},
      {{"duration", kInteger, 1, 63, 9, true, "end less start, in seconds"}, kDuration},
      {moment("export_time", "when the packet was sent, by the exporter's clock"), kExportTime},
      {number("sampling", 63, "sampling rate in force, one of so many packets; absent: unknown"),
       kSampling},
      {address("exporter", "who sent the packet"), kExporter},
      {number("exporter_port", 16, "the port that it sent from"), kExporterPort},
      {{"domain", kInteger, 1, 32, 0, false,
        "observation domain, source id; NetFlow 5: engine type and id"},
       kDomain},
      {{"stream", kAddress, 2, 63, 0, false, "exporter and domain as one value, for `partition`"},
       kStream},
      {{"version", kInteger, 1, 16, 0, false, "5, 9, or 10 for IPFIX"}, kVersion},
      {{"template", kInteger, 1, 16, 0, false, "template id; NetFlow 5: 0"}, kTemplateId},
  };
  for (size_t i = 0; i < own.size(); ++i) {
    Field field = number(own[i].name, 63, "an element named in the source's `elements`");
    if (own[i].text) field.type = FieldType::kText, field.words = 2;
    fields.push_back({field, static_cast<uint8_t>(kFirstOwn + 2 * i)});
  }
  for (ValueField& f : fields) f.field.non_negative = f.field.type != FieldType::kTime;
  return fields;
}

}  // namespace tidewire::flow
