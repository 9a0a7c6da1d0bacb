// Parsing alone: packets that lie one behind the other, as in a file block, to columns. Beside it a
// memcpy of the same bytes: what touching them costs. Bytes: 16 MiB, so that they come from the
// last-level cache or memory and not from L1.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "flow_builder.h"
#include "format/catalog.h"
#include "itch_builder.h"
#include "outcome.h"
#include "packet_builder.h"

namespace tidewire {
namespace {

using test::Bytes;
using test::ipv4_address;
using test::ipv6_address;
using test::PacketBuilder;

constexpr int64_t kArrival = 1'572'442'200 * kSecond;  // 2019-10-30 09:30 in New York

// Frames of one kind with changing addresses and ports.
struct Frames {
  Bytes bytes;
  std::vector<uint32_t> length;
};

template <class Make>
Frames make_frames(size_t total, Make make) {
  Frames frames;
  Rng rng(1);
  while (frames.bytes.size() < total) {
    const Bytes one = make(rng);
    frames.bytes.insert(frames.bytes.end(), one.begin(), one.end());
    frames.length.push_back(static_cast<uint32_t>(one.size()));
  }
  return frames;
}

constexpr size_t kTotal = 16 << 20;

Frames small_udp() {
  return make_frames(kTotal, [](Rng& rng) {
    return PacketBuilder()
        .ethernet()
        .ipv4(static_cast<uint32_t>(rng.next()), static_cast<uint32_t>(rng.next()))
        .udp(static_cast<uint32_t>(rng.below(65536)), 53, 12)
        .finish(64);
  });
}

// What a link carries: two in three IPv4, TCP and UDP mixed, some tagged, a few fragments.
Frames mixed() {
  return make_frames(kTotal, [](Rng& rng) {
    PacketBuilder b;
    b.ethernet();
    if (rng.one_in(4)) b.vlan(0x8100, static_cast<uint32_t>(rng.below(4096)));
    if (rng.one_in(3))
      b.ipv6(ipv6_address(static_cast<uint8_t>(rng.next())), ipv6_address(2));
    else
      b.ipv4(static_cast<uint32_t>(rng.next()), static_cast<uint32_t>(rng.next()),
             {.flags_and_offset = rng.one_in(50) ? 0x2000u : 0u});
    if (rng.one_in(3))
      b.udp(static_cast<uint32_t>(rng.below(65536)), 53, static_cast<uint32_t>(rng.below(400)));
    else
      b.tcp(static_cast<uint32_t>(rng.below(65536)), 443, 0x10,
            static_cast<uint32_t>(rng.below(1400)));
    return b.finish(64);
  });
}

Frames itch_packets(uint32_t messages) {
  uint64_t sequence = 1;
  return make_frames(kTotal, [messages, &sequence](Rng& rng) {
    std::vector<test::ItchMessage> list;
    for (uint32_t i = 0; i < messages; ++i)
      list.push_back(test::add_order(34'200'000'000'000 + sequence + i, rng.next() >> 1, 'B', 100,
                                     "MSFT", 100'000));
    const Bytes frame = test::mold_frame("SESSION", sequence, list);
    sequence += messages;
    return frame;
  });
}

void run(benchmark::State& state, const Frames& frames, const char* format,
         const std::vector<std::string>& fields, const FormatOptions& more = {}) {
  const FormatPtr opened = *open_format(format, more);
  const Schema& known = opened->schema();
  ColumnMap map;
  for (const std::string& name : fields) {
    const auto field = static_cast<size_t>(known.find(name));
    map.column[field] = static_cast<uint8_t>(map.used);
    map.used += known.fields[field].words;
  }
  const auto parser = opened->make_parser({}, map);
  auto batch = std::make_unique<EventBatch>();
  Burst burst;
  burst.link.fill(LinkType::kEthernet);
  burst.interface.fill(0);
  LaneCounts counts;
  const auto* base = reinterpret_cast<const std::byte*>(frames.bytes.data());
  size_t packet = 0, offset = 0;
  bench::Outcome outcome;  // of the first burst
  bool first = true;
  const auto take = [&] {
    benchmark::DoNotOptimize(batch->column);
    if (!first) return;
    outcome.count(batch->count);
    for (uint32_t c = 0; c < map.used; ++c) outcome.add(batch->column[c].data(), batch->count);
  };
  for (auto _ : state) {
    if (packet + kBurstMax > frames.length.size()) packet = offset = 0;
    for (uint32_t i = 0; i < kBurstMax; ++i, ++packet) {
      burst.data[i] = base + offset;
      burst.length[i] = burst.wire_length[i] = frames.length[packet];
      burst.arrival[i] = EventTime{kArrival + static_cast<int64_t>(packet)};
      offset += frames.length[packet];
    }
    burst.count = kBurstMax;
    parser->begin(burst);
    while (parser->next(*batch, counts)) take();
    take();
    first = false;
  }
  outcome.show(state);
  const auto per = [](uint64_t n) {
    return benchmark::Counter(static_cast<double>(n),
                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  };
  state.counters["packet"] = per(counts.packets_parsed);
  state.counters["event"] = per(counts.events);
}

const std::vector<std::string> kUsual{"src",      "dst",      "src_port",
                                      "dst_port", "protocol", "wire_length"};

void BM_packet_64B_usual_columns(benchmark::State& state) {
  run(state, small_udp(), "packet", kUsual);
}
void BM_packet_64B_no_columns(benchmark::State& state) { run(state, small_udp(), "packet", {}); }
void BM_packet_64B_flow_and_length(benchmark::State& state) {
  run(state, small_udp(), "packet", {"flow", "wire_length"});
}
void BM_packet_mixed_usual_columns(benchmark::State& state) {
  run(state, mixed(), "packet", kUsual);
}
void BM_itch_one_message(benchmark::State& state) {
  run(state, itch_packets(1), "itch", {"stock", "price", "shares"});
}
void BM_itch_thirty_messages(benchmark::State& state) {
  run(state, itch_packets(30), "itch", {"stock", "price", "shares"});
}
void BM_itch_thirty_messages_named_and_waiting(benchmark::State& state) {
  FormatOptions waits;
  waits.reorder_wait = {kMillisecond};
  run(state, itch_packets(30), "itch", {"symbol", "price", "shares"}, waits);
}
void BM_memcpy_itch_thirty_messages(benchmark::State& state) {
  const Frames frames = itch_packets(30);
  Bytes to(size_t{kBurstMax} * frames.length[0]);
  size_t packet = 0, offset = 0;
  uint64_t packets = 0;
  for (auto _ : state) {
    if (packet + kBurstMax > frames.length.size()) packet = offset = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < kBurstMax; ++i, ++packet) {
      std::memcpy(to.data() + at, frames.bytes.data() + offset, frames.length[packet]);
      at += frames.length[packet];
      offset += frames.length[packet];
    }
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    packets += kBurstMax;
  }
  state.counters["event"] = benchmark::Counter(
      static_cast<double>(packets * 30), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
void BM_memcpy_64B(benchmark::State& state) {
  const Frames frames = small_udp();
  Bytes to(kBurstMax * 64);
  size_t packet = 0;
  uint64_t packets = 0;
  for (auto _ : state) {
    if (packet + kBurstMax > frames.length.size()) packet = 0;
    for (uint32_t i = 0; i < kBurstMax; ++i, ++packet)
      std::memcpy(to.data() + i * 64, frames.bytes.data() + packet * 64, 64);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    packets += kBurstMax;
  }
  state.counters["packet"] = benchmark::Counter(
      static_cast<double>(packets), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// 30 records a packet; templates come in the first one only.
Frames flow_packets(uint32_t version) {
  uint32_t sequence = 0;
  return make_frames(kTotal, [version, &sequence](Rng& rng) {
    const test::FlowHeader header{.sequence = sequence};
    Bytes payload;
    if (version == 5) {
      payload = test::netflow5(header, std::vector<test::Flow5>(30));
      sequence += 30;
    } else {
      Bytes records;
      for (uint32_t i = 0; i < 30; ++i)
        test::append(records, test::usual(static_cast<uint32_t>(rng.below(65536)), 700, 1, 990'000,
                                          999'000));
      std::vector<Bytes> sets;
      const bool is9 = version == 9;
      sets.push_back(test::set_of(is9 ? 0 : 2, test::template_of(256, test::kUsual)));
      sets.push_back(test::set_of(256, records));
      payload = is9 ? test::netflow9(header, sets) : test::ipfix(header, sets);
      sequence += is9 ? 1 : 30;
    }
    return PacketBuilder().ethernet().ipv4(1, 2).udp(2055, 2055, payload).finish();
  });
}
const std::vector<std::string> kFlowColumns{"src", "dst", "bytes", "packets"};
void BM_netflow5_record(benchmark::State& state) {
  run(state, flow_packets(5), "netflow", kFlowColumns);
}
void BM_netflow9_record(benchmark::State& state) {
  run(state, flow_packets(9), "netflow", kFlowColumns);
}
void BM_ipfix_record(benchmark::State& state) {
  run(state, flow_packets(10), "netflow", kFlowColumns);
}

// A line a packet, of three fields and a time.
void run_text(benchmark::State& state, const char* format, const char* line,
              const char* head = nullptr) {
  FormatOptions options;
  options.time = "t";
  options.time_unit = TextTimeUnit::kNanoseconds;
  options.fields = {"host text", "load decimal(2)", "n integer"};
  bool first = head != nullptr;
  const Frames frames = make_frames(kTotal, [&](Rng& rng) {
    std::array<char, 256> text{};
    const int bytes = first ? std::snprintf(text.data(), text.size(), "%s", head)
                            : std::snprintf(text.data(), text.size(), line, rng.below(1000),
                                            rng.below(100), rng.below(1'000'000),
                                            kArrival + static_cast<int64_t>(rng.below(1 << 30)));
    first = false;
    return PacketBuilder()
        .ethernet()
        .ipv4(1, 2)
        .udp(1, 2, Bytes(text.begin(), text.begin() + bytes))
        .finish();
  });
  run(state, frames, format, {"host", "load", "n"}, options);
}
void BM_influx_line(benchmark::State& state) {
  run_text(state, "influx", "cpu,host=web-%lu load=%lu.25,n=%lui %ld");
}
void BM_csv_line(benchmark::State& state) {
  run_text(state, "csv", "web-%lu,%lu.25,%lu,%ld", "host,load,n,t");
}
void BM_json_line(benchmark::State& state) {
  run_text(state, "json", R"({"host":"web-%lu","load":%lu.25,"n":%lu,"t":%ld})");
}

BENCHMARK(BM_memcpy_64B);
BENCHMARK(BM_packet_64B_usual_columns);
BENCHMARK(BM_packet_64B_no_columns);
BENCHMARK(BM_packet_64B_flow_and_length);
BENCHMARK(BM_packet_mixed_usual_columns);
BENCHMARK(BM_itch_one_message);
BENCHMARK(BM_itch_thirty_messages);
BENCHMARK(BM_itch_thirty_messages_named_and_waiting);
BENCHMARK(BM_memcpy_itch_thirty_messages);
BENCHMARK(BM_netflow5_record);
BENCHMARK(BM_netflow9_record);
BENCHMARK(BM_ipfix_record);
BENCHMARK(BM_influx_line);
BENCHMARK(BM_csv_line);
BENCHMARK(BM_json_line);

}  // namespace
}  // namespace tidewire

BENCHMARK_MAIN();
