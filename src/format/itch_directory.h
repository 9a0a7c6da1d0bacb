// Names of stocks by their number of the day, from the directory messages (R) that open it. One
// table a session of the lane, all made at the start; a session that begins, or begins again, has
// no names.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "event/event_batch.h"

namespace tidewire {

class ItchDirectory {
 public:
  static constexpr uint32_t kStocks = 1 << 16;

  explicit ItchDirectory(uint32_t sessions) : tables_(sessions) {
    for (Table& table : tables_) table.name.resize(kStocks);
  }

  void clear(uint32_t session) { tables_[session].known.fill(0); }
  void set(uint32_t session, uint16_t locate, int64_t name) {
    Table& table = tables_[session];
    table.known[locate / 64] |= uint64_t{1} << locate % 64;
    table.name[locate] = name;
  }
  // kAbsent: not named.
  int64_t find(uint32_t session, uint16_t locate) const {
    const Table& table = tables_[session];
    return (table.known[locate / 64] >> locate % 64 & 1) != 0 ? table.name[locate] : kAbsent;
  }

 private:
  struct Table {
    std::vector<int64_t> name;
    std::array<uint64_t, kStocks / 64> known{};
  };
  std::vector<Table> tables_;
};

}  // namespace tidewire
