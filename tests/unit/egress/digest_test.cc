#include "egress/digest.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "fixture.h"

namespace tidewire {
namespace {

struct Sample {
  Plan plan = stats_plan(0, "q", 2);
  std::vector<int64_t> key{1, 2}, cell{3, 4, 5, 6};
  std::vector<Value> values;
  Result row;
  Sample() {
    row.start = EventTime{100};
    row.end = EventTime{200};
    row.place = EventTime{200};
  }
  uint64_t digest(std::string_view name = "q", int rows = 1) {
    row.plan = &plan;
    row.key = key.data();
    row.cell = cell.data();
    values = lowered(plan, cell.data());
    row.values = values.data();
    Digest digest(name);
    for (int i = 0; i < rows; ++i) digest.add(row);
    return digest.finish();
  }
};

TEST(Digest, EveryFieldShows) {
  const uint64_t base = Sample().digest();
  std::set<uint64_t> seen{base, Sample().digest("r"), Sample().digest("q", 2),
                          Sample().digest("q", 0)};
  const std::vector<std::function<void(Sample&)>> changes = {
      [](Sample& s) { s.row.start.ns ^= 1; },
      [](Sample& s) { s.row.end.ns ^= 1; },
      [](Sample& s) { s.row.flags |= kFlagPartial; },
      [](Sample& s) { s.row.flags |= kFlagEmpty; },
      [](Sample& s) { s.row.fire = FireKind::kEarly; },
      [](Sample& s) { s.row.fire = FireKind::kUpdate; },
      [](Sample& s) { s.row.fire = FireKind::kRetraction; },
      [](Sample& s) { s.row.index = 1; },
      [](Sample& s) { s.row.index = UINT32_MAX; },
      [](Sample& s) { s.key[0] ^= int64_t{1} << 63; },
      [](Sample& s) { s.key[1] += 1; },
      [](Sample& s) { std::swap(s.key[0], s.key[1]); },
      [](Sample& s) { s.cell[0] += 1; },
      [](Sample& s) { s.cell[1] = -s.cell[1]; },
      [](Sample& s) { s.cell[2] += 1; },
      [](Sample& s) { s.cell[3] += 1; },
      [](Sample& s) { s.plan.outputs.pop_back(); },
  };
  for (const auto& change : changes) {
    Sample sample;
    change(sample);
    seen.insert(sample.digest());
  }
  EXPECT_EQ(seen.size(), 4 + changes.size());
  EXPECT_EQ(Sample().digest(), base);
  EXPECT_EQ(Sample().digest("q", 0), 0u);
}

// What is timing, or is said elsewhere, does not show.
TEST(Digest, PlacePositionSequenceAndHashDoNotShow) {
  Sample sample;
  sample.row.sequence = 9;
  sample.row.position = 5;
  sample.row.hash = 77;
  EXPECT_EQ(sample.digest(), Sample().digest());
}

TEST(Digest, OrderShows) {
  Sample a, b;
  b.cell[1] = 99;
  const auto both = [](Sample& first, Sample& second) {
    Digest digest("q");
    for (Sample* sample : {&first, &second}) {
      sample->digest();
      digest.add(sample->row);
    }
    return digest.finish();
  };
  EXPECT_NE(both(a, b), both(b, a));
}

}  // namespace
}  // namespace tidewire
