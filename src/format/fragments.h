// UDP datagrams out of IP fragments: flow export is often longer than a link carries, and
// collectors that lack this lose it. Bounded: datagrams under way in buffers made at construction;
// who began first makes room. Time is the lane's own, its arrival stamps.
//
//   fragment   IPv4: identification, offset in 8 bytes, more | IPv6: the same in an extension
//   header datagram   |= 0 ==|====|  gap  |=== last ==|      a bit for each 8 bytes says what has
//   come
//
// In any order. A fragment that comes again with the same bytes is no matter; one that contradicts
// others ends the whole datagram (RFC 5722, and the same for IPv4), counted, and what still comes
// of it is dropped.
//
// Sources: RFC 791, 3.2; RFC 8200, 4.5; RFC 5722.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "event/drop_reason.h"
#include "format/headers.h"

namespace tidewire {

class Fragments {
 public:
  Fragments();

  enum class Took : uint8_t {
    kKept,     // others are still to come
    kWhole,    // `at` and `bytes` are the UDP datagram; they stay until the next call
    kRefused,  // no fragment that can be used
  };
  // `h`: of a fragment of UDP.
  Took take(const Headers& h, EventTime arrival, const uint8_t*& at, uint32_t& bytes,
            LaneCounts& counts);

 private:
  static constexpr uint32_t kDatagrams = 16;
  static constexpr uint32_t kBytesMax = 65'536;
  static constexpr Duration kPatience{30 * kSecond};  // Linux' ip_frag_time

  struct Name {
    TwoWords source{}, target{};
    uint32_t id = 0;
    bool operator==(const Name&) const = default;
  };
  struct Place {
    Name name;
    uint32_t offset = 0, bytes = 0;
    bool more = false;
    const uint8_t* data = nullptr;
  };
  struct Datagram {
    Name name;
    EventTime begun;
    uint64_t order = 0;  // of its first fragment; 0: free
    bool refused = false;
    uint32_t fragments = 0, units = 0;  // units of 8 bytes that have come
    uint32_t total = 0;                 // bytes; 0: its last fragment has not come
    std::array<uint64_t, kBytesMax / 8 / 64> come{};
  };

  static bool find_place(const Headers& h, Place& place);
  Datagram& find(const Place& place, EventTime arrival, LaneCounts& counts);
  void give_up(Datagram& datagram, LaneCounts& counts);
  uint8_t* bytes_of(const Datagram& datagram) {
    return &bytes_[static_cast<size_t>(&datagram - datagrams_.data()) * kBytesMax];
  }

  std::vector<Datagram> datagrams_;
  std::vector<uint8_t> bytes_;
  uint64_t order_ = 0;
};

}  // namespace tidewire
