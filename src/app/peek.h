// peek: the first events of a source as parsed. A wrong clock, format or field shows here in a
// moment.
#pragma once

#include "app/cli.h"
#include "runtime/topology.h"

namespace tidewire {

int peek(const CommandLine& line, const Topology& topology);

}  // namespace tidewire
