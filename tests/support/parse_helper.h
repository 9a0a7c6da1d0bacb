// Reads single fields of single frames through a parser, and tests the balances at each step.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "format/catalog.h"
#include "packet_builder.h"

namespace tidewire::test {

// Formats that were opened: they outlive their parsers.
inline const Format& opened(std::string_view name, const FormatOptions& options = {}) {
  static std::vector<FormatPtr> kept;
  return *kept.emplace_back(open_format(name, options).value());
}
inline const Schema& schema_of(std::string_view name) { return opened(name).schema(); }

// A map that wants the named fields, columns in their order.
inline ColumnMap map_of(const Schema& schema, const std::vector<std::string>& fields) {
  ColumnMap map;
  for (const std::string& name : fields) {
    const int f = schema.find(name);
    EXPECT_GE(f, 0) << name;
    map.column[static_cast<size_t>(f)] = static_cast<uint8_t>(map.used);
    map.used += schema.fields[static_cast<size_t>(f)].words;
  }
  return map;
}

inline std::unique_ptr<Parser> parser_of(const std::string& format,
                                         const std::vector<std::string>& fields,
                                         ParserOptions options = {}, FormatOptions more = {}) {
  const Format& made = opened(format, more);
  return made.make_parser(options, map_of(made.schema(), fields));
}

// As runtime does: packets are counted at the door, by whoever hands them to the parser.
inline void receive(Parser& parser, const Burst& burst, LaneCounts& counts) {
  counts.packets += burst.count;
  parser.begin(burst);
}

// received = parsed + dropped, and parsed events = no_time + out_of_range + passed on.
inline void expect_balanced(const LaneCounts& counts) {
  const uint64_t dropped =
      std::accumulate(counts.dropped.begin(), counts.dropped.end(), uint64_t{0});
  EXPECT_EQ(counts.packets, counts.packets_parsed + dropped);
  EXPECT_EQ(counts.events,
            counts.ended.no_time + counts.ended.out_of_range + counts.ended.passed_on);
}

inline uint64_t noted(const LaneCounts& counts, Note note) {
  return counts.noted[static_cast<size_t>(note)];
}
inline uint64_t dropped(const LaneCounts& counts, DropReason reason) {
  return counts.dropped[static_cast<size_t>(reason)];
}

}  // namespace tidewire::test
