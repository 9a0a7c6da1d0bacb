// The command line: few flags, each with a sentence in --help. What a config can say is said there;
// flags are for what one tries from run to run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"

namespace tidewire {

// Exit codes, printed by --help.
inline constexpr int kExitOk = 0;
inline constexpr int kExitConfig = 1;  // the configuration has problems (all are printed)
inline constexpr int kExitUsage = 2;   // the command line has
inline constexpr int kExitSetup = 3;   // a file, port, sink or memory could not be had
inline constexpr int kExitFailed =
    4;  // it ran, but a source failed on the way or a sink lost results

enum class Command : uint8_t { kRun, kCheck, kExplain, kPeek, kReplay, kVersion };

struct CommandLine {
  Command command = Command::kRun;
  bool help = false;
  bool fields = false;  // the help about fields
  std::string config;   // path; empty: the embedded default
  std::string pcap;     // the embedded default's queries on this capture
  std::string source;   // peek
  std::string format;   // peek: overrides the source's format
  uint64_t count = 20;  // peek
  std::optional<uint32_t> workers, burst;
  std::optional<Encoding> output;  // what the terminal and stdout sinks print
  uint32_t pace_percent = 100;     // replay; 0: as fast as it can be read
  bool progress = true;
};

struct ParsedLine {
  CommandLine line;
  std::string error;  // empty: fine
};
ParsedLine parse_command_line(std::span<const char* const> arguments);

std::string_view help_text();
std::string_view help_text(Command command);
// What a query can name, of every format, and how `where` says it.
std::string help_fields();

}  // namespace tidewire
