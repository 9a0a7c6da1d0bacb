#include "config/document.h"

#include <gtest/gtest.h>

namespace tidewire {
namespace {

TEST(Document, KeepsTheOrderAndThePlacesOfTheFile) {
  const Document document = parse_document("[zebra]\nb = 1\n  a = \"x\"\n[apple]\n");
  ASSERT_FALSE(document.error);
  ASSERT_EQ(document.root.children.size(), 2u);
  const Node& zebra = document.root.children[0];
  EXPECT_EQ(zebra.key, "zebra");
  ASSERT_EQ(zebra.children.size(), 2u);
  EXPECT_EQ(zebra.children[0].key, "b");
  EXPECT_EQ(zebra.children[0].integer, 1);
  EXPECT_EQ(zebra.children[1].key_place, (Place{3, 3}));
  EXPECT_EQ(zebra.children[1].place, (Place{3, 7}));
  EXPECT_EQ(document.root.children[1].key, "apple");
}

TEST(Document, SaysWhereItIsNotToml) {
  const Document document = parse_document("a = 1\nb = = 2\n");
  ASSERT_TRUE(document.error);
  EXPECT_EQ(document.error->place.line, 2u);
  EXPECT_FALSE(document.error->text.empty());
  EXPECT_EQ(parse_document("a = 1\na = 2\n").error->place.line, 2u);  // strict: no key twice
}

// The parser takes an unquoted text for a float, a boolean or a date, and says only that.
TEST(Document, SaysThatTextsNeedQuotes) {
  const auto hint = [](std::string_view text) {
    const Document document = parse_document(text);
    return document.error && document.error->text.find("quotes") != std::string::npos;
  };
  for (const char* unquoted : {"a = file", "a = trace.pcapng", "a = ./x", "a = 10 s",
                               "a = 10.0.0.1", "a = [src]", "a = { b = tumbling }", "a = [1, src]"})
    EXPECT_TRUE(hint(unquoted)) << unquoted;
  for (const char* other : {"a = 1\na = 2", "a = \"x", "a : 1", "a = ", "= 1", "a = \"x\" b = 1",
                            "[a]\n[a]", "a = [1, 2"})
    EXPECT_FALSE(hint(other)) << other;
}

TEST(Document, NamesTypes) {
  const Document d = parse_document("a=[1]\nb=1.5\nc=true\nd=2024-01-01\ne={}\n");
  ASSERT_FALSE(d.error);
  using Type = Node::Type;
  const Type expected[] = {Type::kArray, Type::kFloat, Type::kBool, Type::kTime, Type::kTable};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(d.root.children[i].type, expected[i]) << i;
}

TEST(Document, PrintsProblems) {
  EXPECT_EQ(to_string(Problem{{3, 7}, "wrong"}, "a.conf"), "a.conf:3:7: wrong");
  EXPECT_EQ(to_string(Problem{{}, "cannot be read"}, "a.conf"), "a.conf: cannot be read");
}

// The place of character `offset` of the value of `a`, whose quote stands at `start`.
Place inside(std::string_view source, Place start, size_t offset) {
  return place_inside(source, start, offset);
}

TEST(Document, FindsPlacesInsideTexts) {
  EXPECT_EQ(inside("a = \"hello\"", {1, 5}, 0), (Place{1, 6}));
  EXPECT_EQ(inside("a = \"hello\"", {1, 5}, 4), (Place{1, 10}));
  EXPECT_EQ(inside("\na = 'hello'", {2, 5}, 2), (Place{2, 8}));
  EXPECT_EQ(inside(R"(a = "\"x\" y")", {1, 5}, 3), (Place{1, 11}));  // " x " then the space
  EXPECT_EQ(inside(R"(a = '\x')", {1, 5}, 1), (Place{1, 7}));        // literal: no escapes
  EXPECT_EQ(inside("a = \"\"\"\nfoo\nbar\"\"\"", {1, 5}, 0), (Place{2, 1}));
  EXPECT_EQ(inside("a = \"\"\"\nfoo\nbar\"\"\"", {1, 5}, 5), (Place{3, 2}));
  EXPECT_EQ(inside("a = '''foo'''", {1, 5}, 1), (Place{1, 9}));
  EXPECT_EQ(inside("a = \"\xC3\xA9x\"", {1, 5}, 2), (Place{1, 7}));  // e acute is one column
  EXPECT_EQ(inside("a = \"x\"", {1, 5}, 99), (Place{1, 8}));         // the end of the text
  EXPECT_EQ(inside("a = 1", {7, 1}, 0), (Place{7, 1}));
}

}  // namespace
}  // namespace tidewire
