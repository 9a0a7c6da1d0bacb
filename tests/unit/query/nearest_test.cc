#include "query/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace tidewire {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"src", "dst", "src_port", "wire_length",
                                                    "protocol"};

TEST(Nearest, FindsATypingError) {
  EXPECT_EQ(nearest_name("src_prot", kNames), "src_port");  // two neighbours swapped
  EXPECT_EQ(nearest_name("wirelength", kNames), "wire_length");
  EXPECT_EQ(nearest_name("Protocol", kNames), "protocol");
  EXPECT_EQ(nearest_name("scr", kNames), "src");
  EXPECT_EQ(nearest_name("src", kNames), "src");
}

TEST(Nearest, SaysNothingOfFarNames) {
  EXPECT_EQ(nearest_name("temperature", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("mean", std::array<std::string_view, 1>{"min"}), "");  // two of four
  EXPECT_EQ(nearest_name(std::string(1000, 'x'), kNames), "");
  EXPECT_EQ(nearest_name("x", std::array<std::string_view, 1>{"y"}), "");  // nothing in common
}

TEST(Nearest, WordsTheSuggestion) {
  EXPECT_EQ(suggestion("dts", kNames), "; did you mean 'dst'?");
  EXPECT_EQ(suggestion("temperature", kNames),
            "; valid are: src, dst, src_port, wire_length, protocol");
  EXPECT_EQ(suggestion("x", {}), "");
}

}  // namespace
}  // namespace tidewire
