// Plays scenario files on the engine's own code and prints what passed, what failed and what was
// left out, by feature.   conformance FILE...
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "channels.h"
#include "windows.h"

namespace tidewire::conformance {
namespace {

struct Table {
  struct Row {
    std::string why;
    int lines = 0;
  };
  std::map<std::string, Row> left_out;
  int passed = 0, failed = 0, left = 0;
};

Played play_line(const Line& line) {
  if (!is_channels(line.name)) return play_windows(line);
  Played played;
  const auto outcome =
      play_channels(line.name, static_cast<size_t>(line.number(0)), line.script, played.why);
  if (outcome)
    played.outcome = *outcome;
  else
    played.left_out = "the valve's laggard rule";
  return played;
}

void play(const Line& line, Table& table) {
  const Played played = play_line(line);
  if (!played.left_out.empty()) {
    Table::Row& row = table.left_out[played.left_out];
    row.why = played.why;
    ++row.lines;
    ++table.left;
  } else if (const bool sorted = !is_channels(line.name);
             normal_form(played.outcome, sorted) == normal_form(line.expected, sorted)) {
    ++table.passed;
  } else {
    ++table.failed;
    std::printf("FAILED %s\n  expected %s\n  outcome  %s\n", line.id.c_str(), line.expected.c_str(),
                played.outcome.c_str());
  }
}

int run(int files, char** names) {
  Table table;
  for (int i = 0; i < files; ++i) {
    std::ifstream in(names[i]);
    if (!in) {
      std::fprintf(stderr, "conformance: cannot read %s\n", names[i]);
      return 2;
    }
    int number = 0;
    for (std::string text, error; std::getline(in, text);) {
      ++number;
      const auto line = parse_line(text, error);
      if (!error.empty()) {
        ++table.failed;
        std::printf("FAILED %s:%d %s\n", names[i], number, error.c_str());
      }
      if (line) play(*line, table);
    }
  }
  if (!table.left_out.empty())
    std::printf("%-45s %6s  %s\n", "left out: feature", "lines", "reason");
  for (const auto& [feature, row] : table.left_out)
    std::printf("%-45s %6d  %s\n", feature.c_str(), row.lines, row.why.c_str());
  std::printf("%d passed, %d failed, %d left out\n", table.passed, table.failed, table.left);
  return table.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tidewire::conformance

int main(int count, char** arguments) {
  if (count > 1) return tidewire::conformance::run(count - 1, arguments + 1);
  std::printf("skipped: no scenario files are given (../shared/conformance is not there)\n");
  return 77;
}
