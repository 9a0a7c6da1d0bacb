// The one table of options: name, kind, default, limits, reason, and the field it ends in. The
// loader validates by it, config/tidewire.conf is printed from it, `explain` takes the defaults
// from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace tidewire {

enum class OptionKind : uint8_t {
  kBool,
  kInteger,
  kIntegers,  // a list
  kDuration,  // a text with a unit; nanoseconds
  kSize,      // a text with a unit; bytes
  kText,
  kTexts,  // a list, or one text
  kChoice,
};

struct OptionValue {
  int64_t number = 0;  // kBool, kInteger, kDuration, kSize
  std::string text;    // kText, kChoice
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
};

// What an option's value may end in: exactly the section's own is set.
struct OptionTarget {
  SystemConfig* system = nullptr;
  RuntimeConfig* runtime = nullptr;
  SourceConfig* source = nullptr;
  QuerySpec* query = nullptr;
  SinkConfig* sink = nullptr;
};

struct Option {
  std::string_view section;  // "system", "runtime", "source", "query", "query.window", "sink"
  std::string_view key;
  OptionKind kind;
  // As a person writes it, without quotes; lists by commas; kRequired: there is none.
  std::string_view fallback;
  int64_t least, most;       // numbers; texts: characters. most == kNeverAllowed: also "never"
  std::string_view choices;  // "a b c"
  std::string_view only;     // "type=file": where it has a meaning; "a=x y": one of several
  std::string_view example;  // what the printed example sets; empty: it shows the default
  std::string_view why;      // one or more sentences
  void (*set)(OptionTarget&, const OptionValue&);
  // Null, or what is wrong with a value that the limits allow (null: nothing).
  const char* (*check)(const OptionValue&) = nullptr;

  // The table's way to add what few entries have.
  constexpr Option when(std::string_view other) const {
    Option changed = *this;
    changed.only = other;
    return changed;
  }
  constexpr Option shown(std::string_view value) const {
    Option changed = *this;
    changed.example = value;
    return changed;
  }
  constexpr Option checked(const char* (*test)(const OptionValue&)) const {
    Option changed = *this;
    changed.check = test;
    return changed;
  }
};

inline constexpr std::string_view kRequired = "\x01";
inline constexpr int64_t kNeverAllowed = INT64_MAX;
inline constexpr int64_t kNoLimit = INT64_MAX - 1;

std::span<const Option> options();
const Option* find_option(std::string_view section, std::string_view key);

// Lists in the table are words with a space between them.
constexpr std::string_view first_word(std::string_view words) {
  return words.substr(0, words.find(' '));
}
constexpr std::string_view after_word(std::string_view words) {
  const size_t space = words.find(' ');
  return space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
}

// Whether the option has a meaning beside the others of its section: `setting(key)` gives the text
// of one.
template <class Setting>
bool applies(const Option& option, const Setting& setting) {
  if (option.only.empty()) return true;
  const size_t equals = option.only.find('=');
  const std::string_view value = setting(option.only.substr(0, equals));
  for (std::string_view rest = option.only.substr(equals + 1); !rest.empty();
       rest = after_word(rest))
    if (first_word(rest) == value) return true;
  return false;
}

// A value from its text, with the option's kind and limits; lists: one item. False: `problem` says
// what is wrong, to stand behind the option's name.
bool read_option(const Option& option, std::string_view text, OptionValue& out,
                 std::string& problem);
bool check_number(const Option& option, int64_t number, std::string& problem);
// "a duration in quotes, such as \"250 ms\""
std::string describe(const Option& option);

// config/tidewire.conf: every option with its reason, limits and default; loads as it is.
std::string print_example();

}  // namespace tidewire
