// The two small texts of a query beside `where`: an item of its key and an aggregate.
//
//   key         FIELD | ADDRESS/BITS | ADDRESS/BITS/BITS    "src/24": IPv4 cut to 24 bits, IPv6 to
//   64;
//                                                           "src/24/48": IPv6 to 48
//   aggregates  count | OP(FIELD), OP of sum min max avg first last, then " as NAME" if wished
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
  uint32_t field = 0;  // not for kCount
};

std::optional<KeyItem> parse_key_item(std::string_view text, const Schema& schema,
                                      ItemError& error);
std::optional<AggregateItem> parse_aggregate_item(std::string_view text, const Schema& schema,
                                                  ItemError& error);

}  // namespace tidewire
