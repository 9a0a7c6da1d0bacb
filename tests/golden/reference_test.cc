// The windows of a real Apache Flink job, row by row: samples/reference. Its outputs were made by
// Flink 2.3.0 and by refwin.py beside them (README there), from TSVs of time, key, value in arrival
// order: one lane, one partition. Run with 1, 2 and 3 workers; the lane is worker 0's, so with
// more, rows cross. With lateness the file holds each session once, as it was when dropped: what
// stands after each update has replaced the results that it holds, or after the retractions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/int128.h"
#include "pipeline/pipeline.h"

namespace tidewire {
namespace {

// Eight decimals, as machine_temp's values have; text with float noise beyond is rounded.
constexpr int64_t kScale = 100'000'000;

struct Row {
  std::string key;
  int64_t start, end, count, sum, min, max;
  auto tied() const { return std::tie(end, key, start, count, min, max); }
  bool operator<(const Row& o) const { return tied() < o.tied(); }
};

int64_t scaled(const std::string& text) {
  return static_cast<int64_t>(std::llround(std::stold(text) * static_cast<long double>(kScale)));
}

struct Event {
  int64_t time;
  std::string key;
  int64_t value;
};

std::vector<std::vector<std::string>> read_tsv(const std::string& name) {
  std::ifstream file(std::string(TIDEWIRE_SAMPLES) + "/reference/" + name);
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    lines.emplace_back();
    for (std::string field; std::getline(fields, field, '\t');) lines.back().push_back(field);
  }
  return lines;
}

struct Case {
  const char* input;
  const char* output;
  WindowShape window;
  int64_t bound;
  uint64_t late;  // from samples/reference/README.md
};

Plan plan_for(const Case& c, uint32_t keys) {
  Plan plan;
  plan.name = "reference";
  plan.lanes = {LaneId{0}};
  plan.key = {KeyWord{}};
  plan.key_words = 1;
  plan.values = {1};
  plan.cell = CellKind::kStats;
  plan.window = c.window;
  plan.placement = Placement::kExchange;
  plan.shards = 4;
  plan.max_keys = std::max<uint32_t>(keys, 64) * 4;
  plan.max_panes = 64;
  plan.batch_panes = kBatchMax;
  plan.max_sessions = 4096;
  plan.max_deferred = 4096;
  plan.max_changes = 4096;
  return plan;
}

class Reference : public ::testing::TestWithParam<std::tuple<Case, uint32_t>> {};

TEST_P(Reference, EqualsFlink) {
  const Case& c = std::get<0>(GetParam());
  const uint32_t workers = std::get<1>(GetParam());
  const auto input = read_tsv(c.input);
  if (input.empty()) GTEST_SKIP() << "samples/reference is not beside the project";
  std::map<std::string, int64_t> id;
  std::vector<std::string> name;
  std::vector<Event> events;
  for (const auto& fields : input) {
    events.push_back({std::stoll(fields[0]), fields[1], scaled(fields[2])});
    if (id.emplace(fields[1], static_cast<int64_t>(name.size())).second) name.push_back(fields[1]);
  }

  PipelineOptions options;
  options.workers = workers;
  options.plans = {plan_for(c, static_cast<uint32_t>(name.size()))};
  options.lanes = {{LaneId{0}, 0, {.bound = {c.bound}, .max_partitions = 1}}};
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  Arena* const arenas[] = {&arena, &arena, &arena};
  ExchangeFabric fabric(options.plans, std::span(arenas).first(workers));
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  std::vector<std::unique_ptr<ResultRing>> rings;
  std::vector<std::unique_ptr<ResultWriter>> writers;
  for (uint32_t w = 0; w < workers; ++w) {
    options.worker = w;
    pipelines.push_back(std::make_unique<Pipeline>(options, fabric, arena));
    rings.push_back(std::make_unique<ResultRing>());
    rings.back()->blocks.adopt(arena.take<ResultBlock>(64, "results"));
    writers.push_back(std::make_unique<ResultWriter>(*rings.back()));
  }

  std::vector<Row> got;
  // Of each key what stands; of one worker, in the order of its timeline.
  std::map<std::string, std::vector<Row>> standing;
  uint64_t updates = 0, retractions = 0;
  const auto take = [&](const Row& row, FireKind fire) {
    std::vector<Row>& of_key = standing[row.key];
    updates += fire == FireKind::kUpdate;
    if (fire == FireKind::kRetraction) {
      ++retractions;
      const auto old = std::find_if(of_key.begin(), of_key.end(), [&](const Row& o) {
        return o.tied() == row.tied() && o.sum == row.sum;
      });
      ASSERT_NE(old, of_key.end()) << "taken back, but it does not stand";
      of_key.erase(old);
      return;
    }
    // An update, or the result of a session that a late row has opened again.
    if (c.window.lateness.ns > 0 && c.window.accumulation == Accumulation::kAccumulating)
      std::erase_if(of_key, [&](const Row& o) { return o.start >= row.start && o.end <= row.end; });
    of_key.push_back(row);
  };
  const auto collect = [&](ResultRing& ring) {
    for (; ResultBlock* block = ring.blocks.front(); ring.blocks.pop())
      for (uint32_t at = 0; at < block->used;) {
        tidewire::Run run;
        std::memcpy(&run, block->bytes.data() + at, sizeof run);
        at += sizeof run;
        EXPECT_EQ(run.flags, 0);
        for (uint32_t r = 0; r < run.rows; ++r, at += block->row_words * 8) {
          std::vector<int64_t> w(block->row_words);
          std::memcpy(w.data(), block->bytes.data() + at, w.size() * 8);
          const int64_t start = run.kind == RunKind::kPlaced ? w[0] : run.start.ns;
          const int64_t end = run.kind == RunKind::kPlaced ? w[1] : run.end.ns;
          const int64_t* row =
              w.data() + (run.kind == RunKind::kPlaced ? 2 : 0);  // hash, key, cell
          take({name[static_cast<size_t>(row[1])], start, end, row[2], row[3], row[4], row[5]},
               run.fire);
        }
      }
  };
  auto batch = std::make_unique<EventBatch>();
  const auto turn = [&](const Turn& in) {
    while (!pipelines[0]->has_room() || !pipelines[0]->keeps_up())
      for (uint32_t w = 0; w < workers; ++w) {
        pipelines[w]->turn({}, *writers[w]);
        collect(*rings[w]);
      }
    pipelines[0]->turn(in, *writers[0]);
    for (uint32_t w = 0; w < workers; ++w) {
      if (w > 0) pipelines[w]->turn({}, *writers[w]);
      collect(*rings[w]);
    }
  };
  for (size_t at = 0; at < events.size(); at += batch->count) {
    batch->lane = LaneId{0};
    batch->count = static_cast<uint32_t>(std::min<size_t>(kBatchMax, events.size() - at));
    batch->first = Position{at};
    batch->ordinal = Ordinal{at};
    for (uint32_t i = 0; i < batch->count; ++i) {
      const Event& e = events[at + i];
      batch->time[i] = batch->arrival[i] = {e.time};
      batch->partition[i] = PartitionId{0};
      batch->column[0][i] = id[e.key];
      batch->column[1][i] = e.value;
    }
    turn({batch.get(), {}});
  }
  const Punctuation end{LaneId{0}, Position{events.size()}, EventTime::end_of_time(),
                        Punctuation::Why::kEnded};
  turn({nullptr, std::span(&end, 1)});
  const auto finished = [&] {
    for (const auto& p : pipelines)
      if (p->fired() != EventTime::end_of_time()) return false;
    return true;
  };
  for (int i = 0; i < 1'000'000 && !finished(); ++i) turn({});
  ASSERT_TRUE(finished());
  for (const auto& [key, rows] : standing) got.insert(got.end(), rows.begin(), rows.end());
  if (c.window.lateness.ns > 0) {
    EXPECT_GT(updates, 0u);
    EXPECT_EQ(retractions > 0, c.window.accumulation == Accumulation::kRetracting);
  } else {
    EXPECT_EQ(updates + retractions, 0u);
  }

  std::vector<Row> want;
  for (const auto& f : read_tsv(c.output))
    want.push_back({f[0], std::stoll(f[1]), std::stoll(f[2]), std::stoll(f[3]), scaled(f[4]),
                    scaled(f[5]), scaled(f[6])});
  ASSERT_FALSE(want.empty());
  std::sort(want.begin(), want.end());
  std::sort(got.begin(), got.end());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].tied(), want[i].tied()) << "row " << i;
    // Flink and refwin.py add floats; ours are exact. Each of their terms may be off by half a
    // unit.
    ASSERT_LE(std::abs(got[i].sum - want[i].sum), got[i].count) << "row " << i;
  }
  uint64_t late = 0;
  for (const auto& p : pipelines) {
    const QueryCounts counts = p->counts(QueryId{0});
    late += counts.store.late;
  }
  EXPECT_EQ(late, c.late);
}

constexpr WindowShape tumbling(int64_t seconds) {
  return {.kind = WindowKind::kTumbling, .size = {seconds * kSecond}, .slide = {seconds * kSecond}};
}
constexpr WindowShape sliding(int64_t size, int64_t slide) {
  return {.kind = WindowKind::kSliding, .size = {size * kSecond}, .slide = {slide * kSecond}};
}
constexpr WindowShape session(int64_t gap) {
  return {.kind = WindowKind::kSession, .gap = {gap * kSecond}};
}
// An update for each late row (Flink's), or gathered once a second.
constexpr WindowShape late_session(int64_t gap, int64_t lateness, int64_t gather,
                                   Accumulation accumulation) {
  WindowShape window = session(gap);
  window.lateness = {lateness * kSecond};
  window.gather = {gather * kSecond};
  window.accumulation = accumulation;
  return window;
}
constexpr const char* kLateSessions = "wireshark_disordered.session2_b3_l4.tsv";

INSTANTIATE_TEST_SUITE_P(
    Samples, Reference,
    ::testing::Combine(
        ::testing::Values(
            Case{"wireshark_samples.tsv", "wireshark_samples.tumbling60.tsv", tumbling(60), 0, 0},
            Case{"wireshark_samples.tsv", "wireshark_samples.sliding60_10.tsv", sliding(60, 10), 0,
                 0},
            Case{"wireshark_samples.tsv", "wireshark_samples.session5.tsv", session(5), 0, 0},
            Case{"machine_temp.tsv", "machine_temp.1h_ooo0.tsv", tumbling(3600), 0, 0},
            Case{"machine_temp.tsv", "machine_temp.5m_ooo0s.tsv", tumbling(300), 0, 11},
            Case{"machine_temp.tsv", "machine_temp.5m_ooo3300s.tsv", tumbling(300), 3300 * kSecond,
                 0},
            Case{"wireshark_disordered.tsv", "wireshark_disordered.tumbling10_b3.tsv", tumbling(10),
                 3 * kSecond, 659},
            Case{"wireshark_disordered.tsv", "wireshark_disordered.sliding10_3_b3.tsv",
                 sliding(10, 3), 3 * kSecond, 245},
            Case{"wireshark_disordered.tsv", "wireshark_disordered.session2_b3.tsv", session(2),
                 3 * kSecond, 813},
            Case{"wireshark_disordered.tsv", kLateSessions,
                 late_session(2, 4, 0, Accumulation::kAccumulating), 3 * kSecond, 243},
            Case{"wireshark_disordered.tsv", kLateSessions,
                 late_session(2, 4, 0, Accumulation::kRetracting), 3 * kSecond, 243},
            Case{"wireshark_disordered.tsv", kLateSessions,
                 late_session(2, 4, 1, Accumulation::kAccumulating), 3 * kSecond, 243},
            Case{"wireshark_disordered.tsv", kLateSessions,
                 late_session(2, 4, 1, Accumulation::kRetracting), 3 * kSecond, 243}),
        ::testing::Values(1u, 2u, 3u)),
    [](const auto& tested) {
      std::string text = std::get<0>(tested.param).output;
      std::replace_if(
          text.begin(), text.end(), [](char x) { return !isalnum(static_cast<unsigned char>(x)); },
          '_');
      const WindowShape& window = std::get<0>(tested.param).window;
      if (window.gather.ns > 0) text += "_gathered";
      if (window.accumulation == Accumulation::kRetracting) text += "_retracting";
      return text + "_workers" + std::to_string(std::get<1>(tested.param));
    });

}  // namespace
}  // namespace tidewire
