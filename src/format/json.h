// JSON lines: an object a line. A declared field is a member of its name, or stands at a path,
// /of/a/path (RFC 6901). Numbers keep their digits: none goes through a float.
#pragma once

#include "format/catalog.h"

namespace tidewire {

// Errors: fields, time or zone that are none.
absl::StatusOr<FormatPtr> open_json_format(const FormatOptions& options);

}  // namespace tidewire
