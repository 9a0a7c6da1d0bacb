// One line of a scenario file in the notation of the specification (spec/event-time.md, 6.1):
//
//   ID | origin | operator | script | expected
//
// operator = name(arguments) options; script and expected are tokens separated by "; ".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidewire::conformance {

struct Line {
  std::string id;
  std::string name;                            // of the operator
  std::vector<std::string> arguments;          // of the operator
  std::map<std::string, std::string> options;  // "L", "trig", "evict"
  std::vector<std::string> script;
  std::string expected;

  int64_t number(size_t argument) const;  // 0 where it is not given
};

// Nothing: an empty line or a comment. `error` is set where it is neither that nor a scenario.
std::optional<Line> parse_line(std::string_view text, std::string& error);

// Expected tokens or an outcome, edges written as numbers; `sorted`: what stands between two
// watermarks as well, as bytes.
std::string normal_form(std::string_view text, bool sorted);

// "MIN" and "MAX" stand for the edges. Nothing: not a number.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace tidewire::conformance
