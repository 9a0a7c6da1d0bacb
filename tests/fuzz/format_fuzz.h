// For all packet-borne formats: whatever the bytes, every packet and event ends in one counter, no
// byte past a packet is read, and neither events nor marks depend on how packets were cut into
// bursts.
//
//   input: link type 1 | flags 1 | then packets: length 1 or 2 (flag 1) | wire surplus 1 | bytes
//   link type: from 128 on datagrams wait for those numbered before them
//   flags: 1 lengths have two bytes; 2 one packet in four has no arrival; 4 partitions by a field
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "format/catalog.h"

namespace tidewire::fuzz {

struct Packets {
  std::vector<std::unique_ptr<std::byte[]>> data;  // exactly as long as each, for the sanitizer
  std::vector<uint32_t> length, wire;
  std::vector<EventTime> arrival;
  LinkType link{};
};

inline Packets cut(const uint8_t* data, size_t size) {
  constexpr LinkType kLinks[] = {LinkType::kEthernet, LinkType::kNull,      LinkType::kRaw,
                                 LinkType::kLoop,     LinkType::kLinuxSll,  LinkType::kIpv4,
                                 LinkType::kIpv6,     LinkType::kLinuxSll2, LinkType{77},
                                 LinkType::kPayload};
  Packets packets;
  packets.link = kLinks[data[0] % std::size(kLinks)];
  const uint8_t flags = data[1];
  int64_t now = 1'572'442'200 * kSecond;
  for (size_t at = 2; at + 3 <= size && packets.data.size() < kBurstMax;) {
    size_t length = data[at++];
    if ((flags & 1) != 0) length = length << 8 | data[at++];
    const uint32_t surplus = data[at++];
    length = std::min(length, size - at);
    auto copy = std::make_unique<std::byte[]>(length);
    if (length > 0) std::memcpy(copy.get(), data + at, length);
    at += length;
    packets.length.push_back(static_cast<uint32_t>(length));
    packets.wire.push_back(static_cast<uint32_t>(length) + surplus);
    // Steps that cross midnight now and then; without an arrival where the flag says so.
    now += kSecond + surplus * (100 * kSecond);
    const bool none = (flags & 2) != 0 && surplus % 4 == 1;
    packets.arrival.push_back(none ? EventTime::before_all() : EventTime{now});
    packets.data.push_back(std::move(copy));
  }
  return packets;
}

struct Outcome {
  LaneCounts counts;
  uint64_t events = 0;
  uint64_t digest = 0;
};

inline Outcome parse(const Format& format, const ColumnMap& map, const ParserOptions& options,
                     const Packets& packets, uint32_t burst_size) {
  const auto parser = format.make_parser(options, map);
  static auto batch = std::make_unique<EventBatch>();
  Outcome out;
  const auto mix = [&](int64_t v) {
    out.digest = (out.digest ^ static_cast<uint64_t>(v)) * 0x9E3779B97F4A7C15u + 1;
  };
  EventTime marked = EventTime::before_all();  // the latest mark before an event
  Burst burst;
  const auto all = static_cast<uint32_t>(packets.data.size());
  for (uint32_t from = 0; from < all || parser->holds_back(); from += burst.count) {
    burst.count = std::min(burst_size, all - from);  // 0: the end
    burst.first = Position{from};
    for (uint32_t i = 0; i < burst.count; ++i) {
      burst.data[i] = packets.data[from + i].get();
      burst.length[i] = packets.length[from + i];
      burst.wire_length[i] = packets.wire[from + i];
      burst.arrival[i] = packets.arrival[from + i];
      burst.interface[i] = 3;
      burst.link[i] = packets.link;
    }
    parser->begin(burst);
    for (bool more = true; more;) {
      more = parser->next(*batch, out.counts);
      CHECK(batch->count <= kBatchMax);
      CHECK(index_of(batch->ordinal) == out.events);
      out.events += batch->count;
      for (uint32_t i = 0, mark = 0; i <= batch->count; ++i) {
        for (; mark < batch->marks && batch->mark[mark].at == i; ++mark)
          marked = std::max(marked, batch->mark[mark].time);
        CHECK(i < batch->count || mark == batch->marks);
        if (i == batch->count) break;
        mix(marked.ns);
        CHECK(batch->time[i].is_point());
        CHECK(index_of(batch->partition[i]) < options.max_partitions);
        mix(batch->time[i].ns);
        mix(index_of(batch->partition[i]));
        for (uint32_t c = 0; c < map.used; ++c) mix(batch->column[c][i]);
      }
    }
  }
  const LaneCounts& n = out.counts;
  CHECK(packets.data.size() ==
        n.packets_parsed + std::accumulate(n.dropped.begin(), n.dropped.end(), uint64_t{0}));
  CHECK(n.events == n.ended.no_time + n.ended.out_of_range + n.ended.passed_on);
  CHECK(n.ended.passed_on == out.events);
  return out;
}

inline int run_format(std::string_view name, const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const Packets packets = cut(data, size);
  // A zone of one rule, since a table of 586 would be most of an input's cost.
  const auto open = [name](Duration reorder_wait) {
    FormatOptions options;
    options.reorder_wait = reorder_wait;
    options.zone = "UTC";
    options.multiply_sampling = true;
    options.spread = {60 * kSecond};
    options.template_wait = {600 * kSecond};
    options.elements = {"96 as name text", "29305/1 as bytes_back"};
    options.time = "t";
    options.fields = {"a text(8)", "b decimal(2)", "c address from /o/c", "d flag", "e integer"};
    return *open_format(name, options);
  };
  static const FormatPtr opened[] = {open({}), open({3 * kSecond})};
  const Format& format = *opened[data[0] >> 7];
  const Schema& known = format.schema();
  ParserOptions options;
  if ((data[1] & 4) != 0) {
    options.partition_field =
        static_cast<int>(data[1] >> 3) % static_cast<int>(known.fields.size());
    options.max_partitions = 4;
  }
  // More fields than columns: in several runs. Every field is read in one of them.
  for (uint32_t f = 0; f < known.fields.size();) {
    ColumnMap map;
    for (; f < known.fields.size() && map.used + known.fields[f].words <= kColumnMax; ++f) {
      map.column[f] = static_cast<uint8_t>(map.used);
      map.used += known.fields[f].words;
    }
    const Outcome all = parse(format, map, options, packets, kBurstMax);
    const Outcome single = parse(format, map, options, packets, 1);
    CHECK(all.events == single.events);
    CHECK(all.digest == single.digest);
    CHECK(all.counts.noted == single.counts.noted);
    CHECK(all.counts.dropped == single.counts.dropped);
  }
  return 0;
}

}  // namespace tidewire::fuzz
