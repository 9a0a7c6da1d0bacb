// The parts of a Wide cell: what they hold, against slow methods of their own, and that it does not
// depend on the order in which rows and cells come together.
#include "window/cell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "base/rng.h"
#include "store_harness.h"
#include "window/deferred.h"

namespace tidewire {
namespace {

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : 20'260'101;
  std::cout << "TIDEWIRE_SEED=" << seed << "\n";
  return seed;
}

// Parts one behind the other, over two values.
Plan plan_of(std::vector<CellPart> parts) {
  Plan plan = tumbling(10);
  plan.values = {0, 1};
  plan.cell = CellKind::kWide;
  uint32_t words = 1;
  for (CellPart& part : parts) {
    part.word = static_cast<uint16_t>(words);
    words += words_of(part);
  }
  plan.parts = std::move(parts);
  plan.cell_words = (words + 3) / 4 * 4;
  return plan;
}

Plan plan_of_all() {
  return plan_of({{CellOp::kSum64, 0, 0, 0},
                  {CellOp::kSum128, 0, 0, 0},
                  {CellOp::kMin, 0, 0, 0},
                  {CellOp::kMax, 1, 0, 1},
                  {CellOp::kFirst, 0, 0, 0},
                  {CellOp::kLast, 1, 0, 1},
                  {CellOp::kSumProducts, 0, 0, 0},
                  {CellOp::kSumProducts, 0, 0, 1},
                  {CellOp::kNonZero, 1, 0, 1},
                  {CellOp::kTop, 0, 0, 0, 5},
                  {CellOp::kBottom, 1, 0, 1, 1},
                  {CellOp::kHistogram, 0, 0, 0, 0, {48, false}},
                  {CellOp::kDistinct, 0, 0, 1},
                  {CellOp::kDistinct, 1, 0, 1}});
}

struct Cell {
  explicit Cell(const WideCells& cells) : memory(cells.words()), words(memory.data()) {
    cells.clear(words, 1);
  }
  std::vector<int64_t> memory;
  int64_t* words;
};

SingleRow row_of(int64_t first, int64_t second, int64_t time = 0, uint64_t ordinal = 0) {
  SingleRow row;
  row.value[0] = first;
  row.value[1] = second;
  row.time = {time};
  row.ordinal = Ordinal{ordinal};
  return row;
}

// Small ones, powers of two and their neighbours, anything, the edges.
int64_t any_value(Rng& rng) {
  switch (rng.below(5)) {
    case 0:
      return static_cast<int64_t>(rng.below(9)) - 4;
    case 1:
      return static_cast<int64_t>((uint64_t{1} << rng.below(64)) + rng.below(3) - 1);
    case 2:
      return rng.one_in(2) ? INT64_MIN : INT64_MAX;
    default:
      return static_cast<int64_t>(rng.next());
  }
}

TEST(WideCells, OrderDoesNotShow) {
  Rng rng(seed());
  const Plan plan = plan_of_all();
  const WideCells cells(plan);
  for (int round = 0; round < 200; ++round) {
    std::vector<SingleRow> rows;
    for (uint64_t i = 0, n = rng.below(40); i < n; ++i)
      rows.push_back(row_of(any_value(rng), any_value(rng), static_cast<int64_t>(rng.below(3)), i));
    Cell whole(cells);
    for (const SingleRow& row : rows) cells.add(whole.words, row.rows(), 0);
    // Shuffled, dealt to cells, and those merged in random order, by both merge functions.
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
    std::vector<Cell> parts;
    for (uint64_t i = 0, n = 1 + rng.below(6); i < n; ++i) parts.emplace_back(cells);
    for (const SingleRow& row : rows)
      cells.add(parts[rng.below(parts.size())].words, row.rows(), 0);
    while (parts.size() > 1) {
      const size_t from = rng.below(parts.size());
      std::swap(parts[from], parts.back());
      int64_t* into = parts[rng.below(parts.size() - 1)].words;
      if (rng.one_in(2))
        cells.merge(into, parts.back().words);
      else
        merge_cells(plan, into, parts.back().words);
      parts.pop_back();
    }
    ASSERT_EQ(parts[0].memory, whole.memory) << "round " << round;
  }
}

// A batch at once gives what its rows give one by one.
TEST(WideCells, ABatchIsItsRows) {
  Rng rng(seed());
  const Plan plan = plan_of_all();
  const WideCells cells(plan);
  Cell a(cells), b(cells), at_once_a(cells), at_once_b(cells);
  std::array<int64_t, 100> first, second;
  std::array<EventTime, 100> time;
  std::array<int64_t*, 100> cell;
  for (uint32_t i = 0; i < 100; ++i) {
    first[i] = any_value(rng);
    second[i] = any_value(rng);
    time[i] = {static_cast<int64_t>(rng.below(5))};
    const bool to_a = rng.one_in(2);
    cell[i] = to_a ? at_once_a.words : at_once_b.words;
    cells.add(to_a ? a.words : b.words, row_of(first[i], second[i], time[i].ns, i).rows(), 0);
  }
  Rows rows;
  rows.count = 100;
  rows.time = time.data();
  rows.value[0] = first.data();
  rows.value[1] = second.data();
  cells.add_all(cell.data(), rows, 100, [](uint32_t j) { return j; });
  EXPECT_EQ(a.memory, at_once_a.memory);
  EXPECT_EQ(b.memory, at_once_b.memory);
}

TEST(WideCells, ProductsTake192Bits) {
  const WideCells cells(
      plan_of({{CellOp::kSumProducts, 0, 0, 0}, {CellOp::kSumProducts, 0, 0, 1}}));
  Cell cell(cells);
  for (int i = 0; i < 5; ++i) cells.add(cell.words, row_of(INT64_MIN, 2).rows(), 0);
  // 5 * 2^126 = 2^128 + 2^126
  EXPECT_EQ(cell.words[1], 0);
  EXPECT_EQ(cell.words[2], int64_t{1} << 62);
  EXPECT_EQ(cell.words[3], 1);
  // -5 * 2^64
  EXPECT_EQ(cell.words[4], 0);
  EXPECT_EQ(cell.words[5], -5);
  EXPECT_EQ(cell.words[6], -1);
  Cell other(cells);
  cells.add(other.words, row_of(1, 1).rows(), 0);   // adds 1 to both, across the words' borders
  cells.add(other.words, row_of(-3, 7).rows(), 0);  // 9 and -21
  cells.merge(cell.words, other.words);
  EXPECT_EQ(cell.words[1], 10);
  EXPECT_EQ(cell.words[3], 1);
  EXPECT_EQ(cell.words[4], -20);  // -5 * 2^64 - 20
  EXPECT_EQ(cell.words[5], -6);
  EXPECT_EQ(cell.words[6], -1);
}

TEST(WideCells, TopIsTheHeadOfASort) {
  Rng rng(seed());
  for (int round = 0; round < 200; ++round) {
    const auto size = static_cast<uint8_t>(1 + rng.below(kTopMax));
    const WideCells cells(
        plan_of({{CellOp::kTop, 0, 0, 0, size}, {CellOp::kBottom, 0, 0, 0, size}}));
    Cell cell(cells);
    std::vector<int64_t> values;
    for (uint64_t i = 0, n = rng.below(20); i < n; ++i) {
      values.push_back(any_value(rng));
      cells.add(cell.words, row_of(values.back(), 0).rows(), 0);
    }
    std::sort(values.begin(), values.end());
    for (size_t i = 0; i < std::min<size_t>(size, values.size()); ++i) {
      const auto word = [&](size_t w) { return static_cast<uint64_t>(cell.words[w]); };
      EXPECT_EQ(static_cast<int64_t>(word(1 + i) ^ top_flip(CellOp::kTop)),
                values[values.size() - 1 - i]);
      EXPECT_EQ(static_cast<int64_t>(word(1 + size + i) ^ top_flip(CellOp::kBottom)), values[i]);
    }
  }
}

TEST(WideCells, CountsWhatIsNotZero) {
  const WideCells cells(plan_of({{CellOp::kNonZero, 0, 0, 0}}));
  Cell cell(cells);
  for (const int64_t value : {0, 3, -1, 0, 1}) cells.add(cell.words, row_of(value, 0).rows(), 0);
  EXPECT_EQ(cell.words[0], 5);
  EXPECT_EQ(cell.words[1], 3);
}

// ---- histogram

// By hand: octave by octave, 32 buckets each, below 64 one a value.
uint32_t slow_bucket(uint64_t magnitude) {
  if (magnitude < 64) return static_cast<uint32_t>(magnitude);
  uint64_t first = 64, width = 2;
  uint32_t bucket = 64;
  while (magnitude - first >= first) {  // first doubles: not in this octave
    first *= 2;
    width *= 2;
    bucket += 32;
  }
  return bucket + static_cast<uint32_t>((magnitude - first) / width);
}

TEST(Histogram, BucketsAreThoseOfTheList) {
  Rng rng(seed());
  for (const bool non_negative : {true, false}) {
    for (const uint8_t bits : {1, 4, 6, 7, 16, 32, 63}) {
      const HistogramBuckets buckets({bits, non_negative});
      const uint32_t side = slow_bucket((uint64_t{1} << bits) - 1) + 1;
      EXPECT_EQ(buckets.count(), non_negative ? side : 2 * side - 1);
      EXPECT_GE(buckets.words() * 2, buckets.count());
      EXPECT_EQ(buckets.words() % 4, 0u);
      const uint32_t zero = non_negative ? 0 : side - 1;
      for (int i = 0; i < 2000; ++i) {
        const uint64_t magnitude = rng.next() >> (64 - bits) >> rng.below(bits);
        const auto value = static_cast<int64_t>(magnitude);
        ASSERT_EQ(buckets.of(value), zero + slow_bucket(magnitude)) << value;
        ASSERT_EQ(buckets.of(-value), non_negative ? 0 : zero - slow_bucket(magnitude));
        // What is read from a bucket is near to what went in: 1/64, and exact below 64.
        for (const int64_t v : {value, -value}) {
          if (v < 0 && non_negative) continue;
          const int128 off = int128{buckets.middle(buckets.of(v))} - v;
          ASSERT_LE((off < 0 ? -off : off) * 64, int128{value}) << v;
          if (value < 64) {
            ASSERT_EQ(off, 0);
          }
        }
      }
      // What no field's bits promise still counts inside.
      EXPECT_EQ(buckets.of(INT64_MAX), buckets.count() - 1);
      EXPECT_EQ(buckets.of(INT64_MIN), 0u);
    }
  }
}

TEST(Histogram, CountersSaturate) {
  const Plan plan = plan_of({{CellOp::kHistogram, 0, 0, 0, 0, {4, true}}});
  const WideCells cells(plan);
  Cell cell(cells), other(cells);
  const auto put = [](Cell& c, uint32_t bucket, uint32_t count) {
    std::memcpy(reinterpret_cast<char*>(c.words + 1) + bucket * 4, &count, 4);
  };
  const auto get = [](const Cell& c, uint32_t bucket) {
    return static_cast<uint32_t>(static_cast<uint64_t>(c.words[1 + bucket / 2]) >>
                                 (bucket % 2 * 32));
  };
  put(cell, 2, UINT32_MAX - 1);
  for (int i = 0; i < 3; ++i) cells.add(cell.words, row_of(2, 0).rows(), 0);
  EXPECT_EQ(get(cell, 2), UINT32_MAX);
  EXPECT_EQ(get(cell, 1), 0u);
  EXPECT_EQ(get(cell, 3), 0u);
  put(cell, 5, UINT32_MAX - 7);
  put(other, 5, 8);
  put(cell, 6, UINT32_MAX - 7);
  put(other, 6, 7);
  put(cell, 7, 1);
  put(other, 7, 2);
  put(other, 2, 9);
  merge_cells(plan, cell.words, other.words);
  EXPECT_EQ(get(cell, 2), UINT32_MAX);
  EXPECT_EQ(get(cell, 5), UINT32_MAX);
  EXPECT_EQ(get(cell, 6), UINT32_MAX);
  EXPECT_EQ(get(cell, 7), 3u);
  EXPECT_EQ(get(cell, 8), 0u);
}

// ---- distinct

TEST(Distinct, RegistersHoldTheLongestRunOfZeros) {
  EXPECT_EQ(register_of(0), 0u);
  EXPECT_EQ(register_of(UINT64_MAX), kRegisters - 1);
  EXPECT_EQ(rank_of(uint64_t{1} << 53), 1);  // the first bit behind the ten
  EXPECT_EQ(rank_of(uint64_t{1} << 52), 2);
  EXPECT_EQ(rank_of(1), 54);
  EXPECT_EQ(rank_of(0), kRankMax);
  const Plan plan = plan_of({{CellOp::kDistinct, 0, 0, 1}});
  const WideCells cells(plan);
  Cell cell(cells);
  std::vector<uint8_t> expected(kRegisters);
  for (int64_t i = 0; i < 3000; ++i) {
    const SingleRow row = row_of(i % 1000, i % 7);  // each of the 3,000 pairs once
    cells.add(cell.words, row.rows(), 0);
    const uint64_t hash = distinct_hash(i % 1000, i % 7, plan.seed);
    uint8_t& best = expected[hash >> 54];
    uint8_t zeros = 1;
    for (int bit = 53; bit >= 0 && (hash >> bit & 1) == 0; --bit) ++zeros;
    best = std::max(best, zeros);
  }
  EXPECT_EQ(std::memcmp(cell.words + 1, expected.data(), expected.size()), 0);
}

// ---- in a store

// Cells of 1.6 and 15 KB: what leaves in a result is the cell of its rows.
TEST(WideCells, LargeCellsPassThroughAStore) {
  for (const uint8_t bits : {16, 63}) {
    Plan plan = plan_of({{CellOp::kHistogram, 0, 0, 0, 0, {bits, false}}});
    plan.values = {0};
    ASSERT_LE((kResultHeadWords + 1 + plan.cell_words) * 8, kResultRowBytesMax);
    // 16 keys, and what no room is left for: one cell each a pane at least, and the sum of one.
    const uint64_t least = plan.max_panes * (16 + 1) * plan.cell_words * 8;
    uint64_t bytes = 0;
    for (const ArenaTerm& term : store_memory(plan, {0, 1})) bytes += term.bytes;
    EXPECT_GT(bytes, least);

    std::vector<ResultBlock> blocks(4);
    ResultRing ring;
    ring.blocks.adopt(blocks);
    ResultWriter out(ring);
    Arena arena(ArenaOptions{-1, false, false});
    const auto store = make_store(plan, {0, 1}, arena);
    const WideCells cells(plan);
    std::vector<Cell> expected;
    for (int64_t key = 0; key < 10; ++key) {
      expected.emplace_back(cells);
      for (int64_t i = 0; i < 20; ++i) {
        SingleRow row = row_of((i - 10) * (key + 1) * 321, 0, 5);
        row.stamp = {0};
        row.key[0] = key;
        row.hash = hash_words<1>(&key, plan.seed);
        store->add(row.rows());
        cells.add(expected.back().words, row.rows(), 0);
      }
    }
    uint32_t rows = 0;
    for (uint32_t used = 1; used > 0;) {
      used = store->fire({INT64_MAX}, {INT64_MAX}, 64, out);
      out.close();
      for (const ResultBlock* b; (b = ring.blocks.front()); ring.blocks.pop()) {
        const uint32_t row_bytes = b->row_words * 8;
        ASSERT_EQ(b->row_words, 2 + plan.cell_words);
        for (uint32_t at = sizeof(tidewire::Run); at < b->used; at += row_bytes, ++rows) {
          std::vector<int64_t> words(b->row_words);
          std::memcpy(words.data(), b->bytes.data() + at, row_bytes);
          const auto key = static_cast<size_t>(words[1]);
          ASSERT_LT(key, expected.size());
          words.erase(words.begin(), words.begin() + 2);
          EXPECT_EQ(words, expected[key].memory);
        }
      }
    }
    EXPECT_EQ(rows, 10u);
  }
}

}  // namespace
}  // namespace tidewire
