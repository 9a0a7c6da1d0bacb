#include "query/expression.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "base/rng.h"
#include "interpreter.h"
#include "sample_schema.h"

namespace tidewire {
namespace {

class Expression : public ::testing::Test {
 protected:
  // 10.1.2.3 -> 2001:db8::1, port 443, tcp, no VLAN, 1500 bytes, 12.50, AAPL, SYN ACK.
  Expression() {
    row_.fill(0);
    set(kSrc, 0, ipv4(10, 1, 2, 3));
    set(kDst, 0x20010db800000000, 1);
    set(kPort, 443);
    set(kProtocol, 6);
    set(kVlan, kAbsent);
    set(kLength, 1500);
    set(kPrice, 1250);
    set(kSymbol, 0x4141504C00000000);  // "AAPL"
    set(kTcpFlags, 0x12);              // SYN 0x02, ACK 0x10
    set(kMacField, 0x02005e100001);
    set(kEthertypeField, 0x0800);
    set(kSent, 1'709'251'199'000'000'001);  // 2024-02-29T23:59:59.000000001Z
    set(kVolume, -5);
    set(kGateway, kAbsent, kAbsent);
  }
  static int64_t ipv4(int64_t a, int64_t b, int64_t c, int64_t d) {
    return 0xFFFF00000000 | a << 24 | b << 16 | c << 8 | d;
  }
  void set(uint32_t field, int64_t first, int64_t second = 0) {
    // `venue` has no columns here (sample_schema.h).
    row_.at(columns_.column[field]) = first;
    if (schema_.fields[field].words == 2) row_.at(columns_.column[field] + 1u) = second;
  }
  Plan compiled(std::string_view text) {
    Plan plan;
    ExpressionError error;
    const auto condition = parse_where(text, schema_, error);
    EXPECT_TRUE(condition) << text << ": " << error.at << ": " << error.text;
    std::string problem;
    if (condition) {
      EXPECT_TRUE(compile_where(*condition, schema_, columns_, plan, problem)) << problem;
    }
    return plan;
  }
  bool is(std::string_view text) { return accepts(compiled(text), row_); }
  // "offset: message"
  std::string error_of(std::string_view text) {
    ExpressionError error;
    EXPECT_FALSE(parse_where(text, schema_, error)) << text;
    return std::to_string(error.at) + ": " + error.text;
  }

  Schema schema_ = sample_schema();
  ColumnMap columns_ = all_columns(schema_);
  Row row_;
};

TEST_F(Expression, ComparesIntegers) {
  EXPECT_TRUE(is("length == 1500"));
  EXPECT_TRUE(is("length == 0x5dc"));
  EXPECT_FALSE(is("length != 1500"));
  EXPECT_TRUE(is("length <= 1500"));
  EXPECT_FALSE(is("length < 1500"));
  EXPECT_TRUE(is("length >= 1500"));
  EXPECT_FALSE(is("length > 1500"));
  EXPECT_TRUE(is("volume == -5"));
  EXPECT_TRUE(is("volume < 0"));
  EXPECT_TRUE(is("volume in -10..-5"));
  EXPECT_FALSE(is("volume > 9223372036854775807"));   // nothing is above the last integer,
  EXPECT_FALSE(is("volume < -9223372036854775808"));  // nothing below the first
}

TEST_F(Expression, ComparesFixedPoint) {
  EXPECT_TRUE(is("price == 12.5"));
  EXPECT_TRUE(is("price < 12.51"));
  EXPECT_TRUE(is("price > 12.49"));
  EXPECT_TRUE(is("price in 12..13"));
}

TEST_F(Expression, KnowsSetsAndRanges) {
  EXPECT_TRUE(is("port in {80, 443}"));
  EXPECT_TRUE(is("port in {443}"));
  EXPECT_FALSE(is("port in {80, 8080}"));
  EXPECT_TRUE(is("port in {80, 400..500}"));
  EXPECT_TRUE(is("port in 443..443"));
  EXPECT_FALSE(is("port in 444..1000"));
  EXPECT_TRUE(is("not port in {80, 8080}"));
  EXPECT_TRUE(is("symbol in {'MSFT', \"AAPL\"}"));
}

TEST_F(Expression, KnowsAddresses) {
  EXPECT_TRUE(is("src == 10.1.2.3"));
  EXPECT_TRUE(is("src in 10.0.0.0/8"));
  EXPECT_FALSE(is("src in 10.2.0.0/16"));
  EXPECT_TRUE(is("src in 0.0.0.0/0"));
  EXPECT_FALSE(is("dst in 0.0.0.0/0"));  // all of IPv4, nothing of IPv6
  EXPECT_TRUE(is("dst == 2001:db8::1"));
  EXPECT_TRUE(is("dst in 2001:db8::/32"));
  EXPECT_FALSE(is("dst in 2001:db9::/32"));
  EXPECT_TRUE(is("dst in ::/0"));
  EXPECT_TRUE(is("src in {192.168.0.0/16, 10.1.2.3, 2001:db8::/32}"));
  EXPECT_TRUE(is("src in 10.1.2.0..10.1.2.3"));
  EXPECT_FALSE(is("src in 10.1.2.4..10.1.2.255"));
  EXPECT_FALSE(is("dst in 0.0.0.0..255.255.255.255"));
}

TEST_F(Expression, KnowsTheOtherTypes) {
  EXPECT_TRUE(is("protocol == tcp"));
  EXPECT_TRUE(is("protocol in {udp, 6}"));
  EXPECT_TRUE(is("mac == 02:00:5e:10:00:01"));
  EXPECT_TRUE(is("ethertype == ipv4"));
  EXPECT_TRUE(is("ethertype == 0x0800"));
  EXPECT_TRUE(is("tcp_flags has S"));
  EXPECT_TRUE(is("tcp_flags has SA"));
  EXPECT_FALSE(is("tcp_flags has SF"));
  EXPECT_TRUE(is("tcp_flags == SA"));
  EXPECT_FALSE(is("tcp_flags == S"));
  EXPECT_TRUE(is("sent > 2024-02-29T23:59:59Z"));
  EXPECT_FALSE(is("sent > 2024-03-01T00:00:00Z"));
  EXPECT_TRUE(is("sent == '2024-02-29T23:59:59.000000001Z'"));
}

TEST_F(Expression, BindsNotBeforeAndBeforeOr) {
  EXPECT_TRUE(is("port == 443 or port == 80 and length == 1"));
  EXPECT_FALSE(is("(port == 443 or port == 80) and length == 1"));
  EXPECT_TRUE(is("not port == 80 and length == 1500"));
  EXPECT_FALSE(is("not (port == 443 or length == 1)"));
  EXPECT_TRUE(is("not not port == 443"));
  EXPECT_TRUE(is("((port==443))and(length==1500)"));
}

TEST_F(Expression, AnAbsentFieldEqualsNothingAndLiesNowhere) {
  EXPECT_TRUE(is("vlan absent"));
  EXPECT_FALSE(is("vlan present"));
  EXPECT_FALSE(is("vlan < 100"));  // kAbsent is -1 in the column
  EXPECT_FALSE(is("vlan <= 100"));
  EXPECT_FALSE(is("vlan in {1, 2}"));
  EXPECT_TRUE(is("vlan != 7"));
  EXPECT_TRUE(is("gateway absent"));
  EXPECT_FALSE(is("gateway in ff00::/8"));  // all ones in the columns
  EXPECT_FALSE(is("gateway in ::/0"));
  EXPECT_TRUE(is("not gateway in ::/0"));
  set(kTcpFlags, kAbsent);
  EXPECT_FALSE(is("tcp_flags has S"));
  set(kVlan, 7);
  EXPECT_TRUE(is("vlan < 100"));
  EXPECT_TRUE(is("vlan present"));
  set(kGateway, 0, ipv4(1, 1, 1, 1));
  EXPECT_TRUE(is("gateway present and gateway in 1.0.0.0/8"));
}

TEST_F(Expression, WideTextsAreComparedWordByWord) {
  ColumnMap columns;
  columns.column[kVenue] = 0;
  columns.used = 3;
  Plan plan;
  ExpressionError error;
  const auto condition = parse_where("venue == 'Frankfurt Xetra'", schema_, error);
  ASSERT_TRUE(condition) << error.text;
  std::string problem;
  ASSERT_TRUE(compile_where(*condition, schema_, columns, plan, problem)) << problem;
  Row row{};
  row[0] = 0x4672616E6B667572;  // "Frankfur"
  row[1] = 0x7420586574726100;  // "t Xetra"
  EXPECT_TRUE(accepts(plan, row));
  row[2] = 1;
  EXPECT_FALSE(accepts(plan, row));
}

TEST_F(Expression, ASetIsOneStep) {
  const Plan plan = compiled("port in {5, 3, 5, 9} and protocol in {tcp, udp}");
  // {3, 5, 9}, {6, 17}; `port` may be absent, but -1 stands in no set.
  EXPECT_EQ(plan.set, (std::vector<int64_t>{3, 5, 9, 6, 17}));
  EXPECT_EQ(plan.where.size(), 3u);
}

TEST_F(Expression, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("prot == 6"), "0: format 'sample' has no field 'prot'; did you mean 'port'?");
  EXPECT_EQ(error_of("length = 5"), "7: write '==' instead of '='");
  EXPECT_EQ(error_of("length == 5 && port == 1"), "12: write 'and' instead of '&&'");
  EXPECT_EQ(error_of("!(length == 5)"), "0: write 'not' instead of '!'");
  EXPECT_EQ(error_of("length == "), "10: expected a value of 'length', found the end");
  EXPECT_EQ(error_of("length"),
            "6: expected ==, !=, <, <=, >, >=, in, has, present or absent after 'length', found "
            "the end");
  EXPECT_EQ(error_of("(length == 5"), "12: expected ')', found the end");
  EXPECT_EQ(error_of("length == 5)"), "11: expected 'and', 'or' or the end, found ')'");
  EXPECT_EQ(error_of("length == 5 port == 6"), "12: expected 'and', 'or' or the end, found 'port'");
  EXPECT_EQ(error_of("src < 10.0.0.1"), "4: 'src' has no order; use ==, != or in");
  EXPECT_EQ(error_of("length in 1/8"), "10: 'length' is not an address: it has no prefixes");
  EXPECT_EQ(error_of("src in 10.0.0.0/33"),
            "16: expected a prefix length from 0 to 32, found '33'");
  EXPECT_EQ(error_of("src in 10.1.2.3/8"), "7: the address has bits beyond its prefix of 8");
  EXPECT_EQ(error_of("length in 9..3"),
            "10: the range is empty: its first value is above its last");
  EXPECT_EQ(error_of("src in ::1..::2"),
            "7: a range of IPv6 addresses is not supported; write prefixes (2001:db8::/32)");
  EXPECT_EQ(error_of("symbol == AAPL"), "10: 'symbol' is a text: write 'AAPL' in quotes");
  EXPECT_EQ(error_of("symbol == 'AAPL"), "10: the quote is not closed");
  EXPECT_EQ(error_of("length has S"), "7: 'has' is for flags; 'length' has none");
  EXPECT_EQ(error_of("vlan == -1"), "8: '-1' is never a value of 'vlan'; write 'vlan absent'");
  EXPECT_EQ(error_of("vlan == -"), "8: '-' is never a value of 'vlan'; write 'vlan absent'");
  EXPECT_EQ(error_of("length == 5 # x"), "12: '#' has no meaning here");
  EXPECT_EQ(error_of("length == \xC3\xA9"),
            "10: only printable ASCII is allowed outside of quotes");
  EXPECT_EQ(error_of(std::string(40, '(')),
            "32: more than 32 parentheses and nots inside each other");
  for (const char* text : {"", "and", "length == x", "protocol == tpc", "price == 1.234",
                           "length in {", "length in {}", "length in {1 2}", "length in {1,}",
                           "in in in", "length == 99999999999999999999", "src == 10.0.0", "not",
                           "()", "length in 1..", "..", "src in 10.0.0.0/", "'length' == 5"})
    EXPECT_NE(error_of(text), "0: ") << text;
}

TEST_F(Expression, BoundsItsProgram) {
  std::string text = "length == 0";
  for (int i = 1; i < 128; ++i) text += " or length == " + std::to_string(i);
  EXPECT_EQ(compiled(text).where.size(), 255u);  // 128 tests, 127 ors
  text += " or length == 128";
  ExpressionError error;
  const auto condition = parse_where(text, schema_, error);
  ASSERT_TRUE(condition) << error.text;
  Plan plan;
  std::string problem;
  EXPECT_FALSE(compile_where(*condition, schema_, columns_, plan, problem));
  EXPECT_EQ(problem, "the condition takes 257 steps, 256 is the limit; a set ({a, b}) is one step");
  EXPECT_EQ(error_of("length == 1 or " + std::string(5'000, ' ') + "length == 2"),
            "0: the condition has 5026 characters; 4096 is the limit");
}

// A balanced tree of and / or over 2^8 leaves needs nine masks whichever side goes first.
TEST_F(Expression, BoundsItsStack) {
  const std::function<std::string(int)> tree = [&](int depth) -> std::string {
    if (depth == 0) return "vlan>1";
    return "(" + tree(depth - 1) + (depth % 2 ? " or " : " and ") + tree(depth - 1) + ")";
  };
  EXPECT_EQ(compiled(tree(6)).where.size(), 127u);  // 7 masks
  ExpressionError error;
  const auto condition = parse_where(tree(8), schema_, error);
  ASSERT_TRUE(condition) << error.text;
  Plan plan;
  std::string problem;
  EXPECT_FALSE(compile_where(*condition, schema_, columns_, plan, problem));
  EXPECT_NE(problem.find("9 partial results"), std::string::npos) << problem;
}

TEST_F(Expression, KnowsWhetherAFieldIsSurelyThere) {
  const auto implied = [&](std::string_view text) {
    ExpressionError error;
    const auto condition = parse_where(text, schema_, error);
    EXPECT_TRUE(condition) << error.text;
    return condition && implies_present(*condition, kVlan);
  };
  EXPECT_TRUE(implied("vlan present"));
  EXPECT_TRUE(implied("vlan == 5"));
  EXPECT_TRUE(implied("length == 1 and vlan < 7"));
  EXPECT_TRUE(implied("vlan in {1, 2} or vlan in 5..7"));
  EXPECT_TRUE(implied("not vlan absent"));
  EXPECT_TRUE(implied("not (vlan absent or length == 5)"));
  EXPECT_FALSE(implied("vlan absent"));
  EXPECT_FALSE(implied("vlan != 5"));
  EXPECT_FALSE(implied("not vlan == 5"));
  EXPECT_FALSE(implied("length == 1 or vlan < 7"));
  EXPECT_FALSE(implied("port present"));
}

// Random conditions over a few small fields, once by their meaning, once by the program.
class RandomCondition {
 public:
  RandomCondition(Rng& rng, const ColumnMap& columns) : rng_(rng), columns_(columns) {}

  struct Made {
    std::string text;
    std::function<bool(const Row&)> meaning;
  };

  Made make(uint32_t depth) {
    const uint64_t kind = depth == 0 ? 3 : rng_.below(5);
    if (kind == 0) {
      Made inner = make(depth - 1);
      return {"not (" + inner.text + ")", [m = inner.meaning](const Row& r) { return !m(r); }};
    }
    if (kind <= 2) {
      const bool all = kind == 1;
      const uint64_t parts = 2 + rng_.below(3);
      std::string text;
      std::vector<std::function<bool(const Row&)>> meanings;
      for (uint64_t i = 0; i < parts; ++i) {
        Made part = make(depth - 1);
        text += (i == 0 ? "(" : all ? ") and (" : ") or (") + part.text;
        meanings.push_back(part.meaning);
      }
      return {text + ")", [all, meanings](const Row& r) {
                for (const auto& m : meanings)
                  if (m(r) != all) return !all;
                return all;
              }};
    }
    return rng_.one_in(4) ? address() : integer();
  }

 private:
  Made integer() {
    const bool optional = rng_.one_in(2);
    const std::string name = optional ? "vlan" : "volume";
    const auto column = columns_.column[optional ? kVlan : kVolume];
    const auto lowest = optional ? int64_t{0} : int64_t{-4};
    const auto draw = [&] { return lowest + static_cast<int64_t>(rng_.below(9)); };
    const auto there = [optional, column](const Row& r) {
      return !optional || r[column] != kAbsent;
    };
    const int64_t a = draw(), b = draw();
    const auto with = [&](std::string verb, std::function<bool(int64_t)> test) {
      return Made{name + verb, [=](const Row& r) { return there(r) && test(r[column]); }};
    };
    switch (rng_.below(8)) {
      case 0:
        return with(" == " + std::to_string(a), [a](int64_t v) { return v == a; });
      case 1:
        return {name + " != " + std::to_string(a),
                [=](const Row& r) { return !there(r) || r[column] != a; }};
      case 2:
        return with(" < " + std::to_string(a), [a](int64_t v) { return v < a; });
      case 3:
        return with(" >= " + std::to_string(a), [a](int64_t v) { return v >= a; });
      case 4:
        return with(" in {" + std::to_string(a) + "," + std::to_string(b) + ", 100..200}",
                    [a, b](int64_t v) { return v == a || v == b || (v >= 100 && v <= 200); });
      case 5:
        return with(" in " + std::to_string(std::min(a, b)) + ".." + std::to_string(std::max(a, b)),
                    [a, b](int64_t v) { return v >= std::min(a, b) && v <= std::max(a, b); });
      case 6:
        return {name + " present", there};
      default:
        return {name + " absent", [there](const Row& r) { return !there(r); }};
    }
  }

  Made address() {
    const auto column = columns_.column[kGateway];
    const auto is = [column](const Row& r, int64_t high, int64_t low) {
      return r[column] == high && r[column + 1u] == low;
    };
    constexpr int64_t kMapped = 0xFFFF00000000;
    switch (rng_.below(4)) {
      case 0:
        return {"gateway == 10.0.0.1",
                [=](const Row& r) { return is(r, 0, kMapped | 0x0A000001); }};
      case 1:
        return {"gateway in 10.0.0.0/30", [=](const Row& r) {
                  return r[column] == 0 && (r[column + 1u] >> 2) == (kMapped | 0x0A000000) >> 2;
                }};
      case 2:
        return {"gateway in {ff00::/8, 10.0.0.2}", [=](const Row& r) {
                  if (is(r, kAbsent, kAbsent)) return false;
                  return (r[column] >> 56) == -1 || is(r, 0, kMapped | 0x0A000002);
                }};
      default:
        return {"gateway absent", [=](const Row& r) { return is(r, kAbsent, kAbsent); }};
    }
  }

  Rng& rng_;
  const ColumnMap& columns_;
};

TEST_F(Expression, TheProgramMeansWhatTheTextSays) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : 7;
  Rng rng(seed);
  RandomCondition random(rng, columns_);
  uint64_t accepted = 0, rows = 0;
  for (int i = 0; i < 3'000; ++i) {
    const auto made = random.make(static_cast<uint32_t>(rng.below(4)));
    SCOPED_TRACE("TIDEWIRE_SEED=" + std::to_string(seed) + " case " + std::to_string(i) + ": " +
                 made.text);
    ExpressionError error;
    const auto condition = parse_where(made.text, schema_, error);
    ASSERT_TRUE(condition || made.text.size() > kExpressionMax) << error.text;
    if (!condition) continue;
    Plan plan;
    std::string problem;
    if (!compile_where(*condition, schema_, columns_, plan, problem)) continue;  // too long
    for (int n = 0; n < 40; ++n) {
      Row row{};
      row[columns_.column[kVlan]] = rng.one_in(4) ? kAbsent : static_cast<int64_t>(rng.below(9));
      row[columns_.column[kVolume]] = static_cast<int64_t>(rng.below(9)) - 4;
      const auto gateway = columns_.column[kGateway];
      switch (rng.below(3)) {
        case 0:
          row[gateway] = row[gateway + 1u] = kAbsent;
          break;
        case 1:
          row[gateway + 1u] = 0xFFFF0A000000 + static_cast<int64_t>(rng.below(6));
          break;
        default:
          row[gateway] = rng.one_in(2) ? int64_t{-1} : 0x20010db800000000;
          row[gateway + 1u] = static_cast<int64_t>(rng.below(3));
      }
      ASSERT_EQ(accepts(plan, row), made.meaning(row));
      accepted += accepts(plan, row) ? 1 : 0;
      ++rows;
    }
  }
  EXPECT_GT(rows, 50'000u);
  EXPECT_GT(accepted, rows / 10) << "nearly all rows refused: the test shows little";
  EXPECT_LT(accepted, rows * 9 / 10) << "nearly all rows accepted: the test shows little";
}

}  // namespace
}  // namespace tidewire
