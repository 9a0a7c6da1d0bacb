// The command line of a path bench: `--smoke`, and flags that take a number of at least 1 or a
// word.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace tidewire::bench {

struct Flag {
  std::string_view name;
  uint64_t* number = nullptr;
  std::string* word = nullptr;  // or this
};

// Exit code 2 with `usage` where there is anything else.
inline void parse_arguments(int argc, char** argv, const char* usage, bool& smoke,
                            std::span<const Flag> flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--smoke") {
      smoke = true;
      continue;
    }
    const char* const value = i + 1 < argc ? argv[++i] : "";
    bool taken = false;
    for (const Flag& flag : flags) {
      if (flag.name != name || *value == '\0') continue;
      char* end = nullptr;
      if (flag.number) *flag.number = std::strtoull(value, &end, 10);
      if (flag.word) *flag.word = value;
      taken = flag.word != nullptr || (*end == '\0' && *value != '-' && *flag.number > 0);
    }
    if (taken) continue;
    std::fprintf(stderr, "%s\n", usage);
    std::exit(2);
  }
}

}  // namespace tidewire::bench
