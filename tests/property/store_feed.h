// One worker's store as the property tests drive it: rows of its shards come in bursts of one lane,
// it is fired in slices into few result blocks, and what leaves is read row by row. And the order
// in which several of them are driven: lanes in any interleaving, the frontier behind all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "window/store.h"

namespace tidewire {

template <class T>
T one_of(Rng& rng, std::initializer_list<T> list) {
  return list.begin()[rng.below(list.size())];
}

class StoreFeed {
 public:
  StoreFeed(const Plan& plan, ShardRange range, size_t blocks)
      : plan_(plan), range_(range), blocks_(blocks), arena_(ArenaOptions{-1, false, false}) {
    ring_.blocks.adopt(blocks_);
    store_ = make_store(plan, range, arena_);
  }
  WindowStore& store() { return *store_; }
  ResultWriter& out() { return out_; }
  uint64_t offered() const { return offered_; }

  // rows[from, from + count) of one lane, those that this worker owns. A row has time, stamp, hash,
  // lane, ordinal and key[word]; value_of(row, v) is its value v.
  template <class Row, class ValueOf>
  void add(const std::vector<Row>& rows, size_t from, size_t count, ValueOf value_of) {
    std::array<EventTime, kBatchMax> time, stamp;
    std::array<uint64_t, kBatchMax> hash;
    std::array<std::array<int64_t, kBatchMax>, kMaxKeyWords> key;
    std::array<std::array<int64_t, kBatchMax>, kValuesMax> value;
    std::array<uint8_t, kBatchMax> at;
    Rows r;
    r.min_time = r.max_time = {rows[from].time};
    r.max_stamp = {rows[from].stamp};
    for (size_t i = 0; i < count; ++i) {
      const Row& row = rows[from + i];
      r.min_time = std::min(r.min_time, {row.time});
      r.max_time = std::max(r.max_time, {row.time});
      r.max_stamp = std::max(r.max_stamp, {row.stamp});
      const uint32_t shard = plan_.key_words ? tidewire::shard_of(row.hash, plan_.shards) : 0;
      if (shard < range_.first || shard >= range_.first + range_.count) continue;
      const uint32_t n = r.count++;
      at[n] = static_cast<uint8_t>(i);
      time[n] = {row.time};
      stamp[n] = {row.stamp};
      hash[n] = row.hash;
      for (uint32_t w = 0; w < plan_.key_words; ++w) key[w][n] = row.key[w];
      for (uint32_t v = 0; v < plan_.values.size(); ++v) value[v][n] = value_of(row, v);
    }
    r.lane = LaneId{static_cast<uint16_t>(rows[from].lane)};
    r.first = Ordinal{rows[from].ordinal};
    r.at = r.count == count ? nullptr : at.data();
    r.time = time.data();
    r.stamp = stamp.data();
    r.hash = hash.data();
    for (uint32_t w = 0; w < plan_.key_words; ++w) r.key[w] = key[w].data();
    for (uint32_t v = 0; v < plan_.values.size(); ++v) r.value[v] = value[v].data();
    offered_ += r.count;
    store_->add(r);
  }
  uint32_t fire(int64_t frontier, int64_t until, uint32_t budget) {
    const uint32_t used = store_->fire({frontier}, {until}, budget, out_);
    out_.close();
    return used;
  }
  // As egress does: read(run, words) for each row, or once for a run that has none. How many
  // blocks.
  template <class Read>
  size_t drain(Read read) {
    size_t taken = 0;
    for (const ResultBlock* b; (b = ring_.blocks.front()); ring_.blocks.pop(), ++taken) {
      uint32_t at = 0;
      while (at < b->used) {
        Run run;
        std::memcpy(&run, b->bytes.data() + at, sizeof run);
        at += sizeof run;
        EXPECT_EQ(run.rows == 0, run.kind == RunKind::kLost);
        if (run.rows == 0) read(run, std::vector<int64_t>());
        for (uint32_t i = 0; i < run.rows; ++i, at += b->row_words * 8) {
          std::vector<int64_t> words(b->row_words);
          std::memcpy(words.data(), b->bytes.data() + at, words.size() * 8);
          read(run, words);
        }
      }
      EXPECT_EQ(at, b->used);
    }
    return taken;
  }

 private:
  static constexpr uint32_t kValuesMax = 2;

  const Plan& plan_;
  ShardRange range_;
  std::vector<ResultBlock> blocks_;
  ResultRing ring_;
  ResultWriter out_{ring_};
  Arena arena_;
  std::unique_ptr<WindowStore> store_;
  uint64_t offered_ = 0;
};

// size(l) rows of lane l are given, in bursts, as give(l, from, count); frontier_after(l, i) is the
// lane's frontier behind its row i. After each burst step(frontier): the least of all lanes, never
// back; a lane that is at its end holds nothing.
template <class Size, class FrontierAfter, class Give, class Step>
void interleave(Rng& rng, size_t lanes, std::initializer_list<size_t> bursts, Size size,
                FrontierAfter frontier_after, Give give, Step step) {
  std::vector<size_t> at(lanes, 0);
  int64_t frontier = INT64_MIN;
  for (bool more = true; more;) {
    const size_t l = rng.below(lanes);
    const size_t burst = std::min(one_of<size_t>(rng, bursts), size(l) - at[l]);
    if (burst > 0) give(l, at[l], burst);
    at[l] += burst;
    int64_t least = INT64_MAX;
    more = false;
    for (size_t i = 0; i < lanes; ++i) {
      if (at[i] == size(i)) continue;
      more = true;
      least = std::min(least, at[i] ? frontier_after(i, at[i] - 1) : INT64_MIN);
    }
    if (more) frontier = std::max(frontier, least);
    step(frontier);
  }
}

}  // namespace tidewire
