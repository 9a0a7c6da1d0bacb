// Plays a line of windows on the real store. This is the only place that translates:
//
//   a unit of the script            one nanosecond
//   watermark t of Flink            W = t + 1, saturating; MAX is the end of input: an event with
//                                   time t is promised not to come any more
//   k@ts=v                          one row of one lane, stamped with W
//   DataStream / SQL operators      WindowShape; purging = discarding
//   a window's result, late row     k[s,e)=v, kG=v, late k@ts; of SQL operators only `drop n`
//
// What core.md section 8 leaves out is found in the line alone, by what it uses.
#pragma once

#include <string>

#include "line.h"

namespace tidewire::conformance {

struct Played {
  std::string left_out;  // the feature that the line needs and the engine leaves out, or
  std::string why;       //   empty; and the reason
  std::string outcome;   // in the normal form of the files
};

Played play_windows(const Line& line);

}  // namespace tidewire::conformance
