// sFlow version 5: every flow sample and every counter sample is an event; its time is the arrival,
// since agents send none. A flow sample's packet header is read as the packet format reads it.
#pragma once

#include "format/catalog.h"

namespace tidewire {

absl::StatusOr<FormatPtr> open_sflow_format(const FormatOptions& options);

}  // namespace tidewire
