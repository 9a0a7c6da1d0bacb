// What the harness must not take for a scenario, and the forms in which it compares.
#include "windows.h"

#include <gtest/gtest.h>

namespace tidewire::conformance {
namespace {

Played play(const std::string& text) {
  std::string error;
  const auto line = parse_line("X | here | " + text, error);
  EXPECT_TRUE(line.has_value()) << error;
  return line ? play_windows(*line) : Played{};
}

TEST(Windows, WhatCannotBeReadIsSaidAndNotPlayed) {
  const struct {
    const char *text, *what;
  } kLines[] = {
      {"tumbel(10) | a@1 | ", "operator tumbel"},
      {"tumble | a@1 | ", "number of arguments of tumble"},
      {"slide(10) | a@1 | ", "number of arguments of slide"},
      {"tumble(0) | a@1 | ", "argument 0"},
      {"tumble(10,10) | a@1 | ", "argument 10"},
      {"session(ten) | a@1 | ", "argument ten"},
      {"tumble(10) L=-1 | a@1 | ", "option L=-1"},
      {"tumble(10) late=1 | a@1 | ", "option late=1"},
      {"tumble(10) trig=eos | a@1 | ", "option trig=eos"},
      {"tumble(10) trig=count(x) | a@1 | ", "option trig=count(x)"},
      {"tumble(10) evict=all | a@1 | ", "option evict=all"},
      {"tumble(10) | a@x1 | ", "token a@x1"},
      {"tumble(10) | a@1=1.5 | ", "token a@1=1.5"},
      {"tumble(10) | w | ", "token w"},
      {"tumble(10) | w x | ", "token w x"},
      {"tumble(10) | snapshot | ", "token snapshot"},
  };
  for (const auto& line : kLines)
    EXPECT_EQ(play(line.text).outcome, std::string("cannot read ") + line.what);
}

TEST(Windows, AGlobalWindowEndsWithTheInputWhereItsTriggerSaysSo) {
  for (const char* trigger : {"et", "eos", "purge(et)", "purge(eos)"})
    EXPECT_EQ(play(std::string("global trig=") + trigger + " | a@3; a@1=4; w 9; w MAX | ").outcome,
              "w 9; aG=5; w MAX")
        << trigger;
  EXPECT_EQ(play("global | a@3; w MAX | ").left_out, "global window without an end");
  EXPECT_EQ(play("global trig=count(2) | a@3; w MAX | ").left_out,
            "count trigger in the place of the end");
}

TEST(Windows, TextsAreComparedInOneForm) {
  EXPECT_EQ(normal_form("b[0,MAX)=1; a[MIN,5)=2; w MAX; drop 0", true),
            normal_form("a[-9223372036854775808,5)=2; b[0,9223372036854775807)=1; "
                        "w 9223372036854775807; drop 0",
                        true));
  EXPECT_NE(normal_form("a[0,5)=1; w 5", true), normal_form("w 5; a[0,5)=1", true));
  EXPECT_NE(normal_form("5; IDLE", false), normal_form("IDLE; 5", false));
}

}  // namespace
}  // namespace tidewire::conformance
