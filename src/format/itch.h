// Nasdaq TotalView-ITCH 5.0, in MoldUDP64 datagrams or one message a record of a file: every
// message is an event, a datagram holds many. Its time is the message's own, nanoseconds since
// midnight of the exchange's zone (New York where none is given); the date is the arrival's, or in
// files without arrivals the one that was given.
#pragma once

#include "format/catalog.h"

namespace tidewire {

// Errors: there is no such zone.
absl::StatusOr<FormatPtr> open_itch_format(const FormatOptions& options);

}  // namespace tidewire
