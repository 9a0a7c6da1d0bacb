// Packets of flow export for tests, written byte by byte after RFC 3954, RFC 7011 and Cisco's
// NetFlow 5 layout; nothing is shared with the parser under test.
#pragma once

#include <utility>
#include <vector>

#include "packet_builder.h"

namespace tidewire::test {

struct FlowHeader {
  uint32_t seconds = 1'700'000'000, nanos = 0, uptime = 1'000'000, sequence = 0, domain = 7;
};

// NetFlow 5: addresses 10.0.0.N to 10.0.1.N, port 1000 + N to 80, TCP.
struct Flow5 {
  uint32_t packets = 1, bytes = 100, first = 990'000, last = 999'000;
};
inline Bytes netflow5(const FlowHeader& h, const std::vector<Flow5>& flows, uint32_t sampling = 0,
                      int32_t count = -1) {
  Bytes b;
  put16(b, 5);
  put16(b, count < 0 ? static_cast<uint32_t>(flows.size()) : static_cast<uint32_t>(count));
  put32(b, h.uptime);
  put32(b, h.seconds);
  put32(b, h.nanos);
  put32(b, h.sequence);
  put16(b, h.domain);
  put16(b, sampling);
  for (uint32_t n = 1; const Flow5& flow : flows) {
    put32(b, ipv4_address(10, 0, 0, n));
    put32(b, ipv4_address(10, 0, 1, n));
    put32(b, 0);
    put16(b, 1);
    put16(b, 2);
    put32(b, flow.packets);
    put32(b, flow.bytes);
    put32(b, flow.first);
    put32(b, flow.last);
    put16(b, 1000 + n);
    put16(b, 80);
    put16(b, 0x0010);  // padding, ACK
    put16(b, 0x0600);  // TCP, type of service 0
    put32(b, 0);       // autonomous systems
    put32(b, 0);       // masks, padding
    ++n;
  }
  return b;
}

inline void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

inline Bytes set_of(uint32_t id, const Bytes& body) {
  Bytes b;
  put16(b, id);
  put16(b, static_cast<uint32_t>(body.size() + 4));
  append(b, body);
  return b;
}

struct TemplateField {
  uint32_t element = 0, length = 0;
  uint32_t enterprise = 0;
};
// One template record.
inline Bytes template_of(uint32_t id, const std::vector<TemplateField>& fields) {
  Bytes b;
  put16(b, id);
  put16(b, static_cast<uint32_t>(fields.size()));
  for (const TemplateField& f : fields) {
    put16(b, f.element | (f.enterprise != 0 ? 0x8000u : 0u));
    put16(b, f.length);
    if (f.enterprise != 0) put32(b, f.enterprise);
  }
  return b;
}

inline Bytes netflow9(const FlowHeader& h, const std::vector<Bytes>& sets) {
  Bytes b;
  put16(b, 9);
  put16(b, static_cast<uint32_t>(sets.size()));
  put32(b, h.uptime);
  put32(b, h.seconds);
  put32(b, h.sequence);
  put32(b, h.domain);
  for (const Bytes& set : sets) append(b, set);
  return b;
}

inline Bytes ipfix(const FlowHeader& h, const std::vector<Bytes>& sets) {
  Bytes b;
  put16(b, 10);
  put16(b, 0);
  put32(b, h.seconds);
  put32(b, h.sequence);
  put32(b, h.domain);
  for (const Bytes& set : sets) append(b, set);
  set16(b, 2, static_cast<uint32_t>(b.size()));
  return b;
}

// source, destination, bytes, packets, first and last in uptime: 24 bytes a record.
inline const std::vector<TemplateField> kUsual{{8, 4}, {12, 4}, {1, 4}, {2, 4}, {22, 4}, {21, 4}};
inline Bytes usual(uint32_t n, uint32_t bytes, uint32_t packets, uint32_t first, uint32_t last) {
  Bytes b;
  put32(b, ipv4_address(10, 0, 0, n));
  put32(b, ipv4_address(10, 0, 1, n));
  for (const uint32_t v : {bytes, packets, first, last}) put32(b, v);
  return b;
}

}  // namespace tidewire::test
