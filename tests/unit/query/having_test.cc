#include "query/having.h"

#include <gtest/gtest.h>

#include "base/int128.h"

namespace tidewire {
namespace {

constexpr int128 kMost = static_cast<int128>(~uint128{0} >> 1), kLeast = -kMost - 1;

std::vector<Output> outputs() {
  std::vector<Output> all(5);
  all[0].name = "packets";
  all[1].name = "sum(price)";
  all[1].op = OutputOp::kSum;
  all[1].decimals = 4;
  all[2].name = "mean";
  all[2].op = OutputOp::kAverage;
  all[2].decimals = 4;
  all[3].name = "seen";
  all[3].op = OutputOp::kLast;
  all[3].type = FieldType::kTime;
  all[4].name = "flags";
  all[4].op = OutputOp::kFirst;
  all[4].type = FieldType::kFlags;
  return all;
}

std::string number(int128 n) {
  if (n == kMost) return "most";
  if (n == kLeast) return "least";
  return std::to_string(static_cast<int64_t>(n));
}

// The steps as text, or "@place: problem".
std::string compiled(std::string_view text) {
  const std::vector<Output> all = outputs();
  std::vector<KeyField> key(1);
  key[0].name = "protocol";
  std::vector<HavingStep> steps;
  ExpressionError error;
  if (!compile_having(text, all, key, steps, error))
    return "@" + std::to_string(error.at) + ": " + error.text;
  std::string out;
  for (const HavingStep& s : steps) {
    out += out.empty() ? "" : " ";
    switch (s.op) {
      case HavingStep::Op::kRange:
        out += std::to_string(s.output) + "[" + number(s.low) + "," + number(s.high) + "]";
        break;
      case HavingStep::Op::kAnd:
        out += "and";
        break;
      case HavingStep::Op::kOr:
        out += "or";
        break;
      case HavingStep::Op::kNot:
        out += "not";
        break;
    }
  }
  return out;
}

TEST(Having, ComparesWithoutAnEdgeOfSixtyFourBits) {
  EXPECT_EQ(compiled("packets > 100"), "0[101,most]");
  EXPECT_EQ(compiled("packets <= -3"), "0[least,-3]");
  EXPECT_EQ(compiled("packets == 7"), "0[7,7]");
  EXPECT_EQ(compiled("packets != 7"), "0[7,7] not");
  EXPECT_EQ(compiled("packets in 2..5"), "0[2,5]");
  EXPECT_EQ(compiled("packets present"), "0[least,most]");
}

// A price has 4 decimals, its average 6 more.
TEST(Having, ReadsLiteralsAtTheDecimalsThatAreShown) {
  EXPECT_EQ(compiled("'sum(price)' >= 1.5"), "1[15000,most]");
  EXPECT_EQ(compiled("mean >= 1.5"), "2[15000000000,most]");
  EXPECT_EQ(compiled("seen < 1970-01-01T00:00:01Z"), "3[least,999999999]");
}

TEST(Having, JoinsInPostfix) {
  EXPECT_EQ(compiled("packets > 1 and mean < 2 or not seen present"),
            "0[2,most] 2[least,19999999999] and 3[least,most] not or");
  EXPECT_EQ(compiled("packets in {9, 3, 5}"), "0[9,9] 0[3,3] or 0[5,5] or");
}

TEST(Having, Refuses) {
  EXPECT_EQ(compiled("packts > 1"),
            "@0: the query has no result 'packts'; did you mean 'packets'?");
  EXPECT_EQ(compiled("packets > 1 and protocol == 6"),
            "@16: 'protocol' is of the key, known before anything is counted: test it in `where`");
  EXPECT_EQ(compiled("flags has S"),
            "@0: 'has' is for events: test the flags of 'flags' in `where`");
  EXPECT_EQ(compiled("> 1"), "@0: expected a result, found '>'");
  std::string deep = "packets == 1";
  for (int i = 0; i < 8; ++i) deep = "packets == 1 and (mean > 2 or " + deep + ")";
  EXPECT_EQ(compiled(deep),
            "@0: the condition is too large: 33 steps and 17 partial results at once; 256 and 8 "
            "are the limits");
}

}  // namespace
}  // namespace tidewire
