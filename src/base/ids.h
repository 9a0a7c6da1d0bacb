// Names of things, as types that do not mix (words: src/README.md).
#pragma once

#include <cstdint>
#include <type_traits>

namespace tidewire {

enum class LaneId : uint16_t {
};  // unit of order and placement; how many: the config, never the cores
enum class PartitionId : uint32_t {};  // unit of watermark; dense inside its lane
enum class QueryId : uint16_t {};
enum class ShardId : uint16_t {
};  // unit of key ownership and firing order: top bits of the key's hash
enum class Position : uint64_t {};  // dense packet count of one lane
enum class Ordinal : uint64_t {
};  // dense event count of one lane: tie-break of the canonical order

template <class Id>
constexpr auto index_of(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace tidewire
