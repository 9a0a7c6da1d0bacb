#include "format/text_fields.h"

#include <absl/status/status.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/strings.h"
#include "format/bytes.h"
#include "format/text_parser.h"

namespace tidewire::text {
namespace {

constexpr int64_t kNumberMax = int64_t{1} << 62;
constexpr uint32_t kDecimalsMax = 9, kTextMax = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "decimal(2)": name and number; -1: none.
bool split_type(std::string_view type, std::string_view& name, int& number) {
  const size_t open = type.find('(');
  name = type.substr(0, open);
  number = -1;
  if (open == std::string_view::npos) return true;
  if (!type.ends_with(')')) return false;
  const char* const end = type.data() + type.size() - 1;
  const auto [stop, code] = std::from_chars(type.data() + open + 1, end, number);
  return code == std::errc() && stop == end && number >= 0;
}

std::string set_type(std::string_view text, TextField& field) {
  std::string_view name;
  int number = -1;
  if (!split_type(text, name, number)) return "cannot be read";
  if (name == "integer" && number < 0) {
    field.type = Type::kInteger;
  } else if (name == "flag" && number < 0) {
    field.type = Type::kFlag;
  } else if (name == "address" && number < 0) {
    field.type = Type::kAddress;
    field.words = 2;
  } else if (name == "decimal") {
    if (number < 1 || number > static_cast<int>(kDecimalsMax))
      return "needs 1 to 9 decimals, as decimal(2)";
    field.type = Type::kDecimal;
    field.decimals = static_cast<uint8_t>(number);
  } else if (name == "text") {
    if (number < 0) number = 16;
    if (number < 1 || number > static_cast<int>(kTextMax)) return "holds 1 to 32 bytes";
    field.type = Type::kText;
    field.words = static_cast<uint8_t>((number + 7) / 8);
  } else {
    return "is none of integer, decimal(N), text, text(N), address, flag";
  }
  return {};
}

// Two digits at `at`; -1: they are not there.
int two(std::string_view text, size_t at) {
  if (at + 2 > text.size() || !is_digit(text[at]) || !is_digit(text[at + 1])) return -1;
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

// Days from 1970-01-01 to a date of the Gregorian calendar. The year begins in March, so that the
// day that comes and goes is its last.
int64_t days_to(int64_t year, int64_t month, int64_t day) {
  if (month <= 2) --year;
  const int64_t months = (month + 9) % 12;  // since March
  const int64_t days_before = (153 * months + 2) / 5;
  return 365 * year + floor_div(year, 4) - floor_div(year, 100) + floor_div(year, 400) +
         days_before + day - 1 - 719'468;
}

int64_t days_in(int64_t year, int64_t month) {
  if (month == 2) {
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return leap ? 29 : 28;
  }
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// What a zone's wall clock calls `local`: where it comes twice, the first; where it never comes, as
// if the clock had not jumped.
int64_t to_utc(const Zone& zone, int64_t local) {
  const int64_t before = zone.offset_at({local - kDayLength}).ns;
  const int64_t after = zone.offset_at({local + kDayLength}).ns;
  const int64_t first = local - before;
  if (before == after || zone.offset_at({first}).ns == before) return first;
  const int64_t second = local - after;
  return zone.offset_at({second}).ns == after ? second : first;
}

// YYYY-MM-DD, T or a space, HH:MM, :SS, fraction, then Z, +HH:MM or nothing.
EventTime read_text_time(std::string_view text, const Zone& zone, LaneCounts& counts) {
  constexpr EventTime kNone = EventTime::before_all();
  if (text.size() < 16 || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
      (text[10] != 'T' && text[10] != 't' && text[10] != ' '))
    return kNone;
  const int century = two(text, 0), rest = two(text, 2), month = two(text, 5), day = two(text, 8);
  const int hour = two(text, 11), minute = two(text, 14);
  const int64_t year = int64_t{century} * 100 + rest;
  if (century < 0 || rest < 0 || month < 1 || month > 12 || day < 1 || day > days_in(year, month) ||
      hour < 0 || hour > 23 || minute < 0 || minute > 59)
    return kNone;
  text.remove_prefix(16);
  int second = 0;
  int64_t fraction = 0;
  if (text.starts_with(':')) {
    second = two(text, 1);
    if (second < 0 || second > 60) return kNone;
    text.remove_prefix(3);
    if (text.starts_with('.') || text.starts_with(',')) {
      text.remove_prefix(1);
      size_t digits = 0;
      for (; digits < text.size() && is_digit(text[digits]); ++digits)
        if (digits < 9) fraction = fraction * 10 + (text[digits] - '0');
      if (digits == 0) return kNone;
      for (size_t i = digits; i < 9; ++i) fraction *= 10;
      text.remove_prefix(digits);
    }
  }
  if (second == 60) {  // a leap second: the last moment of the one before
    counts.note(Note::kLeapSecond);
    second = 59;
    fraction = kSecond - 1;
  }
  // Within 1750 and 2189: the rest is out of any usable range, whatever it is.
  const int64_t of_day = ((int64_t{hour} * 60 + minute) * 60 + second) * kSecond + fraction;
  if (year < 1700 || year > 2240) return {INT64_MAX - 1};
  const int64_t local = days_to(year, month, day) * kDayLength + of_day;
  if (text.empty()) return {to_utc(zone, local)};
  if (text == "Z" || text == "z") return {local};
  const int hours = two(text, 1);
  const bool colon = text.size() == 6 && text[3] == ':';
  const int minutes = colon              ? two(text, 4)
                      : text.size() == 5 ? two(text, 3)
                      : text.size() == 3 ? 0
                                         : -1;
  if ((text[0] != '+' && text[0] != '-') || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
    return kNone;
  const int64_t offset = (int64_t{hours} * 60 + minutes) * 60 * kSecond;
  return {text[0] == '+' ? local - offset : local + offset};
}

bool read_ipv4(std::string_view text, uint32_t& out) {
  out = 0;
  for (int part = 0; part < 4; ++part) {
    uint32_t number = 0;
    const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto used = static_cast<size_t>(stop - text.data());
    if (code != std::errc() || number > 255 || used > 3) return false;
    out = out << 8 | number;
    text.remove_prefix(used);
    if (part == 3) return text.empty();
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
  return false;
}

bool read_address(std::string_view text, int64_t* words) {
  uint32_t ipv4 = 0;
  if (read_ipv4(text, ipv4)) {
    words[0] = 0;
    words[1] = int64_t{0xFFFF} << 32 | ipv4;
    return true;
  }
  // Groups before and behind "::".
  std::array<uint16_t, 8> group{};
  size_t groups = 0, gap = SIZE_MAX;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    if (groups == 8) return false;
    if (groups <= 6 && read_ipv4(text, ipv4)) {
      group[groups++] = static_cast<uint16_t>(ipv4 >> 16);
      group[groups++] = static_cast<uint16_t>(ipv4);
      break;
    }
    const auto [stop, code] =
        std::from_chars(text.data(), text.data() + text.size(), group[groups], 16);
    const auto used = static_cast<size_t>(stop - text.data());
    if (code != std::errc() || used == 0 || used > 4) return false;
    ++groups;
    text.remove_prefix(used);
    if (text.empty()) break;
    if (!text.starts_with(':') || text.size() == 1) return false;
    text.remove_prefix(1);
    if (!text.starts_with(':')) continue;
    if (gap != SIZE_MAX) return false;
    gap = groups;
    text.remove_prefix(1);
  }
  if (gap == SIZE_MAX ? groups != 8 : groups > 7) return false;
  const size_t front = gap == SIZE_MAX ? groups : gap, behind = groups - front;
  std::array<uint16_t, 8> all{};
  std::copy_n(group.begin(), front, all.begin());
  std::copy_n(group.begin() + static_cast<std::ptrdiff_t>(front), behind,
              all.end() - static_cast<std::ptrdiff_t>(behind));
  uint64_t high = 0, low = 0;
  for (size_t i = 0; i < 4; ++i) high = high << 16 | all[i], low = low << 16 | all[4 + i];
  words[0] = static_cast<int64_t>(high);
  words[1] = static_cast<int64_t>(low);
  return true;
}

void set_text(std::string_view text, uint32_t words, int64_t* to) {
  std::array<uint8_t, kTextMax> held{};
  std::memcpy(held.data(), text.data(), std::min<size_t>(text.size(), size_t{words} * 8));
  for (uint32_t w = 0; w < words; ++w)
    to[w] = static_cast<int64_t>(read_be64(&held[size_t{8} * w]));
}

}  // namespace

absl::StatusOr<std::vector<TextField>> parse_text_fields(const std::vector<std::string>& fields) {
  std::vector<TextField> parsed;
  uint32_t slot = kFirstSlot;
  for (const std::string& text : fields) {
    const auto refuse = [&](const std::string& why) {
      std::string whole = "fields: '";
      whole.append(text).append("' ").append(why);
      return absl::InvalidArgumentError(to_absl(whole));
    };
    const size_t space = text.find(' ');
    if (space == std::string::npos) return refuse("lacks its type: write \"NAME integer\"");
    TextField field;
    field.name = field.place = text.substr(0, space);
    std::string_view rest = std::string_view(text).substr(space + 1);
    const size_t from = rest.find(" from ");
    if (from != std::string_view::npos) {
      field.place = rest.substr(from + 6);
      rest = rest.substr(0, from);
    }
    const auto is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
    };
    if (field.name.empty() || is_digit(field.name[0]) || field.place.empty() ||
        !std::all_of(field.name.begin(), field.name.end(), is_word))
      return refuse("has no name of letters, digits and _");
    if (field.name == "sender") return refuse("has the name of who sent the datagram");
    if (std::any_of(parsed.begin(), parsed.end(),
                    [&](const TextField& other) { return other.name == field.name; }))
      return refuse("has a name that stands there already");
    if (const std::string why = set_type(rest, field); !why.empty())
      return refuse("has a type that " + why);
    field.slot = static_cast<uint8_t>(slot);
    slot += field.words;
    if (parsed.size() + 2 > kFieldMax || slot > kSlots)
      return absl::InvalidArgumentError("fields: more than a format can have (62)");
    parsed.push_back(std::move(field));
  }
  return parsed;
}

std::vector<ValueField> value_fields(const std::vector<TextField>& fields) {
  std::vector<ValueField> all;
  for (const TextField& field : fields) {
    Field shown;
    shown.name = field.name;
    shown.words = field.words;
    shown.decimals = field.decimals;
    shown.may_be_absent = true;
    shown.help = "declared in the source's `fields`";
    switch (field.type) {
      case Type::kInteger:
      case Type::kDecimal:
        shown.bits = 62;
        shown.absent = kAbsentNumber;
        break;
      case Type::kFlag:
        shown.bits = 1;
        shown.non_negative = true;
        break;
      case Type::kText:
        shown.type = FieldType::kText;
        break;
      case Type::kAddress:
        shown.type = FieldType::kAddress;
        break;
    }
    all.push_back({shown, field.slot});
  }
  all.push_back(
      {{"sender", FieldType::kAddress, 2, 63, 0, true, "who sent the datagram"}, kSender});
  return all;
}

absl::StatusOr<TextOptions> make_text_options(const FormatOptions& options, TextTimeUnit usual) {
  TextOptions made;
  auto fields = parse_text_fields(options.fields);
  if (!fields.ok()) return fields.status();
  made.fields = *std::move(fields);
  made.time = options.time;
  made.unit = options.time_unit == TextTimeUnit::kAuto ? usual : options.time_unit;
  made.time_may_be_arrival = options.time_may_be_arrival;
  made.separator = options.separator;
  made.header = options.header;
  absl::StatusOr<Zone> zone = Zone::load(options.zone.empty() ? "UTC" : options.zone);
  if (!zone.ok())
    return absl::InvalidArgumentError(
        to_absl("zone: " + std::string(from_absl(zone.status().message()))));
  made.zone = *std::move(zone);
  return made;
}

void set_absent(const TextField& field, int64_t* values) {
  const bool number = field.type == Type::kInteger || field.type == Type::kDecimal;
  std::fill_n(values + field.slot, field.words, number ? kAbsentNumber : kAbsent);
}

void set_value(const TextField& field, std::string_view text, int64_t* values, LaneCounts& counts) {
  int64_t* const to = values + field.slot;
  bool good = true;
  switch (field.type) {
    case Type::kInteger:
    case Type::kDecimal:
      good = read_number(text, field.decimals, *to);
      break;
    case Type::kFlag:
      good = text == "true" || text == "false" || text == "1" || text == "0" || text == "t" ||
             text == "f" || text == "T" || text == "F" || text == "True" || text == "False" ||
             text == "TRUE" || text == "FALSE";
      *to = good && (text[0] == 't' || text[0] == 'T' || text[0] == '1') ? 1 : 0;
      break;
    case Type::kText:
      if (text.size() > size_t{field.words} * 8) counts.note(Note::kTextCut);
      set_text(text, field.words, to);
      break;
    case Type::kAddress:
      good = read_address(text, to);
      break;
  }
  if (good) return;
  counts.note(Note::kUnreadable);
  set_absent(field, values);
}

bool read_number(std::string_view text, uint32_t decimals, int64_t& out) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  // Digits as a whole number, and how many of them stand behind the point.
  uint64_t number = 0;
  int64_t behind = 0;
  bool any = false, point = false, more = false;  // more: digits that did not fit, not all zero
  constexpr uint64_t kRoom = UINT64_MAX / 10 - 1;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (is_digit(c)) {
      any = true;
      if (number <= kRoom) {
        number = number * 10 + static_cast<uint64_t>(c - '0');
        behind += point ? 1 : 0;
      } else {
        more |= c != '0';
        behind -= point ? 0 : 1;
      }
    } else {
      break;
    }
  }
  if (!any) return false;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return false;
    ++at;
    if (at < text.size() && text[at] == '+') ++at;
    int exponent = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data() + at, end, exponent);
    if (code != std::errc() || stop != end) return false;
    behind -= exponent;
  }
  for (; behind < decimals && number != 0; ++behind)
    if (__builtin_mul_overflow(number, uint64_t{10}, &number)) return false;
  uint64_t scale = 1;
  for (; behind > decimals; --behind) {
    if (scale > UINT64_MAX / 10) {  // nothing is left of it
      more |= number != 0;
      number = 0;
      break;
    }
    scale *= 10;
  }
  const uint64_t rest = number % scale, half = scale / 2;
  number /= scale;
  const bool exactly_half = scale > 1 && rest == half && !more;
  if (scale > 1 && (rest > half || (rest == half && more) || (exactly_half && number % 2 == 1)))
    ++number;
  if (number > static_cast<uint64_t>(kNumberMax)) return false;
  out = negative ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
  return true;
}

EventTime read_time(std::string_view text, TextTimeUnit unit, const Zone& zone,
                    LaneCounts& counts) {
  uint32_t decimals = 0;
  switch (unit) {
    case TextTimeUnit::kAuto:  // decided when the format was opened
    case TextTimeUnit::kText:
      return read_text_time(text, zone, counts);
    case TextTimeUnit::kSeconds:
      decimals = 9;
      break;
    case TextTimeUnit::kMilliseconds:
      decimals = 6;
      break;
    case TextTimeUnit::kMicroseconds:
      decimals = 3;
      break;
    case TextTimeUnit::kNanoseconds:
      break;
  }
  // Exact: a time goes through no double. What is no number may still be one beyond all range.
  int64_t ns = 0;
  if (read_number(text, decimals, ns)) return {ns};
  const bool digits =
      !text.empty() && std::all_of(text.begin() + (text[0] == '-'), text.end(), is_digit);
  return digits && text.size() > 9 ? EventTime{INT64_MAX - 1} : EventTime::before_all();
}

}  // namespace tidewire::text
