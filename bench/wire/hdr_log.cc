#include "hdr_log.h"

#include <absl/strings/escaping.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "base/check.h"

namespace tidewire::bench {
namespace {

// Three digits: values are told apart to one in 1,000, so 2,048 sub-buckets, halved in every bucket
// but the first.
constexpr int kSubBits = 11;
constexpr int64_t kHalf = int64_t{1} << (kSubBits - 1);

size_t index_of(int64_t value) {
  const int bucket =
      std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(value))) - kSubBits);
  const int64_t sub = value >> bucket;
  return static_cast<size_t>((int64_t{bucket} + 1) * kHalf + (sub - kHalf));
}

template <class T>
void put(std::string& out, T value) {  // big-endian
  for (size_t i = sizeof(T); i-- > 0;)
    out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

void put_varint(std::string& out, int64_t value) {
  uint64_t zigzag = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  // At most nine bytes: the ninth holds eight bits.
  for (int byte = 0; byte < 8 && zigzag >= 0x80; ++byte, zigzag >>= 7)
    out.push_back(static_cast<char>((zigzag & 0x7F) | 0x80));
  out.push_back(static_cast<char>(zigzag));
}

}  // namespace

std::vector<uint64_t> hdr_counts(std::span<const int64_t> values) {
  std::vector<uint64_t> counts;
  for (const int64_t value : values) {
    const size_t at = index_of(std::clamp<int64_t>(value, 0, kHdrHighest));
    if (at >= counts.size()) counts.resize(at + 1);
    ++counts[at];
  }
  return counts;
}

std::string hdr_encoded(std::span<const int64_t> values) {
  const std::vector<uint64_t> counts = hdr_counts(values);
  std::string payload;
  for (size_t i = 0; i < counts.size();) {
    size_t empty = 0;
    while (i + empty < counts.size() && counts[i + empty] == 0) ++empty;
    if (empty > 0)
      put_varint(payload, -static_cast<int64_t>(empty));
    else
      put_varint(payload, static_cast<int64_t>(counts[i]));
    i += std::max<size_t>(empty, 1);
  }
  std::string plain;
  put<uint32_t>(plain, 0x1C849303 | 0x10);
  put<uint32_t>(plain, static_cast<uint32_t>(payload.size()));
  put<uint32_t>(plain, 0);  // normalizing index offset
  put<uint32_t>(plain, 3);  // significant digits
  put<uint64_t>(plain, 1);  // lowest value to be told apart
  put<uint64_t>(plain, kHdrHighest);
  put<uint64_t>(plain, std::bit_cast<uint64_t>(1.0));  // integer to double
  plain += payload;
  uLongf size = compressBound(plain.size());
  std::string packed(size, '\0');
  CHECK(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                 reinterpret_cast<const Bytef*>(plain.data()), plain.size()) == Z_OK);
  packed.resize(size);
  std::string out;
  put<uint32_t>(out, 0x1C849304 | 0x10);
  put<uint32_t>(out, static_cast<uint32_t>(packed.size()));
  return absl::Base64Escape(out + packed);
}

std::string hdr_log(std::span<const int64_t> values, const std::string& tag, double start,
                    double length) {
  char line[256];
  std::string log = "#[Latencies of tidewire's wire bench, in nanoseconds]\n";
  log += "#[Histogram log format version 1.3]\n";
  std::snprintf(line, sizeof line, "#[StartTime: %.3f (seconds since epoch)]\n", start);
  log += line;
  log +=
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
      "\"Interval_Compressed_Histogram\"\n";
  int64_t most = 0;
  for (const int64_t value : values) most = std::max(most, value);
  // The maximum is told in milliseconds, as the writer's default is.
  std::snprintf(line, sizeof line, "Tag=%s,0.000,%.3f,%.3f,", tag.c_str(), length,
                static_cast<double>(most) / 1e6);
  return log + line + hdr_encoded(values) + "\n";
}

}  // namespace tidewire::bench
