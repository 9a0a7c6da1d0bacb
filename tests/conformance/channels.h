// Plays a line of channels on the real code: each channel of a valve or an input of a combiner is a
// Lane, combined as a worker's lanes are; each split of a source is a partition of one Lane.
//
//   c:t        W = t + 1 of that lane or partition. MAX is the largest W there is and not the end
//   of
//              input: other channels may be idle, and ours end together
//   c:idle     the lane's silence; a partition that is not heard for longer than idle_after
//   c:active   the lane's return with the floor that it finds; the partition is heard
//   expected   each rise of the frontier, as W - 1; IDLE and ACTIVE where all are silent (no
//              partition holds the lane's frontier), or no more
//
// A watermark on an idle channel is ignored by a valve and brings the input of a combiner or a
// split back, without a word: that is when Flink's operators speak, not what frontiers say, and
// stands here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidewire::conformance {

// "valve", "valve-fixed", "comb", "split".
bool is_channels(std::string_view name);

// The outcome in the form of the files. Nothing: the line is left out, for `reason`. That is found
// in the line alone: a valve ignores a channel that has returned behind its output until that has
// caught up, ours holds the minimum for it (the combiner's rule, core.md "Frontier"), and models of
// both rules give different outcomes.
std::optional<std::string> play_channels(std::string_view name, size_t channels,
                                         const std::vector<std::string>& script,
                                         std::string& reason);

}  // namespace tidewire::conformance
