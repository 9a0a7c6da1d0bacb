// What is said at the end of a run: the three balances, what held the frontier back, and the
// closing line.
#pragma once

#include <cstdio>
#include <string>

#include "app/layout.h"
#include "runtime/appliance.h"

namespace tidewire {

struct Summary {
  uint64_t packets = 0, events = 0, windows = 0, late = 0, lost = 0;
  uint64_t digest = 0;
  bool balanced = true;  // a false one is a bug: exit code and a line say so
  bool source_failed = false;
};

// Prints to `out` (stderr). `seconds`: how long packets were taken.
Summary print_summary(const Layout& layout, Appliance& appliance, double seconds, std::FILE* out);

// "1.23 M", "456 k", "78"
std::string in_thousands(double value);

}  // namespace tidewire
