#include "query/items.h"

#include <gtest/gtest.h>

#include "sample_schema.h"

namespace tidewire {
namespace {

std::string key_error(std::string_view text) {
  ItemError error;
  EXPECT_FALSE(parse_key_item(text, sample_schema(), error)) << text;
  return std::to_string(error.at) + ": " + error.text;
}
std::string aggregate_error(std::string_view text) {
  ItemError error;
  EXPECT_FALSE(parse_aggregate_item(text, sample_schema(), error)) << text;
  return std::to_string(error.at) + ": " + error.text;
}

TEST(Items, ReadKeys) {
  ItemError error;
  const auto plain = parse_key_item("protocol", sample_schema(), error);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->field, uint32_t{kProtocol});
  const auto whole = parse_key_item("src", sample_schema(), error);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->prefix_ipv4, 32);
  EXPECT_EQ(whole->prefix_ipv6, 128);
  const auto cut = parse_key_item("src/24", sample_schema(), error);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->name, "src/24");
  EXPECT_EQ(cut->prefix_ipv4, 24);
  EXPECT_EQ(cut->prefix_ipv6, 64);
  const auto both = parse_key_item("dst/0/48", sample_schema(), error);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->field, uint32_t{kDst});
  EXPECT_EQ(both->prefix_ipv4, 0);
  EXPECT_EQ(both->prefix_ipv6, 48);
}

TEST(Items, RefuseKeys) {
  EXPECT_EQ(key_error("scr/24"), "0: format 'sample' has no field 'scr'; did you mean 'src'?");
  EXPECT_EQ(key_error("src/33"), "4: expected a prefix length from 0 to 32, found '33'");
  EXPECT_EQ(key_error("src/"), "4: expected a prefix length from 0 to 32, found ''");
  EXPECT_EQ(key_error("src/-1"), "4: expected a prefix length from 0 to 32, found '-1'");
  EXPECT_EQ(key_error("src/24/129"), "7: expected a prefix length from 0 to 128, found '129'");
  EXPECT_EQ(key_error("src/24/48/1"), "7: expected a prefix length from 0 to 128, found '48/1'");
  EXPECT_EQ(key_error("port/8"), "5: 'port' is not an address: it has no prefixes");
}

TEST(Items, ReadAggregates) {
  ItemError error;
  const Schema schema = sample_schema();
  const auto count = parse_aggregate_item(" count ", schema, error);
  ASSERT_TRUE(count);
  EXPECT_EQ(count->op, OutputOp::kCount);
  EXPECT_EQ(count->name, "count");
  const auto sum = parse_aggregate_item("sum( length )", schema, error);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->op, OutputOp::kSum);
  EXPECT_EQ(sum->field, uint32_t{kLength});
  EXPECT_EQ(sum->name, "sum(length)");
  const auto named = parse_aggregate_item("avg(price) as mean_price", schema, error);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->op, OutputOp::kAverage);
  EXPECT_EQ(named->name, "mean_price");
  const std::pair<const char*, OutputOp> others[] = {{"min(price)", OutputOp::kMin},
                                                     {"max(sent)", OutputOp::kMax},
                                                     {"first(symbol)", OutputOp::kFirst},
                                                     {"last(protocol)", OutputOp::kLast}};
  for (const auto& [text, op] : others) {
    const auto item = parse_aggregate_item(text, schema, error);
    ASSERT_TRUE(item) << text << ": " << error.text;
    EXPECT_EQ(item->op, op) << text;
  }
}

TEST(Items, RefuseAggregates) {
  EXPECT_EQ(aggregate_error("summ(length)"),
            "0: there is no aggregate 'summ'; did you mean 'sum'?");
  EXPECT_EQ(
      aggregate_error("quantile(length)"),
      "0: there is no aggregate 'quantile'; valid are: count, sum, min, max, avg, first, last");
  EXPECT_EQ(aggregate_error("sum"), "0: write it with its field: sum(FIELD)");
  EXPECT_EQ(aggregate_error("sum(length"), "0: write it with its field: sum(FIELD)");
  EXPECT_EQ(aggregate_error("sum(lenght)"),
            "4: format 'sample' has no field 'lenght'; did you mean 'length'?");
  EXPECT_EQ(aggregate_error("count(length)"), "5: count takes no field: write \"count\"");
  EXPECT_EQ(aggregate_error("sum(src)"), "4: sum: 'src' is not a number");
  EXPECT_EQ(aggregate_error("avg(sent)"), "4: avg: 'sent' is not a number");
  EXPECT_EQ(aggregate_error("min(symbol)"), "4: min: 'symbol' is neither a number nor a time");
  EXPECT_EQ(aggregate_error("first(src)"),
            "6: first: 'src' is wider than one word of 8 bytes; use it as a key");
  EXPECT_EQ(aggregate_error("count as 2nd"),
            "9: '2nd' is no name: a letter, then letters, digits and '_', at most 64");
  EXPECT_NE(aggregate_error(""), "");
}

}  // namespace
}  // namespace tidewire
