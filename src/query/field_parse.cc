#include <algorithm>
#include <chrono>
#include <string>

#include "query/field_names.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

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

absl::StatusOr<int64_t> named_number(std::string_view text, std::span<const NumberName> names,
                                     int64_t most, std::string_view what) {
  for (const NumberName& n : names)
    if (equal_any_case(n.name, text)) return n.number;
  auto number = parse_integer(text);
  if (!number.ok() || *number < 0 || *number > most) return wrong(text, what);
  return number;
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

// Seconds since 1970, at which a leap second before would have ended (RFC 3339 5.7).
bool begins_month(int64_t seconds) {
  const std::chrono::sys_days date{std::chrono::days{floor_div(seconds, 86'400)}};
  return seconds % 86'400 == 0 && std::chrono::year_month_day{date}.day() == std::chrono::day{1};
}

}  // namespace

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
  if (!date.ok() || hour > 23 || minute > 59 || second > 60)
    return wrong(text, "is not a time that exists");
  const int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  int64_t seconds = days * 86'400 + hour * 3600 + minute * 60 + second - offset;
  if (second == 60) {
    if (!begins_month(seconds))
      return wrong(text, "is not a time that exists: leap seconds end a month of UTC");
    --seconds;
    nanoseconds = kSecond - 1;
  }
  const int128 ns = static_cast<int128>(seconds) * kSecond + nanoseconds;
  if (ns <= INT64_MIN || ns >= INT64_MAX)
    return wrong(text, "is outside the years 1677 to 2262 that 64 bits of nanoseconds can hold");
  return EventTime{static_cast<int64_t>(ns)};
}

absl::StatusOr<FieldWords> parse_field(const Field& field, std::string_view text) {
  if (field.may_be_absent && text == "-") {
    FieldWords absent;
    for (uint32_t i = 0; i < field.words && i < kMaxKeyWords; ++i) absent.word[i] = field.absent;
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

}  // namespace tidewire
