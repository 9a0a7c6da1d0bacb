#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "config/options.h"
#include "config/peer_words.h"
#include "query/nearest.h"

namespace tidewire {
namespace {

using Kind = OptionKind;

// "a, b or c"
std::string listed(std::string_view words) {
  std::string text;
  while (!words.empty()) {
    const std::string_view word = first_word(words);
    words = after_word(words);
    text += (text.empty() ? "" : words.empty() ? " or " : ", ") + std::string(word);
  }
  return text;
}

std::string show_number(const Option& option, int64_t number) {
  switch (option.kind) {
    case Kind::kDuration:
      return format_duration({number});
    case Kind::kSize:
      return format_size(static_cast<uint64_t>(number));
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kIntegers:
    case Kind::kText:
    case Kind::kTexts:
    case Kind::kChoice:
      break;
  }
  return std::to_string(number);
}

// As TOML: quoted where the kind is a text.
std::string as_toml(Kind kind, std::string_view value) {
  switch (kind) {
    case Kind::kBool:
    case Kind::kInteger:
      return std::string(value);
    case Kind::kIntegers:
      return "[" + std::string(value) + "]";
    case Kind::kDuration:
    case Kind::kSize:
    case Kind::kText:
    case Kind::kChoice:
      return "\"" + std::string(value) + "\"";
    case Kind::kTexts:
      break;
  }
  std::string text;
  while (!value.empty()) {
    const size_t comma = value.find(", ");
    text += (text.empty() ? "\"" : ", \"") + std::string(value.substr(0, comma)) + "\"";
    value = comma == std::string_view::npos ? std::string_view() : value.substr(comma + 2);
  }
  return "[" + text + "]";
}

// The limits in words, or nothing where there are none worth a word.
std::string limits(const Option& option) {
  const std::string least = show_number(option, option.least);
  switch (option.kind) {
    case Kind::kChoice:
      return listed(option.choices);
    case Kind::kInteger:
      return option.most == kNoLimit ? least + " or more"
                                     : least + " to " + show_number(option, option.most);
    case Kind::kSize:
      return least + " to " + show_number(option, option.most);
    case Kind::kDuration:
      return option.most == kNeverAllowed ? least + " or more, or never"
                                          : least + " to " + show_number(option, option.most);
    case Kind::kBool:
    case Kind::kIntegers:
    case Kind::kText:
    case Kind::kTexts:
      break;
  }
  return {};
}

// Breaks a sentence into comment lines.
std::string comment(const std::string& text) {
  constexpr size_t kWidth = 98;
  std::string out, line = "#";
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view word = first_word(rest);
    rest = after_word(rest);
    if (line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = "#";
    }
    line += " " + std::string(word);
  }
  return out + line + "\n";
}

// Their names are the user's, so they are in no table.
constexpr std::string_view kColumnsExample = R"conf(
# Fields derived from others: NAME = "FORMULA". Queries name them like the format's; one that no
# query uses costs nothing. The language: tidewire help fields; examples: config/derived.conf.
#[source.capture.columns]
#bits = "wire_length * 8"
#service = "case(dst_port < 1024, dst_port, src_port)"
)conf";

}  // namespace

std::string describe(const Option& option) {
  switch (option.kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
      return "an integer";
    case Kind::kIntegers:
      return "a list of integers";
    case Kind::kDuration:
      return "a duration in quotes, such as \"250 ms\"";
    case Kind::kSize:
      return "a size in quotes, such as \"64 KiB\"";
    case Kind::kText:
      return "a text in quotes";
    case Kind::kTexts:
      return "a list of texts, or one text";
    case Kind::kChoice:
      return "one of " + listed(option.choices) + ", in quotes";
  }
  return {};
}

bool check_number(const Option& option, int64_t number, std::string& problem) {
  if (number >= option.least && number <= option.most) return true;
  problem = "must be " + limits(option);
  if (option.kind == Kind::kIntegers)
    problem = "must hold numbers from " + std::to_string(option.least) + " to " +
              std::to_string(option.most);
  problem += ", not " + show_number(option, number);
  return false;
}

bool read_option(const Option& option, std::string_view text, OptionValue& out,
                 std::string& problem) {
  switch (option.kind) {
    case Kind::kBool:
      out.number = text == "true" ? 1 : 0;
      break;
    case Kind::kInteger:
      std::from_chars(text.data(), text.data() + text.size(), out.number);
      break;
    case Kind::kDuration: {
      if (text == "never" && option.most == kNeverAllowed) {
        out.number = INT64_MAX;
        break;
      }
      Duration read;
      if (!parse_duration(text, read, problem)) return false;
      out.number = read.ns;
      if (!check_number(option, out.number, problem)) return false;
      break;
    }
    case Kind::kSize: {
      uint64_t read = 0;
      if (!parse_size(text, read, problem)) return false;
      out.number = read > INT64_MAX ? INT64_MAX : static_cast<int64_t>(read);
      if (!check_number(option, out.number, problem)) return false;
      break;
    }
    case Kind::kChoice: {
      std::vector<std::string_view> words;
      for (std::string_view rest = option.choices; !rest.empty(); rest = after_word(rest))
        words.push_back(first_word(rest));
      if (std::find(words.begin(), words.end(), text) == words.end()) {
        const std::string_view peer = peer_value(option.section, option.key, text);
        problem = "cannot be '" + std::string(text) + "'" +
                  (peer.empty() ? suggestion(text, words) : ": " + std::string(peer));
        return false;
      }
      out.text = text;
      break;
    }
    case Kind::kText:
      if (text.size() < static_cast<size_t>(option.least)) {
        problem = "must not be empty";
        return false;
      }
      if (text.size() > static_cast<size_t>(option.most)) {
        problem = "is longer than " + std::to_string(option.most) + " characters";
        return false;
      }
      if (text.find('\0') != std::string_view::npos) {
        problem = "must not hold a zero byte";
        return false;
      }
      out.text = text;
      break;
    case Kind::kIntegers:
      break;  // the only default is the empty list
    case Kind::kTexts:
      if (!text.empty()) out.texts.emplace_back(text);
      break;
  }
  const char* wrong = option.check != nullptr ? option.check(out) : nullptr;
  if (wrong != nullptr) problem = wrong;
  return wrong == nullptr;
}

std::string print_example() {
  std::string out =
      "# Every option of Tidewire with its reason, limits and default; what is commented out is "
      "the\n"
      "# default. It runs as it is: packets and bytes by protocol, each second, of one capture.\n"
      "# Printed from the table in src/config/options.cc; a test compares the two.\n";
  const auto setting = [](std::string_view section) {
    return [section](std::string_view key) {
      const Option* option = find_option(section, key);
      return option->example.empty() ? option->fallback : option->example;
    };
  };
  std::string_view section;
  for (const Option& option : options()) {
    if (option.section != section) {
      if (section == "source") out += kColumnsExample;
      section = option.section;
      out += section == "source"
                 ? "\n# Where events come from; as many as wished.\n[source.capture]\n"
             : section == "query"
                 ? "\n# What is asked; as many as wished, also on one source.\n[query.traffic]\n"
             : section == "query.window" ? "\n[query.traffic.window]\n"
             : section == "sink"         ? "\n# Where results go.\n[sink.terminal]\n"
                                         : "\n[" + std::string(section) + "]\n";
    }
    std::string words(option.why);
    const std::string limit = limits(option);
    if (!option.only.empty()) {
      const size_t equals = option.only.find('=');
      words += " Only where " + std::string(option.only.substr(0, equals)) + " is " +
               listed(option.only.substr(equals + 1)) + ".";
    }
    if (!limit.empty()) words += " (" + limit + ")";
    out += comment(words);
    const bool live = !option.example.empty() && applies(option, setting(section));
    const std::string_view value =
        option.fallback == kRequired || live ? option.example : option.fallback;
    out += (live ? "" : "#") + std::string(option.key) + " = " + as_toml(option.kind, value) + "\n";
  }
  return out;
}

}  // namespace tidewire
