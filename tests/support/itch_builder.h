// MoldUDP64 datagrams with ITCH 5.0 messages for tests, from the published layouts: fields are
// appended in the order of the specification's tables, so a wrong offset in the parser cannot be
// repeated here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packet_builder.h"

namespace tidewire::test {

class ItchMessage {
 public:
  // Type, stock locate, tracking number, timestamp of six bytes.
  ItchMessage(char type, uint64_t since_midnight, uint32_t locate = 1, uint32_t tracking = 0) {
    bytes_.push_back(static_cast<uint8_t>(type));
    put16(bytes_, locate);
    put16(bytes_, tracking);
    put16(bytes_, static_cast<uint32_t>(since_midnight >> 32));
    put32(bytes_, static_cast<uint32_t>(since_midnight));
  }
  ItchMessage& u32(uint32_t v) {
    put32(bytes_, v);
    return *this;
  }
  ItchMessage& u64(uint64_t v) {
    put64(bytes_, v);
    return *this;
  }
  ItchMessage& letter(char c) {
    bytes_.push_back(static_cast<uint8_t>(c));
    return *this;
  }
  ItchMessage& padded(std::string_view text, size_t width = 8) {
    for (size_t i = 0; i < width; ++i)
      bytes_.push_back(i < text.size() ? static_cast<uint8_t>(text[i]) : 0x20);
    return *this;
  }
  ItchMessage& fill(size_t to_length) {  // what the tests do not look at
    bytes_.resize(to_length, 0x20);
    return *this;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// 1.3.1 Add order without attribution: reference, side, shares, stock, price.
inline ItchMessage add_order(uint64_t time, uint64_t reference, char side, uint32_t shares,
                             std::string_view stock, uint32_t price, uint32_t locate = 1) {
  return ItchMessage('A', time, locate)
      .u64(reference)
      .letter(side)
      .u32(shares)
      .padded(stock)
      .u32(price);
}
inline ItchMessage delete_order(uint64_t time, uint64_t reference, uint32_t locate = 1) {
  return ItchMessage('D', time, locate).u64(reference);
}

// The datagram's payload: session, sequence number of the first message, count, messages.
inline Bytes mold_payload(std::string_view session, uint64_t sequence,
                          const std::vector<ItchMessage>& messages, int count = -1) {
  Bytes b;
  for (size_t i = 0; i < 10; ++i)
    b.push_back(i < session.size() ? static_cast<uint8_t>(session[i]) : 0x20);
  put64(b, sequence);
  put16(b, count >= 0 ? static_cast<uint32_t>(count) : static_cast<uint32_t>(messages.size()));
  for (const ItchMessage& m : messages) {
    put16(b, static_cast<uint32_t>(m.bytes().size()));
    b.insert(b.end(), m.bytes().begin(), m.bytes().end());
  }
  return b;
}

inline Bytes mold_frame(std::string_view session, uint64_t sequence,
                        const std::vector<ItchMessage>& messages, int count = -1) {
  return PacketBuilder()
      .ethernet()
      .vlan(0x8100, 141)
      .ipv4(ipv4_address(10, 1, 1, 1), ipv4_address(233, 54, 12, 111))
      .udp(26400, 26477, mold_payload(session, sequence, messages, count))
      .finish(60);
}

}  // namespace tidewire::test
