// Cost of cutting a capture into packets (memory, in cache) and of reading one from a file by each
// reader (page cache or disk, as it is). Packets of 64 bytes. time per packet: items_per_second.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "capture_builder.h"
#include "drivers/uring/file_source.h"
#include "outcome.h"

namespace tidewire::bench {
namespace {

using test::Bytes;
using test::payload;

constexpr uint32_t kPackets = 2'500;  // about one block of 256 KiB

Bytes pcap_file(uint32_t packets) {
  test::PcapBuilder builder(test::PcapBuilder::kNano, false);
  const Bytes data = payload(64, 1);
  for (uint32_t i = 0; i < packets; ++i) builder.packet(1'700'000'000, i, data, 64);
  return builder.bytes();
}

Bytes pcapng_file(uint32_t packets) {
  test::PcapngBuilder builder(false);
  builder.section().interface(1, 0, builder.resolution(9));
  const Bytes data = payload(64, 1);
  for (uint32_t i = 0; i < packets; ++i)
    builder.enhanced(0, 1'700'000'000'000'000'000 + i, data, 64);
  return builder.bytes();
}

void frame(benchmark::State& state, const Bytes& file) {
  std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  CaptureFramer framer(spill);
  Burst burst;
  uint64_t packets = 0;
  Outcome outcome;  // of the first time
  for (auto _ : state) {
    framer.begin();
    framer.feed(file);
    const bool first = packets == 0;
    while (framer.frame(burst) == Framed::kPackets) {
      packets += burst.count;
      benchmark::DoNotOptimize(burst.data[0]);
      if (!first) continue;
      outcome.count(burst.count);
      outcome.add(burst.arrival.data(), burst.count);
    }
  }
  outcome.show(state);
  state.SetItemsProcessed(static_cast<int64_t>(packets));
}

void framing_pcap(benchmark::State& state) { frame(state, pcap_file(kPackets)); }
void framing_pcapng(benchmark::State& state) { frame(state, pcapng_file(kPackets)); }
BENCHMARK(framing_pcap);
BENCHMARK(framing_pcapng);

// A file of about 80 MB in the working directory.
class TemporaryFile {
 public:
  TemporaryFile() : path_("framing_bench.tmp.pcap") {
    const Bytes file = pcap_file(1'000'000);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void read_file(benchmark::State& state, const uring::FileSourceOptions& options) {
  static const TemporaryFile file;
  uint64_t packets = 0;
  uint64_t sum = 0;
  Outcome outcome;  // of the first time
  for (auto _ : state) {
    const bool first = packets == 0;
    auto source = uring::FileSource::open({file.path()}, options);
    if (!source.ok()) {
      state.SkipWithError(std::string(source.status().message()).c_str());
      return;
    }
    Burst burst;
    for (Received received = Received::kNothing;
         received == Received::kNothing || received == Received::kPackets;) {
      received = (*source)->receive(burst);
      for (uint32_t i = 0; i < burst.count; ++i) sum += std::to_integer<uint64_t>(*burst.data[i]);
      packets += burst.count;
      if (first) {
        outcome.count(burst.count);
        outcome.add(burst.arrival.data(), burst.count);
      }
      (*source)->release(burst);
    }
    outcome.show(state, (*source)->describe().c_str());
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<int64_t>(packets));
}

void file_uring_direct(benchmark::State& state) { read_file(state, {}); }
void file_uring_page_cache(benchmark::State& state) { read_file(state, {.direct = false}); }
void file_pread(benchmark::State& state) { read_file(state, {.reader = uring::Reader::kPread}); }
BENCHMARK(file_uring_direct)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(file_uring_page_cache)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(file_pread)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tidewire::bench

BENCHMARK_MAIN();
