#include "app/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>

#include "app/cli.h"
#include "app/lookups.h"
#include "app/summary.h"
#include "base/strings.h"
#include "format/catalog.h"
#include "memory/resident.h"
#include "runtime/appliance.h"
#include "runtime/copy_source.h"
#include "runtime/pace.h"

namespace tidewire {
namespace {

void say(const std::string& line) { std::fprintf(stderr, "tidewire: %s\n", line.c_str()); }
std::string text_of(const absl::Status& status) { return std::string(from_absl(status.message())); }

// Everything that lives as long as the run. Arenas and fabric are made here, before the threads: a
// ring of the exchange lies on its reader's node, so every arena must be there when the rings are.
struct Host {
  const Layout& layout;
  const RunOptions& options;
  std::unique_ptr<OpenSources> sources;
  std::vector<std::unique_ptr<Arena>> arenas;  // moved to their workers when those are built
  std::unique_ptr<ExchangeFabric> fabric;
  std::unique_ptr<Arena> table_arena;
  std::unique_ptr<LookupTables> tables;  // null: nothing is looked up
  std::shared_ptr<PaceOrigin> pace;
  std::vector<std::string> said;        // [lane]: how it is read
  std::vector<std::string> sinks_said;  // where files are written
};

absl::Status build_worker(Host& host, uint32_t w, WorkerParts& parts) try {
  const Layout& layout = host.layout;
  const Config& config = layout.config;
  parts.arena = std::move(host.arenas[w]);
  parts.burst = host.options.burst;
  parts.ring->blocks.adopt(parts.arena->take<ResultBlock>(config.runtime.result_blocks, "results"));
  PipelineOptions options = layout.pipeline;
  options.worker = w;
  for (const Plan& plan : options.plans) parts.show_every.push_back(plan.window.provisional);
  options.tables = parts.tables = host.tables.get();
  parts.pipeline = std::make_unique<Pipeline>(options, *host.fabric, *parts.arena);
  for (const LaneLayout& lane : layout.lanes) {
    if (lane.worker != w) continue;
    const SourceConfig& source = config.sources[lane.source];
    Feed feed;
    feed.lane = lane.id;
    feed.live = layout.sources[lane.source].live;
    // A file that does not grow can wait for its reader, so its pauses say nothing.
    if (feed.live || source.file.follow) feed.silent_after = source.silent_after;
    feed.max_drift = source.max_drift;
    if (source.has_clock()) feed.clock_slack = source.out_of_orderness;
    auto opened = host.sources->open_lane(lane.source, lane.index, *parts.arena,
                                          host.said[index_of(lane.id)]);
    if (!opened.ok()) return opened.status();
    feed.source = *std::move(opened);
    if (!config.system.enable_zero_copy)
      feed.source = std::make_unique<CopySource>(std::move(feed.source), *parts.arena);
    const uint32_t pace =
        host.options.pace_percent ? host.options.pace_percent : source.file.pace_percent;
    if (pace > 0 && !feed.live)
      feed.source = std::make_unique<PacedSource>(std::move(feed.source), host.pace, system_clock(),
                                                  pace / 100.0);
    ParserOptions parser;
    parser.lane = lane.id;
    parser.max_partitions = source.max_partitions;
    parser.partition_field =
        source.partition.empty() ? -1 : layout.schemas[lane.source]->find(source.partition);
    parser.declared = declared_partitions(source);
    feed.parser = source.format->make_parser(parser, layout.compiled.columns[lane.source]);
    parts.feeds.push_back(std::move(feed));
  }
  return absl::OkStatus();
} catch (const std::bad_alloc&) {
  const std::string& why = parts.arena ? parts.arena->error() : std::string();
  return absl::ResourceExhaustedError("worker " + std::to_string(w) + ": " +
                                      (why.empty() ? "out of memory" : why) +
                                      "; lower max_keys, max_panes or memory of the queries "
                                      "(tidewire explain shows the sum), or reserve more");
}

absl::Status build_egress(Host& host, EgressParts& parts) {
  const Layout& layout = host.layout;
  const Config& config = layout.config;
  std::vector<SinkBinding> bindings;
  for (const SinkConfig& sink : config.sinks) {
    std::string said;
    auto opened = open_sink(sink, said);
    if (!opened.ok()) return opened.status();
    if (!said.empty()) host.sinks_said.push_back("sink " + sink.name + ": " + said);
    SinkBinding binding;
    binding.sink = opened->get();
    binding.encoding = sink.encoding;
    binding.colour = sink.type == SinkType::kTerminal && isatty(STDOUT_FILENO) != 0;
    for (size_t q = 0; q < config.queries.size(); ++q) {
      const QuerySpec& spec = config.queries[q].spec;
      const QueryId id{static_cast<uint16_t>(q)};
      const auto names_it = [&](const std::vector<std::string>& sinks) {
        return std::find(sinks.begin(), sinks.end(), sink.name) != sinks.end();
      };
      if (names_it(spec.sinks)) binding.queries.push_back(id);
      if (names_it(spec.late_sinks)) binding.late.push_back(id);
    }
    bindings.push_back(std::move(binding));
    parts.sinks.push_back(*std::move(opened));
  }
  std::vector<const Plan*> plans;
  for (const Plan& plan : layout.pipeline.plans) plans.push_back(&plan);
  EgressOptions options;
  options.system_name = config.system.system_name;
  parts.egress =
      std::make_unique<Egress>(options, std::move(plans), parts.rings, std::move(bindings));
  return absl::OkStatus();
}

// SIGHUP reads the lookup files again. Of the others the first drains, the second exits at once,
// whatever a sink, a disk or a start may be waiting for. A thread of its own, since the control
// thread is in start() or run().
class SignalThread {
 public:
  explicit SignalThread(Appliance& appliance)
      : appliance_(appliance), over_(eventfd(0, EFD_CLOEXEC)) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  }
  absl::Status start() {
    if (over_ < 0 || signals_ < 0)
      return absl::ResourceExhaustedError(
          "no descriptor is left to receive signals by (see ulimit -n)");
    try {
      thread_ = std::thread([this] { wait(); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError("no thread can be started: " + error.code().message() +
                                          " (see ulimit -u, and pids.max of the cgroup)");
    }
    return absl::OkStatus();
  }
  ~SignalThread() {
    if (thread_.joinable()) {
      eventfd_write(over_, 1);
      thread_.join();
    }
    if (signals_ >= 0) close(signals_);
    if (over_ >= 0) close(over_);
  }
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void wait() {
    pollfd ready[] = {{over_, POLLIN, 0}, {signals_, POLLIN, 0}};
    for (int seen = 0; poll(ready, 2, -1) >= 0 || errno == EINTR;) {
      if (ready[0].revents & POLLIN) return;
      signalfd_siginfo info;
      if (!(ready[1].revents & POLLIN) || read(signals_, &info, sizeof info) != sizeof info)
        continue;
      if (info.ssi_signo == SIGHUP) {
        appliance_.request_reload();
        continue;
      }
      if (++seen > 1) std::_Exit(128 + static_cast<int>(info.ssi_signo));
      say("draining: open windows are emitted as partial; a second signal exits at once");
      appliance_.request_drain();
    }
  }
  Appliance& appliance_;
  int over_, signals_;
  std::thread thread_;
};

// One line on a terminal: how far, how fast, who holds the frontier.
class ProgressLine {
 public:
  ProgressLine(const Layout& layout, bool wanted)
      : layout_(layout), shown_(wanted && isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { clear(); }
  bool shown() const { return shown_; }
  void starting(uint64_t ready, uint64_t total) {
    write("starting, " + bytes_text(ready) + " of " + bytes_text(total) + " of memory are ready");
  }
  void show(const ApplianceSample& sample) {
    if (!shown_) return;
    uint64_t packets = 0, read = 0, total = 0;
    for (const LaneSample& lane : sample.lanes) packets += lane.packets;
    for (const SourceCounters& source : sample.sources)
      read += source.bytes_read, total += source.bytes_total;
    const double now = static_cast<double>(system_clock().now().ns) / 1e9;
    const double rate =
        at_ > 0 && now > at_ ? static_cast<double>(packets - packets_) / (now - at_) : 0;
    at_ = now;
    packets_ = packets;
    std::string line = in_thousands(static_cast<double>(packets)) + "packets, " +
                       in_thousands(rate) + "packets/s, " +
                       in_thousands(static_cast<double>(sample.egress.results)) + "results";
    if (total > 0) line += ", " + std::to_string(read * 100 / total) + " % read";
    if (sample.holder >= 0)
      line += ", frontier held by " +
              layout_.lane_name(sample.lanes[static_cast<size_t>(sample.holder)].lane);
    write(line);
  }
  void clear() {
    if (dirty_) std::fprintf(stderr, "\r\033[K");
    dirty_ = false;
  }

 private:
  void write(const std::string& line) {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K%.*s", 150, line.c_str());
    std::fflush(stderr);
    dirty_ = true;
  }

  const Layout& layout_;
  bool shown_, dirty_ = false;
  double at_ = 0;
  uint64_t packets_ = 0;
};

// A bad file changes nothing: the tables that are in force stay.
void reload(const Layout& layout, LookupTables& tables) {
  const auto contents = read_lookups(layout.lookups);
  if (!contents.ok())
    return say("reload: " + text_of(contents.status()) + "; the tables stay as they are");
  if (lookup_hash(*contents) == tables.hash(tables.version()))
    return say("reload: the lookup files have not changed");
  if (absl::Status status = tables.replace(*contents); !status.ok())
    return say("reload: " + text_of(status) + "; the tables stay as they are");
  for (const std::string& line : describe_lookups(layout.lookups, *contents))
    say("reload: " + line);
}

uint64_t ready_bytes(const std::vector<Arena*>& arenas) {
  uint64_t sum = 0;
  for (const Arena* arena : arenas) sum += arena->ready();
  return sum;
}

uint64_t worker_memory(const Layout& layout) {
  uint64_t sum = 0;
  for (const MemoryTerm& term : memory_terms(layout))
    if (term.where.starts_with("worker")) sum += term.bytes;
  return sum;
}

void say_start(const Host& host, const std::vector<PageKind>& pages, uint64_t bytes) {
  const Layout& layout = host.layout;
  const SystemConfig& system = layout.config.system;
  for (const std::string& line : host.sources->describe()) say(line);
  for (const LaneLayout& lane : layout.lanes)
    if (!host.said[index_of(lane.id)].empty())
      say("lane " + layout.lane_name(lane.id) + ": " + host.said[index_of(lane.id)]);
  for (const std::string& line : host.sinks_said) say(line);
  for (const std::string& line : describe_lookups(layout.lookups, layout.looked_up))
    say("lookup " + line);
  std::string cores;
  for (size_t w = 0; w < layout.placement.worker_core.size(); ++w)
    cores += (w ? ", " : "") + std::to_string(layout.placement.worker_core[w]) + " (" +
             std::string(to_string(layout.idle[w])) + ")";
  PageKind weakest = PageKind::kHuge;
  for (const PageKind kind : pages) weakest = std::max(weakest, kind);
  say("workers on cores " + cores + "; " + bytes_text(bytes) + " reserved on " +
      std::string(to_string(weakest)));
  if (system.replication_factor > 1)
    say("replication_factor " + std::to_string(system.replication_factor) +
        ": no peers are configured, running as a single host");
}

}  // namespace

int run_appliance(Layout layout, const RunOptions& options) {
  const uint32_t workers = layout.config.runtime.workers;
  Host host{layout,  options, nullptr,
            {},      nullptr, nullptr,
            nullptr, nullptr, std::vector<std::string>(layout.lanes.size()),
            {}};
  const auto refuse = [](const absl::Status& status) {
    say("error: " + text_of(status));
    return kExitSetup;
  };
  make_program_resident();
  OpenOptions open;
  open.control_core =
      layout.placement.control_cores.empty() ? -1 : layout.placement.control_cores.front();
  open.node = layout.placement.worker_node.front();
  auto sources = OpenSources::open(layout.config.sources, layout.sources, open);
  if (!sources.ok()) return refuse(sources.status());
  host.sources = *std::move(sources);
  uint32_t paced = 0;
  for (const LaneLayout& lane : layout.lanes)
    paced += static_cast<uint32_t>(!layout.sources[lane.source].live);
  host.pace = std::make_shared<PaceOrigin>(paced);

  if (!layout.lookups.empty()) {
    host.table_arena = std::make_unique<Arena>(ArenaOptions{});
    try {
      host.tables =
          std::make_unique<LookupTables>(layout.lookups, layout.looked_up, *host.table_arena);
    } catch (const std::bad_alloc&) {
      return refuse(absl::ResourceExhaustedError("lookup tables: " + host.table_arena->error()));
    }
  }
  std::vector<Arena*> arenas;
  for (uint32_t w = 0; w < workers; ++w) {
    ArenaOptions arena;
    arena.node = layout.placement.worker_node[w];
    arena.require_node = layout.config.runtime.numa == NumaPolicy::kStrict;
    host.arenas.push_back(std::make_unique<Arena>(arena));
    arenas.push_back(host.arenas.back().get());
  }
  try {
    host.fabric = std::make_unique<ExchangeFabric>(layout.pipeline.plans, arenas);
  } catch (const std::bad_alloc&) {
    std::string why;
    for (const Arena* arena : arenas)
      if (!arena->error().empty()) why = arena->error();
    return refuse(absl::ResourceExhaustedError("exchange between workers: " + why));
  }

  ApplianceOptions appliance_options;
  appliance_options.placement = layout.placement;
  appliance_options.idle = layout.idle;
  if (host.tables) {
    appliance_options.tables = host.tables.get();
    appliance_options.reload = [&] { reload(layout, *host.tables); };
  }
  std::vector<BuildWorker> builders;
  for (uint32_t w = 0; w < workers; ++w)
    builders.emplace_back([&host, w](WorkerParts& parts) { return build_worker(host, w, parts); });
  Appliance appliance(std::move(appliance_options), std::move(builders),
                      [&host](EgressParts& parts) { return build_egress(host, parts); });
  SignalThread signals(appliance);
  if (absl::Status status = signals.start(); !status.ok()) return refuse(status);
  ProgressLine progress(layout, options.progress);
  const absl::Status started = appliance.start(
      {500 * kMillisecond}, [&] { progress.starting(ready_bytes(arenas), worker_memory(layout)); });
  progress.clear();
  if (!started.ok()) return refuse(started);

  std::vector<PageKind> pages;
  uint64_t bytes = 0;
  for (size_t w = 0; w < appliance.workers(); ++w) {
    pages.push_back(appliance.worker(w).arena()->weakest());
    bytes += appliance.worker(w).arena()->bytes() + kWorkerHeapBytes;
  }
  for (const SourceConfig& source : layout.config.sources)
    if (source.type == SourceType::kPort) bytes += source_memory(source);
  if (host.table_arena) bytes += host.table_arena->bytes();
  say_start(host, pages, bytes);
  const MonotonicTime begin = system_clock().now();
  appliance.run({200 * kMillisecond},
                [&](const ApplianceSample& sample) { progress.show(sample); });
  const double seconds = static_cast<double>(between(begin, system_clock().now()).ns) / 1e9;
  progress.clear();
  std::fflush(stdout);
  const Summary summary = print_summary(layout, appliance, seconds, stderr);
  return summary.balanced && !summary.source_failed && summary.lost == 0 ? kExitOk : kExitFailed;
}

}  // namespace tidewire
