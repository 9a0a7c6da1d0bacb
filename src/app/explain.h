// explain: the effective plan of a config, for people.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "app/layout.h"

namespace tidewire {

// Whether rows of the query cross between workers, why, and what would spare it.
std::string describe_placement(const Plan& plan, uint32_t workers);

void print_explanation(const Layout& layout, std::FILE* out);

}  // namespace tidewire
