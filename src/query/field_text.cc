#include "query/field_text.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "query/field_names.h"

namespace tidewire {
namespace {

std::string_view name_of(std::span<const NumberName> names, int64_t number) {
  for (const NumberName& n : names)
    if (n.number == number) return n.name;
  return {};
}

char* put_digits(char* to, uint64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + digits;
}

void append_date(TextWriter& out, int64_t days) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::days{static_cast<int>(days)}}};
  char* to = out.claim(10);
  if (!to) return;
  to = put_digits(to, static_cast<uint64_t>(static_cast<int>(date.year())), 4);
  *to++ = '-';
  to = put_digits(to, static_cast<unsigned>(date.month()), 2);
  *to++ = '-';
  put_digits(to, static_cast<unsigned>(date.day()), 2);
}

void append_clock(TextWriter& out, int64_t second_of_day) {
  char* to = out.claim(8);
  if (!to) return;
  const auto seconds = static_cast<uint64_t>(second_of_day);
  to = put_digits(to, seconds / 3600, 2);
  *to++ = ':';
  to = put_digits(to, seconds / 60 % 60, 2);
  *to++ = ':';
  put_digits(to, seconds % 60, 2);
}

void append_ipv4(TextWriter& out, uint32_t address) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    append_integer(out, (address >> shift) & 0xFF);
    if (shift != 0) out.put('.');
  }
}

// RFC 5952 section 4: lower case, no leading zeros, "::" for the first of the longest runs of at
// least two zero groups.
void append_ipv6(TextWriter& out, uint64_t high, uint64_t low) {
  std::array<uint16_t, 8> group;
  for (uint32_t i = 0; i < 8; ++i)
    group[i] = static_cast<uint16_t>((i < 4 ? high : low) >> (48 - 16 * (i % 4)));
  uint32_t best = 8, best_length = 1;
  for (uint32_t i = 0; i < 8; ++i) {
    uint32_t end = i;
    while (end < 8 && group[end] == 0) ++end;
    if (end - i > best_length) {
      best = i;
      best_length = end - i;
    }
    if (end > i) i = end - 1;
  }
  for (uint32_t i = 0; i < 8; ++i) {
    if (i == best) {
      out.put("::");
      i += best_length - 1;
      continue;
    }
    if (i != 0 && i != best + best_length) out.put(':');
    const uint32_t digits = group[i] > 0xFFF ? 4 : group[i] > 0xFF ? 3 : group[i] > 0xF ? 2 : 1;
    append_hex(out, group[i], digits);
  }
}

void append_flow_end(TextWriter& out, uint32_t address, const uint16_t* port) {
  append_ipv4(out, address);
  if (port == nullptr) return;
  out.put(':');
  append_integer(out, *port);
}

bool all_are(std::span<const int64_t> words, int64_t absent) {
  return std::all_of(words.begin(), words.end(), [=](int64_t word) { return word == absent; });
}

}  // namespace

void TextWriter::put(std::string_view text) {
  if (char* to = claim(text.size())) std::memcpy(to, text.data(), text.size());
}

void TextWriter::pad(char c, size_t count) {
  if (char* to = claim(count)) std::memset(to, c, count);
}

void append_integer(TextWriter& out, int128 value) {
  const bool negative = value < 0;
  uint128 rest = negative ? -static_cast<uint128>(value) : static_cast<uint128>(value);
  char digits[40];
  char* at = digits + sizeof digits;
  // 128-bit division is slow and seldom needed: 18 digits at a time.
  constexpr uint64_t kChunk = 1'000'000'000'000'000'000u;
  while (rest >= kChunk) {
    at -= 18;
    put_digits(at, static_cast<uint64_t>(rest % kChunk), 18);
    rest /= kChunk;
  }
  auto top = static_cast<uint64_t>(rest);
  do *--at = static_cast<char>('0' + top % 10);
  while (top /= 10);
  if (negative) *--at = '-';
  out.put(std::string_view{at, static_cast<size_t>(digits + sizeof digits - at)});
}

void append_decimal(TextWriter& out, int128 value, uint32_t decimals) {
  if (decimals == 0) return append_integer(out, value);
  const bool negative = value < 0;
  uint128 rest = negative ? -static_cast<uint128>(value) : static_cast<uint128>(value);
  char text[48];
  char* at = text + sizeof text;
  for (uint32_t i = 0; i < decimals; ++i, rest /= 10) *--at = static_cast<char>('0' + rest % 10);
  *--at = '.';
  do *--at = static_cast<char>('0' + rest % 10);
  while (rest /= 10);
  if (negative) *--at = '-';
  out.put(std::string_view{at, static_cast<size_t>(text + sizeof text - at)});
}

void append_hex(TextWriter& out, uint64_t value, uint32_t digits) {
  char* to = out.claim(digits);
  if (!to) return;
  for (uint32_t i = digits; i-- > 0; value >>= 4) to[i] = kHex[value & 15];
}

void append_address(TextWriter& out, int64_t high, int64_t low, uint32_t prefix_ipv4,
                    uint32_t prefix_ipv6) {
  const bool ipv4 = is_ipv4(high, low);
  if (ipv4)
    append_ipv4(out, static_cast<uint32_t>(low));
  else
    append_ipv6(out, static_cast<uint64_t>(high), static_cast<uint64_t>(low));
  const uint32_t prefix = ipv4 ? prefix_ipv4 : prefix_ipv6;
  if (prefix >= (ipv4 ? 32 : 128)) return;
  out.put('/');
  append_integer(out, prefix);
}

void append_mac(TextWriter& out, int64_t mac) {
  for (int shift = 40; shift >= 0; shift -= 8) {
    append_hex(out, static_cast<uint64_t>(mac) >> shift, 2);
    if (shift != 0) out.put(':');
  }
}

void append_packed_text(TextWriter& out, std::span<const int64_t> words) {
  char bytes[8 * kMaxKeyWords];
  size_t size = 0;
  for (const int64_t word : words.first(std::min<size_t>(words.size(), kMaxKeyWords)))
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes[size++] = static_cast<char>(static_cast<uint64_t>(word) >> shift);
  while (size > 0 && bytes[size - 1] == 0) --size;
  out.put(std::string_view{bytes, size});
}

void append_protocol(TextWriter& out, int64_t protocol) {
  const std::string_view name = name_of(kProtocols, protocol);
  if (name.empty()) return append_integer(out, protocol);
  out.put(name);
}

void append_ethertype(TextWriter& out, int64_t ethertype) {
  const std::string_view name = name_of(kEthertypes, ethertype);
  if (!name.empty()) return out.put(name);
  out.put("0x");
  append_hex(out, static_cast<uint64_t>(ethertype), 4);
}

void append_tcp_flags(TextWriter& out, int64_t flags) {
  if ((flags & 0xFF) == 0) return out.put('.');
  for (size_t bit = 0; bit < kFlagLetters.size(); ++bit)
    if ((flags >> bit & 1) != 0) out.put(kFlagLetters[bit]);
}

void append_time(TextWriter& out, EventTime time) {
  const int64_t seconds = floor_div(time.ns, kSecond);
  const int64_t days = floor_div(seconds, 86'400);
  append_date(out, days);
  out.put('T');
  append_clock(out, seconds - days * 86'400);
  if (char* to = out.claim(11)) {
    *to++ = '.';
    // By unsigned arithmetic: seconds * kSecond of the least time is below INT64_MIN.
    to = put_digits(
        to, static_cast<uint64_t>(time.ns) - static_cast<uint64_t>(seconds) * uint64_t{kSecond}, 9);
    *to = 'Z';
  }
}

void append_time_of_day(TextWriter& out, EventTime time) {
  const int64_t seconds = floor_div(time.ns, kSecond);
  append_clock(out, seconds - floor_div(seconds, 86'400) * 86'400);
  const uint64_t fraction =
      static_cast<uint64_t>(time.ns) - static_cast<uint64_t>(seconds) * uint64_t{kSecond};
  if (fraction == 0) return;
  char text[10] = {'.'};
  put_digits(text + 1, fraction, 9);
  size_t size = sizeof text;
  while (text[size - 1] == '0') --size;
  out.put(std::string_view{text, size});
}

void append_flow(TextWriter& out, const FlowKey& key) {
  const auto low = static_cast<uint64_t>(key.low);
  if ((low & kFlowFormMask) == kFlowIpv4) {
    const FlowIpv4 flow = unpack_flow_ipv4(key);
    append_flow_end(out, flow.address_a, flow.has_ports ? &flow.port_a : nullptr);
    out.put(" <-> ");
    append_flow_end(out, flow.address_b, flow.has_ports ? &flow.port_b : nullptr);
    out.put(' ');
    append_protocol(out, flow.protocol);
  } else {
    out.put("flow6:");
    append_hex(out, static_cast<uint64_t>(key.high), 16);
    append_hex(out, low, 16);
  }
}

bool is_absent(const Field& field, std::span<const int64_t> words) {
  return field.may_be_absent && all_are(words, field.absent);
}

// A cut key has gone through the IPv6 mask: what kAbsent leaves of itself there is no address
// either (ff00::/8 with all flags and the reserved scope, RFC 4291 2.7).
bool is_absent(const KeyField& field, std::span<const int64_t> words) {
  if (!field.may_be_absent) return false;
  if (all_are(words, field.absent)) return true;
  if (field.type != FieldType::kAddress || field.prefix_ipv6 < 16) return false;
  const PrefixMask mask = prefix_mask(false, field.prefix_ipv6);
  return words[0] == (kAbsent & mask.high) && words[1] == (kAbsent & mask.low);
}

void append_words(TextWriter& out, FieldType type, uint32_t decimals,
                  std::span<const int64_t> words) {
  switch (type) {
    case FieldType::kInteger:
      append_decimal(out, words[0], decimals);
      return;
    case FieldType::kAddress:
      append_address(out, words[0], words[1]);
      return;
    case FieldType::kMac:
      append_mac(out, words[0]);
      return;
    case FieldType::kText:
      append_packed_text(out, words);
      return;
    case FieldType::kProtocol:
      append_protocol(out, words[0]);
      return;
    case FieldType::kEthertype:
      append_ethertype(out, words[0]);
      return;
    case FieldType::kFlags:
      append_tcp_flags(out, words[0]);
      return;
    case FieldType::kFlow:
      append_flow(out, {words[0], words[1]});
      return;
    case FieldType::kTime:
      append_time(out, EventTime{words[0]});
      return;
  }
}

void append_field(TextWriter& out, const KeyField& field, std::span<const int64_t> words) {
  if (is_absent(field, words)) return out.put('-');
  if (field.type == FieldType::kAddress)
    return append_address(out, words[0], words[1], field.prefix_ipv4, field.prefix_ipv6);
  append_words(out, field.type, field.decimals, words);
}

void append_field(TextWriter& out, const Field& field, std::span<const int64_t> words) {
  if (is_absent(field, words)) return out.put('-');
  if (field.type == FieldType::kAddress)
    return append_address(out, words[0], words[1], field.prefix_ipv4, field.prefix_ipv6);
  append_words(out, field.type, field.decimals, words);
}

PrefixMask prefix_mask(bool ipv4, uint32_t length) {
  const uint32_t bits = ipv4 ? 96 + length : length;
  const auto word = [](uint32_t n) {
    return n == 0 ? int64_t{0} : static_cast<int64_t>(~uint64_t{0} << (64 - n));
  };
  return {word(std::min(bits, 64u)), word(bits > 64 ? bits - 64 : 0)};
}

}  // namespace tidewire
