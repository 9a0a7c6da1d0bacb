// explain: the effective plan of a config, for people.
#pragma once

#include <cstdio>

#include "app/layout.h"

namespace tidewire {

void print_explanation(const Layout& layout, std::FILE* out);

}  // namespace tidewire
