// A format for the tests of this room: one field of every type, and what the rules speak of.
#pragma once

#include "query/schema.h"

namespace tidewire {

enum SampleField : uint32_t {
  kSrc,
  kDst,
  kPort,
  kProtocol,
  kVlan,
  kLength,
  kPrice,
  kSymbol,
  kTcpFlags,
  kMacField,
  kEthertypeField,
  kFlowField,
  kSent,
  kVolume,
  kVenue,
  kGateway,
  kSampleFields,
};

inline Schema sample_schema() {
  Schema s;
  s.format = "sample";
  s.fields = {
      {"src", FieldType::kAddress, 2, 63, 0, false, "sender"},
      {"dst", FieldType::kAddress, 2, 63, 0, false, "receiver"},
      {"port", FieldType::kInteger, 1, 16, 0, true, "receiver's port"},
      {"protocol", FieldType::kProtocol, 1, 8, 0, false, "IP protocol"},
      {"vlan", FieldType::kInteger, 1, 12, 0, true, "VLAN id"},
      {"length", FieldType::kInteger, 1, 16, 0, false, "bytes"},
      {"price", FieldType::kInteger, 1, 40, 2, false, "two decimals"},
      {"symbol", FieldType::kText, 1, 63, 0, false, "up to 8 letters"},
      {"tcp_flags", FieldType::kFlags, 1, 8, 0, true, "TCP flags"},
      {"mac", FieldType::kMac, 1, 48, 0, false, "sender's MAC"},
      {"ethertype", FieldType::kEthertype, 1, 16, 0, false, "what follows"},
      {"flow", FieldType::kFlow, 2, 63, 0, false, "direction-free"},
      {"sent", FieldType::kTime, 1, 63, 0, false, "sender's time"},
      {"volume", FieldType::kInteger, 1, 23, 0, false, "the widest that a 64-bit sum holds"},
      {"venue", FieldType::kText, 3, 63, 0, false, "up to 24 letters"},
      {"gateway", FieldType::kAddress, 2, 63, 0, true, "may be missing"},
  };
  return s;
}

// Every field at its own columns, in order. They would be 25 with `venue`, which stands alone.
inline ColumnMap all_columns(const Schema& schema) {
  ColumnMap map;
  for (uint32_t f = 0; f < schema.fields.size(); ++f) {
    if (map.used + schema.fields[f].words > kColumnMax) continue;
    map.column[f] = static_cast<uint8_t>(map.used);
    map.used += schema.fields[f].words;
  }
  return map;
}

}  // namespace tidewire
