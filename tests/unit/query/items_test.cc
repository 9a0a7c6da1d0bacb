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
  EXPECT_TRUE(parse_aggregate_item(text, sample_schema(), {}, error).empty()) << text;
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
  const auto parse = [&](const char* text) {
    const auto items = parse_aggregate_item(text, schema, {}, error);
    EXPECT_EQ(items.size(), 1u) << text << ": " << error.text;
    return items.empty() ? AggregateItem{} : items[0];
  };
  const auto count = parse(" count ");
  EXPECT_EQ(count.op, OutputOp::kCount);
  EXPECT_EQ(count.name, "count");
  const auto sum = parse("sum( length )");
  EXPECT_EQ(sum.op, OutputOp::kSum);
  EXPECT_EQ(sum.field, uint32_t{kLength});
  EXPECT_EQ(sum.name, "sum(length)");
  const auto named = parse("avg(price) as mean_price");
  EXPECT_EQ(named.op, OutputOp::kAverage);
  EXPECT_EQ(named.name, "mean_price");
  const std::pair<const char*, OutputOp> others[] = {
      {"min(price)", OutputOp::kMin},
      {"max(sent)", OutputOp::kMax},
      {"first(symbol)", OutputOp::kFirst},
      {"last(protocol)", OutputOp::kLast},
      {"variance(price)", OutputOp::kVariance},
      {"stddev(price)", OutputOp::kDeviation},
      {"variance_samp(price)", OutputOp::kVarianceSample},
      {"stddev_samp(price)", OutputOp::kDeviationSample},
      {"distinct(src)", OutputOp::kDistinct},
      {"any(vlan)", OutputOp::kAny},
      {"all(tcp_flags)", OutputOp::kAll}};
  for (const auto& [text, op] : others) {
    const auto item = parse(text);
    EXPECT_EQ(item.op, op) << text;
    EXPECT_EQ(item.name, text);
  }
  const auto vwap = parse("vwap( price,volume )");
  EXPECT_EQ(vwap.op, OutputOp::kVwap);
  EXPECT_EQ(vwap.field, uint32_t{kPrice});
  EXPECT_EQ(vwap.second, uint32_t{kVolume});
  EXPECT_EQ(vwap.name, "vwap(price,volume)");
}

TEST(Items, ReadQuantiles) {
  ItemError error;
  const std::pair<const char*, uint32_t> cases[] = {{"quantile(length, 0.99)", 990'000},
                                                    {"quantile(length, 0)", 0},
                                                    {"quantile(length, 1.0)", 1'000'000},
                                                    {"quantile(length, 0.000001)", 1},
                                                    {"median(length)", 500'000},
                                                    {"p50(length)", 500'000},
                                                    {"p05(length)", 50'000},
                                                    {"p99(length)", 990'000},
                                                    {"p999(length)", 999'000},
                                                    {"p999999(length)", 999'999}};
  for (const auto& [text, share] : cases) {
    const auto items = parse_aggregate_item(text, sample_schema(), {}, error);
    ASSERT_EQ(items.size(), 1u) << text << ": " << error.text;
    EXPECT_EQ(items[0].op, OutputOp::kQuantile) << text;
    EXPECT_EQ(items[0].parameter, share) << text;
    EXPECT_EQ(items[0].field, uint32_t{kLength}) << text;
  }
}

// "name op parameter" of all that a text gives.
std::string several(const char* text) {
  ItemError error;
  std::string all;
  for (const AggregateItem& item : parse_aggregate_item(text, sample_schema(), {}, error))
    all += item.name + " " + std::to_string(static_cast<int>(item.op)) + " " +
           std::to_string(item.parameter) + "\n";
  return all + error.text;
}

TEST(Items, OneTextMayGiveSeveralResults) {
  const auto op = [](OutputOp o) { return std::to_string(static_cast<int>(o)); };
  EXPECT_EQ(several("ohlc(price)"), "open(price) " + op(OutputOp::kFirst) + " 0\nhigh(price) " +
                                        op(OutputOp::kMax) + " 0\nlow(price) " +
                                        op(OutputOp::kMin) + " 0\nclose(price) " +
                                        op(OutputOp::kLast) + " 0\n");
  EXPECT_EQ(several("ohlc(price) as p"),
            "p_open " + op(OutputOp::kFirst) + " 0\np_high " + op(OutputOp::kMax) + " 0\np_low " +
                op(OutputOp::kMin) + " 0\np_close " + op(OutputOp::kLast) + " 0\n");
  const std::string top = op(OutputOp::kTop), bottom = op(OutputOp::kBottom);
  EXPECT_EQ(several("top( price, 3)"), "top(price,3).1 " + top + " 1\ntop(price,3).2 " + top +
                                           " 2\ntop(price,3).3 " + top + " 3\n");
  EXPECT_EQ(several("bottom(price,2) as least"),
            "least_1 " + bottom + " 1\nleast_2 " + bottom + " 2\n");
}

TEST(Items, RefuseAggregates) {
  EXPECT_EQ(aggregate_error("summ(length)"),
            "0: there is no aggregate 'summ'; did you mean 'sum'?");
  EXPECT_EQ(aggregate_error("percentile(length)"),
            "0: there is no aggregate 'percentile'; valid are: count, sum, min, max, avg, first, "
            "last, variance, stddev, variance_samp, stddev_samp, quantile, median, distinct, top, "
            "bottom, ohlc, vwap, any, all");
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
  const std::string quantile =
      "write it with its field and a share from 0 to 1: quantile(FIELD, 0.99)";
  EXPECT_EQ(aggregate_error("quantile(length)"), "0: " + quantile);
  EXPECT_EQ(aggregate_error("quantile(length, 0.5, 1)"), "0: " + quantile);
  EXPECT_EQ(aggregate_error("quantile(length, 99)"),
            "17: expected a share from 0 to 1 with at most 6 decimals, found '99'");
  EXPECT_EQ(aggregate_error("quantile(length, 0.1234567)"),
            "17: expected a share from 0 to 1 with at most 6 decimals, found '0.1234567'");
  EXPECT_EQ(aggregate_error("quantile(length, -0.1)"),
            "17: expected a share from 0 to 1 with at most 6 decimals, found '-0.1'");
  EXPECT_EQ(aggregate_error("median(length, 2)"), "0: write it with its field: median(FIELD)");
  EXPECT_EQ(aggregate_error("p99(sent)"), "4: p99: 'sent' is not a number");
  EXPECT_NE(aggregate_error("p9x(length)").find("there is no aggregate 'p9x'"), std::string::npos);
  EXPECT_NE(aggregate_error("p9(length)").find("there is no aggregate 'p9'"), std::string::npos);
  EXPECT_EQ(aggregate_error("top(price)"),
            "0: write it with its field and how many, 1 to 8: top(FIELD, 3)");
  EXPECT_EQ(aggregate_error("top(price, 9)"), "11: expected a number from 1 to 8, found '9'");
  EXPECT_EQ(aggregate_error("bottom(price, 0)"), "14: expected a number from 1 to 8, found '0'");
  EXPECT_EQ(aggregate_error("top(symbol, 2)"), "4: top: 'symbol' is neither a number nor a time");
  EXPECT_EQ(aggregate_error("vwap(price)"), "0: write it with both fields: vwap(PRICE, VOLUME)");
  EXPECT_EQ(aggregate_error("vwap(price, symbol)"), "12: vwap: 'symbol' is not a number");
  EXPECT_EQ(aggregate_error("ohlc(sent)"), "5: ohlc: 'sent' is not a number");
  EXPECT_EQ(aggregate_error("distinct(venue)"),
            "9: distinct: 'venue' is wider than two words of 8 bytes");
  EXPECT_EQ(aggregate_error("any(dst)"),
            "4: any: 'dst' is wider than one word of 8 bytes; use it as a key");
}

// Of an aggregate before it, by its name; the name may have parentheses.
TEST(Aggregates, CompareWithTheWindowBefore) {
  ItemError error;
  std::vector<AggregateItem> before = parse_aggregate_item("count", sample_schema(), {}, error);
  before.push_back(parse_aggregate_item("sum(length)", sample_schema(), {}, error).at(0));
  const auto delta = parse_aggregate_item("delta(count)", sample_schema(), before, error);
  ASSERT_EQ(delta.size(), 1u) << error.text;
  EXPECT_EQ(delta[0].op, OutputOp::kDelta);
  EXPECT_EQ(delta[0].of, 0u);
  EXPECT_EQ(delta[0].name, "delta(count)");
  const auto rate =
      parse_aggregate_item("rate(sum(length)) as growth", sample_schema(), before, error);
  ASSERT_EQ(rate.size(), 1u) << error.text;
  EXPECT_EQ(rate[0].op, OutputOp::kRate);
  EXPECT_EQ(rate[0].of, 1u);
  EXPECT_EQ(rate[0].name, "growth");
  before.push_back(delta[0]);
  for (const char* wrong : {"delta(delta(count))", "rate(cuont)", "delta(count", "delta(count) as",
                            "delta(count) as a b"}) {
    EXPECT_TRUE(parse_aggregate_item(wrong, sample_schema(), before, error).empty()) << wrong;
    EXPECT_FALSE(error.text.empty());
  }
}

}  // namespace
}  // namespace tidewire
