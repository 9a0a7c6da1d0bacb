// Debian's Abseil is built with its own string_view, which does not convert to or from std's. These
// two functions are the only places that know; no Abseil type but Status and StatusOr stands in our
// interfaces.
#pragma once

#include <absl/strings/string_view.h>

#include <string_view>

namespace tidewire {

inline absl::string_view to_absl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view from_absl(absl::string_view s) { return {s.data(), s.size()}; }

}  // namespace tidewire
