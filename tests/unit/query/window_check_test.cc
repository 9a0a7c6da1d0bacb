// Every refusal with its words, and what stands just inside it.
#include "query/window_check.h"

#include <gtest/gtest.h>

#include "query/panes.h"

namespace tidewire {
namespace {

constexpr Duration seconds(int64_t n) { return {n * kSecond}; }

QuerySpec spec(WindowKind kind) {
  QuerySpec s;
  s.window.kind = kind;
  switch (kind) {
    case WindowKind::kTumbling:
      s.window.size = s.window.slide = seconds(10);
      break;
    case WindowKind::kSliding:
      s.window.size = seconds(10);
      s.window.slide = seconds(5);
      break;
    case WindowKind::kCumulate:
      s.window.size = s.window.slide = seconds(10);
      s.window.early = seconds(2);
      break;
    case WindowKind::kCalendar:
      s.window.zone = "UTC";
      break;
    case WindowKind::kSession:
      s.window.gap = seconds(3);
      break;
    case WindowKind::kCount:
      s.window.rows = s.window.row_slide = 10;
      break;
    case WindowKind::kGlobal:
      break;
  }
  return s;
}

std::string text(const std::vector<WindowProblem>& problems) {
  std::string all;
  for (const WindowProblem& p : problems) all += p.option + ": " + p.text + "\n";
  return all;
}
std::string check(const QuerySpec& s) { return text(check_window(s)); }

constexpr WindowKind kAll[] = {WindowKind::kTumbling, WindowKind::kSliding,  WindowKind::kSession,
                               WindowKind::kCumulate, WindowKind::kCalendar, WindowKind::kCount,
                               WindowKind::kGlobal};

TEST(WindowCheck, PlainWindowsOfAllKindsPass) {
  for (const WindowKind kind : kAll) EXPECT_EQ(check(spec(kind)), "");
}

TEST(WindowCheck, ACumulatingWindowTakesNothingBack) {
  QuerySpec s = spec(WindowKind::kCumulate);
  s.window.accumulation = Accumulation::kDiscarding;
  EXPECT_EQ(check(s), "");
  s.window.accumulation = Accumulation::kRetracting;
  EXPECT_EQ(check(s),
            "window.accumulation: each step of a cumulating window is a result of its own, with "
            "its own end: there is nothing to take back; type = \"tumbling\" with early_every "
            "takes back\n");
}

TEST(WindowCheck, Steps) {
  QuerySpec s = spec(WindowKind::kCumulate);
  s.window.early = seconds(0);
  EXPECT_EQ(check(s), "window.step: a cumulating window's step must be above zero\n");
  s.window.early = seconds(10);
  EXPECT_EQ(check(s), "");
  s.window.early = seconds(11);
  EXPECT_EQ(check(s),
            "window.step: the step 11 s is longer than the size 10 s, so no window would hold "
            "one\n");
  s = spec(WindowKind::kTumbling);
  s.window.early = {10 * kSecond - 1};
  EXPECT_EQ(check(s), "");
  s.window.early = seconds(10);
  EXPECT_EQ(check(s),
            "window.early_every: no step of 10 s lies inside the size 10 s: the end's result "
            "would be the first\n");
  s = spec(WindowKind::kCalendar);
  s.window.early = seconds(23 * 3600);  // a day may have 23 hours
  EXPECT_EQ(check(s),
            "window.early_every: no step of 23 h lies inside the shortest unit, 23 h: the end's "
            "result would be the first\n");
  s.window.early = seconds(22 * 3600);
  EXPECT_EQ(check(s), "");
}

TEST(WindowCheck, SessionsHaveOneGapAndNoSteps) {
  QuerySpec s = spec(WindowKind::kSession);
  s.gap_field = "timeout";
  s.gap_unit = seconds(1);
  EXPECT_EQ(check(s),
            "window.gap: there is gap_field = \"timeout\" already; a session has one gap, so leave "
            "one of them out\n");
  s.window.gap = {};
  EXPECT_EQ(check(s), "");
  s.gap_unit = {};
  EXPECT_EQ(check(s),
            "window.gap_unit: how long is a 1 in 'timeout'? Say so, e.g. gap_unit = \"1 ms\"\n");
  s.gap_field = {};
  EXPECT_EQ(check(s),
            "window.gap: a session needs a gap above zero, or gap_field and gap_unit where events "
            "bring their own\n");
  s = spec(WindowKind::kSession);
  s.gap_unit = seconds(1);
  EXPECT_EQ(check(s), "window.gap_unit: has no meaning without gap_field\n");
  s = spec(WindowKind::kSession);
  s.window.max_duration = seconds(3);
  EXPECT_EQ(check(s), "");
  s.window.max_duration = seconds(2);
  EXPECT_EQ(check(s),
            "window.max_duration: 2 s is shorter than the gap 3 s: every session would be cut, "
            "none would end; choose type = \"tumbling\"\n");
  s = spec(WindowKind::kSession);
  s.window.early_rows = 5;
  EXPECT_EQ(check(s), "");
  s.window.early = seconds(1);
  EXPECT_EQ(check(s),
            "window.early_every: a session has no steps: its start moves when an earlier event "
            "joins it. provisional_every shows open sessions by the clock\n");
}

TEST(WindowCheck, StepsAreOfTimeOrOfRows) {
  for (const WindowKind kind : kAll) {
    QuerySpec s = spec(kind);
    if (!s.window.is_aligned()) continue;
    s.window.early = seconds(2);
    EXPECT_EQ(check(s), "");
    s.window.early_rows = 5;
    EXPECT_EQ(check(s),
              "window.early_every_rows: a window shows what it holds either each so many rows or "
              "at steps of event time, not both: ask with two queries\n");
  }
}

TEST(WindowCheck, CountAndGlobalWindowsHaveNoEnds) {
  QuerySpec s = spec(WindowKind::kCount);
  s.window.rows = 0;
  EXPECT_EQ(check(s), "window.rows: a count window needs one row or more\n");
  s = spec(WindowKind::kCount);
  s.window.lateness = s.window.early = seconds(1);
  s.window.early_rows = 1;
  EXPECT_EQ(check(s),
            "window.early_every: a count window ends at a row, not at a time: it has no steps; "
            "slide_rows gives a result every so many rows\n"
            "window.early_every_rows: slide_rows says already after how many rows a result comes\n"
            "window.allowed_lateness: a count window ends at a row, not at a time: no row is late "
            "for it\n");
  s = spec(WindowKind::kGlobal);
  s.window.lateness = s.window.early = seconds(1);
  EXPECT_EQ(check(s),
            "window.early_every: a global window has no start to count steps from; "
            "early_every_rows gives results every so many rows, type = \"cumulate\" steps from a "
            "start\n"
            "window.allowed_lateness: a global window ends with the input: no row is late for "
            "it\n");
  s = spec(WindowKind::kGlobal);
  s.window.early_rows = 5;
  EXPECT_EQ(check(s), "");
}

TEST(WindowCheck, WhatHasNoEffectIsRefused) {
  QuerySpec s = spec(WindowKind::kTumbling);
  s.window.gather = seconds(1);
  EXPECT_EQ(check(s),
            "window.update_every: gathers the updates that late rows make; without "
            "allowed_lateness there are none\n");
  s.window.lateness = seconds(1);
  EXPECT_EQ(check(s), "");
  for (const Accumulation a : {Accumulation::kDiscarding, Accumulation::kRetracting}) {
    s = spec(WindowKind::kTumbling);
    s.window.accumulation = a;
    EXPECT_EQ(check(s),
              "window.accumulation: each window has one result, so nothing can be discarded or "
              "taken back; add early_every, early_every_rows or allowed_lateness\n");
    s.window.early_rows = 3;
    EXPECT_EQ(check(s), "");
  }
  s = spec(WindowKind::kTumbling);
  s.top_by = "count";
  EXPECT_EQ(check(s), "top_by: has no meaning without top\n");
  s.top_by = {};
  s.top_least = true;
  EXPECT_EQ(check(s), "top_order: has no meaning without top\n");
}

TEST(WindowCheck, EmptyWindowsAreThoseOfAGrid) {
  for (const WindowKind kind : kAll) {
    QuerySpec s = spec(kind);
    s.fill = EmptyFill::kZero;
    EXPECT_EQ(check(s).empty(), s.window.is_aligned());
  }
  QuerySpec s = spec(WindowKind::kSession);
  s.fill = EmptyFill::kCarry;
  EXPECT_EQ(check(s), "fill: there are no empty sessions: one begins with an event\n");
  s = spec(WindowKind::kCount);
  s.fill = EmptyFill::kCarry;
  EXPECT_EQ(check(s), "fill: there are no empty count windows: they are made of rows\n");
  s = spec(WindowKind::kGlobal);
  s.fill = EmptyFill::kCarry;
  EXPECT_EQ(check(s), "fill: a key has one global window, and it has rows\n");
}

TEST(WindowCheck, KeysAreRankedOnceAndInWindowsThatTheyShare) {
  QuerySpec s = spec(WindowKind::kTumbling);
  s.top = 3;
  EXPECT_EQ(check(s), "top_by: by which result? top needs a name of one\n");
  s.top_by = "count";
  EXPECT_EQ(check(s), "");
  s.window.early = seconds(1);
  EXPECT_EQ(check(s), "");
  s.window.early = {};
  s.window.lateness = seconds(1);
  s.window.early_rows = 1;
  EXPECT_EQ(check(s),
            "top: with allowed_lateness a late row could change who is among the first, after the "
            "results have left; leave one of the two out (late_sinks shows the late rows)\n"
            "top: results every n rows come key by key, each in its turn: there is no moment at "
            "which keys are ranked; early_every ranks at its steps\n");
  s = spec(WindowKind::kSession);
  s.top = 3;
  s.top_by = "count";
  EXPECT_EQ(check(s),
            "top: a session is of one key alone, so keys have nothing to be ranked in; choose "
            "windows that all keys share, as tumbling ones\n");
  s.window = spec(WindowKind::kCount).window;
  EXPECT_EQ(check(s),
            "top: a count window is of one key alone, so keys have nothing to be ranked in; choose "
            "windows that all keys share, as tumbling ones\n");
  s.window = spec(WindowKind::kGlobal).window;
  EXPECT_EQ(check(s), "");
}

TEST(WindowCheck, RowsAreCountedWhereOneLaneHasTheKey) {
  QuerySource source;
  source.name = "feed";
  source.lanes = {LaneId{0}, LaneId{1}};
  source.partition = "vlan";
  source.lane_order = false;
  for (const WindowKind kind : kAll)
    EXPECT_EQ(text(check_lane_order(spec(kind), source, false)).empty(),
              kind != WindowKind::kCount);
  const QuerySpec count = spec(WindowKind::kCount);
  EXPECT_EQ(text(check_lane_order(count, source, true)),
            "window.type: count windows take rows in the order in which they came, but 'feed' "
            "sorts them by the watermark of their partition (vlan): give the source lateness_by = "
            "\"lane\", or no partition\n");
  source.lane_order = true;
  EXPECT_EQ(text(check_lane_order(count, source, true)), "");
  EXPECT_EQ(text(check_lane_order(count, source, false)),
            "placement: count windows take the rows of a key one after the other, but those of "
            "'feed' come in 2 lanes, which have no order among each other; set placement = "
            "\"local\" if each key comes in one lane only (as a flow under RSS), or let one lane "
            "feed the query\n");
  QuerySpec early = spec(WindowKind::kTumbling);
  early.window.early_rows = 100;
  source.lane_order = false;
  const std::string both = text(check_lane_order(early, source, false));
  EXPECT_NE(both.find("window.early_every_rows: results every n rows take rows in the order"),
            std::string::npos);
  EXPECT_NE(both.find("placement: results every n rows take the rows of a key"), std::string::npos);
}

// ---- panes

class Panes : public ::testing::Test {
 protected:
  Panes() {
    plan_.max_keys = 1;  // 2 cells of 32 B, 8 B, and 32 B of __overflow__: 104 B
    source_.bound = seconds(1);
    source_.max_ahead = source_.max_behind = source_.max_drift = seconds(0);
    source_.lanes = {LaneId{0}};
  }
  PaneSum size(const QuerySpec& s) {
    plan_.window = s.window;
    problem_.reset();
    return size_panes(s, source_, plan_, problem_);
  }
  std::string problem() const { return problem_ ? problem_->option + ": " + problem_->text : ""; }
  Plan plan_;
  QuerySource source_;
  std::optional<WindowProblem> problem_;
};

TEST_F(Panes, AreAsWideAsWhatEdgesAndStepsHaveInCommon) {
  QuerySpec s = spec(WindowKind::kSliding);  // 10 s every 5 s
  EXPECT_EQ(size(s).pane, seconds(5));
  s.window.early = seconds(2);
  EXPECT_EQ(size(s).pane, seconds(1));
  EXPECT_EQ(size(s).window_panes, 10u);
  EXPECT_EQ(size(spec(WindowKind::kCumulate)).pane, seconds(2));
}

TEST_F(Panes, StayOpenForTheAllowedLateness) {
  QuerySpec s = spec(WindowKind::kTumbling);
  EXPECT_EQ(size(s).worst, 4u);  // 10 s + 1 s in panes of 10 s, and two more
  s.window.lateness = seconds(39);
  EXPECT_EQ(size(s).worst, 7u);  // 50 s
  EXPECT_EQ(plan_.max_panes, 7u);
}

TEST_F(Panes, OfACalendarAreCountedByTheShortestUnit) {
  QuerySpec s = spec(WindowKind::kCalendar);
  s.window.unit = CalendarUnit::kDay;
  EXPECT_EQ(size(s).pane, seconds(23 * 3600));
  EXPECT_EQ(size(s).window_panes, 1u);
  EXPECT_EQ(size(s).worst, 4u);  // 25 h + 1 s in panes of 23 h, and two more
  s.window.early = seconds(3600);
  EXPECT_EQ(size(s).window_panes, 25u);
  EXPECT_EQ(size(s).worst, 30u);  // 26 of an hour, two more, and two that end with their day
}

TEST_F(Panes, NameTheMemoryThatTooManyWouldTake) {
  QuerySpec s = spec(WindowKind::kSliding);
  s.window.early = {3'333'333};
  size(s);
  // 10 s, 5 s and 3,333,333 ns share 1 ns: 10^10 panes of 104 B are 991,821 MiB.
  EXPECT_EQ(problem(),
            "window.slide: size 10 s, slide 5 s and step 3333333 ns have only 1 ns in common, so a "
            "window would be put together from 10000000000 panes, 991821 MiB in all; 10000 panes "
            "are the limit: choose lengths that divide each other");
  s = spec(WindowKind::kCumulate);
  s.window.early = {999'999};  // 10^10 - 10,000 x 999,999 = 10,000; so gcd(999,999, 10,000) = 1
  size(s);
  EXPECT_EQ(problem().substr(0, problem().find(" have")),
            "window.step: size 10 s and step 999999 ns");
  s = spec(WindowKind::kCalendar);
  s.window.unit = CalendarUnit::kDay;
  s.window.early = seconds(1);  // 25 h: 90,000 steps, 104 B each: 8.9 MiB
  size(s);
  EXPECT_EQ(problem(),
            "window.early_every: the step is 1 s, so a window would be put together from 90000 "
            "panes, 8 MiB in all; 10000 panes are the limit: choose a longer one");
}

TEST_F(Panes, AreNotOfSessionsCountsAndGlobals) {
  for (const WindowKind kind : {WindowKind::kSession, WindowKind::kCount, WindowKind::kGlobal}) {
    EXPECT_EQ(size(spec(kind)).worst, 0u);
    EXPECT_EQ(problem(), "");
  }
}

}  // namespace
}  // namespace tidewire
