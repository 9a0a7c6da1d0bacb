// Capture files built byte by byte for tests: written from the format's specification, sharing
// nothing with the readers. Every field is given by hand, so wrong ones can be given too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace tidewire::test {

using Bytes = std::vector<std::byte>;

// Appends numbers in one byte order.
class ByteWriter {
 public:
  explicit ByteWriter(bool big_endian) : big_(big_endian) {}
  ByteWriter& u8(uint64_t v) { return number(v, 1); }
  ByteWriter& u16(uint64_t v) { return number(v, 2); }
  ByteWriter& u32(uint64_t v) { return number(v, 4); }
  ByteWriter& u64(uint64_t v) { return number(v, 8); }
  ByteWriter& bytes(const Bytes& b) {
    out.insert(out.end(), b.begin(), b.end());
    return *this;
  }
  ByteWriter& pad(size_t to) {
    while (out.size() % to != 0) out.push_back(std::byte{0});
    return *this;
  }
  Bytes out;

 private:
  ByteWriter& number(uint64_t v, int width) {
    for (int i = 0; i < width; ++i) {
      const int at = big_ ? width - 1 - i : i;
      out.push_back(static_cast<std::byte>(v >> (8 * at)));
    }
    return *this;
  }
  bool big_;
};

inline Bytes payload(size_t length, uint32_t seed) {
  Bytes b(length);
  for (size_t i = 0; i < length; ++i) b[i] = static_cast<std::byte>(seed * 31 + i * 7 + (i >> 8));
  return b;
}

class PcapBuilder {
 public:
  static constexpr uint32_t kMicro = 0xA1B2C3D4;
  static constexpr uint32_t kNano = 0xA1B23C4D;
  static constexpr uint32_t kModified = 0xA1B2CD34;
  PcapBuilder(uint32_t magic, bool big_endian, uint32_t network = 1, int32_t zone = 0)
      : magic_(magic), w_(big_endian) {
    w_.u32(magic).u16(2).u16(4).u32(static_cast<uint32_t>(zone)).u32(0).u32(65535).u32(network);
  }
  PcapBuilder& packet(uint32_t seconds, uint32_t fraction, const Bytes& data, uint32_t wire) {
    w_.u32(seconds).u32(fraction).u32(data.size()).u32(wire);
    if (magic_ == kModified) w_.u32(2).u16(0x0800).u8(0).u8(0);
    w_.bytes(data);
    return *this;
  }
  ByteWriter& raw() { return w_; }
  const Bytes& bytes() const { return w_.out; }

 private:
  uint32_t magic_;
  ByteWriter w_;
};

class PcapngBuilder {
 public:
  explicit PcapngBuilder(bool big_endian) : big_(big_endian), w_(big_endian) {}
  PcapngBuilder& order(bool big_endian) {
    Bytes so_far = std::move(w_.out);
    w_ = ByteWriter(big_ = big_endian);
    w_.out = std::move(so_far);
    return *this;
  }
  ByteWriter body() const { return ByteWriter(big_); }
  PcapngBuilder& block(uint32_t type, ByteWriter body) {
    body.pad(4);
    const uint64_t total = body.out.size() + 12;
    w_.u32(type).u32(total).bytes(body.out).u32(total);
    return *this;
  }
  PcapngBuilder& section() {
    return block(0x0A0D0D0A, body().u32(0x1A2B3C4D).u16(1).u16(0).u64(~uint64_t{0}));
  }
  // Options are given as bytes: see resolution() and offset().
  PcapngBuilder& interface(uint16_t link, uint32_t snapshot, const Bytes& options = {}) {
    return block(1, body().u16(link).u16(0).u32(snapshot).bytes(options));
  }
  Bytes resolution(uint8_t value) const { return body().u16(9).u16(1).u8(value).pad(4).out; }
  Bytes offset(int64_t seconds) const {
    return body().u16(14).u16(8).u64(static_cast<uint64_t>(seconds)).out;
  }
  PcapngBuilder& enhanced(uint32_t interface, uint64_t ticks, const Bytes& data, uint32_t wire,
                          const Bytes& options = {}) {
    ByteWriter b = body();
    b.u32(interface)
        .u32(ticks >> 32)
        .u32(ticks & 0xFFFFFFFF)
        .u32(data.size())
        .u32(wire)
        .bytes(data);
    return block(6, b.pad(4).bytes(options));
  }
  PcapngBuilder& obsolete(uint16_t interface, uint64_t ticks, const Bytes& data, uint32_t wire) {
    ByteWriter b = body();
    b.u16(interface).u16(0).u32(ticks >> 32).u32(ticks & 0xFFFFFFFF).u32(data.size()).u32(wire);
    return block(2, b.bytes(data));
  }
  PcapngBuilder& simple(const Bytes& data, uint32_t wire) {
    return block(3, body().u32(wire).bytes(data));
  }
  ByteWriter& raw() { return w_; }
  const Bytes& bytes() const { return w_.out; }

 private:
  bool big_;
  ByteWriter w_;
};

}  // namespace tidewire::test
