// What the summary says about lanes: what guards met and from whom, how late events came and which
// bound would have kept them, how far ports ran ahead of the frontier.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "app/layout.h"
#include "metrics/histogram.h"
#include "runtime/appliance.h"

namespace tidewire {

// "src 10.0.0.1"; "no partition yet"; empty where the lane has only one.
std::string partition_name(const Layout& layout, Appliance& appliance, LaneId lane,
                           PartitionId partition);

void print_guards(const Layout& layout, Appliance& appliance, std::FILE* out);
void print_lateness(const Layout& layout, Appliance& appliance, std::FILE* out);
void print_drift(const Layout& layout, Appliance& appliance, std::FILE* out);

// "out_of_orderness 250 ms would have kept 99.9 % (now 100 ms kept 98.7 %)". `beyond`: events that
// `bound` did not keep. Empty: all came in order.
std::string lateness_advice(const LatencyHistogram& lateness, uint64_t beyond, Duration bound);

}  // namespace tidewire
