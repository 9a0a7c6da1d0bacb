#include "pipeline/derive.h"

#include <algorithm>

#include "base/check.h"
#include "base/int128.h"

namespace tidewire {
namespace {

using Words = std::array<int64_t, kBatchMax>;
using Marks = std::array<uint8_t, kBatchMax>;

constexpr int64_t kMost = INT64_MAX;

bool absent(int64_t a, int64_t b) { return (a == kAbsentNumber) | (b == kAbsentNumber); }

// The sum and so on as the processor has it, and whether 64 bits were too few; INT64_MIN is beyond
// the least number.
struct Add {
  static int64_t wrapped(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  static bool passes(int64_t a, int64_t b, int64_t& r) { return __builtin_add_overflow(a, b, &r); }
  static bool negative(int64_t a, int64_t) { return a < 0; }
};
struct Subtract {
  static int64_t wrapped(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
  static bool passes(int64_t a, int64_t b, int64_t& r) { return __builtin_sub_overflow(a, b, &r); }
  static bool negative(int64_t a, int64_t) { return a < 0; }
};
struct Multiply {
  static int64_t wrapped(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  static bool passes(int64_t a, int64_t b, int64_t& r) { return __builtin_mul_overflow(a, b, &r); }
  static bool negative(int64_t a, int64_t b) { return (a < 0) != (b < 0); }
};

class Runner {
 public:
  Runner(const ColumnStep& step, uint32_t count, DeriveScratch& scratch)
      : step_(step),
        count_(count),
        a_(scratch.word[step.a]),
        b_(scratch.word[std::min<uint32_t>(step.b, kRegisterMax - 1)]),
        to_(scratch.word[step.to]),
        passed_(scratch.passed[step.to]) {}

  template <class Operation>
  void arithmetic() {
    if (!step_.may_pass) {
      for (uint32_t i = 0; i < count_; ++i)
        to_[i] = absent(a_[i], b_[i]) ? kAbsentNumber : Operation::wrapped(a_[i], b_[i]);
      return;
    }
    for (uint32_t i = 0; i < count_; ++i) {
      const int64_t a = a_[i], b = b_[i];
      int64_t result = 0;
      const bool beyond = Operation::passes(a, b, result);
      const bool passes = beyond | (result == kAbsentNumber), none = absent(a, b);
      const int64_t most = Operation::negative(a, b) ? -kMost : kMost;
      to_[i] = none ? kAbsentNumber : passes ? most : result;
      passed_[i] = static_cast<uint8_t>(passed_[i] | static_cast<uint8_t>(passes & !none));
    }
  }

  void divide() {
    if (step_.wide) return divide_wide();
    for (uint32_t i = 0; i < count_; ++i) {
      const int64_t a = a_[i], b = b_[i];
      const bool none = (a == kAbsentNumber) | (b == kAbsentNumber) | (b == 0);
      const int64_t numerator = none ? 0 : Multiply::wrapped(a, step_.constant);
      const int64_t divisor = none ? 1 : b;
      to_[i] = none ? kAbsentNumber : half_even(numerator, divisor);
    }
  }

  void bucket() {
    const int64_t width = step_.constant;
    for (uint32_t i = 0; i < count_; ++i) {
      const int64_t a = a_[i];
      const bool none = a == kAbsentNumber;
      const int64_t rest = a % width;
      int64_t result = 0;
      const bool beyond = __builtin_sub_overflow(a, rest < 0 ? rest + width : rest, &result);
      const bool passes = beyond | (result == kAbsentNumber);
      to_[i] = none ? kAbsentNumber : passes ? -kMost : result;
      if (step_.may_pass)
        passed_[i] = static_cast<uint8_t>(passed_[i] | static_cast<uint8_t>(passes & !none));
    }
  }

 private:
  // The quotient nearest to n / d; of two as near, the even one.
  static int64_t half_even(int64_t n, int64_t d) {
    const int64_t quotient = n / d, rest = n % d;
    const auto size = [](int64_t x) {
      return x < 0 ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    };
    const uint64_t twice = 2 * size(rest), divisor = size(d);
    const bool away = (twice > divisor) | ((twice == divisor) & ((quotient & 1) != 0));
    return quotient + (away ? ((n < 0) == (d < 0) ? 1 : -1) : 0);
  }

  // The numerator has up to 123 bits: 63 and those of 10^18.
  void divide_wide() {
    for (uint32_t i = 0; i < count_; ++i) {
      const int64_t a = a_[i], b = b_[i];
      const bool none = (a == kAbsentNumber) | (b == kAbsentNumber) | (b == 0);
      const int128 numerator = none ? 0 : static_cast<int128>(a) * step_.constant;
      const bool minus = (numerator < 0) != (b < 0);
      const uint128 n = static_cast<uint128>(numerator < 0 ? -numerator : numerator);
      const uint128 d = none ? 1 : static_cast<uint128>(b < 0 ? -static_cast<int128>(b) : b);
      uint128 quotient = n / d;
      const uint128 twice = 2 * (n % d);
      quotient += static_cast<uint128>((twice > d) | ((twice == d) & ((quotient & 1) != 0)));
      const bool passes = quotient > static_cast<uint128>(kMost);
      const int64_t size = passes ? kMost : static_cast<int64_t>(quotient);
      to_[i] = none ? kAbsentNumber : minus ? -size : size;
      passed_[i] = static_cast<uint8_t>(passed_[i] | static_cast<uint8_t>(passes));
    }
  }

  const ColumnStep& step_;
  uint32_t count_;
  const Words &a_, &b_;
  Words& to_;
  Marks& passed_;
};

void cut(const ColumnStep& step, uint32_t count, DeriveScratch& scratch) {
  Words &high = scratch.word[step.to], &low = scratch.word[step.to + 1u];
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t h = high[i], l = low[i];
    const bool ipv4 = (h == 0) & ((static_cast<uint64_t>(l) >> 32) == 0xFFFF);
    const bool none = (h & l) == kAbsent;
    high[i] = h & (none ? kAbsent : ipv4 ? step.cut_ipv4[0] : step.cut_ipv6[0]);
    low[i] = l & (none ? kAbsent : ipv4 ? step.cut_ipv4[1] : step.cut_ipv6[1]);
  }
}

void forward(const ColumnStep& step, uint32_t count, DeriveScratch& scratch) {
  const auto word = [&](uint32_t i) -> const Words& { return scratch.word[step.a + i]; };
  const Words &a_high = word(0), &a_low = word(1), &a_port = word(2);
  const Words &b_high = word(3), &b_low = word(4), &b_port = word(5);
  Words& to = scratch.word[step.to];
  for (uint32_t i = 0; i < count; ++i) {
    const auto ah = static_cast<uint64_t>(a_high[i]), al = static_cast<uint64_t>(a_low[i]);
    const auto bh = static_cast<uint64_t>(b_high[i]), bl = static_cast<uint64_t>(b_low[i]);
    const int64_t from = a_port[i] == kAbsentNumber ? 0 : a_port[i];
    const int64_t target = b_port[i] == kAbsentNumber ? 0 : b_port[i];
    const bool none = ((ah & al) == UINT64_MAX) | ((bh & bl) == UINT64_MAX);
    const bool low = (al < bl) | ((al == bl) & (from <= target));
    const bool first = (ah < bh) | ((ah == bh) & low);
    to[i] = none ? kAbsentNumber : static_cast<int64_t>(first);
  }
}

// The interval that each key lies in: all rows take one step of the binary search together, so no
// row waits for another's cache line.
template <uint32_t W>
void search(const LookupTable& table, const Words& high, const Words& low, uint32_t count,
            std::array<uint32_t, kBatchMax>& at) {
  const int64_t* start_high = table.start[0].data();
  const int64_t* start_low = table.start[W - 1].data();
  std::fill_n(at.begin(), count, 0u);
  for (uint32_t size = table.count; size > 1; size -= size / 2) {
    const uint32_t half = size / 2;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t middle = at[i] + half;
      bool below = false;  // the interval there begins at the key or before it
      if constexpr (W == 1) {
        below = start_high[middle] <= high[i];
      } else {
        const int64_t h = lookup_order(high[i], false), l = lookup_order(low[i], false);
        below = (start_high[middle] < h) | ((start_high[middle] == h) & (start_low[middle] <= l));
      }
      at[i] = below ? middle : at[i];
    }
  }
}

void look_up(const ColumnStep& step, const LookupTable& table, uint32_t count,
             DeriveScratch& scratch) {
  const Words& high = scratch.word[step.a];
  const Words& low = scratch.word[step.a + step.key_words - 1u];
  if (step.key_words == 1)
    search<1>(table, high, low, count, scratch.at);
  else
    search<2>(table, high, low, count, scratch.at);
  const int64_t none = step.number_key ? kAbsentNumber : kAbsent;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t first = high[i], last = low[i];
    const bool nothing = (first == none) & (last == none);
    scratch.at[i] = nothing ? table.count : scratch.at[i];
  }
  for (uint32_t w = 0; w < step.words; ++w) {
    Words& to = scratch.word[step.to + w];
    const int64_t* value = table.value[w].data();
    for (uint32_t i = 0; i < count; ++i) to[i] = value[scratch.at[i]];
  }
}

// A value is marked where one that it is made of is.
void carry_marks(const ColumnStep& step, uint32_t count, const uint8_t* mask,
                 DeriveScratch& scratch) {
  Marks& to = scratch.passed[step.to];
  const Marks& a = scratch.passed[step.a];
  const Marks& b = scratch.passed[std::min<uint32_t>(step.b, kRegisterMax - 1)];
  switch (step.op) {
    case ColumnStep::Op::kLoad:
    case ColumnStep::Op::kConstant:
      std::fill_n(to.begin(), count, uint8_t{0});
      break;
    case ColumnStep::Op::kAdd:
    case ColumnStep::Op::kSubtract:
    case ColumnStep::Op::kMultiply:
    case ColumnStep::Op::kDivide:
      for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(a[i] | b[i]);
      break;
    case ColumnStep::Op::kSelect:
      for (uint32_t i = 0; i < count; ++i) to[i] = mask[i] ? a[i] : b[i];
      break;
    case ColumnStep::Op::kForward: {
      const Marks& other = scratch.passed[step.a + 5u];
      const Marks& port = scratch.passed[step.a + 2u];
      for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(port[i] | other[i]);
      break;
    }
    case ColumnStep::Op::kBucket:
    case ColumnStep::Op::kLookup:
      break;  // of one value, in the same register
    case ColumnStep::Op::kWiden:
    case ColumnStep::Op::kCut:
    case ColumnStep::Op::kStore:
      break;  // of no number
  }
}

uint64_t marked(const ColumnStep& step, uint32_t count, const DeriveScratch& scratch) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < count; ++i)
    rows += scratch.passed[step.a][i] & uint64_t{scratch.word[step.a][i] != kAbsentNumber};
  return rows;
}

}  // namespace

void derive(const ColumnProgram& program, const LookupTables* tables, uint32_t version,
            EventBatch& batch, SelectScratch& select, DeriveScratch& scratch, LaneCounts& counts) {
  const uint32_t count = batch.count;
  for (const ColumnStep& step : program.steps) {
    Words& to = scratch.word[step.to];
    const Words& a = scratch.word[step.a];
    const uint8_t* mask = nullptr;
    if (step.op == ColumnStep::Op::kSelect)
      mask = matches(program.conditions[step.first], batch, select);
    if (step.counted) carry_marks(step, count, mask, scratch);
    Runner runner(step, count, scratch);
    switch (step.op) {
      case ColumnStep::Op::kLoad: {
        const Words& from = batch.column[step.column];
        for (uint32_t i = 0; i < count; ++i)
          to[i] = from[i] == step.constant ? kAbsentNumber : from[i];
        break;
      }
      case ColumnStep::Op::kConstant:
        std::fill_n(to.begin(), count, step.constant);
        break;
      case ColumnStep::Op::kAdd:
        runner.arithmetic<Add>();
        break;
      case ColumnStep::Op::kSubtract:
        runner.arithmetic<Subtract>();
        break;
      case ColumnStep::Op::kMultiply:
        runner.arithmetic<Multiply>();
        break;
      case ColumnStep::Op::kDivide:
        runner.divide();
        break;
      case ColumnStep::Op::kBucket:
        runner.bucket();
        break;
      case ColumnStep::Op::kWiden:
        for (uint32_t i = 0; i < count; ++i) to[i] = a[i] == kAbsent ? kAbsent : 0;
        break;
      case ColumnStep::Op::kCut:
        cut(step, count, scratch);
        break;
      case ColumnStep::Op::kSelect:
        for (uint32_t w = 0; w < step.words; ++w) {
          const Words &yes = scratch.word[step.a + w], &no = scratch.word[step.b + w];
          Words& chosen = scratch.word[step.to + w];
          for (uint32_t i = 0; i < count; ++i) chosen[i] = mask[i] ? yes[i] : no[i];
        }
        break;
      case ColumnStep::Op::kForward:
        forward(step, count, scratch);
        break;
      case ColumnStep::Op::kLookup:
        DCHECK(tables != nullptr);
        look_up(step, tables->table(version, step.first), count, scratch);
        break;
      case ColumnStep::Op::kStore:
        for (uint32_t w = 0; w < step.words; ++w)
          std::copy_n(scratch.word[step.a + w].begin(), count,
                      batch.column[step.column + w].begin());
        if (step.counted) counts.note(Note::kSaturated, marked(step, count, scratch));
        break;
    }
  }
}

}  // namespace tidewire
