// The compiler's 128-bit integers under names that -Wpedantic accepts.
#pragma once

namespace tidewire {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

}  // namespace tidewire
