// Rows and frontiers between workers: one ring per ordered pair, rows of a burst first, then the
// sender's frontier. So a row never arrives after a frontier above its stamp (core.md rules 2, 5,
// 9).
#pragma once

#include <memory>

namespace tidewire {

class ExchangeFabric;  // placeholder: to be written with the room

}  // namespace tidewire
