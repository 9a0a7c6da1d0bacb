// Sends packets of flow export through the parser and keeps what comes out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flow_builder.h"
#include "parse_helper.h"

namespace tidewire::test {

class FlowRig {
 public:
  explicit FlowRig(std::vector<std::string> fields, FormatOptions format = with_wait({}),
                   ParserOptions options = {})
      : parser_(parser_of("netflow", fields, options, format)) {
    for (const std::string& name : fields) {
      const Schema& schema = opened("netflow", format).schema();
      columns_ += schema.fields[static_cast<size_t>(schema.find(name))].words;
    }
  }
  static FormatOptions with_wait(FormatOptions format) {
    format.template_wait = {600 * kSecond};
    return format;
  }
  // From an exporter 192.0.2.HOST, its port 50000 + HOST; host 0: as a file of datagrams has it.
  FlowRig& send(const Bytes& payload, uint32_t host = 1,
                int64_t arrival = 1'700'000'000 * kSecond) {
    BurstBuilder burst;
    add(burst, payload, host, arrival);
    return take(burst);
  }
  static void add(BurstBuilder& burst, const Bytes& payload, uint32_t host = 1,
                  int64_t arrival = 1'700'000'000 * kSecond) {
    if (host == 0) {
      burst.add(payload, arrival, LinkType::kPayload);
      return;
    }
    Bytes frame = PacketBuilder()
                      .ethernet()
                      .ipv4(ipv4_address(192, 0, 2, host), ipv4_address(192, 0, 2, 254))
                      .udp(50'000 + host, 2055, payload)
                      .finish();
    burst.add(frame, arrival);
  }
  FlowRig& take(BurstBuilder& burst) {
    receive(*parser_, burst.burst(), counts);
    for (bool more = true; more;) {
      more = parser_->next(*batch_, counts);
      for (uint32_t i = 0; i < batch_->count; ++i) {
        std::vector<int64_t> row;
        for (uint32_t c = 0; c < columns_; ++c) row.push_back(batch_->column[c][i]);
        rows.push_back(row);
        times.push_back(batch_->time[i].ns);
        partitions.push_back(index_of(batch_->partition[i]));
      }
    }
    expect_balanced(counts);
    return *this;
  }
  uint64_t noted(Note note) const { return test::noted(counts, note); }

  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> times;
  std::vector<uint32_t> partitions;
  LaneCounts counts;

 private:
  std::unique_ptr<Parser> parser_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  uint32_t columns_ = 0;
};

}  // namespace tidewire::test
