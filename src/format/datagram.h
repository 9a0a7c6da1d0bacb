// The payload of a UDP datagram, whoever carried it: what formats stand on that travel in UDP, or
// in files of the same records.
#pragma once

#include <algorithm>
#include <optional>

#include "event/burst.h"
#include "event/drop_reason.h"
#include "format/bytes.h"
#include "format/fragments.h"
#include "format/headers.h"

namespace tidewire {

struct Datagram {
  const uint8_t* at = nullptr;  // null: a fragment that is kept, and nothing to read
  const uint8_t* end = nullptr;
  bool cut = false;  // the capture ends before the datagram does
  // Absent in a file of records.
  TwoWords source{kAbsent, kAbsent}, target{kAbsent, kAbsent};
  int32_t source_port = kAbsent, target_port = kAbsent;
};

// Packet i of the burst. A reason: it is no datagram, and `out` means nothing. `fragments`: joins
// what has come in pieces; null: a first fragment is read as far as it goes.
inline std::optional<DropReason> read_datagram(const Burst& burst, uint32_t i, Datagram& out,
                                               LaneCounts& counts, Fragments* fragments = nullptr) {
  if (burst.link[i] == LinkType::kPayload) {
    out = {};
    out.at = reinterpret_cast<const uint8_t*>(burst.data[i]);
    out.end = out.at + burst.length[i];
    out.cut = burst.length[i] < burst.wire_length[i];
    return std::nullopt;
  }
  Headers h;
  if (const auto reason = read_headers(burst.link[i], burst.data[i], burst.length[i],
                                       burst.wire_length[i], h, counts))
    return reason;
  if (h.protocol != kUdp) return DropReason::kNotThisFormat;
  const uint8_t* udp = nullptr;
  if (fragments != nullptr && h.fragment != Fragment::kNone) {
    uint32_t bytes = 0;
    out = {};
    switch (fragments->take(h, burst.arrival[i], udp, bytes, counts)) {
      case Fragments::Took::kKept:
        return std::nullopt;
      case Fragments::Took::kRefused:
        return DropReason::kMalformed;
      case Fragments::Took::kWhole:
        break;
    }
    out.end = udp + bytes;
    h.payload_length = kAbsent;
    h.wire_length = h.captured_length;
  } else {
    if (!h.has_ports) return DropReason::kNotThisFormat;
    udp = h.at(h.transport);
    out.end = h.frame + h.end;
  }
  if (out.end - udp < 8) return DropReason::kTruncated;
  out.at = udp + 8;
  // The datagram may end before the frame's padding does, or the capture before the datagram.
  if (h.payload_length >= 0 && h.payload_length < out.end - out.at)
    out.end = out.at + h.payload_length;
  out.cut = h.captured_length < h.wire_length;
  out.source = h.address_at(h.source);
  out.target = h.address_at(h.target);
  out.source_port = read_be16(udp);
  out.target_port = read_be16(udp + 2);
  return std::nullopt;
}

}  // namespace tidewire
