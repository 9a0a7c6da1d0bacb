// The configuration: strict TOML in, typed structs out, or every problem at once. One loader and
// one validator serve `check`, `run`, `explain` and start.
//
//   [system]  [runtime]  [source.NAME]  [query.NAME]  [sink.NAME]
//
// Names of options, their units, defaults, limits and reasons: the option table (options.h), from
// which config/tidewire.conf is generated. Here stand the values: durations in nanoseconds, sizes
// in bytes, everything inside its limits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "config/document.h"
#include "egress/egress.h"
#include "format/catalog.h"
#include "query/compile.h"
#include "query/derive.h"
#include "query/spec.h"
#include "runtime/idle.h"
#include "watermark/lane.h"

namespace tidewire {

struct SystemConfig {
  std::string system_name = "tidewire";
  uint32_t replication_factor = 3;
  bool enable_zero_copy = true;
  uint32_t consensus_timeout_ms = 250;
  uint64_t hash_seed = 0;
};

enum class NumaPolicy : uint8_t { kPrefer, kStrict };  // memory of another node: said, or refused

struct RuntimeConfig {
  uint32_t workers = 1;
  std::vector<int> cores;          // one a worker; empty: not pinned to a chosen core
  std::optional<IdlePolicy> idle;  // none: what suits each core (runtime/topology.h)
  NumaPolicy numa = NumaPolicy::kPrefer;
  uint32_t burst = 256;              // packets a call of a source
  uint32_t results_per_turn = 1536;  // budget of the timeline
  uint32_t rows_per_turn = 1024;     // neighbours' rows taken in one turn
  uint32_t result_blocks = 64;       // of 16 KiB, a worker
};

enum class FileLanes : uint8_t { kOne, kPerFile };
enum class FileReader : uint8_t { kAuto, kUring, kPread };  // kAuto: uring, else pread and said so

struct FileConfig {
  std::vector<std::string> paths;  // in this order; relative to the working directory
  std::string directory, pattern;  // instead of paths: files of the directory in name order
  FileLanes lanes = FileLanes::kOne;
  bool follow = false;
  FileReader reader = FileReader::kUring;
  uint32_t block_size = 256 * 1024;
  uint32_t depth = 8;         // blocks in flight
  uint32_t pace_percent = 0;  // 100: as recorded, 200: twice as fast; 0: as fast as it can be read
};

enum class StampClock : uint8_t { kNone, kNanoseconds, kMicroseconds, kTicks };

struct PortConfig {
  std::string device;  // "0000:01:00.0" or "net_af_packet0,iface=veth0"
  uint32_t queues = 1;
  uint32_t descriptors = 1024;
  uint32_t pool = 0;  // mbufs a queue; 0: what rings, caches and bursts need
  StampClock clock = StampClock::kNone;
  bool promiscuous = true;
};

enum class SourceType : uint8_t { kFile, kPort };
// What moves the watermarks of a source: events, less out_of_orderness or nothing; marks; nothing.
enum class WatermarkStrategy : uint8_t { kBounded, kMonotonous, kPunctuated, kNone };

struct SourceConfig {
  std::string name;
  SourceType type = SourceType::kFile;
  FileConfig file;
  PortConfig port;
  std::string format_name = "packet";
  FormatOptions format_options;
  std::shared_ptr<const Format> format;  // null: there is a problem with them
  // Event time of each lane; INT64_MAX: never. Bounds are the source's promise.
  WatermarkStrategy watermark = WatermarkStrategy::kBounded;
  std::string progress;  // kPunctuated: which events mark (query/expression.h); empty: none
  MarkOf progress_of = MarkOf::kPartition;
  Duration out_of_orderness, idle_after, silent_after, max_ahead, max_behind, max_drift;
  EventTime min_time = EventTime::before_all();
  GuardPolicy beyond_max_ahead = GuardPolicy::kAccept, beyond_max_behind = GuardPolicy::kAccept,
              before_min_time = GuardPolicy::kDrop;
  LatenessBy lateness_by = LatenessBy::kPartition;
  std::string partition;  // field whose value names the partition; empty: one partition
  uint32_t max_partitions = 1;
  std::vector<std::string> partitions;  // values that are waited for from the start
  Duration start_hold;                  // 0: no limit for `partitions`, no hold without them
  std::shared_ptr<const DerivedColumns> derived;  // [source.NAME.columns]; null: none
  Place place;

  LaneOptions lane_options() const;
  // An empty poll of its lanes says how far it is: stamps are the port's own, and marks count.
  bool has_clock() const;
};

// The words of `partitions`; the source has been checked.
std::vector<std::array<int64_t, 2>> declared_partitions(const SourceConfig& source);

enum class SinkType : uint8_t { kTerminal, kStdout, kFile, kUdp };

struct SinkConfig {
  std::string name;
  SinkType type = SinkType::kTerminal;
  Encoding encoding = Encoding::kTable;
  std::string path;     // kFile
  bool append = false;  // kFile: to an existing file; false: never, a new name is taken
  std::string address;  // kUdp: host:port, [v6]:port
  Place place;
};

struct QueryConfig {
  QuerySpec spec;
  Place place;
};

struct Defaulted {
  std::string name, value;  // "source.capture.max_ahead", "10 s"
};

struct Config {
  std::string file;
  SystemConfig system;
  RuntimeConfig runtime;
  std::vector<SourceConfig> sources;  // in file order; at least one
  std::vector<QueryConfig> queries;   // in file order: QueryId is the index
  std::vector<SinkConfig> sinks;
  std::vector<Defaulted> defaulted;  // what the file does not say, in the table's order
};

struct Loaded {
  Config config;                  // to be used only if there is no problem
  std::vector<Problem> problems;  // in file order
  bool ok() const { return problems.empty(); }
};

// `cpus`: what this process may run on; empty: cores are not checked.
Loaded load_config(std::string_view text, std::string file, std::span<const int> cpus = {});
// Reads the file; a file that cannot be read is a problem too.
Loaded load_config_file(const std::string& path, std::span<const int> cpus = {});

// What queries can name: the format's fields, and the columns that the source derives. Null: it has
// no format.
const Schema* fields_of(const SourceConfig& source);
// What query/compile.h needs: sources with their lanes numbered densely over all of them, in order.
// `lanes[i]`: how many lanes sources[i] has (a port: its queues; files: one, or the files found).
std::vector<QuerySource> query_sources(const Config& config, std::span<const uint32_t> lanes);
HashSeed hash_seed(const Config& config);
std::vector<QuerySpec> query_specs(const Config& config);

// The configuration of a run without a file: what `scripts/run` shows on the given capture.
std::string embedded_default(std::string_view capture_path);

}  // namespace tidewire
