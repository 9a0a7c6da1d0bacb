// Big-endian reads from wire bytes. The caller has tested that the bytes are there.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace tidewire {

static_assert(std::endian::native == std::endian::little);

inline uint16_t read_be16(const uint8_t* at) {
  uint16_t v;
  std::memcpy(&v, at, sizeof v);
  return __builtin_bswap16(v);
}
inline uint32_t read_be32(const uint8_t* at) {
  uint32_t v;
  std::memcpy(&v, at, sizeof v);
  return __builtin_bswap32(v);
}
inline uint64_t read_be64(const uint8_t* at) {
  uint64_t v;
  std::memcpy(&v, at, sizeof v);
  return __builtin_bswap64(v);
}
inline uint64_t read_be48(const uint8_t* at) {
  return uint64_t{read_be16(at)} << 32 | read_be32(at + 2);
}

}  // namespace tidewire
