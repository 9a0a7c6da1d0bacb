#include "query/field_text.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

namespace tidewire {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kFlagLetters = "FSRPAUEC";  // bit 0 first (RFC 9293 3.1, RFC 3168)

struct Name {
  uint16_t number;
  std::string_view name;
};
// The first name of a number is the one written; later ones are accepted too.
constexpr Name kProtocols[] = {
    {0, "hopopt"}, {1, "icmp"},   {2, "igmp"},       {4, "ipip"},   {6, "tcp"},
    {8, "egp"},    {9, "igp"},    {17, "udp"},       {33, "dccp"},  {41, "ipv6"},
    {46, "rsvp"},  {47, "gre"},   {50, "esp"},       {51, "ah"},    {58, "icmpv6"},
    {88, "eigrp"}, {89, "ospf"},  {94, "etherip"},   {103, "pim"},  {108, "ipcomp"},
    {112, "vrrp"}, {115, "l2tp"}, {124, "isis"},     {132, "sctp"}, {136, "udplite"},
    {137, "mpls"}, {58, "icmp6"}, {58, "ipv6-icmp"}, {4, "ipv4"},
};
constexpr Name kEthertypes[] = {
    {0x0800, "ipv4"},           {0x0806, "arp"},
    {0x8035, "rarp"},           {0x8100, "vlan"},
    {0x86DD, "ipv6"},           {0x8808, "pause"},
    {0x8809, "lacp"},           {0x8847, "mpls"},
    {0x8848, "mpls-multicast"}, {0x8863, "pppoe-discovery"},
    {0x8864, "pppoe"},          {0x888E, "eapol"},
    {0x88A8, "qinq"},           {0x88CC, "lldp"},
    {0x88E5, "macsec"},         {0x88F7, "ptp"},
    {0x8864, "pppoe-session"},  {0x0800, "ip"},
};

std::string_view name_of(std::span<const Name> names, int64_t number) {
  for (const Name& n : names)
    if (n.number == number) return n.name;
  return {};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool equal_any_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

int hex_value(char c) {
  const size_t at = kHex.find(lower(c));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

absl::Status wrong(std::string_view text, std::string_view what) {
  std::string message = "'";
  message.append(text).append("' ").append(what);
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<int64_t> named_number(std::string_view text, std::span<const Name> names,
                                     int64_t most, std::string_view what) {
  for (const Name& n : names)
    if (equal_any_case(n.name, text)) return n.number;
  const auto number = parse_integer(text);
  if (!number.ok() || *number < 0 || *number > most) return wrong(text, what);
  return number;
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

// ---- IPv6 and IPv4 text to bytes

bool read_ipv4(std::string_view text, uint32_t& out) {
  uint32_t address = 0, parts = 0;
  for (size_t at = 0; parts < 4; ++parts) {
    uint32_t value = 0;
    size_t digits = 0;
    for (; at < text.size() && is_digit(text[at]); ++at, ++digits)
      value = value * 10 + static_cast<uint32_t>(text[at] - '0');
    // A leading zero would be octal to some readers (RFC 6943 3.1.1), so it is refused.
    if (digits == 0 || digits > 3 || value > 255 || (digits > 1 && text[at - digits] == '0'))
      return false;
    address = address << 8 | value;
    if (parts == 3) {
      if (at != text.size()) return false;
    } else if (at == text.size() || text[at++] != '.') {
      return false;
    }
  }
  out = address;
  return true;
}

bool read_groups(std::string_view text, std::array<uint16_t, 8>& group, uint32_t& count) {
  count = 0;
  while (!text.empty()) {
    const size_t colon = text.find(':');
    const std::string_view piece = text.substr(0, colon);
    if (uint32_t ipv4 = 0; colon == std::string_view::npos && read_ipv4(piece, ipv4)) {
      if (count > 6) return false;
      group[count++] = static_cast<uint16_t>(ipv4 >> 16);
      group[count++] = static_cast<uint16_t>(ipv4);
      return true;
    }
    if (piece.empty() || piece.size() > 4 || count == 8) return false;
    uint32_t value = 0;
    for (const char c : piece) {
      if (hex_value(c) < 0) return false;
      value = value << 4 | static_cast<uint32_t>(hex_value(c));
    }
    group[count++] = static_cast<uint16_t>(value);
    if (colon == std::string_view::npos) return true;
    text.remove_prefix(colon + 1);
    if (text.empty()) return false;  // ends in a single colon
  }
  return true;
}

bool read_ipv6(std::string_view text, int64_t& high, int64_t& low) {
  std::array<uint16_t, 8> group{}, tail{};
  uint32_t head_count = 0, tail_count = 0;
  const size_t gap = text.find("::");
  if (!read_groups(text.substr(0, gap), group, head_count)) return false;
  if (gap == std::string_view::npos) {
    if (head_count != 8) return false;
  } else {
    if (text.substr(0, gap).find('.') != std::string_view::npos) return false;
    if (!read_groups(text.substr(gap + 2), tail, tail_count)) return false;
    if (head_count + tail_count > 7) return false;
    for (uint32_t i = 0; i < tail_count; ++i) group[8 - tail_count + i] = tail[i];
  }
  uint64_t words[2] = {};
  for (uint32_t i = 0; i < 8; ++i) words[i / 4] = words[i / 4] << 16 | group[i];
  high = static_cast<int64_t>(words[0]);
  low = static_cast<int64_t>(words[1]);
  return true;
}

// ---- RFC 3339

// Digits of a fixed width; false if one is missing.
bool read_digits(std::string_view& text, size_t width, int64_t& out) {
  if (text.size() < width) return false;
  out = 0;
  for (size_t i = 0; i < width; ++i) {
    if (!is_digit(text[i])) return false;
    out = out * 10 + (text[i] - '0');
  }
  text.remove_prefix(width);
  return true;
}
bool read_mark(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool read_fraction(std::string_view& text, int64_t& nanoseconds) {
  nanoseconds = 0;
  if (text.empty() || text[0] != '.') return true;
  text.remove_prefix(1);
  uint32_t digits = 0;
  for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1), ++digits) {
    if (digits == 9) return false;
    nanoseconds = nanoseconds * 10 + (text[0] - '0');
  }
  if (digits == 0) return false;
  for (; digits < 9; ++digits) nanoseconds *= 10;
  return true;
}

bool read_offset(std::string_view text, int64_t& seconds) {
  seconds = 0;
  if (text == "Z" || text == "z") return true;
  if (text.empty()) return false;
  const bool east = text[0] == '+';
  int64_t hours = 0, minutes = 0;
  if (!read_mark(text, "+-") || !read_digits(text, 2, hours) || !read_mark(text, ":") ||
      !read_digits(text, 2, minutes) || !text.empty() || hours > 23 || minutes > 59)
    return false;
  seconds = (hours * 60 + minutes) * 60;
  if (!east) seconds = -seconds;
  return true;
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

bool is_absent(bool may_be_absent, std::span<const int64_t> words) {
  if (!may_be_absent) return false;
  for (const int64_t word : words)
    if (word != kAbsent) return false;
  return true;
}

// A cut key has gone through the IPv6 mask: what kAbsent leaves of itself there is no address
// either (ff00::/8 with all flags and the reserved scope, RFC 4291 2.7).
bool is_absent(const KeyField& field, std::span<const int64_t> words) {
  if (is_absent(field.may_be_absent, words)) return true;
  if (!field.may_be_absent || field.type != FieldType::kAddress || field.prefix_ipv6 < 16)
    return false;
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
  if (is_absent(field.may_be_absent, words)) return out.put('-');
  append_words(out, field.type, field.decimals, words);
}

absl::StatusOr<int64_t> parse_integer(std::string_view text) {
  std::string_view rest = text;
  if (rest.size() > 2 && rest[0] == '0' && lower(rest[1]) == 'x') {
    rest.remove_prefix(2);
    if (rest.size() > 16) return wrong(text, "does not fit 64 bits");
    uint64_t bits = 0;
    for (const char c : rest) {
      if (hex_value(c) < 0) return wrong(text, "is not a hexadecimal number");
      bits = bits << 4 | static_cast<uint64_t>(hex_value(c));
    }
    return static_cast<int64_t>(bits);
  }
  return parse_decimal(text, 0);
}

absl::StatusOr<int64_t> parse_decimal(std::string_view text, uint32_t decimals) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (negative || (!rest.empty() && rest[0] == '+')) rest.remove_prefix(1);
  int128 value = 0;
  uint32_t fraction = 0;
  bool point = false, digit = false;
  const int128 limit = static_cast<int128>(1) << 63;
  for (const char c : rest) {
    if (c == '.' && !point && digit) {
      point = true;
      continue;
    }
    if (!is_digit(c)) return wrong(text, "is not a number");
    digit = true;
    if (point && fraction == decimals) {
      if (c != '0') return wrong(text, "has more decimals than the field");
      continue;
    }
    fraction += point ? 1 : 0;
    value = value * 10 + (c - '0');
    if (value > limit) return wrong(text, "does not fit 64 bits");
  }
  if (!digit || rest.back() == '.') return wrong(text, "is not a number");
  for (; fraction < decimals; ++fraction) {
    value *= 10;
    if (value > limit) return wrong(text, "does not fit 64 bits");
  }
  if (negative) value = -value;
  if (value == limit) return wrong(text, "does not fit 64 bits");
  return static_cast<int64_t>(value);
}

absl::StatusOr<AddressPrefix> parse_address(std::string_view text) {
  AddressPrefix address;
  if (uint32_t ipv4 = 0; read_ipv4(text, ipv4)) {
    address.low = static_cast<int64_t>(uint64_t{0xFFFF} << 32 | ipv4);
  } else if (!read_ipv6(text, address.high, address.low)) {
    return wrong(text, "is not an IPv4 or IPv6 address");
  }
  address.ipv4 = is_ipv4(address.high, address.low);
  address.length = address.ipv4 ? 32 : 128;
  return address;
}

absl::StatusOr<AddressPrefix> parse_prefix(std::string_view text) {
  const size_t slash = text.find('/');
  auto prefix = parse_address(text.substr(0, slash));
  if (!prefix.ok() || slash == std::string_view::npos) return prefix;
  const std::string_view digits = text.substr(slash + 1);
  const auto length = parse_decimal(digits, 0);
  if (!length.ok() || !is_digit(digits[0]) || *length > prefix->length)
    return wrong(text, prefix->ipv4 ? "has a prefix length that is not 0 to 32"
                                    : "has a prefix length that is not 0 to 128");
  prefix->length = static_cast<uint8_t>(*length);
  const PrefixMask mask = prefix_mask(prefix->ipv4, prefix->length);
  if ((prefix->high & ~mask.high) != 0 || (prefix->low & ~mask.low) != 0)
    return wrong(text, "has bits set behind its prefix");
  return prefix;
}

absl::StatusOr<int64_t> parse_mac(std::string_view text) {
  constexpr std::string_view kWhat = "is not a MAC address (02:00:5e:10:00:01)";
  if (text.size() != 17) return wrong(text, kWhat);
  uint64_t mac = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 2) {
      if ((text[i] != ':' && text[i] != '-') || text[i] != text[2]) return wrong(text, kWhat);
      continue;
    }
    if (hex_value(text[i]) < 0) return wrong(text, kWhat);
    mac = mac << 4 | static_cast<uint64_t>(hex_value(text[i]));
  }
  return static_cast<int64_t>(mac);
}

absl::StatusOr<FieldWords> parse_packed_text(std::string_view text, uint32_t words) {
  if (text.size() > size_t{8} * std::min(words, kMaxKeyWords))
    return wrong(text, "is longer than the field");
  if (text.find('\0') != std::string_view::npos) return wrong(text, "holds a zero byte");
  FieldWords out;
  for (size_t i = 0; i < text.size(); ++i)
    out.word[i / 8] |=
        static_cast<int64_t>(uint64_t{static_cast<unsigned char>(text[i])} << (56 - 8 * (i % 8)));
  return out;
}

absl::StatusOr<int64_t> parse_protocol(std::string_view text) {
  return named_number(text, kProtocols, 255, "is not an IP protocol (a name, or 0 to 255)");
}

absl::StatusOr<int64_t> parse_ethertype(std::string_view text) {
  return named_number(text, kEthertypes, 0xFFFF, "is not an ethertype (a name, or 0 to 0xffff)");
}

absl::StatusOr<int64_t> parse_tcp_flags(std::string_view text) {
  constexpr std::string_view kWhat = "is not a set of TCP flags (letters of FSRPAUEC, or 0 to 255)";
  if (text == ".") return 0;
  if (!text.empty() && is_digit(text[0])) return named_number(text, {}, 255, kWhat);
  int64_t flags = 0;
  for (const char c : text) {
    size_t bit = 0;
    while (bit < kFlagLetters.size() && lower(kFlagLetters[bit]) != lower(c)) ++bit;
    if (bit == kFlagLetters.size()) return wrong(text, kWhat);
    flags |= int64_t{1} << bit;
  }
  if (flags == 0) return wrong(text, kWhat);
  return flags;
}

absl::StatusOr<EventTime> parse_time(std::string_view text) {
  constexpr std::string_view kWhat = "is not a time (2024-02-29T23:59:59.5Z, or with +01:00)";
  std::string_view rest = text;
  int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, nanoseconds = 0;
  int64_t offset = 0;
  if (!read_digits(rest, 4, year) || !read_mark(rest, "-") || !read_digits(rest, 2, month) ||
      !read_mark(rest, "-") || !read_digits(rest, 2, day) || !read_mark(rest, "Tt ") ||
      !read_digits(rest, 2, hour) || !read_mark(rest, ":") || !read_digits(rest, 2, minute) ||
      !read_mark(rest, ":") || !read_digits(rest, 2, second) || !read_fraction(rest, nanoseconds) ||
      !read_offset(rest, offset))
    return wrong(text, kWhat);
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59)
    return wrong(text, "is not a time that exists");
  const int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const int64_t seconds = days * 86'400 + hour * 3600 + minute * 60 + second - offset;
  const int128 ns = static_cast<int128>(seconds) * kSecond + nanoseconds;
  if (ns <= INT64_MIN || ns >= INT64_MAX)
    return wrong(text, "is outside the years 1677 to 2262 that 64 bits of nanoseconds can hold");
  return EventTime{static_cast<int64_t>(ns)};
}

absl::StatusOr<FieldWords> parse_field(const Field& field, std::string_view text) {
  if (field.may_be_absent && text == "-") {
    FieldWords absent;
    for (uint32_t i = 0; i < field.words && i < kMaxKeyWords; ++i) absent.word[i] = kAbsent;
    return absent;
  }
  const auto one = [](absl::StatusOr<int64_t> word) -> absl::StatusOr<FieldWords> {
    if (!word.ok()) return word.status();
    return FieldWords{{*word}};
  };
  switch (field.type) {
    case FieldType::kInteger:
      return one(field.decimals == 0 ? parse_integer(text) : parse_decimal(text, field.decimals));
    case FieldType::kAddress: {
      const auto address = parse_address(text);
      if (!address.ok()) return address.status();
      return FieldWords{{address->high, address->low}};
    }
    case FieldType::kMac:
      return one(parse_mac(text));
    case FieldType::kText:
      return parse_packed_text(text, field.words);
    case FieldType::kProtocol:
      return one(parse_protocol(text));
    case FieldType::kEthertype:
      return one(parse_ethertype(text));
    case FieldType::kFlags:
      return one(parse_tcp_flags(text));
    case FieldType::kFlow:
      return wrong(text, "cannot be a flow: compare its addresses and ports instead");
    case FieldType::kTime: {
      const auto time = parse_time(text);
      if (!time.ok()) return time.status();
      return FieldWords{{time->ns}};
    }
  }
  return wrong(text, "has no known type");
}

PrefixMask prefix_mask(bool ipv4, uint32_t length) {
  const uint32_t bits = ipv4 ? 96 + length : length;
  const auto word = [](uint32_t n) {
    return n == 0 ? int64_t{0} : static_cast<int64_t>(~uint64_t{0} << (64 - n));
  };
  return {word(std::min(bits, 64u)), word(bits > 64 ? bits - 64 : 0)};
}

}  // namespace tidewire
