// The messages of Nasdaq TotalView-ITCH 5.0 and what their fields are called: where each type has
// each field. format/itch.h is the format; this is its table.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "format/bytes.h"
#include "format/columns.h"

namespace tidewire {

// A message whose type is known and whose bytes are there.
struct ItchMessage {
  const uint8_t* at;
  uint64_t sequence;       // ~0: it has none, being of a file of messages
  const uint8_t* session;  // 10 bytes; null: as above
  int64_t symbol;          // packed; kAbsent where the directory has not named it
};

// By type: how long a message is at least. kItchUnknown, longer than any: not a type we know.
inline constexpr uint32_t kItchUnknown = 1 << 16;
inline constexpr uint32_t kItchLeast = 12;  // the shortest has
extern const std::array<uint32_t, 256> kItchLengths;

std::span<const ItemField<ItchMessage>> itch_fields();
// Which of them needs the directory of stocks.
uint32_t itch_symbol_field();

// Nanoseconds since midnight: six bytes, read with the two before them.
inline uint64_t itch_stamp(const uint8_t* message) {
  return read_be64(message + 3) & 0xFFFF'FFFF'FFFFu;
}

// Up to 8 characters, padded with spaces on the wire and with zero bytes in a word.
inline int64_t itch_text(uint64_t characters) {
  const uint64_t differs = characters ^ 0x2020202020202020u;
  if (differs == 0) return 0;
  const int padding = __builtin_ctzll(differs) / 8 * 8;
  return static_cast<int64_t>(characters & ~uint64_t{0} << padding);
}

}  // namespace tidewire
