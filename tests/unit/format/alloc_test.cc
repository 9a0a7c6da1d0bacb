// After construction a parser allocates nothing: new partitions, new sessions, gaps, restarts and
// changes of day included.

#include <gtest/gtest.h>

#include "flow_builder.h"
#include "itch_builder.h"
#include "memory/seal.h"
#include "parse_helper.h"

namespace tidewire::test {
namespace {

uint64_t allocations(const std::string& format, const std::string& partition_field,
                     const Burst& burst, const FormatOptions& more = {}) {
  ParserOptions options;
  options.partition_field = opened(format, more).schema().find(partition_field);
  auto parser = parser_of(format, {partition_field}, options, more);
  auto batch = std::make_unique<EventBatch>();
  LaneCounts counts;
  const AllocGuard guard;
  parser->begin(burst);
  while (parser->next(*batch, counts)) {
  }
  const uint64_t made = guard.count();
  EXPECT_GT(counts.ended.passed_on, 200u);
  return made;
}

TEST(Alloc, ParsersAllocateNothing) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "allocations are counted in debug builds only";
  BurstBuilder packets, datagrams;
  const std::string_view sessions[] = {"A", "B", "C", "D", "E", "F"};
  for (uint32_t i = 0; i < 240; ++i) {
    packets.add(PacketBuilder().ethernet().ipv4(i, i + 1).udp(i, 53, 12).finish(60));
    const uint64_t sequence = i % 50 == 0 ? uint64_t{i} << 33 : uint64_t{i} * 7;
    datagrams.add(mold_frame(sessions[i % 6], sequence, {delete_order(1000, i, i)}),
                  int64_t{i} * 3600 * kSecond);
  }
  EXPECT_EQ(allocations("packet", "src", packets.burst()), 0u);
  EXPECT_EQ(allocations("itch", "stock_locate", datagrams.burst()), 0u);
  EXPECT_EQ(allocations("itch", "symbol", datagrams.burst()), 0u);
  FormatOptions waits;  // two hours, so that datagrams are held and sessions make room
  waits.reorder_wait = {7200 * kSecond};
  EXPECT_EQ(allocations("itch", "sequence", datagrams.burst(), waits), 0u);
  BurstBuilder flows;  // data before templates, changed ones, new exporters, restarts
  for (uint32_t i = 0; i < 120; ++i) {
    const Bytes data = set_of(256 + i % 3, usual(i, i, 1, 990'000, 999'000));
    const Bytes templates =
        set_of(0, template_of(256 + i % 5, {{8, 4}, {i % 7 == 0 ? 12u : 1u, 4}}));
    flows.add(PacketBuilder()
                  .ethernet()
                  .ipv4(i % 11, 1)
                  .udp(50'000, 2055, netflow9({.sequence = i * 7}, {data, templates}))
                  .finish());
    flows.add(PacketBuilder()
                  .ethernet()
                  .ipv4(i, 1)
                  .udp(50'000, 2055, netflow5({.sequence = i % 9}, std::vector<Flow5>(30)))
                  .finish());
  }
  EXPECT_EQ(allocations("netflow", "stream", flows.burst()), 0u);
  for (const auto& [format, line] : std::initializer_list<std::pair<const char*, const char*>>{
           {"csv", "1700000000,\"a \"\"b\"\"\",-1.25e3,10.0.0.1\n"},
           {"influx", "m,host=a\\ b load=1.5,ip=\"10.0.0.1\" 1700000000\n"},
           {"json", R"({"t":1700000000,"host":"h\u00e9","load":1.25e2,"ip":"2001:db8::1"})"}}) {
    BurstBuilder lines;
    FormatOptions options;
    options.fields = {"host text", "load decimal(2)", "ip address"};
    options.time = "t";
    options.time_unit = TextTimeUnit::kSeconds;
    const std::string_view head = "t,host,load,ip\n", bad = "\"{,=";
    lines.add(Bytes(head.begin(), head.end()), 0, LinkType::kPayload);
    for (uint32_t i = 0; i < 240; ++i) {
      const std::string_view text = i % 9 == 0 ? bad : line;
      lines.add(Bytes(text.begin(), text.end()), 0, LinkType::kPayload);
    }
    EXPECT_EQ(allocations(format, "host", lines.burst(), options), 0u) << format;
  }
}

}  // namespace
}  // namespace tidewire::test
