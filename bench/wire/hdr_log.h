// Latencies in HdrHistogram's interval log format, so that its own tools and plotters read them:
// three significant digits, values in nanoseconds up to an hour. Layout of counts, and the V2
// encoding (zigzag LEB128, a negative number is a run of empty counts; deflate; base64):
// hdrhistogram.github.io/HdrHistogram, HistogramLogWriter and EncodableHistogram.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tidewire::bench {

inline constexpr int64_t kHdrHighest = 3'600'000'000'000;

// Counts by HdrHistogram's index, up to the last that is not 0.
std::vector<uint64_t> hdr_counts(std::span<const int64_t> values);
// The histogram alone: what stands in the log's last field.
std::string hdr_encoded(std::span<const int64_t> values);
// A whole log of one interval. `start`, `length`: seconds since 1970, and of the interval.
std::string hdr_log(std::span<const int64_t> values, const std::string& tag, double start,
                    double length);

}  // namespace tidewire::bench
