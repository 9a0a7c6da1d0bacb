// "Did you mean": the valid name that is nearest to a mistyped one, for messages about queries and
// options.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tidewire {

// Empty when none is near: more than a third of the letters would have to change, and more than
// one. Distance counts insertions, deletions, changes, and swaps of neighbours, upper and lower
// case being equal. Of equally near names the first.
std::string_view nearest_name(std::string_view written, std::span<const std::string_view> valid);

// "; did you mean 'x'?", or "; valid are: a, b, c" where none is near (at most 32 of them).
std::string suggestion(std::string_view written, std::span<const std::string_view> valid);

}  // namespace tidewire
