// Field words to text and back: what keys, values and predicates look like to people. Egress writes
// with it, the query compiler and `peek` read with it, so both ends agree by construction.
//
//   kInteger    -12, 0.25 (fixed-point: exactly `decimals` digits)
//   kAddress    10.1.2.3, 2001:db8::1 (RFC 5952); IPv4-mapped words are IPv4; cut: 10.1.2.0/24
//   kMac        02:00:5e:10:00:01
//   kText       the bytes without their padding
//   kProtocol   tcp, udp, 253 (IANA protocol numbers)
//   kEthertype  ipv4, arp, 0x88b5 (IEEE 802 numbers)
//   kFlags      letters of the TCP flags that are set, low bit first: SA = SYN ACK; none: "."
//   kFlow       10.0.0.1:53 <-> 10.0.0.9:40000 udp; IPv6: flow6: and 32 hex digits
//   kTime       2024-02-29T23:59:59.000000001Z (RFC 3339, always nine digits)
//   kAbsent     -
//
// Writing goes into a caller's bounded buffer and allocates nothing. Reading is for setup: an error
// is a sentence about the text.
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/hash.h"
#include "base/int128.h"
#include "base/time.h"
#include "query/flow_key.h"
#include "query/plan.h"
#include "query/schema.h"

namespace tidewire {

// Appends to a buffer that it does not own. What does not fit is left out as a whole piece, and
// `truncated` says so from then on.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> room) : begin_(room.data()), at_(begin_) {
    end_ = begin_ + room.size();
  }
  void put(char c) {
    if (char* to = claim(1)) *to = c;
  }
  void put(std::string_view text);
  void pad(char c, size_t count);
  // Place for `count` characters that the caller fills, or null.
  char* claim(size_t count) {
    if (static_cast<size_t>(end_ - at_) < count) {
      truncated_ = true;
      end_ = at_;
      return nullptr;
    }
    at_ += count;
    return at_ - count;
  }
  size_t size() const { return static_cast<size_t>(at_ - begin_); }
  bool truncated() const { return truncated_; }
  std::string_view text() const { return {begin_, size()}; }

 private:
  char* begin_;
  char* at_;
  char* end_;
  bool truncated_ = false;
};

// The longest text of one field that is not kText: a flow with two IPv6 addresses and ports.
inline constexpr size_t kFieldTextMax = 160;

// ---- writing
void append_integer(TextWriter& out, int128 value);
void append_decimal(TextWriter& out, int128 value, uint32_t decimals);  // decimals <= 38
void append_hex(TextWriter& out, uint64_t value, uint32_t digits);      // lower case, no prefix
// Shown with "/length" where the prefix of the address's own family is shorter than the address.
void append_address(TextWriter& out, int64_t high, int64_t low, uint32_t prefix_ipv4 = 32,
                    uint32_t prefix_ipv6 = 128);
void append_mac(TextWriter& out, int64_t mac);
void append_packed_text(TextWriter& out, std::span<const int64_t> words);
void append_protocol(TextWriter& out, int64_t protocol);
void append_ethertype(TextWriter& out, int64_t ethertype);
void append_tcp_flags(TextWriter& out, int64_t flags);
void append_flow(TextWriter& out, const FlowKey& key);
void append_time(TextWriter& out, EventTime time);
void append_time_of_day(TextWriter& out,
                        EventTime time);  // 23:59:59, with a fraction if it has one

// Words by their type alone.
void append_words(TextWriter& out, FieldType type, uint32_t decimals,
                  std::span<const int64_t> words);
// One field; `words` holds all its words. An absent one is "-".
void append_field(TextWriter& out, const KeyField& field, std::span<const int64_t> words);
void append_field(TextWriter& out, const Field& field, std::span<const int64_t> words);
// Whether the words stand for a field that the packet lacks.
bool is_absent(const Field& field, std::span<const int64_t> words);
bool is_absent(const KeyField& field, std::span<const int64_t> words);

// ---- reading
struct FieldWords {
  std::array<int64_t, kMaxKeyWords> word{};
};
struct AddressPrefix {
  int64_t high = 0, low = 0;  // no bit set behind the prefix
  bool ipv4 = false;
  uint8_t length = 0;  // in the address's own family: 0..32 or 0..128
};
struct PrefixMask {
  int64_t high = 0, low = 0;
};

absl::StatusOr<int64_t> parse_integer(std::string_view text);  // decimal, or 0x... as bits
absl::StatusOr<int64_t> parse_decimal(std::string_view text, uint32_t decimals);  // exact or error
absl::StatusOr<AddressPrefix> parse_address(
    std::string_view text);                                         // whole address: length 32, 128
absl::StatusOr<AddressPrefix> parse_prefix(std::string_view text);  // "10.0.0.0/8"; or an address
absl::StatusOr<int64_t> parse_mac(std::string_view text);
absl::StatusOr<FieldWords> parse_packed_text(std::string_view text, uint32_t words);
absl::StatusOr<int64_t> parse_protocol(std::string_view text);   // a name or 0..255
absl::StatusOr<int64_t> parse_ethertype(std::string_view text);  // a name or a number
absl::StatusOr<int64_t> parse_tcp_flags(std::string_view text);  // letters, "." or a number
// RFC 3339, any offset. Nanoseconds since 1970 have no leap second: all of 23:59:60 is the last one
// of 23:59:59, so that the order of times is kept.
absl::StatusOr<EventTime> parse_time(std::string_view text);
// One value of a field by its type; prefixes: parse_prefix.
absl::StatusOr<FieldWords> parse_field(const Field& field, std::string_view text);

// The two mask words of a prefix; IPv4 counts its length from bit 96.
PrefixMask prefix_mask(bool ipv4, uint32_t length);
// IPv4 as IPv4-mapped IPv6 (RFC 4291 2.5.5.2): how both families share two words.
constexpr bool is_ipv4(int64_t high, int64_t low) {
  return high == 0 && (static_cast<uint64_t>(low) >> 32) == 0xFFFF;
}

}  // namespace tidewire
