#include "base/check.h"

#include <gtest/gtest.h>

namespace tidewire {
namespace {

TEST(Check, AbortsWithPlaceAndExpression) {
  EXPECT_DEATH(CHECK(1 + 1 == 3), "check_test.cc:.*CHECK\\(1 \\+ 1 == 3\\) failed");
}

TEST(Check, EvaluatesOnceWhenTrue) {
  int n = 0;
  CHECK(++n == 1);
  EXPECT_EQ(n, 1);
}

TEST(Check, DcheckEvaluatesNothingWithoutDebugChecks) {
  int n = 0;
  DCHECK(++n == 1);
#ifdef TIDEWIRE_DEBUG_CHECKS
  EXPECT_EQ(n, 1);
#else
  EXPECT_EQ(n, 0);
#endif
}

}  // namespace
}  // namespace tidewire
