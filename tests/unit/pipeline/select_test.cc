// select() against a row-at-a-time evaluation of the same plan.
#include "pipeline/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/rng.h"

namespace tidewire {
namespace {

using Op = PredicateStep::Op;

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20261202;
}

constexpr int64_t kIpv4 = 0xFFFF00000000;  // ::ffff:0:0, low word

// Columns: 0 to 3 small numbers, 4 and 5 an address, 6 and 7 another, 8 any number, 9 kAbsent or a
// port.
std::unique_ptr<EventBatch> random_batch(Rng& rng, uint32_t count) {
  auto batch = std::make_unique<EventBatch>();
  batch->lane = LaneId{3};
  batch->ordinal = Ordinal{rng.below(1'000'000)};
  batch->count = count;
  for (uint32_t i = 0; i < count; ++i) {
    batch->time[i] = {static_cast<int64_t>(rng.below(1000))};
    batch->stamp[i] = {static_cast<int64_t>(rng.below(1000))};
    for (uint32_t c = 0; c < 4; ++c) batch->column[c][i] = static_cast<int64_t>(rng.below(6)) - 2;
    for (const uint32_t c : {4u, 6u}) {
      const bool ipv4 = rng.one_in(2);
      batch->column[c][i] = ipv4 ? 0 : static_cast<int64_t>(rng.below(4) << 60 | rng.below(3));
      batch->column[c + 1][i] =
          ipv4 ? kIpv4 | static_cast<int64_t>(rng.below(4) << 24 | rng.below(3))
               : static_cast<int64_t>(rng.below(3) << 62 | rng.below(4));
      if (rng.one_in(8)) batch->column[c][i] = batch->column[c + 1][i] = kAbsent;
    }
    batch->column[8][i] = static_cast<int64_t>(rng.next());
    batch->column[9][i] = rng.one_in(3) ? kAbsent : static_cast<int64_t>(rng.below(100));
  }
  batch->min_time = {1};
  batch->max_time = {2};
  batch->max_stamp = {3};
  return batch;
}

PredicateStep random_leaf(Rng& rng, Plan& plan) {
  const auto number = [&] { return static_cast<int64_t>(rng.below(6)) - 2; };
  PredicateStep step{};
  step.column = static_cast<uint8_t>(rng.below(4));
  switch (rng.below(4)) {
    case 0:
      step.op = Op::kRange;
      step.low = number();
      step.high = number();
      break;
    case 1:
      step.op = Op::kMasked;
      step.low = static_cast<int64_t>(rng.below(4));
      step.high = step.low & static_cast<int64_t>(rng.below(4));
      break;
    case 2: {
      step.op = Op::kIn;
      step.low = static_cast<int64_t>(plan.set.size());
      step.high = static_cast<int64_t>(rng.one_in(2) ? rng.below(4) : 17 + rng.below(8));
      std::vector<int64_t> set;
      for (int64_t k = 0; k < step.high; ++k) set.push_back(step.high > 16 ? 2 * k - 6 : number());
      std::sort(set.begin(), set.end());
      plan.set.insert(plan.set.end(), set.begin(), set.end());
      break;
    }
    default:
      step.op = Op::kPrefix;
      step.column = rng.one_in(2) ? 4 : 6;
      if (rng.one_in(2)) {  // an IPv4 prefix of 8 bits: its 96 + 8 bits of both words
        step.mask_high = -1;
        step.mask_low = ~int64_t{0xFFFFFF};
        step.low = kIpv4 | static_cast<int64_t>(rng.below(4) << 24);
      } else {
        step.mask_high = static_cast<int64_t>(0xF000000000000000u);
        step.high = static_cast<int64_t>(rng.below(4) << 60);
      }
      break;
  }
  return step;
}

void random_tree(Rng& rng, Plan& plan, uint32_t depth) {
  if (depth == 0 || rng.one_in(3)) {
    plan.where.push_back(random_leaf(rng, plan));
  } else {
    random_tree(rng, plan, depth - 1);
    random_tree(rng, plan, depth - 1);
    PredicateStep step{};
    step.op = rng.one_in(2) ? Op::kAnd : Op::kOr;
    plan.where.push_back(step);
  }
  if (rng.one_in(4)) {
    PredicateStep step{};
    step.op = Op::kNot;
    plan.where.push_back(step);
  }
}

Plan random_plan(Rng& rng) {
  Plan plan;
  plan.seed.multiplier = rng.next() | 1;
  const uint32_t sizes[] = {0, 1, 2, 4};
  plan.key_words = sizes[rng.below(4)];
  if (rng.below(4) > 0) random_tree(rng, plan, 4);
  const uint64_t used = rng.one_in(4) ? rng.below(plan.key_words + 1) : plan.key_words;
  for (uint64_t w = 0; w < used; ++w) {
    KeyWord word;
    word.column = static_cast<uint8_t>(rng.below(10));
    if (rng.one_in(2)) {
      word.cut = rng.one_in(2) ? KeyWord::Cut::kHighWord : KeyWord::Cut::kLowWord;
      word.address = rng.one_in(2) ? 4 : 6;
      word.mask_ipv4 = ~int64_t{0xFF};
      word.mask_ipv6 = word.cut == KeyWord::Cut::kHighWord ? ~int64_t{0xFFFF} : 0;
    }
    plan.key.push_back(word);
  }
  for (uint64_t v = rng.below(kValueMax + 1); v-- > 0;)
    plan.values.push_back(static_cast<uint8_t>(rng.below(10)));
  return plan;
}

// ---- one row at a time
bool accepts(const Plan& plan, const EventBatch& batch, uint32_t i) {
  std::vector<bool> stack;
  const auto value = [&](uint32_t column) { return batch.column[column][i]; };
  for (const PredicateStep& s : plan.where) {
    switch (s.op) {
      case Op::kRange:
        stack.push_back(s.low <= value(s.column) && value(s.column) <= s.high);
        break;
      case Op::kMasked:
        stack.push_back((value(s.column) & s.low) == s.high);
        break;
      case Op::kIn: {
        bool found = false;
        for (int64_t k = s.low; k < s.low + s.high; ++k)
          found |= plan.set[static_cast<size_t>(k)] == value(s.column);
        stack.push_back(found);
        break;
      }
      case Op::kPrefix:
        stack.push_back((value(s.column) & s.mask_high) == (s.high & s.mask_high) &&
                        (value(s.column + 1u) & s.mask_low) == (s.low & s.mask_low));
        break;
      case Op::kNot:
        stack.back() = !stack.back();
        break;
      case Op::kAnd:
      case Op::kOr: {
        const bool right = stack.back();
        stack.pop_back();
        stack.back() = s.op == Op::kAnd ? stack.back() && right : stack.back() || right;
        break;
      }
    }
  }
  return stack.empty() || stack.back();
}

std::array<int64_t, kMaxKeyWords> key_of(const Plan& plan, const EventBatch& batch, uint32_t i) {
  std::array<int64_t, kMaxKeyWords> key{};
  for (size_t w = 0; w < plan.key.size(); ++w) {
    const KeyWord& word = plan.key[w];
    if (word.cut == KeyWord::Cut::kNone) {
      key[w] = batch.column[word.column][i];
      continue;
    }
    const int64_t high = batch.column[word.address][i], low = batch.column[word.address + 1u][i];
    const bool ipv4 = high == 0 && low >= kIpv4 && low < kIpv4 + (int64_t{1} << 32);
    key[w] = (word.cut == KeyWord::Cut::kHighWord ? high : low) &
             (ipv4 ? word.mask_ipv4 : word.mask_ipv6);
    if (high == kAbsent && low == kAbsent) key[w] = kAbsent;  // no network of ffff:...
  }
  return key;
}

uint64_t hash_of(const Plan& plan, const std::array<int64_t, kMaxKeyWords>& key) {
  if (plan.key_words == 0) return 0;
  if (plan.key_words == 1) return hash_words<1>(key.data(), plan.seed);
  if (plan.key_words == 2) return hash_words<2>(key.data(), plan.seed);
  return hash_words<4>(key.data(), plan.seed);
}

TEST(Select, EqualsARowAtATime) {
  Rng rng(seed());
  auto scratch = std::make_unique<SelectScratch>();
  uint64_t all = 0, none = 0, some = 0;
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(testing::Message() << "TIDEWIRE_SEED=" << seed() << " round " << round);
    const Plan plan = random_plan(rng);
    const auto count = static_cast<uint32_t>(rng.one_in(4) ? kBatchMax : 1 + rng.below(40));
    const auto batch = random_batch(rng, count);
    const Rows rows = select(plan, *batch, *scratch);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (!accepts(plan, *batch, i)) continue;
      ASSERT_LT(at, rows.count);
      ASSERT_EQ(rows.ordinal(at), Ordinal{index_of(batch->ordinal) + i});
      ASSERT_EQ(rows.time[at], batch->time[i]);
      ASSERT_EQ(rows.stamp[at], batch->stamp[i]);
      const auto key = key_of(plan, *batch, i);
      for (uint32_t w = 0; w < plan.key_words; ++w) ASSERT_EQ(rows.key[w][at], key[w]);
      ASSERT_EQ(rows.hash[at], hash_of(plan, key));
      for (size_t v = 0; v < plan.values.size(); ++v)
        ASSERT_EQ(rows.value[v][at], batch->column[plan.values[v]][i]);
      ++at;
    }
    ASSERT_EQ(rows.count, at);
    EXPECT_EQ(rows.lane, batch->lane);
    EXPECT_EQ(rows.min_time, batch->min_time);
    EXPECT_EQ(rows.max_time, batch->max_time);
    EXPECT_EQ(rows.max_stamp, batch->max_stamp);
    ++(at == count ? all : at == 0 ? none : some);
  }
  EXPECT_GT(all, 100u);  // the random plans reach all three ways out
  EXPECT_GT(none, 100u);
  EXPECT_GT(some, 100u);
}

TEST(Select, CopiesNothingWhereNoRowIsLeftOut) {
  Rng rng(seed());
  auto scratch = std::make_unique<SelectScratch>();
  const auto batch = random_batch(rng, 100);
  Plan plan;
  plan.key_words = 1;
  plan.key = {{.column = 8}};
  plan.values = {2};
  plan.where = {{.op = Op::kRange, .column = 0, .low = INT64_MIN, .high = INT64_MAX}};
  const Rows rows = select(plan, *batch, *scratch);
  EXPECT_EQ(rows.at, nullptr);
  EXPECT_EQ(rows.time, batch->time.data());
  EXPECT_EQ(rows.stamp, batch->stamp.data());
  EXPECT_EQ(rows.key[0], batch->column[8].data());
  EXPECT_EQ(rows.value[0], batch->column[2].data());
}

}  // namespace
}  // namespace tidewire
