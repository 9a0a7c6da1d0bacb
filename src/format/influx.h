// InfluxDB line protocol, one record a line:
//
//   measurement[,tag=value...] field=value[,field=value...] [timestamp]
//
// A declared field is a tag or a field of its name, or `measurement`. Source: InfluxDB, "Line
// protocol reference".
#pragma once

#include "format/catalog.h"

namespace tidewire {

// Errors: fields that are none.
absl::StatusOr<FormatPtr> open_influx_format(const FormatOptions& options);

}  // namespace tidewire
