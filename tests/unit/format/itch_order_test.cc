// Both lines of a pair in one lane, where datagrams wait for those numbered before them: order,
// declared gaps, bounds, and that neither bursts nor reused buffers show.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "format/held_datagrams.h"
#include "itch_feed.h"

namespace tidewire::test {
namespace {

constexpr int64_t kWait = 5 * kMillisecond;
constexpr int64_t kStart = kMidnight + static_cast<int64_t>(kOpen);

FormatOptions waiting(int64_t wait = kWait) {
  FormatOptions options;
  options.reorder_wait = {wait};
  return options;
}

Bytes one(uint64_t sequence, std::string_view session = "S") {
  return mold_frame(session, sequence, {delete_order(kOpen, sequence)});
}

struct Line {
  explicit Line(int64_t wait = kWait) : feed({"sequence"}, {}, waiting(wait)) {}
  Outcome& at(int64_t microseconds, const Bytes& frame) {
    return feed.send(frame, kStart + microseconds * kMicrosecond);
  }
  Outcome& end() {
    BurstBuilder none;
    return feed.send(none);
  }
  Feed feed;
};

Rows rows_of(const std::vector<int64_t>& sequences) {
  Rows rows;
  for (const int64_t s : sequences) rows.push_back({s});
  return rows;
}

TEST(ItchOrder, WhatComesTooEarlyWaits) {
  Line line;
  line.at(0, one(1));
  line.at(1, one(3));
  line.at(2, one(5));
  EXPECT_EQ(line.at(3, one(4)).rows, rows_of({1}));
  const Outcome& run = line.at(4, one(2));
  EXPECT_EQ(run.rows, rows_of({1, 2, 3, 4, 5}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 0u);
  EXPECT_EQ(noted(run.counts, Note::kReordered), 1u);  // 2 filled the gap
  EXPECT_EQ(run.counts.packets_parsed, 5u);
}

TEST(ItchOrder, AfterTheWaitTheGapIsDeclared) {
  Line line;
  line.at(0, one(1));
  line.at(1'000, one(3));
  line.at(3'000, one(6));
  Outcome& run = line.at(5'999, one(4));  // 4.999 ms after 3 came
  EXPECT_EQ(run.rows, rows_of({1}));
  line.at(6'000, one(7));  // 5 ms: 2 is given up, 5 not yet
  EXPECT_EQ(run.rows, rows_of({1, 3, 4}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 1u);
  line.at(8'000, one(8));  // 5 ms after 6 came
  EXPECT_EQ(run.rows, rows_of({1, 3, 4, 6, 7, 8}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 2u);
  line.at(8'001, one(2));  // after all: given, as what it is
  EXPECT_EQ(run.rows, rows_of({1, 3, 4, 6, 7, 8, 2}));
  EXPECT_EQ(noted(run.counts, Note::kReordered), 1u);
}

TEST(ItchOrder, TheSecondCopyIsADuplicateHeldOrNot) {
  Line line;
  line.at(0, one(1));
  line.at(1, one(3));
  line.at(2, one(3));  // of one that is held
  line.at(3, one(1));
  Outcome& run = line.at(4, one(2));
  line.at(5, one(3));
  EXPECT_EQ(run.rows, rows_of({1, 2, 3}));
  EXPECT_EQ(dropped(run.counts, DropReason::kDuplicate), 3u);
  EXPECT_EQ(noted(run.counts, Note::kDuplicateMessage), 3u);
  // Two that overlap: each message once.
  line.at(6, mold_frame("S", 5, {delete_order(kOpen, 5), delete_order(kOpen, 6)}));
  line.at(7, mold_frame("S", 6, {delete_order(kOpen, 6), delete_order(kOpen, 7)}));
  line.at(8, one(4));
  EXPECT_EQ(run.rows, rows_of({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(noted(run.counts, Note::kDuplicateMessage), 4u);
}

TEST(ItchOrder, HeartbeatShowsTailLossAfterTheWait) {
  Line line;
  line.at(0, one(1));
  Outcome& run = line.at(1'000, mold_frame("S", 4, {}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 0u);  // the other line may still bring 2 and 3
  EXPECT_EQ(run.marks.size(), 0u);
  line.at(2'000, one(2));
  line.at(2'500, one(3));
  // Nothing is missing: what was sent before the heartbeat has come, and is given before its mark.
  using Marks = std::vector<std::pair<size_t, int64_t>>;
  EXPECT_EQ(run.marks, (Marks{{3, kStart + kMillisecond}}));
  line.at(10'000, mold_frame("S", 7, {}));
  line.at(14'999, mold_frame("S", 7, {}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 0u);
  line.at(15'000, mold_frame("S", 7, {}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 3u);
  EXPECT_EQ(run.marks.size(), 1u);
  line.at(16'000, mold_frame("S", 7, {}));
  EXPECT_EQ(run.marks.size(), 2u);
}

// The slower line says less than the faster one has shown: it is no sign of having caught up.
TEST(ItchOrder, NoMarkWhileSomethingIsHeld) {
  Line line;
  line.at(0, one(1));
  line.at(1, one(3));
  EXPECT_EQ(line.at(2, mold_frame("S", 2, {})).marks.size(), 0u);
}

TEST(ItchOrder, NoMoreThanTheRoomThereIs) {
  Line line;
  line.at(0, one(1));
  constexpr auto kMost = static_cast<int64_t>(HeldDatagrams::kMost);
  for (int64_t s = 3; s < 3 + kMost; ++s) line.at(1, one(static_cast<uint64_t>(s)));
  Outcome& run = line.at(2, one(1));
  EXPECT_EQ(run.rows.size(), 1u);
  line.at(2, one(5 + kMost));
  EXPECT_EQ(run.rows.size(), 1u + kMost);  // 3 and all behind it made way
  EXPECT_EQ(noted(run.counts, Note::kGap), 1u);
  EXPECT_EQ(line.end().rows.size(), 2u + kMost);
  // One that is larger than a place waits for nobody.
  const std::vector<ItchMessage> many(100, delete_order(kOpen, 1));  // 100 x (2 + 19) > 2048
  line.at(3, one(500));
  line.at(4, mold_frame("S", 600, many));
  EXPECT_EQ(run.rows.size(), 2u + kMost + 1 + 100);
}

TEST(ItchOrder, TheEndGivesWhatWaits) {
  Line line;
  line.at(0, one(1));
  line.at(1, one(5));
  line.at(2, one(3));
  Outcome& run = line.end();
  EXPECT_EQ(run.rows, rows_of({1, 3, 5}));
  EXPECT_EQ(noted(run.counts, Note::kGap), 2u);
  EXPECT_EQ(line.end().rows.size(), 3u);
  EXPECT_EQ(line.at(3, one(6)).rows.size(), 4u);  // and it goes on
}

TEST(ItchOrder, SessionsWaitEachForItselfAndLeaveNothingBehind) {
  Line line;
  line.at(0, one(1, "A"));
  line.at(1, one(3, "A"));
  line.at(2, one(10, "B"));
  Outcome& run = line.at(3, one(11, "B"));
  EXPECT_EQ(run.rows, rows_of({1, 10, 11}));
  for (const char* session : {"C", "D", "E"}) line.at(4, one(20, session));
  EXPECT_EQ(run.rows, rows_of({1, 10, 11, 20, 20, 3, 20}));  // A made room for E
  // Numbers that begin again: what waited goes first.
  line.at(5, one(13, "B"));
  line.at(6, one(uint64_t{1} << 40, "B"));
  EXPECT_EQ(Rows(run.rows.begin() + 7, run.rows.end()), rows_of({13, int64_t{1} << 40}));
  EXPECT_EQ(noted(run.counts, Note::kSequenceRestart), 1u);
}

TEST(ItchOrder, PacketsWithoutArrivalsWaitByCountOnly) {
  Line line;
  line.feed.send(one(1));
  const int64_t none = EventTime::before_all().ns;
  line.feed.send(one(3), none);
  line.feed.send(one(4), none);
  EXPECT_EQ(line.at(0, mold_frame("S", 2, {})).counts.ended.no_time, 0u);
  EXPECT_EQ(line.end().counts.ended.no_time, 2u);  // given, and so seen to have no time
}

// Datagrams cut at every byte, and with every byte changed, among sound ones: nothing is read past
// an end (they lie in blocks of their exact size), and every packet and event ends in one count.
TEST(ItchOrder, EveryCutAndEveryChangedByte) {
  const Bytes whole =
      mold_frame("S", 3, {add_order(kOpen, 2, 'B', 1, "X", 1), delete_order(kOpen, 3)});
  for (const bool waits : {false, true}) {
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const uint8_t change : {0x01, 0x80, 0xFF}) {
        Line line(waits ? kWait : 0);
        line.at(0, one(1));
        Bytes changed = whole;
        changed[at] ^= change;
        BurstBuilder burst;
        burst.add(changed, kStart);
        burst.add(whole, at, whole.size(), kStart + 1);
        line.feed.send(burst);
        line.at(2, one(2));
        line.at(3, one(5));
        line.at(2 * kWait / kMicrosecond, one(6));
        Outcome& run = line.end();
        EXPECT_EQ(run.counts.packets, 6u);
        EXPECT_GE(run.rows.size(), 4u);
      }
    }
  }
}

// Two lines with losses and delays of their own. Whatever the bursts: the same rows, marks and
// counts; and each message that any line brought in time, in order.
struct Sent {
  int64_t arrival;
  Bytes frame;
};
std::vector<Sent> pair_of_lines(Rng& rng, std::map<int64_t, bool>& expected) {
  std::vector<Sent> sent{{kStart - kMillisecond, one(1)}};  // opens the session
  expected[1] = true;
  uint64_t next = 2;
  for (int64_t at = 0; next < 2'000; at += 100 * kMicrosecond) {
    const uint64_t count = rng.below(4);
    std::vector<ItchMessage> messages;
    for (uint64_t i = 0; i < count; ++i) messages.push_back(delete_order(kOpen, next + i));
    bool any = false;
    for (int line = 0; line < 2; ++line) {
      if (rng.one_in(6)) continue;
      any = true;
      sent.push_back({kStart + at + static_cast<int64_t>(rng.below(2 * kMillisecond)),
                      mold_frame("S", next, messages)});
    }
    for (uint64_t i = 0; i < count; ++i) expected[static_cast<int64_t>(next + i)] = any;
    next += count;
  }
  std::stable_sort(sent.begin(), sent.end(),
                   [](const Sent& a, const Sent& b) { return a.arrival < b.arrival; });
  return sent;
}

// Of marks at one place, the last: a batch keeps no others.
std::map<size_t, int64_t> last_marks(const Outcome& run) {
  std::map<size_t, int64_t> last;
  for (const auto& [at, time] : run.marks) last[at] = time;
  return last;
}

TEST(ItchOrder, APairOfLinesInAnyBursts) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::map<int64_t, bool> expected;
    const std::vector<Sent> sent = pair_of_lines(rng, expected);
    std::optional<Outcome> before;
    for (const size_t size : {1, 7, 256}) {
      Line line;
      for (size_t from = 0; from < sent.size(); from += size) {
        BurstBuilder burst;
        for (size_t i = from; i < std::min(from + size, sent.size()); ++i)
          burst.add(sent[i].frame, sent[i].arrival);
        line.feed.send(burst);
        for (uint32_t i = 0; i < burst.burst().count; ++i)  // nothing points into it any more
          std::memset(const_cast<std::byte*>(burst.burst().data[i]), 0xEE, burst.burst().length[i]);
      }
      const Outcome& run = line.end();
      EXPECT_TRUE(std::is_sorted(run.rows.begin(), run.rows.end()));
      if (before) {
        EXPECT_EQ(run.rows, before->rows);
        EXPECT_EQ(run.times, before->times);
        EXPECT_EQ(last_marks(run), last_marks(*before));
        EXPECT_EQ(run.counts.noted, before->counts.noted);
        EXPECT_EQ(run.counts.dropped, before->counts.dropped);
      }
      before = run;
    }
    // Delays are below the wait, so only what neither line brought is missing.
    std::vector<int64_t> all;
    uint64_t missing = 0;
    for (const auto& [sequence, came] : expected) {
      if (came) all.push_back(sequence);
      missing += sequence < before->rows.back()[0] && !came;
    }
    EXPECT_EQ(before->rows, rows_of(all));
    EXPECT_GT(missing, 0u);
    EXPECT_GE(noted(before->counts, Note::kGap), missing);  // a last heartbeat may show more
  }
}

}  // namespace
}  // namespace tidewire::test
