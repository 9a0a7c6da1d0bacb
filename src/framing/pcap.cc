#include "framing/pcap.h"

namespace tidewire {

const char* PcapReader::begin(const std::byte* header) {
  constexpr uint32_t kMicro = 0xA1B2C3D4;
  constexpr uint32_t kNano = 0xA1B23C4D;
  constexpr uint32_t kModified = 0xA1B2CD34;
  const auto known = [](uint32_t m) { return m == kMicro || m == kNano || m == kModified; };
  swapped_ = !known(load32(header, false));
  const uint32_t magic = load32(header, swapped_);
  if (!known(magic)) return "not a pcap header";
  record_bytes_ = magic == kModified ? 24 : 16;
  fractions_ = magic == kNano ? 1'000'000'000 : 1'000'000;
  ns_each_ = magic == kNano ? 1 : 1'000;
  // Before 2.3 the two lengths of a record were the other way round; such files are from the
  // nineties.
  if (load16(header + 4, swapped_) != 2 || load16(header + 6, swapped_) < 3)
    return "pcap version is not 2.3 or 2.4 (convert the file: editcap -F pcapng)";
  link_ = static_cast<LinkType>(load32(header + 20, swapped_) & 0xFFFF);
  return nullptr;
}

Stop PcapReader::read(const std::byte* at, const std::byte* end, Burst& burst,
                      CaptureCounts& counts) const {
  while (burst.count < burst.limit) {
    const auto have = static_cast<size_t>(end - at);
    if (have < record_bytes_) return {.at = at, .need = record_bytes_};
    const uint32_t captured = load32(at + 8, swapped_);
    if (captured > kMaxCaptured)
      return {.at = at, .error = "captured length above 262144: the file is damaged here"};
    const uint32_t whole = record_bytes_ + captured;
    if (have < whole) return {.at = at, .need = whole};
    const uint32_t fraction = load32(at + 4, swapped_);
    EventTime arrival{static_cast<int64_t>(load32(at, swapped_)) * kSecond +
                      static_cast<int64_t>(fraction) * ns_each_};
    if (fraction >= fractions_) {
      ++counts.bad_time;
      arrival = EventTime::before_all();
    }
    append(burst,
           {.data = at + record_bytes_,
            .length = captured,
            .wire_length = load32(at + 12, swapped_),
            .arrival = arrival,
            .interface = 0,
            .link = link_},
           counts);
    at += whole;
  }
  return {.at = at};
}

}  // namespace tidewire
