// Durations, sizes and rates as people write them, and back. Exact: what is not a whole number of
// nanoseconds, bytes or things a second is an error, never rounded; so is what does not fit.
//
//   duration  "250 ms" "5m" "1.5 h" "-3 s"   ns us ms s m h d
//   size      "64 KiB" "10 MB" "512 B"       B KiB MiB GiB TiB, kB MB GB TB (powers of 1000)
//   rate      "100 /s" "2.5 M/s"             /s k/s M/s G/s
//
// A unit is always there (zero included): a bare number is the classic way to be wrong by a
// thousand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tidewire {

// False: `error` says what is wrong and what would be right; `out` is untouched.
bool parse_duration(std::string_view text, Duration& out, std::string& error);
bool parse_size(std::string_view text, uint64_t& out, std::string& error);  // bytes
bool parse_rate(std::string_view text, uint64_t& out, std::string& error);  // a second

// In the largest unit that gives a whole number; the parsers read it back to the same value.
std::string format_duration(Duration duration);
std::string format_size(uint64_t bytes);
std::string format_rate(uint64_t per_second);

}  // namespace tidewire
