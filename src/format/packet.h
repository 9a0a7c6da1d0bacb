// Every packet is an event; its time is its arrival. Fields: packet_schema().
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "format/catalog.h"

namespace tidewire {

const Schema& packet_schema();
absl::StatusOr<std::unique_ptr<Parser>> make_packet_parser(const ParserOptions& options,
                                                           const ColumnMap& columns,
                                                           const FormatOptions& format_options);

}  // namespace tidewire
