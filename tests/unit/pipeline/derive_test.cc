// Derived columns as the data path runs them: examples with the arithmetic shown, and random
// formulas against a slow evaluator of one row in 128 bits.
#include "pipeline/derive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/int128.h"
#include "base/rng.h"
#include "query/derive.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20261205;
}

constexpr int64_t kMost = INT64_MAX;
constexpr int64_t kIpv4 = 0xFFFF00000000;

enum TestField : uint32_t {
  kBig,
  kPort,
  kPrice,
  kRate,
  kSmall,
  kSrc,
  kSrcPort,
  kDst,
  kDstPort,
  kSide
};

Schema test_schema() {
  Schema s;
  s.format = "test";
  s.fields = {
      {"big", FieldType::kInteger, 1, 63, 0, false, ""},
      {"port", FieldType::kInteger, 1, 16, 0, true, ""},
      {"price", FieldType::kInteger, 1, 40, 2, false, ""},
      {"rate", FieldType::kInteger, 1, 32, 4, true, ""},
      {"small", FieldType::kInteger, 1, 2, 0, false, ""},
      {"src", FieldType::kAddress, 2, 63, 0, true, ""},
      {"src_port", FieldType::kInteger, 1, 16, 0, true, ""},
      {"dst", FieldType::kAddress, 2, 63, 0, true, ""},
      {"dst_port", FieldType::kInteger, 1, 16, 0, true, ""},
      {"side", FieldType::kText, 1, 63, 0, true, ""},
  };
  s.fields[kPort].non_negative = s.fields[kRate].non_negative = true;
  return s;
}

using Specs = std::vector<ColumnSpec>;

// A source with these columns, all of them and all fields in use.
class Columns {
 public:
  explicit Columns(const std::vector<ColumnSpec>& specs,
                   const std::vector<std::string>& files = {}) {
    std::vector<ColumnProblem> problems;
    derived_ = parse_columns(test_schema(), specs, problems);
    for (const ColumnProblem& p : problems)
      ADD_FAILURE() << specs[p.column].formula << ": " << p.at << ": " << p.text;
    for (uint32_t f = 0; f < derived_->schema.fields.size(); ++f) {
      map_.column[f] = static_cast<uint8_t>(map_.used);
      map_.used += derived_->schema.fields[f].words;
    }
    EXPECT_LE(map_.used, kColumnMax);
    program_ = compile_columns(*derived_, map_, 0);
    for (size_t i = 0; i < files.size(); ++i) contents_.push_back(content(i, files[i]));
    tables_ = std::make_unique<LookupTables>(derived_->lookups, contents_, arena_);
  }

  LookupContent content(size_t table, const std::string& text) const {
    auto content = parse_lookup(derived_->lookups[table], text);
    EXPECT_TRUE(content.ok()) << content.status();
    return content.ok() ? *std::move(content) : LookupContent{};
  }
  void set(uint32_t field, uint32_t row, int64_t first, int64_t second = 0) {
    batch_->column[map_.column[field]][row] = first;
    if (derived_->schema.fields[field].words == 2)
      batch_->column[map_.column[field] + 1u][row] = second;
  }
  void run(uint32_t rows) {
    batch_->count = rows;
    derive(program_, tables_.get(), tables_->version(), *batch_, *select_, *scratch_, counts_);
  }
  const Field& field(uint32_t column) const {
    return derived_->schema.fields[derived_->native + column];
  }
  std::vector<int64_t> words(uint32_t column, uint32_t row) const {
    std::vector<int64_t> out;
    for (uint32_t w = 0; w < field(column).words; ++w)
      out.push_back(batch_->column[map_.column[derived_->native + column] + w][row]);
    return out;
  }
  // As people see it.
  std::string text(uint32_t column, uint32_t row) const {
    std::array<char, kFieldTextMax> room;
    TextWriter out(room);
    append_field(out, field(column), words(column, row));
    return std::string(out.text());
  }
  uint64_t saturated() const { return counts_.noted[static_cast<size_t>(Note::kSaturated)]; }
  LookupTables& tables() { return *tables_; }
  const DerivedColumns& derived() const { return *derived_; }

 private:
  std::shared_ptr<const DerivedColumns> derived_;
  ColumnMap map_;
  ColumnProgram program_;
  Arena arena_{{.fault_in = false}};
  std::vector<LookupContent> contents_;
  std::unique_ptr<LookupTables> tables_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  std::unique_ptr<SelectScratch> select_ = std::make_unique<SelectScratch>();
  std::unique_ptr<DeriveScratch> scratch_ = std::make_unique<DeriveScratch>();
  LaneCounts counts_;
};

// One formula on one row: big 7, port 443, price 12.50, rate 0.0005, small 2, src 10.1.2.3:443,
// dst 192.0.2.9:5000, side B.
std::string value_of(const std::string& formula, const std::vector<std::string>& files = {}) {
  Columns columns(Specs{{"x", formula}}, files);
  columns.set(kBig, 0, 7);
  columns.set(kPort, 0, 443);
  columns.set(kPrice, 0, 1250);
  columns.set(kRate, 0, 5);
  columns.set(kSmall, 0, 2);
  columns.set(kSrc, 0, 0, kIpv4 | 0x0A010203);
  columns.set(kSrcPort, 0, 443);
  columns.set(kDst, 0, 0, kIpv4 | 0xC0000209);
  columns.set(kDstPort, 0, 5000);
  columns.set(kSide, 0, static_cast<int64_t>(uint64_t{'B'} << 56));
  columns.run(1);
  EXPECT_EQ(columns.saturated(), 0u) << formula;
  return columns.text(0, 0);
}

TEST(Derive, ArithmeticKeepsDecimalsAsStated) {
  EXPECT_EQ(value_of("big * 8"), "56");
  EXPECT_EQ(value_of("big - small * 3 - 1"), "0");  // 7 - 6 - 1
  EXPECT_EQ(value_of("(big - small) * 3"), "15");
  EXPECT_EQ(value_of("-big + 1"), "-6");
  EXPECT_EQ(value_of("price + rate"), "12.5005");        // the larger: 4
  EXPECT_EQ(value_of("price * rate"), "0.006250");       // added: 2 + 4
  EXPECT_EQ(value_of("price / rate"), "25000.00");       // the left's: 12.50 / 0.0005
  EXPECT_EQ(value_of("big / rate"), "14000");            // 7 / 0.0005
  EXPECT_EQ(value_of("round(price, 4) / 3"), "4.1667");  // 4.16666...
  EXPECT_EQ(value_of("price - 0.125"), "12.375");
  EXPECT_EQ(value_of("0x10 + big"), "23");
}

// The even one of two that are as near: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, 3.5 -> 4.
TEST(Derive, DivisionRoundsHalfToEven) {
  EXPECT_EQ(value_of("1 / small"), "0");
  EXPECT_EQ(value_of("3 / small"), "2");
  EXPECT_EQ(value_of("5 / small"), "2");
  EXPECT_EQ(value_of("big / small"), "4");
  EXPECT_EQ(value_of("-5 / small"), "-2");
  EXPECT_EQ(value_of("-big / small"), "-4");
  EXPECT_EQ(value_of("big / -2"), "-4");
  EXPECT_EQ(value_of("big / 3"), "2");        // 2.33
  EXPECT_EQ(value_of("8 / (big - 4)"), "3");  // 2.67
  EXPECT_EQ(value_of("round(12.25, 1)"), "12.2");
  EXPECT_EQ(value_of("round(12.35, 1)"), "12.4");
  EXPECT_EQ(value_of("round(price, 0)"), "12");  // 12.5
}

TEST(Derive, BucketsGoDown) {
  EXPECT_EQ(value_of("bucket(port, 100)"), "400");
  EXPECT_EQ(value_of("bucket(-port, 100)"), "-500");
  EXPECT_EQ(value_of("bucket(big, 7)"), "7");
  EXPECT_EQ(value_of("bucket(price, 0.2)"), "12.40");
  EXPECT_EQ(value_of("bucket(big, 2.5)"), "5.0");
}

TEST(Derive, CasesChoose) {
  EXPECT_EQ(value_of("case(port in {80, 443} and side == 'B', 'web', 'other')"), "web");
  EXPECT_EQ(value_of("case(port < 443, 'low', case(port == 443, 'tls', 'high'))"), "tls");
  EXPECT_EQ(value_of("case(big > 6, price, 1)"), "12.50");
  EXPECT_EQ(value_of("case(big > 7, price, 1)"), "1.00");
  EXPECT_EQ(value_of("case(src in 10.0.0.0/8, src, dst)"), "10.1.2.3");
  EXPECT_EQ(value_of("case(src in 11.0.0.0/8, src, '2001:db8::1')"), "2001:db8::1");
  EXPECT_EQ(value_of("case(side == 'B', side, 'longer than 8')"), "B");
}

TEST(Derive, PrefixesCut) {
  EXPECT_EQ(value_of("prefix(src, 16)"), "10.1.0.0/16");
  EXPECT_EQ(value_of("prefix(src, 24, 48)"), "10.1.2.0/24");
  EXPECT_EQ(value_of("prefix(src, 0)"), "0.0.0.0/0");
  EXPECT_EQ(value_of("prefix(case(big == 7, '2001:db8:1:2:3::', src), 24, 48)"), "2001:db8:1::/48");
}

// End A of the flow key is the smaller (address, port): query/flow_key.h.
TEST(Derive, ForwardIsFromEndA) {
  EXPECT_EQ(value_of("forward(src, src_port, dst, dst_port)"), "1");  // 10.1.2.3 < 192.0.2.9
  EXPECT_EQ(value_of("forward(dst, dst_port, src, src_port)"), "0");
  EXPECT_EQ(value_of("forward(src, src_port, src, dst_port)"), "1");  // 443 < 5000
  EXPECT_EQ(value_of("forward(src, dst_port, src, src_port)"), "0");
  EXPECT_EQ(value_of("forward(src, port, src, src_port)"), "1");  // the same end: as it is
}

TEST(Derive, ForwardAgreesWithTheFlowKey) {
  const uint64_t start = seed();
  SCOPED_TRACE("TIDEWIRE_SEED=" + std::to_string(start));
  Rng rng(start);
  Columns columns(Specs{{"x", "forward(src, src_port, dst, dst_port)"}});
  std::vector<bool> expected;
  for (uint32_t i = 0; i < kBatchMax; ++i) {
    const bool ipv4 = rng.one_in(2), ports = !rng.one_in(4);
    const auto end = [&] {
      FlowEnd e;
      e.high = ipv4 ? 0 : rng.below(2) << 63 | rng.below(2);
      e.low = ipv4 ? rng.below(2) << 31 | rng.below(2) : rng.below(2) << 63 | rng.below(2);
      e.port = static_cast<uint16_t>(ports ? rng.below(3) * 30'000 : 0);
      return e;
    };
    const FlowEnd a = end(), b = end();
    expected.push_back(!(b < a));
    const auto low = [&](const FlowEnd& e) {
      return static_cast<int64_t>(ipv4 ? uint64_t{0xFFFF} << 32 | e.low : e.low);
    };
    columns.set(kSrc, i, static_cast<int64_t>(a.high), low(a));
    columns.set(kDst, i, static_cast<int64_t>(b.high), low(b));
    columns.set(kSrcPort, i, ports ? a.port : kAbsent);
    columns.set(kDstPort, i, ports ? b.port : kAbsent);
  }
  columns.run(kBatchMax);
  for (uint32_t i = 0; i < kBatchMax; ++i)
    ASSERT_EQ(columns.words(0, i)[0], expected[i] ? 1 : 0) << "row " << i;
}

TEST(Derive, AbsentStaysAbsentAndMinusOneIsANumber) {
  Columns columns(Specs{{"more", "port + 1"},
                        {"less", "small - 3"},
                        {"ratio", "big / small"},
                        {"filled", "case(port present, port, 0)"},
                        {"net", "prefix(src, 24)"},
                        {"from", "forward(src, src_port, dst, dst_port)"}});
  EXPECT_TRUE(columns.field(0).may_be_absent);
  EXPECT_FALSE(columns.field(1).may_be_absent);
  EXPECT_TRUE(columns.field(2).may_be_absent);  // the divisor may be zero
  EXPECT_FALSE(columns.field(3).may_be_absent);
  columns.set(kPort, 0, kAbsent);
  columns.set(kSmall, 0, 0);
  columns.set(kSrc, 0, kAbsent, kAbsent);
  columns.set(kPort, 1, 0);
  columns.set(kBig, 1, -2);
  columns.set(kSmall, 1, 2);
  columns.set(kSrc, 1, 0, kIpv4 | 0x01020304);
  columns.set(kDst, 1, 0, kIpv4 | 0x01020304);
  columns.run(2);
  const auto row = [&](uint32_t i) {
    std::string all;
    for (uint32_t c = 0; c < 6; ++c) all += columns.text(c, i) + " ";
    return all;
  };
  EXPECT_EQ(row(0), "- -3 - 0 - - ");
  EXPECT_EQ(row(1), "1 -1 -1 0 1.2.3.0/24 1 ");
}

TEST(Derive, WhatPasses64BitsIsTheLargestOfItsSignAndCounted) {
  Columns columns(Specs{{"sum", "big + big"},
                        {"product", "big * price"},
                        {"quotient", "big / 0.01"},
                        {"level", "big + rate"},
                        {"guarded", "case(small > 0, big * 10, 1)"}});
  columns.set(kBig, 0, kMost / 2 + 1);  // twice it is 2^63
  columns.set(kPrice, 0, 100);
  columns.set(kRate, 0, 1);
  columns.set(kSmall, 0, 0);  // the product of `guarded` passes, but is not taken
  columns.set(kBig, 1, -kMost);
  columns.set(kPrice, 1, 100);
  columns.set(kRate, 1, 1);
  columns.set(kSmall, 1, 1);
  columns.set(kBig, 2, kMost / 2);  // twice it is 2^63 - 2
  columns.set(kPrice, 2, 1);
  columns.set(kRate, 2, kAbsent);  // nothing is counted where the result is absent
  columns.set(kSmall, 2, 0);
  columns.run(3);
  const auto value = [&](uint32_t c, uint32_t i) { return columns.words(c, i)[0]; };
  EXPECT_EQ(value(0, 0), kMost);
  EXPECT_EQ(value(1, 0), kMost);  // 2^62 * 100
  EXPECT_EQ(value(2, 0), kMost);
  EXPECT_EQ(value(3, 0), kMost);  // 2^62 * 10^4 is; then + 1
  EXPECT_EQ(value(4, 0), 1);
  EXPECT_EQ(value(0, 1), -kMost);
  EXPECT_EQ(value(1, 1), -kMost);
  EXPECT_EQ(value(2, 1), -kMost);
  EXPECT_EQ(value(3, 1), 1 - kMost);  // the sum of the saturated and 1
  EXPECT_EQ(value(4, 1), -kMost);
  EXPECT_EQ(value(0, 2), kMost - 1);
  EXPECT_EQ(value(1, 2), kMost / 2);
  EXPECT_EQ(value(2, 2), kMost);
  EXPECT_EQ(value(3, 2), kAbsentNumber);
  EXPECT_EQ(value(4, 2), 1);
  // Rows: sum 2, product 2, quotient 3, level 2, guarded 1.
  EXPECT_EQ(columns.saturated(), 10u);
}

// ---- random formulas

struct Tree {
  enum class Op {
    kField,
    kNumber,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kNegate,
    kRound,
    kBucket,
    kCase
  } op;
  uint32_t field = 0;     // kField; kCase: what the condition is about
  int64_t number = 0;     // kNumber, kBucket: at `decimals`; kCase: the limit
  uint32_t decimals = 0;  // of the result
  std::vector<Tree> parts;
};

class Generator {
 public:
  // `fields`: numbers that may be read, with their decimals.
  Generator(Rng& rng, const Schema& schema, std::vector<uint32_t> fields)
      : rng_(rng), schema_(schema), fields_(std::move(fields)) {}

  Tree tree(uint32_t depth) {
    using Op = Tree::Op;
    if (depth == 0 || rng_.one_in(5)) return leaf();
    const Op ops[] = {Op::kAdd,    Op::kSubtract, Op::kMultiply, Op::kDivide,
                      Op::kNegate, Op::kRound,    Op::kBucket,   Op::kCase};
    Tree t{ops[rng_.below(8)], 0, 0, 0, {}};
    t.parts.push_back(tree(depth - 1));
    const uint32_t left = t.parts[0].decimals;
    t.decimals = left;
    switch (t.op) {
      case Op::kAdd:
      case Op::kSubtract:
      case Op::kMultiply:
      case Op::kDivide:
      case Op::kCase: {
        t.parts.push_back(tree(depth - 1));
        const uint32_t right = t.parts[1].decimals;
        if (t.op == Op::kMultiply && left + right > 12) t.op = Op::kAdd;
        if (t.op == Op::kMultiply)
          t.decimals = left + right;
        else if (t.op != Op::kDivide)
          t.decimals = std::max(left, right);
        // A constant that is zero is refused as a divisor.
        if (t.op == Op::kDivide && t.parts[1].op != Op::kField) t.parts[1] = field();
        if (t.op == Op::kCase) {
          t.field = fields_[rng_.below(fields_.size())];
          // kAbsent itself is no value to compare with.
          t.number = static_cast<int64_t>(rng_.below(5));
          if (!schema_.fields[t.field].may_be_absent) t.number -= 2;
        }
        break;
      }
      case Op::kRound:
        t.decimals = static_cast<uint32_t>(rng_.below(8));
        break;
      case Op::kBucket:
        t.number = 1 + static_cast<int64_t>(rng_.below(1000));
        break;
      case Op::kNegate:
      case Op::kField:
      case Op::kNumber:
        break;
    }
    return t;
  }

  std::string text(const Tree& t) const {
    using Op = Tree::Op;
    const auto part = [&](size_t i) { return text(t.parts[i]); };
    switch (t.op) {
      case Op::kField:
        return std::string(schema_.fields[t.field].name);
      case Op::kNumber:
        return decimal(t.number, t.decimals);
      case Op::kAdd:
        return "(" + part(0) + " + " + part(1) + ")";
      case Op::kSubtract:
        return "(" + part(0) + " - " + part(1) + ")";
      case Op::kMultiply:
        return "(" + part(0) + " * " + part(1) + ")";
      case Op::kDivide:
        return "(" + part(0) + " / " + part(1) + ")";
      case Op::kNegate:
        return "-(" + part(0) + ")";
      case Op::kRound:
        return "round(" + part(0) + ", " + std::to_string(t.decimals) + ")";
      case Op::kBucket:
        return "bucket(" + part(0) + ", " + decimal(t.number, t.decimals) + ")";
      case Op::kCase:
        return "case(" + std::string(schema_.fields[t.field].name) +
               " >= " + std::to_string(t.number) + ", " + part(0) + ", " + part(1) + ")";
    }
    return {};
  }

 private:
  Tree field() {
    const uint32_t f = fields_[rng_.below(fields_.size())];
    return {Tree::Op::kField, f, 0, schema_.fields[f].decimals, {}};
  }
  Tree leaf() {
    if (!rng_.one_in(3)) return field();
    const auto decimals = static_cast<uint32_t>(rng_.below(4));
    return {Tree::Op::kNumber, 0, 1 + static_cast<int64_t>(rng_.below(100'000)), decimals, {}};
  }
  static std::string decimal(int64_t number, uint32_t decimals) {
    std::array<char, 64> room;
    TextWriter out(room);
    append_decimal(out, number, decimals);
    return std::string(out.text());
  }
  Rng& rng_;
  const Schema& schema_;
  std::vector<uint32_t> fields_;
};

// The rules of query/formula.h, one row at a time.
struct Number {
  std::optional<int64_t> value;
  bool saturated = false;
};

int128 ten_to(uint32_t exponent) { return exponent == 0 ? 1 : 10 * ten_to(exponent - 1); }

Number limited(int128 value, bool saturated) {
  if (value > kMost) return {kMost, true};
  if (value < -kMost) return {-kMost, true};
  return {static_cast<int64_t>(value), saturated};
}

int128 floor_quotient(int128 n, int128 d) {  // d > 0
  const int128 q = n / d;
  return q * d > n ? q - 1 : q;
}
int128 nearest_quotient(int128 n, int128 d) {
  if (d < 0) n = -n, d = -d;
  const int128 below = floor_quotient(n, d), rest = n - below * d;
  if (2 * rest != d) return 2 * rest < d ? below : below + 1;
  return below % 2 == 0 ? below : below + 1;
}

Number evaluate_row(const Tree& t, const std::vector<std::optional<int64_t>>& row,
                    const Schema& schema) {
  using Op = Tree::Op;
  const auto part = [&](size_t i) { return evaluate_row(t.parts[i], row, schema); };
  const auto at = [&](Number n, uint32_t from, uint32_t to) {
    return n.value ? limited(*n.value * ten_to(to - from), n.saturated) : n;
  };
  switch (t.op) {
    case Op::kField:
      return {row[t.field], false};
    case Op::kNumber:
      return {t.number, false};
    case Op::kNegate: {
      const Number n = part(0);
      return n.value ? limited(-int128{*n.value}, n.saturated) : n;
    }
    case Op::kRound: {
      const Number n = part(0);
      const uint32_t from = t.parts[0].decimals;
      if (!n.value || t.decimals >= from) return at(n, from, std::max(from, t.decimals));
      return limited(nearest_quotient(*n.value, ten_to(from - t.decimals)), n.saturated);
    }
    case Op::kBucket: {
      const Number n = part(0);
      if (!n.value) return n;
      return limited(floor_quotient(*n.value, t.number) * t.number, n.saturated);
    }
    case Op::kCase: {
      const auto& asked = row[t.field];
      const int128 limit = t.number * ten_to(schema.fields[t.field].decimals);
      const size_t taken = asked && *asked >= limit ? 0 : 1;
      return at(part(taken), t.parts[taken].decimals, t.decimals);
    }
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
      break;
  }
  Number a = part(0), b = part(1);
  if (t.op == Op::kAdd || t.op == Op::kSubtract) {
    a = at(a, t.parts[0].decimals, t.decimals);
    b = at(b, t.parts[1].decimals, t.decimals);
  }
  const bool marked = a.saturated || b.saturated;
  if (!a.value || !b.value) return {std::nullopt, marked};
  const int128 x = *a.value, y = *b.value;
  if (t.op == Op::kAdd) return limited(x + y, marked);
  if (t.op == Op::kSubtract) return limited(x - y, marked);
  if (t.op == Op::kMultiply) return limited(x * y, marked);
  if (y == 0) return {std::nullopt, marked};
  return limited(nearest_quotient(x * ten_to(t.parts[1].decimals), y), marked);
}

int64_t random_value(Rng& rng, const Field& field) {
  if (field.may_be_absent && rng.one_in(4)) return kAbsent;
  const int64_t limit = field.bits == 63 ? kMost : (int64_t{1} << field.bits) - 1;
  int64_t value = 0;
  switch (rng.below(3)) {
    case 0:
      value = static_cast<int64_t>(rng.below(8));
      break;
    case 1:
      value = limit - static_cast<int64_t>(rng.below(3));
      break;
    default:
      value = static_cast<int64_t>(rng.next() >> 1) % limit;
      break;
  }
  value = std::min(std::max<int64_t>(value, 0), limit);
  return !field.may_be_absent && rng.one_in(2) ? -value : value;
}

TEST(Derive, RandomFormulasAgreeWithASlowEvaluator) {
  const uint64_t start = seed();
  std::printf("TIDEWIRE_SEED=%llu\n", static_cast<unsigned long long>(start));
  Rng rng(start);
  const Schema native = test_schema();
  const auto first = static_cast<uint32_t>(native.fields.size());
  uint64_t absent = 0, saturated = 0, plain = 0;
  for (int round = 0; round < 400; ++round) {
    // A column, and one that reads it.
    Generator generator(rng, native, {kBig, kPort, kPrice, kRate, kSmall});
    const Tree tree = generator.tree(4);
    Schema with = native;
    Field column;
    column.name = "one";
    column.decimals = static_cast<uint8_t>(tree.decimals);
    with.fields.push_back(column);
    Generator above(rng, with, {kPort, kPrice, kSmall, first, first});
    const Tree second = above.tree(2);
    const std::string texts[] = {generator.text(tree), above.text(second)};
    SCOPED_TRACE("round " + std::to_string(round) + " one = " + texts[0] + "  two = " + texts[1]);
    Columns columns(Specs{{"one", texts[0]}, {"two", texts[1]}});
    if (HasFailure()) return;
    EXPECT_EQ(columns.field(0).decimals, tree.decimals);
    EXPECT_EQ(columns.field(1).decimals, second.decimals);
    const auto rows = static_cast<uint32_t>(1 + rng.below(kBatchMax));
    std::vector<std::vector<std::optional<int64_t>>> values(rows);
    for (uint32_t i = 0; i < rows; ++i) {
      for (uint32_t f = kBig; f <= kSmall; ++f) {
        const int64_t value = random_value(rng, native.fields[f]);
        columns.set(f, i, value);
        const bool none = native.fields[f].may_be_absent && value == kAbsent;
        values[i].push_back(none ? std::nullopt : std::optional(value));
      }
      values[i].resize(first);
    }
    columns.run(rows);
    uint64_t marked = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      Number expected = evaluate_row(tree, values[i], with);
      values[i].push_back(expected.value);
      for (uint32_t c = 0; c < 2; ++c) {
        if (c == 1) expected = evaluate_row(second, values[i], with);
        const Field& field = columns.field(c);
        ASSERT_EQ(columns.words(c, i)[0], expected.value.value_or(kAbsentNumber))
            << "row " << i << " column " << c;
        ASSERT_TRUE(expected.value || field.may_be_absent);
        if (expected.value && field.bits < 63) {
          ASSERT_LT(std::abs(*expected.value), int64_t{1} << field.bits);
        }
        if (expected.value && field.non_negative) {
          ASSERT_GE(*expected.value, 0);
        }
        marked += expected.saturated && expected.value;
        absent += !expected.value;
        saturated += expected.saturated;
        plain += expected.value && !expected.saturated;
      }
    }
    ASSERT_EQ(columns.saturated(), marked);
  }
  EXPECT_GT(absent, 1000u);
  EXPECT_GT(saturated, 1000u);
  EXPECT_GT(plain, 10'000u);
}

// ---- lookups

TEST(Derive, LooksUpTheNarrowest) {
  const std::string sites =
      "# networks\n"
      "10.0.0.0/8, inside\n"
      "10.1.0.0/16,\"branch, \"\"B\"\"\"\n"
      "10.1.2.0 .. 10.1.2.3, desk\n"
      "192.0.2.9,printer\r\n"
      "2001:db8::/32,docs\n";
  EXPECT_EQ(value_of("lookup(src, 'f', 'elsewhere')", {sites}), "desk");
  EXPECT_EQ(value_of("lookup(prefix(src, 16), 'f', 'elsewhere')", {sites}), "branch, \"B\"");
  EXPECT_EQ(value_of("lookup(prefix(src, 8), 'f', 'elsewhere')", {sites}), "inside");
  EXPECT_EQ(value_of("lookup(dst, 'f', 'elsewhere')", {sites}), "printer");
  EXPECT_EQ(value_of("lookup(prefix(dst, 24), 'f', 'elsewhere')", {sites}), "elsewhere");
  EXPECT_EQ(value_of("lookup(prefix(dst, 24), 'f')", {sites}), "-");
  EXPECT_EQ(value_of("lookup(port, 'f', 0.5)", {"80,1\n443,2.5\n400..500,3\n"}), "2.5");
  EXPECT_EQ(value_of("lookup(port, 'f', 0.50)", {"80,1\n443,2.25\n400..500,3\n"}), "2.25");
  EXPECT_EQ(value_of("lookup(big, 'f', -1)", {"-5..7,10\n8,11\n"}), "10");
  EXPECT_EQ(value_of("lookup(price, 'f', 'none')", {"12.00..12.49,low\n12.5..13,high\n"}), "high");
  EXPECT_EQ(value_of("lookup(side, 'f', 'none')", {"B,buy\nS,sell\n"}), "buy");
}

}  // namespace
}  // namespace tidewire
