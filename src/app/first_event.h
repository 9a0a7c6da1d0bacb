// The time of a source's first event, for an explanation that speaks of times that occur.
#pragma once

#include <optional>

#include "app/layout.h"
#include "base/time.h"

namespace tidewire {

// Opens the first file of a file source and reads it up to one event. Nothing: it is a port, or the
// file says nothing within a fraction of a second; why is told by `run`.
std::optional<EventTime> first_event(const Layout& layout, uint32_t source);

}  // namespace tidewire
