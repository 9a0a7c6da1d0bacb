// The two small texts of a query beside `where`: an item of its key and an aggregate.
//
//   key         FIELD | ADDRESS/BITS | ADDRESS/BITS/BITS    "src/24": IPv4 cut to 24 bits, IPv6 to
//   64;
//                                                           "src/24/48": IPv6 to 48
//   aggregates  count | OP(FIELD) | quantile(FIELD, SHARE) | top(FIELD, N) | bottom(FIELD, N) |
//               vwap(PRICE, VOLUME), then " as NAME" if wished; OP of
//                 sum min max avg first last median distinct any all
//                 variance stddev (of the population), variance_samp stddev_samp
//                 ohlc (four results: open, high, low, close)
//                 p50 p95 p99 p999 ... (quantiles of 0.50, 0.95, 0.99, 0.999)
//               delta(NAME) | rate(NAME): NAME of an aggregate before it, against the key's window
//               before; rate a second
//
// Where one text gives several results they are named open(FIELD), ... and top(FIELD,N).1, ...;
// with a NAME: NAME_open, ... and NAME_1, ...
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/plan.h"
#include "query/schema.h"

namespace tidewire {

struct ItemError {
  uint32_t at = 0;  // offset in the text
  std::string text;
};

struct KeyItem {
  std::string name;  // as written
  uint32_t field = 0;
  uint8_t prefix_ipv4 = 32, prefix_ipv6 = 128;
};

struct AggregateItem {
  std::string name;  // "sum(wire_length)", or what stands behind "as"
  OutputOp op = OutputOp::kCount;
  uint32_t field = 0;      // not for kCount
  uint32_t second = 0;     // kVwap: the volume; else == field
  uint32_t parameter = 0;  // as in Output
  uint32_t size = 0;       // kTop, kBottom: how many there are
  uint16_t of = 0;         // kDelta, kRate: index of the aggregate

  bool compares() const { return op == OutputOp::kDelta || op == OutputOp::kRate; }
  bool reads_field() const { return op != OutputOp::kCount && !compares(); }
};

std::optional<KeyItem> parse_key_item(std::string_view text, const Schema& schema,
                                      ItemError& error);
// `before`: the aggregates before it. At least one; empty: an error.
std::vector<AggregateItem> parse_aggregate_item(std::string_view text, const Schema& schema,
                                                std::span<const AggregateItem> before,
                                                ItemError& error);

}  // namespace tidewire
