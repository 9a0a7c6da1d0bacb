// Packets of a pcap file (draft-ietf-opsawg-pcap): a 24-byte header, then records.
//
//   header   magic | major u16 | minor u16 | thiszone | sigfigs | snaplen | link type (low 16 bits)
//   record   seconds u32 | fraction u32 | captured u32 | on the wire u32 | bytes
//            modified (magic a1b2cd34): 8 bytes more, interface index and protocol, before the
//            bytes
//
// Seconds are unsigned (until 2106); thiszone is ignored, as by every other tool. A fraction of a
// second or more is a writer's fault (nanoseconds under the magic of microseconds): the packet is
// kept, counted, and has no time; carrying the fraction over would invent one.
#pragma once

#include "framing/framing.h"

namespace tidewire {

class PcapReader {
 public:
  static constexpr uint32_t kHeaderBytes = 24;

  // The file's header, kHeaderBytes of it. Returns what is wrong with it, or null.
  const char* begin(const std::byte* header);
  Stop read(const std::byte* at, const std::byte* end, Burst& burst, CaptureCounts& counts) const;

 private:
  bool swapped_ = false;
  LinkType link_ = LinkType::kNull;
  uint32_t record_bytes_ = 16;
  uint32_t fractions_ = 1'000'000;  // of a second
  uint32_t ns_each_ = 1'000;
};

}  // namespace tidewire
