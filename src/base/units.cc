#include "base/units.h"

#include <array>
#include <span>

#include "base/int128.h"

namespace tidewire {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Ascending by factor: printing takes the last that divides.
constexpr std::array<Unit, 7> kDurationUnits = {{{"ns", 1},
                                                 {"us", kMicrosecond},
                                                 {"ms", kMillisecond},
                                                 {"s", kSecond},
                                                 {"m", 60 * kSecond},
                                                 {"h", 3600 * kSecond},
                                                 {"d", 86'400 * kSecond}}};
constexpr std::array<Unit, 9> kSizeUnits = {{{"B", 1},
                                             {"KiB", uint64_t{1} << 10},
                                             {"MiB", uint64_t{1} << 20},
                                             {"GiB", uint64_t{1} << 30},
                                             {"TiB", uint64_t{1} << 40},
                                             {"kB", 1'000},
                                             {"MB", 1'000'000},
                                             {"GB", 1'000'000'000},
                                             {"TB", 1'000'000'000'000}}};
constexpr size_t kBinarySizeUnits = 5;  // printing uses these only
constexpr std::array<Unit, 4> kRateUnits = {
    {{"/s", 1}, {"k/s", 1'000}, {"M/s", 1'000'000}, {"G/s", 1'000'000'000}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string unit_list(std::span<const Unit> units) {
  std::string text;
  for (const Unit& unit : units) text += (text.empty() ? "" : ", ") + std::string(unit.name);
  return text;
}

struct Number {
  uint128 digits = 0;  // all digits, the point left out
  uint128 scale = 1;   // 10 ^ digits behind the point
};

// Reads "12" or "12.5" from the front of `text`. False: no number, or more digits than anything
// that fits has.
bool take_number(std::string_view& text, Number& number, bool& too_long) {
  constexpr size_t kMaxDigits = 30;  // digits < 10^30 < 2^100: times a unit's factor it still fits
  size_t at = 0, digits = 0, before_point = 0;
  bool point = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !point) {
      point = true;
      before_point = digits;
      continue;
    }
    if (!is_digit(text[at])) break;
    if (++digits > kMaxDigits) {
      too_long = true;
      return false;
    }
    number.digits = number.digits * 10 + static_cast<uint128>(text[at] - '0');
    if (point) number.scale *= 10;
  }
  if (digits == 0 || (point && (before_point == 0 || before_point == digits))) return false;
  text.remove_prefix(at);
  return true;
}

// |value| in the smallest unit, at most `limit`.
bool parse(std::string_view text, std::span<const Unit> units, uint64_t limit, uint64_t& out,
           std::string& error) {
  const std::string quoted = std::string("'").append(text) + "'";
  Number number;
  bool too_long = false;
  if (!take_number(text, number, too_long)) {
    error = too_long ? quoted + " is too large"
                     : quoted + " does not begin with a number; write it like \"10 " +
                           std::string(units[units.size() > 4 ? 2 : 0].name) + "\"";
    return false;
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.empty()) {
    error = quoted + " has no unit; valid are: " + unit_list(units);
    return false;
  }
  for (const Unit& unit : units) {
    if (unit.name != text) continue;
    uint128 value = 0;
    if (__builtin_mul_overflow(number.digits, static_cast<uint128>(unit.factor), &value) ||
        value / number.scale > limit) {
      error = quoted + " is too large";
      return false;
    }
    if (value % number.scale != 0) {
      error = quoted + " is not a whole number of " + std::string(units[0].name);
      return false;
    }
    out = static_cast<uint64_t>(value / number.scale);
    return true;
  }
  error =
      quoted + " has an unknown unit '" + std::string(text) + "'; valid are: " + unit_list(units);
  return false;
}

std::string format(uint64_t value, std::span<const Unit> units, std::string_view zero_unit) {
  if (value == 0) return "0 " + std::string(zero_unit);
  size_t best = 0;
  for (size_t i = 0; i < units.size(); ++i)
    if (value % units[i].factor == 0) best = i;
  return std::to_string(value / units[best].factor) + " " + std::string(units[best].name);
}

}  // namespace

bool parse_duration(std::string_view text, Duration& out, std::string& error) {
  const bool negative = !text.empty() && text.front() == '-';
  uint64_t value = 0;
  if (!parse(negative ? text.substr(1) : text, kDurationUnits, INT64_MAX, value, error))
    return false;
  out.ns = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  return true;
}

bool parse_size(std::string_view text, uint64_t& out, std::string& error) {
  return parse(text, kSizeUnits, UINT64_MAX, out, error);
}

bool parse_rate(std::string_view text, uint64_t& out, std::string& error) {
  return parse(text, kRateUnits, UINT64_MAX, out, error);
}

std::string format_duration(Duration duration) {
  const bool negative = duration.ns < 0;
  const uint64_t value = negative ? uint64_t{0} - static_cast<uint64_t>(duration.ns)
                                  : static_cast<uint64_t>(duration.ns);
  return std::string(negative ? "-" : "") + format(value, kDurationUnits, "s");
}

std::string format_size(uint64_t bytes) {
  return format(bytes, std::span(kSizeUnits).first(kBinarySizeUnits), "B");
}

std::string format_rate(uint64_t per_second) { return format(per_second, kRateUnits, "/s"); }

}  // namespace tidewire
