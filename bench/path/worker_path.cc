#include "worker_path.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"
#include "config/config.h"
#include "drivers/catalog.h"
#include "format/catalog.h"
#include "runtime/clock.h"
#include "runtime/topology.h"

namespace tidewire::bench {
namespace {

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(2);
}

template <class T>
T value_of(absl::StatusOr<T> made) {
  if (!made.ok()) give_up(std::string(made.status().message()));
  return *std::move(made);
}

Layout layout_of(const std::string& text) {
  Loaded loaded = load_config(text, "bench");
  if (!loaded.ok()) give_up(to_string(loaded.problems.front(), "bench"));
  LayoutResult made = make_layout(std::move(loaded.config), value_of(read_topology()));
  if (!made.ok()) give_up(to_string(made.problems.front(), "bench"));
  return std::move(made.layout);
}

}  // namespace

WorkerPath::WorkerPath(const std::string& config, std::unique_ptr<Source> source) {
  const Layout layout = layout_of(config);
  const SourceConfig& from = layout.config.sources[0];
  WorkerParts parts;
  parts.arena = std::make_unique<Arena>(ArenaOptions{});
  Arena* const arena = parts.arena.get();
  ring_.blocks.adopt(arena->take<ResultBlock>(layout.config.runtime.result_blocks, "results"));
  parts.ring = &ring_;
  fabric_ = std::make_unique<ExchangeFabric>(layout.pipeline.plans, std::span(&arena, 1));
  parts.show_every.resize(layout.pipeline.plans.size());
  parts.pipeline = std::make_unique<Pipeline>(layout.pipeline, *fabric_, *arena);
  Feed feed;
  feed.lane = layout.lanes[0].id;
  feed.live = layout.sources[0].live;
  if (!source) {
    sources_ = value_of(OpenSources::open(layout.config.sources, layout.sources, {}));
    std::string said;
    source = value_of(sources_->open_lane(0, 0, *arena, said));
  }
  feed.source = std::move(source);
  ParserOptions parser;
  parser.lane = feed.lane;
  feed.parser = from.format->make_parser(parser, layout.compiled.columns[0]);
  parts.feeds.push_back(std::move(feed));
  worker_ = std::make_unique<Worker>(std::move(parts), system_clock());
}

uint32_t WorkerPath::turn() {
  const uint32_t done = worker_->turn();
  take_results();
  return done;
}

void WorkerPath::end() {
  worker_->set_phase(Worker::Phase::kEnd);
  while (!worker_->finished()) turn();
  worker_->publish_samples();
}

void WorkerPath::take_results() {
  for (; const ResultBlock* block = ring_.blocks.front(); ring_.blocks.pop()) {
    for (uint32_t at = 0; at < block->used;) {
      Run run;
      std::memcpy(&run, block->bytes.data() + at, sizeof run);
      at += sizeof run;
      results_ += run.rows;
      for (uint32_t r = 0; r < run.rows; ++r, at += block->row_words * 8) {
        uint64_t hash = static_cast<uint64_t>(run.start.ns) ^ run.index;
        const auto* row = reinterpret_cast<const uint64_t*>(block->bytes.data() + at);
        for (uint32_t w = 0; w < block->row_words; ++w) hash = mix_words(hash, row[w], HashSeed{});
        digest_ += hash;
      }
    }
  }
}

}  // namespace tidewire::bench
