// The language of derived columns: what is refused and where, what a formula gives, what it reads.
// What it computes: tests/unit/pipeline/derive_test.cc.
#include "query/derive.h"

#include <gtest/gtest.h>

#include "query/compile.h"
#include "sample_schema.h"

namespace tidewire {
namespace {

// "offset: message" of the last column; "none".
std::string error_of(std::vector<ColumnSpec> specs) {
  std::vector<ColumnProblem> problems;
  parse_columns(sample_schema(), specs, problems);
  if (problems.empty()) return "none";
  return std::to_string(problems.back().at) + ": " + problems.back().text;
}
std::string error_of(std::string formula) { return error_of({{"x", std::move(formula)}}); }

TEST(Formulas, AreRefusedWithThePlace) {
  EXPECT_EQ(error_of("length * 8"), "none");
  EXPECT_EQ(error_of(""), "0: expected a field, a number or a function, found the end");
  EXPECT_EQ(error_of("length * "), "9: expected a field, a number or a function, found the end");
  EXPECT_EQ(error_of("length 8"), "7: expected +, -, *, / or the end, found '8'");
  EXPECT_EQ(error_of("lenght * 8"), "0: there is no field 'lenght'; did you mean 'length'?");
  EXPECT_EQ(error_of("rond(price, 1)"), "0: there is no function 'rond'; did you mean 'round'?");
  EXPECT_EQ(error_of("round * 8"), "0: 'round' is a function: write round(...)");
  EXPECT_EQ(error_of("length % 8"), "7: '%' has no meaning in a formula");
  EXPECT_EQ(error_of("src + 1"), "0: expected a number, found an address");
  EXPECT_EQ(error_of("1 + symbol"), "4: expected a number, found a text");
  EXPECT_EQ(error_of("length / 0"), "7: a division by zero");
  EXPECT_EQ(error_of("length / 0.00"), "7: a division by zero");
  EXPECT_EQ(error_of("(length"), "7: expected ')', found the end");
  EXPECT_EQ(error_of("round(price, price)"),
            "13: expected a number of decimals from 0 to 18, found 'price'");
  EXPECT_EQ(error_of("round(price, 19)"),
            "13: expected a number of decimals from 0 to 18, found '19'");
  EXPECT_EQ(error_of("price * 0.00000000000000001"),
            "6: the result has 19 decimals; 18 is the limit: round() it first");
  EXPECT_EQ(error_of("price + 1000 * 1.00000000000000000"), "none");
  EXPECT_EQ(error_of("price + 100.00000000000000000"),
            "8: '100.00000000000000000' does not fit 64 bits");
  EXPECT_EQ(error_of("bucket(length, port)"),
            "15: the width of a bucket is a number above zero that is written out");
  EXPECT_EQ(error_of("bucket(length, 0)"),
            "15: the width of a bucket is a number above zero that is written out");
  EXPECT_EQ(error_of("prefix(length, 8)"), "7: expected an address, found a number");
  EXPECT_EQ(error_of("prefix(src, 33)"), "12: expected a prefix length from 0 to 32, found '33'");
  EXPECT_EQ(error_of("case(lenght > 1, 1, 2)"),
            "5: format 'sample' has no field 'lenght'; did you mean 'length'?");
  EXPECT_EQ(error_of("case(length > 1, 1)"), "18: expected ',', found ')'");
  EXPECT_EQ(error_of("case(length > 1, src, 2)"),
            "0: the two values of case are an address and a number");
  EXPECT_EQ(error_of("case(length > 1, 'a', 2)"),
            "0: the two values of case are a number and a text");
  EXPECT_EQ(error_of("case(length > 1, src, 'here')"), "0: 'here' is not an IPv4 or IPv6 address");
  EXPECT_EQ(error_of("case(length > 1, 'a', 'seventeen letters')"),
            "0: a text of a formula has at most 16 bytes");
  EXPECT_EQ(error_of("lookup(src, file)"),
            "12: expected the name of a file in quotes, found 'file'");
  EXPECT_EQ(error_of("lookup(src, 'f', length)"),
            "17: the default of lookup is a text in quotes or a number");
  EXPECT_EQ(
      error_of("lookup(flow, 'f')"),
      "7: a file can be asked for a number, an address, a name of up to 16 bytes, not for a flow");
  EXPECT_EQ(error_of("'not closed"), "0: the quote is not closed");
  EXPECT_EQ(error_of(std::string(33, '(') + "1"),
            "32: more than 32 parentheses and functions inside each other");
  std::string deep = "length";
  for (int i = 0; i < 13; ++i) deep = "length + (" + deep + ")";
  EXPECT_EQ(error_of(deep),
            "0: the formula is nested too deeply: it needs 14 values at once, 12 is the limit");
}

TEST(Formulas, NamesAreNew) {
  EXPECT_EQ(error_of({{"length", "1"}}), "-1: 'length' is a field of format 'sample' already");
  EXPECT_EQ(error_of({{"a-b", "1"}}),
            "-1: 'a-b' is no name: a letter, then letters, digits and '_', at most 64");
  EXPECT_EQ(error_of({{"not", "1"}}), "-1: 'not' is a word of `where`; choose another name");
  EXPECT_EQ(error_of({{"a", "b + 1"}, {"b", "length"}}),
            "0: 'b' does not stand above: a column reads the fields of the format and the columns "
            "above it");
  EXPECT_EQ(error_of({{"b", "length"}, {"a", "b + 1"}}), "none");
  EXPECT_EQ(error_of("x + 1"),
            "0: 'x' does not stand above: a column reads the fields of the format and the columns "
            "above it");
}

Field shape_of(std::string formula) {
  std::vector<ColumnProblem> problems;
  const ColumnSpec spec{"x", std::move(formula)};
  const auto derived = parse_columns(sample_schema(), std::span(&spec, 1), problems);
  EXPECT_TRUE(problems.empty()) << spec.formula << ": " << problems[0].text;
  return problems.empty() ? derived->schema.fields.back() : Field{};
}

TEST(Formulas, KnowHowLargeTheirNumbersGet) {
  EXPECT_EQ(shape_of("length * 8").bits, 20);  // 16 + 4: 8 is 1000 in binary
  EXPECT_EQ(shape_of("length + port").bits, 17);
  EXPECT_EQ(shape_of("price * price * price").bits, 63);
  EXPECT_EQ(shape_of("length / 1000").bits, 8);  // 65.5 < 2^7, and one for rounding
  EXPECT_EQ(shape_of("price + length").decimals, 2);
  EXPECT_EQ(shape_of("price * price").decimals, 4);
  EXPECT_EQ(shape_of("length / price").decimals, 0);
  EXPECT_EQ(shape_of("round(length, 3) / price").decimals, 3);
}

TEST(Formulas, KnowWhatMayBeAbsent) {
  EXPECT_FALSE(shape_of("length / 8").may_be_absent);
  EXPECT_TRUE(shape_of("8 / length").may_be_absent);
  EXPECT_TRUE(shape_of("port + 1").may_be_absent);
  EXPECT_EQ(shape_of("port + 1").absent, kAbsentNumber);
  EXPECT_EQ(shape_of("prefix(gateway, 24)").absent, kAbsent);
  EXPECT_FALSE(shape_of("case(port present, port + 1, 0)").may_be_absent);
  EXPECT_FALSE(shape_of("case(port absent, 0, port)").may_be_absent);
  EXPECT_FALSE(shape_of("case(port < 10 or port > 20, port, 0)").may_be_absent);
  EXPECT_TRUE(shape_of("case(port absent, port, 0)").may_be_absent);
  EXPECT_TRUE(shape_of("case(port present, port + vlan, 0)").may_be_absent);
  EXPECT_TRUE(shape_of("lookup(port, 'f', 'other')").may_be_absent);
  EXPECT_FALSE(shape_of("lookup(length, 'f', 'other')").may_be_absent);
  EXPECT_TRUE(shape_of("lookup(length, 'f')").may_be_absent);
}

// A column that no query names costs nothing, and one that is named brings what it reads.
TEST(Formulas, OnlyWhatIsUsedHasAColumn) {
  const ColumnSpec specs[] = {{"bits", "length * 8"},
                              {"unused", "volume + 1"},
                              {"kbits", "case(protocol == tcp, bits, 0) / 1000"}};
  std::vector<ColumnProblem> problems;
  const auto derived = parse_columns(sample_schema(), specs, problems);
  ASSERT_TRUE(problems.empty());
  QuerySpec query;
  query.name = "q";
  query.source = "s";
  query.aggregates = {"sum(kbits)"};
  query.window.size = query.window.slide = {kSecond};
  QuerySource source;
  source.name = "s";
  source.schema = &derived->schema;
  source.derived = derived.get();
  source.lanes = {LaneId{0}};
  std::vector<QueryProblem> found;
  const Compiled compiled = compile(std::span(&query, 1), std::span(&source, 1), HashSeed{}, found);
  ASSERT_TRUE(found.empty()) << found[0].text;
  std::string used;
  for (uint32_t f = 0; f < derived->schema.fields.size(); ++f)
    if (compiled.columns[0].wants(f)) used += std::string(derived->schema.fields[f].name) + " ";
  EXPECT_EQ(used, "protocol length bits kbits ");
  size_t stored = 0;
  for (const ColumnStep& step : compiled.programs[0].steps)
    stored += step.op == ColumnStep::Op::kStore;
  EXPECT_EQ(stored, 2u);
}

}  // namespace
}  // namespace tidewire
