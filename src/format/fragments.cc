#include "format/fragments.h"

#include <algorithm>
#include <cstring>

#include "format/bytes.h"

namespace tidewire {

Fragments::Fragments() : datagrams_(kDatagrams), bytes_(size_t{kDatagrams} * kBytesMax) {}

Fragments::Took Fragments::take(const Headers& h, EventTime arrival, const uint8_t*& at,
                                uint32_t& bytes, LaneCounts& counts) {
  Place place;
  if (!find_place(h, place)) {
    counts.note(Note::kTruncatedHeader);
    return Took::kRefused;
  }
  // All but the last one end at a multiple of 8, and none reaches beyond a datagram's length.
  if (place.bytes == 0 || (place.more && place.bytes % 8 != 0) ||
      place.offset + place.bytes > kBytesMax - 8) {
    counts.note(Note::kBadLength);
    return Took::kRefused;
  }
  Datagram& datagram = find(place, arrival, counts);
  if (datagram.refused) return Took::kRefused;
  uint8_t* const all = bytes_of(datagram);
  const uint32_t first = place.offset / 8, last = (place.offset + place.bytes + 7) / 8;
  const auto has = [&](uint32_t unit) { return (datagram.come[unit / 64] >> unit % 64 & 1) != 0; };
  uint32_t there = 0;
  for (uint32_t unit = first; unit < last; ++unit) there += has(unit) ? 1 : 0;
  const uint32_t end = place.offset + place.bytes;
  const bool same = there == last - first &&
                    std::memcmp(all + place.offset, place.data, place.bytes) == 0 &&
                    (place.more || datagram.total == end);
  const bool fits = place.more ? datagram.total == 0 || end <= datagram.total
                               : datagram.total == 0 || datagram.total == end;
  if ((there > 0 && !same) || !fits) {
    counts.note(Note::kFragmentOverlap);
    datagram.refused = true;
    return Took::kRefused;
  }
  ++datagram.fragments;
  if (same) return Took::kKept;
  std::memcpy(all + place.offset, place.data, place.bytes);
  for (uint32_t unit = first; unit < last; ++unit)
    datagram.come[unit / 64] |= uint64_t{1} << unit % 64;
  datagram.units += last - first;
  if (!place.more) datagram.total = end;
  // Behind the last one nothing may stand.
  if (datagram.total > 0 && datagram.units > (datagram.total + 7) / 8) {
    counts.note(Note::kFragmentOverlap);
    datagram.refused = true;
    return Took::kRefused;
  }
  if (datagram.total == 0 || datagram.units < (datagram.total + 7) / 8) return Took::kKept;
  counts.note(Note::kFragmentJoined);
  at = all;
  bytes = datagram.total;
  datagram.order = 0;
  return Took::kWhole;
}

bool Fragments::find_place(const Headers& h, Place& place) {
  const uint8_t* const ip = h.at(h.ip);
  const uint8_t* const end = h.frame + h.end;
  place.name = {h.address_at(h.source), h.address_at(h.target), 0};
  const uint8_t* data = nullptr;
  if (h.ip_version == 4) {
    place.name.id = read_be16(ip + 4);
    place.offset = (read_be16(ip + 6) & 0x1FFFu) * 8;
    place.more = (read_be16(ip + 6) & 0x2000) != 0;
    data = ip + (ip[0] & 0x0Fu) * 4;
  } else {
    // The fragment header is among those that HeaderReader has read: they are there.
    uint8_t next = ip[6];
    data = ip + 40;
    for (bool found = false; !found;) {
      if (end - data < 8) return false;
      const uint8_t kind = next;
      next = data[0];
      if (kind == 44) {
        place.name.id = read_be32(data + 4);
        place.offset = read_be16(data + 2) & 0xFFF8u;
        place.more = (data[3] & 1) != 0;
        data += 8;
        found = true;
        continue;
      }
      if (kind != 0 && kind != 43 && kind != 60) return false;
      data += (data[1] + 1u) * 8;
    }
  }
  // By the headers, not by the padding behind; what a capture has cut cannot be joined.
  const int64_t bytes = h.ip_length - (data - ip);
  if (bytes < 0 || bytes > end - data) return false;
  place.data = data;
  place.bytes = static_cast<uint32_t>(bytes);
  return true;
}

// The datagram that the fragment belongs to; a new one where none is under way.
Fragments::Datagram& Fragments::find(const Place& place, EventTime arrival, LaneCounts& counts) {
  Datagram* to = &datagrams_.front();
  for (Datagram& datagram : datagrams_) {
    if (datagram.order != 0 && arrival.is_point() && later(datagram.begun, kPatience) < arrival)
      give_up(datagram, counts);
    if (datagram.order != 0 && datagram.name == place.name) return datagram;
    if (datagram.order < to->order) to = &datagram;
  }
  if (to->order != 0) give_up(*to, counts);
  *to = {};
  to->name = place.name;
  to->begun = arrival;
  to->order = ++order_;
  return *to;
}

void Fragments::give_up(Datagram& datagram, LaneCounts& counts) {
  if (!datagram.refused) counts.note(Note::kFragmentLost, datagram.fragments);
  datagram.order = 0;
}

}  // namespace tidewire
