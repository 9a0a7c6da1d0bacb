// The next windows of a query for people: when each one shows what, and a drawing of windows over
// panes, at most 80 columns wide. What it draws is asked of the same geometry that the stores use.
//
//     panes    |------|------|------|------|
//     1        [======+======)~~~~~~x
//     2                      [======+======)~~~~~~x
#pragma once

#include <string>

#include "base/time.h"
#include "query/plan.h"

namespace tidewire {

// `from`: whose windows come first. Lines with two spaces in front, each ended.
std::string window_chart(const Plan& plan, EventTime from);

}  // namespace tidewire
