// Nasdaq TotalView-ITCH 5.0 in MoldUDP64 datagrams: every message is an event, a packet holds many.
// Its time is the message's own, nanoseconds since midnight of the exchange's zone; the date is the
// arrival's. Fields: itch_schema().
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "format/catalog.h"

namespace tidewire {

const Schema& itch_schema();
absl::StatusOr<std::unique_ptr<Parser>> make_itch_parser(const ParserOptions& options,
                                                         const ColumnMap& columns,
                                                         const FormatOptions& format_options);

}  // namespace tidewire
