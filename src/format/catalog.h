// The formats that exist, by name. Adding one: its file, and its line in catalog.cc.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "format/parser.h"
#include "query/schema.h"

namespace tidewire {

// What single formats can be told; each reads what is its own.
struct FormatOptions {
  std::string zone = "America/New_York";  // itch: whose midnight the time counts from (IANA name)
};

std::span<const std::string_view> format_names();
const Schema* schema(std::string_view format);  // null: no such format; else lives for ever
bool has_marks(std::string_view format);        // event/event_batch.h, Mark
// The parser of one lane. Errors: unknown format, or what a format option cannot be.
absl::StatusOr<std::unique_ptr<Parser>> make_parser(std::string_view format,
                                                    const ParserOptions& options,
                                                    const ColumnMap& columns,
                                                    const FormatOptions& format_options);

}  // namespace tidewire
