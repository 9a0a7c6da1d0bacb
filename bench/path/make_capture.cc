// Writes a nanosecond pcap of UDP packets for the path benches: `flows` flows over 10.0.0.0/8,
// `rate` packets a second of capture time, in order.
//   make_capture FILE PACKETS [BYTES_PER_PACKET=60] [FLOWS=10000] [RATE=1000000] [SEED=1]
#include <arpa/inet.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/rng.h"

namespace {

template <class T>
void put(std::vector<uint8_t>& out, size_t at, T value) {
  std::memcpy(&out[at], &value, sizeof value);
}

uint64_t argument(int argc, char** argv, int i, uint64_t otherwise) {
  return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "make_capture FILE PACKETS [BYTES] [FLOWS] [RATE] [SEED]\n");
    return 2;
  }
  const uint64_t packets = argument(argc, argv, 2, 0), bytes = argument(argc, argv, 3, 60);
  const uint64_t flows = argument(argc, argv, 4, 10'000), rate = argument(argc, argv, 5, 1'000'000);
  tidewire::Rng rng(argument(argc, argv, 6, 1));
  std::FILE* file = std::fopen(argv[1], "wb");
  if (!file || bytes < 42 || flows == 0 || rate == 0) return 1;
  const uint32_t head[6] = {0xA1B23C4D, 2 | 4 << 16, 0, 0, 262'144, 1};
  std::fwrite(head, sizeof head, 1, file);
  std::vector<uint8_t> record(16 + bytes);
  put(record, 8, static_cast<uint32_t>(bytes));
  put(record, 12, static_cast<uint32_t>(bytes));
  put(record, 16 + 12, htons(0x0800));
  put(record, 16 + 14, uint8_t{0x45});
  put(record, 16 + 16, htons(static_cast<uint16_t>(bytes - 14)));
  put(record, 16 + 22, uint8_t{64});
  put(record, 16 + 23, uint8_t{17});
  put(record, 16 + 38, htons(static_cast<uint16_t>(bytes - 34)));
  for (uint64_t i = 0; i < packets; ++i) {
    const uint64_t at = i * 1'000'000'000u / rate;
    put(record, 0, static_cast<uint32_t>(1'700'000'000u + at / 1'000'000'000u));
    put(record, 4, static_cast<uint32_t>(at % 1'000'000'000u));
    const uint64_t flow = tidewire::Rng(rng.below(flows)).next();
    put(record, 16 + 26, htonl(0x0A000000u | static_cast<uint32_t>(flow & 0xFFFFFF)));
    put(record, 16 + 30, htonl(0x0A800000u | static_cast<uint32_t>(flow >> 24 & 0x7FFFFF)));
    put(record, 16 + 34, static_cast<uint16_t>(flow >> 48));
    put(record, 16 + 36, htons(53));
    std::fwrite(record.data(), record.size(), 1, file);
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
