#include "app/explain.h"

#include <gtest/gtest.h>

namespace tidewire {
namespace {

Plan plan_with(uint32_t lanes, Placement placement) {
  Plan plan;
  for (uint32_t l = 0; l < lanes; ++l) plan.lanes.push_back(LaneId{static_cast<uint16_t>(l)});
  plan.placement = placement;
  plan.key_words = 2;
  plan.values = {0};
  return plan;
}

TEST(Explain, SaysWhetherRowsCrossAndWhy) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(describe_placement(plan_with(1, Placement::kLocal), 4), "one lane feeds it"));
  EXPECT_TRUE(has(describe_placement(plan_with(3, Placement::kLocal), 4), "as the config says"));
  EXPECT_TRUE(has(describe_placement(plan_with(3, Placement::kExchange), 1), "no row crosses"));
  const std::string crosses = describe_placement(plan_with(3, Placement::kExchange), 4);
  EXPECT_TRUE(has(crosses, "any of 3 lanes may bring a key")) << crosses;
  EXPECT_TRUE(has(crosses, "3 of 4 rows cross")) << crosses;
  // Hash, a value and two key words; whole rows have time, stamp and a byte of position as well.
  EXPECT_TRUE(has(crosses, "32 bytes each; 49 bytes where")) << crosses;
  EXPECT_TRUE(has(crosses, "placement = \"local\"")) << crosses;
}

TEST(Explain, SessionsAndFirstAndLastCrossWhole) {
  Plan session = plan_with(3, Placement::kExchange), first = session;
  session.window.kind = WindowKind::kSession;
  first.parts = {{.op = CellOp::kFirst, .value = 0, .word = 1}};
  for (const Plan& plan : {session, first}) {
    const std::string text = describe_placement(plan, 2);
    EXPECT_NE(text.find("cross, 49 bytes each.\n"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tidewire
