// Every packet is an event; its time is its arrival.
#pragma once

#include "format/catalog.h"

namespace tidewire {

absl::StatusOr<FormatPtr> open_packet_format(const FormatOptions& options);

}  // namespace tidewire
