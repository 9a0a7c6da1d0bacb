// run and replay: from a layout to running threads, and what is said meanwhile and at the end.
#pragma once

#include "app/layout.h"

namespace tidewire {

struct RunOptions {
  uint32_t burst = kBurstMax;
  bool progress = true;       // a progress line, where stderr is a terminal
  uint32_t pace_percent = 0;  // of file sources; 0: as their config says
};

// Until the input ends or a signal drains; SIGINT and SIGTERM must be blocked in all threads. Exit
// code.
int run_appliance(Layout layout, const RunOptions& options);

}  // namespace tidewire
