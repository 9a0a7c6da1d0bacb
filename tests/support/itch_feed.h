// One lane of the itch format: bursts in, rows out, balanced after each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "itch_builder.h"
#include "parse_helper.h"

namespace tidewire::test {

inline constexpr int64_t kHour = 3600 * kSecond;
// 2019-10-30, a Wednesday in summer time (UTC - 4): 18199 days after 1970-01-01.
inline constexpr int64_t kMidnight = 18199 * 24 * kHour + 4 * kHour;
inline constexpr uint64_t kOpen = static_cast<uint64_t>(9 * kHour + kHour / 2);  // 09:30

inline int64_t packed(std::string_view text) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i)
    word = word << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0u);
  return static_cast<int64_t>(word);
}

struct Outcome {
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> times;
  std::vector<uint64_t> positions;  // of batches that hold an event
  uint32_t batches = 0;
  std::vector<std::pair<size_t, int64_t>> marks;  // how many rows stand before it, its time
  LaneCounts counts;
};

class Feed {
 public:
  explicit Feed(std::vector<std::string> fields, ParserOptions options = {},
                FormatOptions more = {})
      : columns_(map_of(schema_of("itch"), fields).used),
        parser_(parser_of("itch", fields, options, more)) {}

  Outcome& send(BurstBuilder& burst) {
    auto batch = std::make_unique<EventBatch>();
    receive(*parser_, burst.burst(), run_.counts);
    for (bool more = true; more;) {
      more = parser_->next(*batch, run_.counts);
      EXPECT_EQ(index_of(batch->ordinal), run_.rows.size());
      ++run_.batches;
      for (uint32_t m = 0; m < batch->marks; ++m)
        run_.marks.emplace_back(run_.rows.size() + batch->mark[m].at, batch->mark[m].time.ns);
      if (batch->count > 0) run_.positions.push_back(index_of(batch->first));
      for (uint32_t i = 0; i < batch->count; ++i) {
        std::vector<int64_t> row;
        for (uint32_t c = 0; c < columns_; ++c) row.push_back(batch->column[c][i]);
        run_.rows.push_back(row);
        run_.times.push_back(batch->time[i].ns);
      }
    }
    expect_balanced(run_.counts);
    return run_;
  }
  Outcome& send(const Bytes& frame, int64_t arrival = kMidnight + static_cast<int64_t>(kOpen)) {
    BurstBuilder burst;
    burst.add(frame, arrival);
    return send(burst);
  }

 private:
  uint32_t columns_;
  std::unique_ptr<Parser> parser_;
  Outcome run_;
};

using Rows = std::vector<std::vector<int64_t>>;

}  // namespace tidewire::test
