// The files that derived columns look into: read at start and on SIGHUP, on the control thread.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <vector>

#include "query/lookup.h"

namespace tidewire {

// Relative to the working directory, as captures are. Error: "FILE:LINE: what is wrong".
absl::StatusOr<LookupContent> read_lookup(const LookupSpec& spec);
absl::StatusOr<std::vector<LookupContent>> read_lookups(std::span<const LookupSpec> specs);

// A line each, for people: "config/sites.csv: 12 entries, 4fd0a1b2c3d4e5f6".
std::vector<std::string> describe_lookups(std::span<const LookupSpec> specs,
                                          std::span<const LookupContent> contents);

}  // namespace tidewire
