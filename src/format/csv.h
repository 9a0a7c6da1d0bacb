// Separated values, a record a line (RFC 4180, but that a quoted value holds no line's end).
// Columns by the names in the first line, or by their numbers.
#pragma once

#include "format/catalog.h"

namespace tidewire {

// Errors: fields, time or zone that are none.
absl::StatusOr<FormatPtr> open_csv_format(const FormatOptions& options);

}  // namespace tidewire
