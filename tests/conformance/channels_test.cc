// All lines of channels in the scenario files, each on the real code; and what would be wrong
// answers, so that a driver that says nothing does not pass.
#include "channels.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "line.h"

namespace tidewire::conformance {
namespace {

std::optional<std::string> play(std::string_view name, size_t channels, std::string_view script) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < script.size();) {
    const size_t end = std::min(script.find(' ', at), script.size());
    tokens.emplace_back(script.substr(at, end - at));
    at = end + 1;
  }
  std::string reason;
  const auto outcome = play_channels(name, channels, tokens, reason);
  EXPECT_EQ(outcome.has_value(), reason.empty());
  return outcome;
}

TEST(Channels, TheLeastThatIsNotIdleDecides) {
  EXPECT_EQ(play("comb", 2, "0:5 1:2 0:idle 1:idle"), "2; 5; IDLE");
  EXPECT_EQ(play("split", 2, "0:5 1:2 0:idle 1:idle 0:active 0:6"), "2; 5; IDLE; ACTIVE; 6");
  EXPECT_EQ(play("split", 2, "0:5 1:2 1:idle 0:idle 0:active 0:5 0:6"), "2; 5; IDLE; ACTIVE; 6");
  // Back and behind: 0 holds at 5 until it is past it.
  for (const char* name : {"comb", "split"})
    EXPECT_EQ(play(name, 2, "0:2 1:5 0:idle 0:active 0:3 1:20 0:19"), "2; 5; 19") << name;
}

TEST(Channels, AValveDoesNotHearAnIdleChannel) {
  EXPECT_EQ(play("valve", 1, "0:25 0:idle 0:50 0:active 0:50"), "25; IDLE; ACTIVE; 50");
  EXPECT_EQ(play("comb", 1, "0:25 0:idle 0:50"), "25; IDLE; 50");
}

TEST(Channels, ValveLinesThatNeedTheOtherRuleAreLeftOut) {
  EXPECT_EQ(play("valve", 2, "0:2 1:5 0:idle 0:active 0:3 1:20 0:19"), std::nullopt);  // C04
  EXPECT_EQ(play("valve-fixed", 3, "0:10 1:7 2:idle 2:active 0:idle 1:idle 0:active"),
            std::nullopt);  // V14
  EXPECT_EQ(play("valve", 2, "0:2 1:5 0:idle 0:active 0:6 1:20 0:19"), "2; 5; 6; 19");
}

TEST(Channels, TheEndOfAllIsMax) {
  EXPECT_EQ(play("comb", 2, "0:7 0:MAX 1:9 1:MAX"), "9; MAX");
  EXPECT_EQ(play("split", 2, "0:7 1:3 0:MAX 1:idle"), "3; MAX");
}

TEST(Channels, EveryLineOfTheFiles) {
  const std::string folder = std::string(TIDEWIRE_ROOT) + "/../shared/conformance/";
  std::map<std::string, int> played, left_out;
  for (const char* file : {"scenarios.txt", "generated.txt"}) {
    std::ifstream in(folder + file);
    if (!in) GTEST_SKIP() << "../shared/conformance is not there";
    for (std::string text, error; std::getline(in, text);) {
      const auto line = parse_line(text, error);
      if (!line || !is_channels(line->name)) continue;
      std::string reason;
      const auto outcome =
          play_channels(line->name, static_cast<size_t>(line->number(0)), line->script, reason);
      if (outcome) {
        EXPECT_EQ(*outcome, line->expected) << line->id;
      }
      ++(outcome ? played : left_out)[line->name];
    }
  }
  for (const auto& [name, lines] : left_out)
    std::printf("%s: %d played, %d left out\n", name.c_str(), played[name], lines);
  EXPECT_GT(played["comb"], 0);
  EXPECT_GT(played["split"], 0);
  EXPECT_GT(played["valve"], 0);
  EXPECT_EQ(left_out["comb"] + left_out["split"], 0);
}

}  // namespace
}  // namespace tidewire::conformance
