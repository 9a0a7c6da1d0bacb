// Drawings as a person would make them: column of a time = (time - first) * 63 / (last - first),
// rounded down, behind a label of 12.
#include "app/chart.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/rng.h"

namespace tidewire {
namespace {

constexpr Duration seconds(int64_t n) { return {n * kSecond}; }
constexpr int64_t kHour = 3600 * kSecond;

Plan plan(WindowKind kind, Duration size = {}, Duration slide = {}) {
  Plan p;
  p.window.kind = kind;
  p.window.size = size;
  p.window.slide = slide.ns > 0 ? slide : size;
  return p;
}
std::string chart(const Plan& p, int64_t from = 0) { return window_chart(p, EventTime{from}); }
std::string times(char c, size_t n) { return std::string(n, c); }

// 0, 10, 20 and 30 s: columns 0, 21, 42, 63.
TEST(Chart, Tumbling) {
  const std::string pane = "|" + times('-', 20), window = "[" + times('=', 20) + ")\n";
  EXPECT_EQ(chart(plan(WindowKind::kTumbling, seconds(10)), 9 * kSecond),
            "    panes   " + pane + pane + pane + "|\n" + "    1       " + window + "    2       " +
                times(' ', 21) + window + "    3       " + times(' ', 42) + window +
                "            [ start   ) end\n"
                "    1       1970-01-01T00:00:00Z to 00:00:10Z\n"
                "            on time     00:00:10Z\n"
                "    2       1970-01-01T00:00:10Z to 00:00:20Z\n"
                "            on time     00:00:20Z\n"
                "    3       1970-01-01T00:00:20Z to 00:00:30Z\n"
                "            on time     00:00:30Z\n");
}

// 10 s every 5 s from -5 to 15 s, so 20 s: edges each 5 s at columns 0, 15, 31, 47, 63.
TEST(Chart, Sliding) {
  const std::string text = chart(plan(WindowKind::kSliding, seconds(10), seconds(5)));
  EXPECT_EQ(text.substr(0, text.find("            [ start")),
            "    panes   |" + times('-', 14) + "|" + times('-', 15) + "|" + times('-', 15) + "|" +
                times('-', 15) + "|\n" + "    1       [" + times('=', 30) + ")\n" + "    2       " +
                times(' ', 15) + "[" + times('=', 31) + ")\n" + "    3       " + times(' ', 31) +
                "[" + times('=', 31) + ")\n");
}

// 1 s every 3 s: 0, 1, 3, 4, 6 and 7 s at columns 0, 9, 27, 36, 54, 63.
TEST(Chart, Gaps) {
  const std::string text = chart(plan(WindowKind::kSliding, seconds(1), seconds(3)));
  const std::string pane = "|" + times('-', 8) + "|", gap = times(' ', 17);
  EXPECT_EQ(text.substr(0, text.find("            [ start")),
            "    panes   " + pane + gap + pane + gap + pane + "\n" + "    1       [" +
                times('=', 8) + ")\n" + "    2       " + times(' ', 27) + "[" + times('=', 8) +
                ")\n" + "    3       " + times(' ', 54) + "[" + times('=', 8) + ")\n");
}

// Steps at 2, 4, 6 and 8 s of 30 s: columns 4, 8, 12 and 16.
TEST(Chart, Cumulate) {
  Plan p = plan(WindowKind::kCumulate, seconds(10));
  p.window.early = seconds(2);
  const std::string text = chart(p);
  EXPECT_NE(text.find("    1       [===+===+===+===+====)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    panes   |---|---|---|---|----|---|"), std::string::npos) << text;
  EXPECT_NE(text.find("            [ start   + early   ) end\n"), std::string::npos) << text;
  EXPECT_NE(text.find("            early       00:00:02Z, 00:00:04Z, 00:00:06Z, 00:00:08Z\n"
                      "            on time     00:00:10Z\n"),
            std::string::npos)
      << text;
  p.window.early = seconds(1);
  EXPECT_NE(chart(p).find("early       00:00:01Z, 00:00:02Z, 00:00:03Z, 00:00:04Z, ... 00:00:09Z "
                          "(9 in all)\n"),
            std::string::npos)
      << chart(p);
}

// 4 s every 2 s, 3 s of lateness, gathered each 2 s. From -2 to 9 s: -2, 2, 4, 5 s at columns 0,
// 22, 34, 40. The second gathered point is the clean-up itself.
TEST(Chart, Lateness) {
  Plan p = plan(WindowKind::kSliding, seconds(4), seconds(2));
  p.window.lateness = seconds(3);
  p.window.gather = seconds(2);
  const std::string text = chart(p);
  EXPECT_NE(text.find("    1       [" + times('=', 21) + ")" + times('~', 11) + "u" +
                      times('~', 5) + "x\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("    1       1969-12-31T23:59:58Z to 1970-01-01T00:00:02Z\n"
                      "            on time     1970-01-01T00:00:02Z\n"
                      "            updates     1970-01-01T00:00:04Z, 1970-01-01T00:00:05Z\n"
                      "            clean-up    1970-01-01T00:00:05Z\n"),
            std::string::npos)
      << text;
  // An hour of lateness leaves the windows to be seen.
  p.window.lateness = {kHour};
  p.window.gather = {};
  EXPECT_NE(chart(p).find("~>\n"), std::string::npos) << chart(p);
}

// New York's 10 March 2024 has 23 hours: 24, 23 and 24 of 71 h, columns 21 and 41.
TEST(Chart, ADayOfTwentyThreeHours) {
  Plan p = plan(WindowKind::kCalendar);
  p.window.unit = CalendarUnit::kDay;
  p.window.zone = "America/New_York";
  const int64_t from = int64_t{19'791} * 24 * kHour + 12 * kHour;  // 2024-03-09, noon in UTC
  EXPECT_EQ(chart(p, from), "    panes   |" + times('-', 20) + "|" + times('-', 19) + "|" +
                                times('-', 21) + "|\n" + "    1       [" + times('=', 20) + ")\n" +
                                "    2       " + times(' ', 21) + "[" + times('=', 19) + ")\n" +
                                "    3       " + times(' ', 41) + "[" + times('=', 21) + ")\n" +
                                "            [ start   ) end\n"
                                "    1       2024-03-09T05:00:00Z to 2024-03-10T05:00:00Z (1 d)\n"
                                "            on time     2024-03-10T05:00:00Z\n"
                                "    2       2024-03-10T05:00:00Z to 2024-03-11T04:00:00Z (23 h)\n"
                                "            on time     2024-03-11T04:00:00Z\n"
                                "    3       2024-03-11T04:00:00Z to 2024-03-12T04:00:00Z (1 d)\n"
                                "            on time     2024-03-12T04:00:00Z\n");
}

TEST(Chart, Sessions) {
  Plan p = plan(WindowKind::kSession);
  p.window.gap = seconds(2);
  EXPECT_EQ(chart(p, kSecond / 4),
            "    events  *  *     *                 *   *\n"
            "    1       [==================)\n"
            "    2                                  [=============)\n"
            "            * event   ) last event + gap\n"
            "            an event at 1970-01-01T00:00:00.25Z alone: until 00:00:02.25Z\n");
  p.window.lateness = seconds(1);
  p.window.max_duration = seconds(60);
  const std::string text = chart(p);
  EXPECT_NE(text.find("    1       [==================)~~~~x\n"), std::string::npos) << text;
  EXPECT_NE(text.find("            all end at 00:01:00Z, 00:02:00Z, 00:03:00Z, ...\n"),
            std::string::npos)
      << text;
}

// 6 rows every 4: of 12 rows, 4, 8, 2 and 6 at columns 21, 42, 10 and 31.
TEST(Chart, Counts) {
  Plan p = plan(WindowKind::kCount);
  p.window.rows = 6;
  p.window.row_slide = 4;
  EXPECT_EQ(chart(p), "    1       [" + times('=', 20) + ")\n" + "    2       " + times(' ', 10) +
                          "[" + times('=', 31) + ")\n" + "    3       " + times(' ', 31) + "[" +
                          times('=', 31) + ")\n" +
                          "    1       behind a key's row 4: rows 1 to 4\n"
                          "    2       behind a key's row 8: rows 3 to 8\n"
                          "    3       behind a key's row 12: rows 7 to 12\n");
  p = plan(WindowKind::kGlobal);
  p.window.early_rows = 50;
  EXPECT_EQ(chart(p),
            "    1       [=======+=======+=======  ...  to the end of input )\n"
            "            + behind each 50 rows of a key\n");
}

TEST(Chart, NoDrawingIsWiderThanEightyColumns) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t seed = given != nullptr ? std::stoull(given) : 20'260'501;
  SCOPED_TRACE("TIDEWIRE_SEED=" + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 500; ++i) {
    const auto length = [&] {
      return Duration{static_cast<int64_t>(1 + rng.below(100'000)) * kMillisecond};
    };
    Plan p = plan(WindowKind::kSliding, length(), length());
    if (rng.below(2) == 0)
      p.window.early = {p.window.size.ns / static_cast<int64_t>(1 + rng.below(50))};
    if (rng.below(2) == 0) p.window.lateness = length();
    if (p.window.lateness.ns > 0 && rng.below(2) == 0) p.window.gather = length();
    const int64_t from = static_cast<int64_t>(rng.below(uint64_t{1} << 61)) - (int64_t{1} << 60);
    std::istringstream lines(chart(p, from));
    std::string line;
    for (int drawn = 0; drawn < 5 && std::getline(lines, line); ++drawn)
      EXPECT_LE(line.size(), 80u) << line;
  }
}

}  // namespace
}  // namespace tidewire
