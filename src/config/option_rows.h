// What the rows of the option table are written with. Included by the files that hold rows.
#pragma once

#include "config/options.h"

namespace tidewire::option_rows {

using Kind = OptionKind;
using Target = OptionTarget;
using Value = OptionValue;

inline constexpr int64_t kYears = int64_t{3650} * 86'400 * kSecond;  // ten: nothing sane is longer
inline constexpr int64_t kLine = 4096;                               // characters of a text
inline constexpr int64_t kNames = 64;                                // items of a list

inline uint32_t u32(const Value& v) { return static_cast<uint32_t>(v.number); }
inline uint64_t u64(const Value& v) { return static_cast<uint64_t>(v.number); }
inline Duration duration(const Value& v) { return {v.number}; }
// Of options whose "never" is a length of zero.
inline Duration or_never(const Value& v) { return {v.number == kNeverAllowed ? 0 : v.number}; }
inline const char* check_years(const Value& v) {
  return v.number == kNeverAllowed || v.number <= kYears ? nullptr
                                                         : "must be 3650 d at most, or \"never\"";
}

// The choices of an option stand in the order of its enum.
template <class Enum>
Enum chosen(std::string_view choices, const Value& v) {
  uint8_t index = 0;
  for (auto rest = choices; !rest.empty() && first_word(rest) != v.text; rest = after_word(rest))
    ++index;
  return static_cast<Enum>(index);
}

using Text = std::string_view;
using Set = void (*)(Target&, const Value&);

constexpr Option option(Text section, Text key, Kind kind, Text fallback, int64_t least,
                        int64_t most, Text why, Set set) {
  return {section, key, kind, fallback, least, most, {}, {}, {}, why, set};
}
constexpr Option choice(Text section, Text key, Text fallback, Text choices, Text why, Set set) {
  return {section, key, Kind::kChoice, fallback, 0, 0, choices, {}, {}, why, set};
}

// The rows of each section, in the order in which config/tidewire.conf shows them.
std::span<const Option> source_options();
std::span<const Option> query_options();

}  // namespace tidewire::option_rows
