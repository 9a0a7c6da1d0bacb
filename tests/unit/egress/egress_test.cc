#include "egress/egress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <tuple>

#include "fixture.h"
#include "memory/seal.h"

namespace tidewire {
namespace {

struct Appliance {
  std::vector<Plan> plans{stats_plan(0, "one", 1), stats_plan(1, "two", 2)};
  std::vector<std::unique_ptr<TestRing>> rings;
  KeepingSink json;
  std::unique_ptr<Egress> egress;

  Appliance(size_t workers, size_t blocks, uint32_t rows_per_step = 4096) {
    std::vector<ResultRing*> list;
    for (size_t i = 0; i < workers; ++i) {
      rings.push_back(std::make_unique<TestRing>(blocks));
      list.push_back(&rings.back()->ring);
    }
    EgressOptions options;
    options.system_name = "edge1";
    options.rows_per_step = rows_per_step;
    options.buffer_bytes = 4096;
    egress = std::make_unique<Egress>(
        options, std::vector<const Plan*>{&plans[0], &plans[1]}, list,
        std::vector<SinkBinding>{{&json, Encoding::kJsonLines, {QueryId{0}, QueryId{1}}, false}});
  }
};

struct Row {
  uint16_t query;
  int64_t end;
  std::vector<int64_t> key, cell;
  uint64_t hash;
  bool operator<(const Row& o) const {
    return std::tie(end, query, hash, key) < std::tie(o.end, o.query, o.hash, o.key);
  }
};

// The same rows through one ring and through 1 to 4, with pauses, small rings and small steps.
TEST(Egress, RecordsAndDigestDoNotDependOnWorkersOrPauses) {
  const uint64_t seed = test_seed(11);
  for (uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Rng rng(seed + round);
    const Appliance shape(1, 2);
    std::vector<Row> rows;
    for (int64_t end = 100; end <= 600; end += 100)
      for (uint16_t query = 0; query < 2; ++query)
        for (uint64_t k = rng.below(60); k > 0; --k) {
          Row row{query, end, {}, {}, 0};
          row.key.assign(shape.plans[query].key_words, static_cast<int64_t>(k * 977));
          const auto v = static_cast<int64_t>(rng.below(1000));
          row.cell = {2, 2 * v, v, v};
          row.hash = hash_of(shape.plans[query], row.key.data());
          rows.push_back(row);
        }
    std::sort(rows.begin(), rows.end());

    const auto run = [&](size_t workers, size_t blocks, uint32_t rows_per_step) {
      auto appliance = std::make_unique<Appliance>(workers, blocks, rows_per_step);
      appliance->egress->partial_after(EventTime{500});
      std::vector<size_t> at(workers, 0);
      while (appliance->egress->emitted() < EventTime::end_of_time()) {
        const size_t w = rng.below(workers);
        TestRing& ring = *appliance->rings[w];
        uint64_t portion = rng.below(40);
        const auto mine = [&](const Row& row) { return row.hash % workers == w; };
        for (; at[w] < rows.size() && portion > 0 && ring.writer->room_for(1); ++at[w]) {
          const Row& row = rows[at[w]];
          if (!mine(row)) continue;
          ring.point_row(appliance->plans[row.query], row.end, row.end - 100, row.end, 0, row.key,
                         row.cell);
          --portion;
        }
        while (at[w] < rows.size() && !mine(rows[at[w]])) ++at[w];
        ring.publish(at[w] < rows.size() ? rows[at[w]].end - 1 : INT64_MAX);
        if (!rng.one_in(3)) appliance->egress->step();
      }
      appliance->egress->flush();
      return appliance;
    };
    const auto one = run(1, 64, 4096);
    const auto many =
        run(1 + rng.below(4), size_t{2} << rng.below(3), static_cast<uint32_t>(1 + rng.below(20)));
    ASSERT_EQ(one->json.records.size(), rows.size());
    ASSERT_EQ(one->json.records, many->json.records);
    EXPECT_FALSE(one->json.ragged || many->json.ragged);
    const EgressCounts a = one->egress->counts(), b = many->egress->counts();
    EXPECT_EQ(a.digest, b.digest);
    EXPECT_NE(a.digest, 0u);
    EXPECT_EQ(a.results, rows.size());
    EXPECT_EQ(a.windows, b.windows);
    EXPECT_EQ(a.partial, static_cast<uint64_t>(std::count_if(
                             rows.begin(), rows.end(), [](const Row& r) { return r.end > 500; })));
    EXPECT_EQ(a.partial, b.partial);
  }
}

TEST(Egress, FlaggedWindowsStandOutsideTheDigest) {
  const auto digest_with = [](uint16_t flags, int64_t sum) {
    Appliance a(1, 4);
    a.rings[0]->point_row(a.plans[0], 10, 0, 10, 0, {1}, {1, 1, 1, 1});
    a.rings[0]->point_row(a.plans[0], 20, 10, 20, flags, {1}, {1, sum, 1, 1});
    a.rings[0]->publish(20);
    a.egress->step();
    EXPECT_EQ(a.egress->counts().flagged, flags != 0 ? 1u : 0u);
    return a.egress->counts().digest;
  };
  EXPECT_EQ(digest_with(kFlagOverflow, 5), digest_with(kFlagOverflow, 6));
  EXPECT_NE(digest_with(0, 5), digest_with(0, 6));
  EXPECT_NE(digest_with(0, 5), digest_with(kFlagOverflow, 5));
}

TEST(Egress, ProvisionalResultsAreMarkedUnnumberedAndOutsideTheDigest) {
  const auto run = [](bool provisional) {
    Appliance a(1, 4);
    TestRing& ring = *a.rings[0];
    ring.point_row(a.plans[0], 10, 0, 10, 0, {1}, {1, 1, 1, 1});
    if (provisional) {
      ring.writer->begin(a.plans[0].id,
                         {.place = EventTime{10},
                          .start = EventTime{10},
                          .end = EventTime{20},
                          .kind = RunKind::kProvisional,
                          .fire = FireKind::kProvisional},
                         1 + a.plans[0].key_words + a.plans[0].cell_words);
      TestRing::fill(a.plans[0], ring.writer->row(), 0, {1}, {2, 7, 3, 4});
    }
    ring.point_row(a.plans[0], 20, 10, 20, 0, {1}, {3, 9, 2, 4});
    ring.publish(20);
    while (a.egress->step() > 0) {
    }
    a.egress->flush();
    return std::tuple(a.json.records, a.egress->counts());
  };
  const auto [without, counts] = run(false);
  const auto [with, counts_with] = run(true);
  ASSERT_EQ(without.size(), 2u);
  ASSERT_EQ(with.size(), 3u);
  EXPECT_EQ(counts_with.digest, counts.digest);
  EXPECT_EQ(counts_with.results, 2u);
  EXPECT_EQ(counts_with.provisional, 1u);
  std::vector<std::string> numbered;
  for (const std::string& record : with) {
    if (record.find("\"provisional\"") == std::string::npos)
      numbered.push_back(record);
    else
      EXPECT_NE(record.find("\"sequence\":null"), std::string::npos) << record;
  }
  EXPECT_EQ(numbered, without);
}

TEST(Egress, PartialIsMarkedAndInsideTheDigest) {
  const auto run = [](int64_t rest) {
    Appliance a(1, 4);
    a.egress->partial_after(EventTime{rest});
    a.rings[0]->point_row(a.plans[0], 10, 0, 10, 0, {1}, {1, 1, 1, 1});
    a.rings[0]->point_row(a.plans[0], 20, 10, 20, 0, {1}, {1, 1, 1, 1});
    a.rings[0]->publish(20);
    a.egress->step();
    a.egress->flush();
    return std::pair(a.egress->counts().digest, a.json.records);
  };
  const auto [digest, records] = run(10);
  EXPECT_NE(records[0].find("on_time"), std::string::npos);
  EXPECT_NE(records[1].find("partial"), std::string::npos);
  EXPECT_NE(digest, run(20).first);
}

TEST(Egress, SendsAfterAStepAndFlushesOnceWhenIdle) {
  Appliance a(1, 4);
  a.rings[0]->point_row(a.plans[0], 10, 0, 10, 0, {1}, {1, 1, 1, 1});
  a.rings[0]->publish(10);
  EXPECT_EQ(a.egress->step(), 1u);
  EXPECT_EQ(a.json.sends, 1u);
  EXPECT_EQ(a.json.flushes, 0u);
  EXPECT_EQ(a.egress->step(), 0u);
  EXPECT_EQ(a.json.sends, 1u);
  EXPECT_EQ(a.json.flushes, 1u);
  EXPECT_EQ(a.egress->step(), 0u);
  EXPECT_EQ(a.json.sends, 1u);
  EXPECT_EQ(a.json.flushes, 1u);
}

// A buffer that is nearly full goes out in the middle of a step.
TEST(Egress, AFullBufferIsSent) {
  Appliance a(1, 64);
  for (int64_t k = 0; k < 500; ++k)
    a.rings[0]->point_row(a.plans[0], 10 + k, k, 10 + k, 0, {k}, {1, k, k, k});
  a.rings[0]->publish(1000);
  EXPECT_EQ(a.egress->step(), 500u);
  EXPECT_GT(a.json.sends, 10u);  // about 250 bytes a record, 4 KiB a buffer
  a.egress->flush();
  ASSERT_EQ(a.json.records.size(), 500u);
  for (size_t i = 0; i < 500; ++i)
    EXPECT_NE(a.json.records[i].find("\"sequence\":" + std::to_string(i + 1) + ","),
              std::string::npos);
}

TEST(Egress, SinksGetTheirQueriesInTheirEncoding) {
  Plan one = stats_plan(0, "one", 1), two = stats_plan(1, "two", 1);
  TestRing ring(8);
  KeepingSink json, csv, again, table;
  EgressOptions options;
  options.system_name = "edge1";
  Egress egress(options, {&one, &two}, {&ring.ring},
                {{&json, Encoding::kJsonLines, {QueryId{0}}, false},
                 {&csv, Encoding::kCsv, {QueryId{0}, QueryId{1}}, false},
                 {&again, Encoding::kCsv, {QueryId{1}}, false},
                 {&table, Encoding::kTable, {QueryId{1}}, true}});
  ring.point_row(one, 10, 0, 10, 0, {1}, {1, 1, 1, 1});
  ring.point_row(two, 10, 0, 10, 0, {2}, {1, 1, 1, 1});
  ring.point_row(two, 10, 0, 10, 0, {3}, {1, 1, 1, 1});
  ring.publish(10);
  egress.step();
  egress.flush();
  EXPECT_EQ(json.records.size(), 1u);
  EXPECT_EQ(csv.records.size(), 3u);
  EXPECT_EQ(again.records.size(), 2u);
  EXPECT_EQ(again.records[0], csv.records[1]);  // the header of "two" and its first row
  EXPECT_EQ(again.records[1], csv.records[2]);
  EXPECT_EQ(table.records.size(), 2u);
  EXPECT_NE(table.records[0].find('\x1b'), std::string::npos);
}

// Real threads, so that a thread checker sees the rings and the fired places.
TEST(Egress, WorkersOnTheirOwnThreads) {
  constexpr int64_t kRows = 3000;
  const auto write = [](const Plan& plan, TestRing& ring, int64_t first, int64_t step) {
    for (int64_t k = first; k < kRows; k += step) {
      while (!ring.writer->room_for(1)) std::this_thread::yield();
      ring.point_row(plan, 10 + k / 10, 0, 10 + k / 10, 0, {k}, {1, k, k, k});
      if (k % 7 == 0) ring.publish(10 + k / 10 - 1);
      if (!ring.writer->room_for(1)) ring.writer->close();
    }
    ring.publish(INT64_MAX);
  };
  // Ten rows a window, in the order of their hash.
  Plan plan = stats_plan(0, "one", 1);
  plan.seed.multiplier = 1;  // hash = key
  const auto run = [&](int64_t workers) {
    std::vector<std::unique_ptr<TestRing>> rings;
    std::vector<ResultRing*> list;
    for (int64_t w = 0; w < workers; ++w) {
      rings.push_back(std::make_unique<TestRing>(2));
      list.push_back(&rings.back()->ring);
    }
    KeepingSink sink;
    Egress egress({"edge1", 100, 4096}, {&plan}, list,
                  {{&sink, Encoding::kCsv, {QueryId{0}}, false}});
    std::vector<std::thread> threads;
    for (int64_t w = 0; w < workers; ++w)
      threads.emplace_back([&, w] { write(plan, *rings[static_cast<size_t>(w)], w, workers); });
    while (egress.emitted() < EventTime::end_of_time())
      if (egress.step() == 0) std::this_thread::yield();
    for (std::thread& thread : threads) thread.join();
    egress.flush();
    EXPECT_EQ(sink.records.size(), static_cast<size_t>(kRows));
    return std::pair(egress.counts().digest, sink.records);
  };
  EXPECT_EQ(run(1), run(3));
}

class CountingSink : public Sink {
 public:
  void send(const Records& sent) override { records += sent.ends.size(); }
  void flush() override {}
  void sample(SinkCounters& out) const override { out.records = records; }
  uint64_t records = 0;
};

TEST(Egress, AllocatesNothingAfterConstruction) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "allocations are counted in debug builds only";
  const Plan one = stats_plan(0, "one", 1), two = stats_plan(1, "two", 2);
  TestRing a(32), b(32);
  CountingSink sinks[4];
  EgressOptions options;
  options.system_name = "edge1";
  options.buffer_bytes = 16 * 1024;
  const std::vector<QueryId> both{QueryId{0}, QueryId{1}};
  Egress egress(options, {&one, &two}, {&a.ring, &b.ring},
                {{&sinks[0], Encoding::kJsonLines, both, false},
                 {&sinks[1], Encoding::kCsv, both, false},
                 {&sinks[2], Encoding::kTable, both, true},
                 {&sinks[3], Encoding::kBinary, both, false}});
  for (int64_t k = 0; k < 2000; ++k) {
    a.point_row(k < 1000 ? one : two, 10 + k, k, 10 + k, 0, {k, k}, {1, k, k, k});
    b.point_row(k < 1000 ? one : two, 10 + k, k, 10 + k, kFlagOverflow | kFlagOverflowRow, {},
                {1, k, k, k});
  }
  a.publish(INT64_MAX);
  b.publish(INT64_MAX);
  const AllocGuard guard;
  while (egress.emitted() < EventTime::end_of_time()) egress.step();
  egress.flush();
  EXPECT_EQ(guard.count(), 0u);
  for (const CountingSink& sink : sinks) EXPECT_EQ(sink.records, 4000u);
}

}  // namespace
}  // namespace tidewire
