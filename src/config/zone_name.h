// What a mistyped time zone may have been meant as.
#pragma once

#include <string>
#include <string_view>

namespace tidewire {

// The name of the system's database that is nearest to a mistyped one, also by its city alone;
// empty: none is near. Reads folders.
std::string nearest_zone(std::string_view written);

}  // namespace tidewire
