// Which windows can be, and which cannot: every refusal gives the reason and what to do instead.
// What no kind of window can have is refused by name in config/peer_words.h.
#pragma once

#include <string>
#include <vector>

#include "query/spec.h"

namespace tidewire {

struct WindowProblem {
  std::string option;  // "window.slide", "top", ...
  std::string text;
};

// What the spec alone tells.
std::vector<WindowProblem> check_window(const QuerySpec& spec);

// Rows counted one after the other need the order of one lane a key (core.md rule 6). `local`: the
// lane determines the key.
std::vector<WindowProblem> check_lane_order(const QuerySpec& spec, const QuerySource& source,
                                            bool local);

// The shortest that a calendar unit gets: clocks leap by up to an hour.
Duration shortest(CalendarUnit unit);

}  // namespace tidewire
