#include "app/cli.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace tidewire {
namespace {

ParsedLine parse(std::initializer_list<const char*> words) {
  const std::vector<const char*> list(words);
  return parse_command_line(list);
}

TEST(CommandLine, TakesFlagsInBothForms) {
  const ParsedLine parsed =
      parse({"run", "a.conf", "--workers", "3", "--burst=7", "--output", "csv", "--no-progress"});
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.line.command, Command::kRun);
  EXPECT_EQ(parsed.line.config, "a.conf");
  EXPECT_EQ(parsed.line.workers, 3u);
  EXPECT_EQ(parsed.line.burst, 7u);
  EXPECT_EQ(parsed.line.output, Encoding::kCsv);
  EXPECT_FALSE(parsed.line.progress);
}

TEST(CommandLine, SpeedIsAFactorOrMax) {
  EXPECT_EQ(parse({"replay", "--speed", "2.5x"}).line.pace_percent, 250u);
  EXPECT_EQ(parse({"replay", "--speed", "0.5"}).line.pace_percent, 50u);
  EXPECT_EQ(parse({"replay", "--speed", "max"}).line.pace_percent, 0u);
  EXPECT_EQ(parse({"replay"}).line.pace_percent, 100u);
  for (const char* bad : {"0", "-1", "x", "nan", "1e9", ""})
    EXPECT_NE(parse({"replay", "--speed", bad}).error, "") << bad;
}

TEST(CommandLine, ErrorsNameTheWordAndWhatIsNear) {
  EXPECT_NE(parse({"explian"}).error.find("'explain'"), std::string::npos);
  EXPECT_NE(parse({"run", "--wokers=2"}).error.find("'--workers'"), std::string::npos);
  EXPECT_NE(parse({"check", "a", "--speed", "1"}).error.find("replay"), std::string::npos);
  EXPECT_NE(parse({"run", "--burst", "257"}).error.find("256"), std::string::npos);
  EXPECT_NE(parse({"run", "--pcap", "f", "a.conf"}).error, "");
  EXPECT_NE(parse({"run", "--no-progress=1"}).error, "");
  EXPECT_NE(parse({}).error, "");
}

TEST(CommandLine, HelpOfACommandIsItsOwn) {
  EXPECT_TRUE(parse({"peek", "--help"}).line.help);
  EXPECT_EQ(parse({"help", "replay"}).line.command, Command::kReplay);
  EXPECT_TRUE(parse({"help", "replay"}).line.help);
  EXPECT_NE(help_text(Command::kReplay).find("--speed"), std::string_view::npos);
  EXPECT_TRUE(parse({"help", "fields"}).line.fields);
  for (const char* word :
       {"tcp_flags ?", "wire_length", "stock_locate", "10.0.0.0/8", "stddev_samp"})
    EXPECT_NE(help_fields().find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace tidewire
