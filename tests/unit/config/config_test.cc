#include "config/config.h"

#include <gtest/gtest.h>

#include "config/options.h"

namespace tidewire {
namespace {

// The smallest whole configuration; tests add to it or replace a part.
const std::string kSource = "[source.lan]\ntype = \"file\"\npath = \"a.pcap\"\n";
const std::string kQuery =
    "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n"
    "window = { type = \"tumbling\", size = \"1 s\" }\n";
const std::string kMinimal = kSource + kQuery;

// All problems as "line:column: text".
std::string problems(std::string_view text, std::vector<int> cpus = {}) {
  std::string all;
  for (const Problem& p : load_config(text, "f", cpus).problems)
    all += to_string(p, "").substr(p.place.line > 0 ? 1 : 0) + "\n";
  return all;
}
Config load(std::string_view text) {
  Loaded loaded = load_config(text, "f");
  EXPECT_TRUE(loaded.ok()) << problems(text);
  return loaded.config;
}
std::string with_source(const std::string& lines) { return kSource + lines + kQuery; }
std::string with_query(const std::string& lines) { return kMinimal + lines; }

TEST(Config, AFollowedFileThatIsNeverSilentStopsOthers) {
  const std::string other = "[source.b]\ntype = \"file\"\npath = \"b.pcap\"\n";
  const std::string never = "follow = true\nsilent_after = \"never\"\n";
  EXPECT_EQ(problems(with_source(never)), "");  // alone it stops nobody
  EXPECT_NE(problems(with_source(never) + other)
                .find("silent_after: \"never\" on a followed file "
                      "stops 'b'"),
            std::string::npos);
  EXPECT_EQ(problems(with_source(never) + other + "max_drift = \"never\"\n"), "");
  EXPECT_EQ(problems(with_source("follow = true\n") + other), "");
}

// Stores take lengths up to 2^60 ns; the options end at ten years.
TEST(Config, NoWindowIsLongerThanStoresTake) {
  static_assert(int64_t{3650} * 86'400 * kSecond <= kWindowLengthMax);
  for (const char* window :
       {"type = \"tumbling\", size = \"3651 d\"", "type = \"session\", gap = \"3651 d\"",
        "type = \"sliding\", size = \"1 d\", slide = \"3651 d\"",
        "type = \"tumbling\", size = \"1 d\", offset = \"-3651 d\""}) {
    const std::string text = kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n" +
                             "window = { " + window + " }\n";
    EXPECT_NE(problems(text).find("3650 d"), std::string::npos) << problems(text);
  }
}

TEST(Config, DerivedColumnsAreFieldsOfTheirSource) {
  const std::string columns =
      "[source.lan.columns]\nbits = \"wire_length * 8\"\nkbits = \"bits / 1000\"\n";
  const auto query = [](const std::string& lines) {
    return "[query.r]\nsource = \"lan\"\nwindow = { type = \"tumbling\", size = \"1 s\" }\n" +
           lines;
  };
  EXPECT_EQ(problems(kSource + columns +
                     query("aggregates = \"sum(kbits)\"\nkey = \"bits\"\n"
                           "where = \"bits > 100\"\n")),
            "");
  EXPECT_EQ(problems(kSource + columns + query("aggregates = \"sum(kbit)\"\n")),
            "10:19: aggregates: format 'packet' has no field 'kbit'; did you mean 'kbits'?\n");
  EXPECT_EQ(problems(kSource + "partition = \"bits\"\n" + columns + kQuery),
            "4:13: partition: 'bits' is derived; partitions are told apart before that\n");
}

// Each where it stands, and what names a spoilt column is not told again.
TEST(Config, DerivedColumnsAreRefusedWithTheirPlace) {
  const std::string sum =
      "[query.r]\nsource = \"lan\"\nwindow = { type = \"tumbling\", size = \"1 s\" }\n"
      "aggregates = \"sum(bits)\"\n";
  EXPECT_EQ(problems(kSource + "[source.lan.columns]\nbits = \"wire_lenght * 8\"\n" + sum),
            "5:9: bits: there is no field 'wire_lenght'; did you mean 'wire_length'?\n");
  EXPECT_EQ(problems(kSource + "[source.lan.columns]\nbits = \"8 * src\"\nttl = \"1\"\n" + sum),
            "5:13: bits: expected a number, found an address\n"
            "6:1: 'ttl' is a field of format 'packet' already\n");
  EXPECT_EQ(
      problems(kSource + "[source.lan.columns]\nbits = 8\n" + sum),
      "5:8: bits: must be a formula in quotes, such as \"wire_length * 8\", not an integer\n");
  EXPECT_EQ(problems(kSource + "columns = \"bits\"\n" + sum),
            "4:11: columns: must be a table, such as { bits = \"wire_length * 8\" }\n");
  std::string many = kSource + "[source.lan.columns]\n";
  for (int i = 0; i < 64; ++i) many += "c" + std::to_string(i) + " = \"1\"\n";
  EXPECT_NE(problems(many + kQuery)
                .find("columns: with the fields of the format a source has at "
                      "most 64"),
            std::string::npos);
}

TEST(Config, DefaultsAreTheStructs) {
  const Config config = load(kMinimal);
  EXPECT_EQ(config.system.system_name, "tidewire");
  EXPECT_EQ(config.system.replication_factor, 3u);
  EXPECT_TRUE(config.system.enable_zero_copy);
  EXPECT_EQ(config.system.consensus_timeout_ms, 250u);
  const RuntimeConfig runtime;
  EXPECT_EQ(config.runtime.workers, runtime.workers);
  EXPECT_EQ(config.runtime.idle, runtime.idle);
  EXPECT_EQ(config.runtime.numa, runtime.numa);
  EXPECT_EQ(config.runtime.burst, runtime.burst);
  EXPECT_EQ(config.runtime.results_per_turn, runtime.results_per_turn);
  EXPECT_EQ(config.runtime.rows_per_turn, runtime.rows_per_turn);
  EXPECT_EQ(config.runtime.result_blocks, runtime.result_blocks);
  ASSERT_EQ(config.sources.size(), 1u);
  const FileConfig file;
  EXPECT_EQ(config.sources[0].file.lanes, file.lanes);
  EXPECT_EQ(config.sources[0].file.reader, file.reader);
  EXPECT_EQ(config.sources[0].file.block_size, file.block_size);
  EXPECT_EQ(config.sources[0].file.depth, file.depth);
  EXPECT_EQ(config.sources[0].file.pace_percent, file.pace_percent);
  EXPECT_EQ(config.sources[0].max_partitions, 1u);
  ASSERT_EQ(config.queries.size(), 1u);
  const QuerySpec spec;
  EXPECT_EQ(config.queries[0].spec.max_keys, spec.max_keys);
  EXPECT_EQ(config.queries[0].spec.max_sessions, spec.max_sessions);
  EXPECT_EQ(config.queries[0].spec.max_deferred, spec.max_deferred);
  EXPECT_EQ(config.queries[0].spec.max_panes, spec.max_panes);
  EXPECT_EQ(config.queries[0].spec.memory, spec.memory);
  // No sink: a table on the terminal, for every query.
  ASSERT_EQ(config.sinks.size(), 1u);
  EXPECT_EQ(config.sinks[0].type, SinkType::kTerminal);
  EXPECT_EQ(config.queries[0].spec.sinks, std::vector<std::string>{"terminal"});
}

TEST(Config, SaysWhatWasDefaulted) {
  const auto has = [](const Config& config, const std::string& name, const std::string& value) {
    for (const Defaulted& d : config.defaulted)
      if (d.name == name) return d.value == value;
    return false;
  };
  EXPECT_TRUE(has(load(kMinimal), "source.lan.max_ahead", "10 s"));
  EXPECT_TRUE(has(load(kMinimal), "runtime.workers", "1"));
  EXPECT_TRUE(has(load(kMinimal), "query.q.window.offset", "0 s"));
  const Config config = load(with_source("max_ahead = \"10 s\"\n"));
  for (const Defaulted& d : config.defaulted) {
    EXPECT_NE(d.name, "source.lan.max_ahead");
    EXPECT_NE(d.name, "source.lan.device") << "of another type";
  }
}

TEST(Config, ReadsEverySection) {
  const Config config = load(R"(
[system]
system_name = "lab"
replication_factor = 1
enable_zero_copy = false
consensus_timeout_ms = 500
hash_seed = 42
[runtime]
workers = 2
cores = [3, 1]
idle = "sleep"
numa = "strict"
[source.wire]
type = "port"
device = "net_ring0"
queues = 4
descriptors = 512
pool = 16383
clock = "microseconds"
promiscuous = false
out_of_orderness = "1.5 ms"
idle_after = "3 s"
silent_after = "never"
partition = "vlan"
max_partitions = 8
lateness_by = "lane"
[source.files]
type = "file"
directory = "/data"
pattern = "*.pcap"
lanes = "per_file"
follow = true
reader = "pread"
block_size = "1 MiB"
depth = 16
pace = "3x"
[query.b]
source = "wire"
where = "protocol == tcp"
key = ["src/24", "protocol"]
aggregates = ["count", "max(wire_length) as largest"]
sinks = ["log", "net"]
max_keys = 1000
max_sessions = 5
max_deferred = 7
memory = "1 GiB"
placement = "local"
[query.b.window]
type = "sliding"
size = "10 s"
slide = "3 s"
offset = "-1 s"
[query.a]
source = "files"
aggregates = ["count"]
window = { type = "session", gap = "30 s" }
[sink.log]
type = "file"
path = "out.csv"
format = "csv"
append = true
[sink.net]
type = "udp"
address = "[::1]:9000"
)");
  EXPECT_EQ(config.system.system_name, "lab");
  EXPECT_FALSE(config.system.enable_zero_copy);
  EXPECT_EQ(config.runtime.cores, (std::vector<int>{3, 1}));
  EXPECT_EQ(config.runtime.idle, IdlePolicy::kSleep);
  EXPECT_EQ(config.runtime.numa, NumaPolicy::kStrict);
  const SourceConfig& wire = config.sources.at(0);
  EXPECT_EQ(wire.type, SourceType::kPort);
  EXPECT_EQ(wire.port.queues, 4u);
  EXPECT_EQ(wire.port.descriptors, 512u);
  EXPECT_EQ(wire.port.pool, 16'383u);
  EXPECT_EQ(wire.port.clock, StampClock::kMicroseconds);
  EXPECT_FALSE(wire.port.promiscuous);
  const LaneOptions lane = wire.lane_options();
  EXPECT_EQ(lane.bound.ns, 1'500'000);
  EXPECT_EQ(lane.idle_after.ns, 3 * kSecond);
  EXPECT_EQ(lane.max_partitions, 8u);
  EXPECT_EQ(lane.lateness_by, LatenessBy::kLane);
  EXPECT_EQ(wire.silent_after.ns, INT64_MAX);
  const FileConfig& file = config.sources.at(1).file;
  EXPECT_EQ(file.directory, "/data");
  EXPECT_EQ(file.pattern, "*.pcap");
  EXPECT_EQ(file.lanes, FileLanes::kPerFile);
  EXPECT_TRUE(file.follow);
  EXPECT_EQ(file.reader, FileReader::kPread);
  EXPECT_EQ(file.block_size, 1u << 20);
  EXPECT_EQ(file.depth, 16u);
  EXPECT_EQ(file.pace_percent, 300u);
  const QuerySpec& b = config.queries.at(0).spec;  // the file's order, not the alphabet's
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.key, (std::vector<std::string>{"src/24", "protocol"}));
  EXPECT_EQ(b.window.kind, WindowKind::kSliding);
  EXPECT_EQ(b.window.size.ns, 10 * kSecond);
  EXPECT_EQ(b.window.slide.ns, 3 * kSecond);
  EXPECT_EQ(b.window.offset.ns, -kSecond);
  EXPECT_EQ(b.placement, PlacementChoice::kLocal);
  EXPECT_EQ(b.memory, uint64_t{1} << 30);
  const QuerySpec& a = config.queries.at(1).spec;
  EXPECT_EQ(a.window.kind, WindowKind::kSession);
  EXPECT_EQ(a.window.gap.ns, 30 * kSecond);
  EXPECT_EQ(a.sinks, (std::vector<std::string>{"log", "net"}));
  EXPECT_EQ(config.sinks.at(0).encoding, Encoding::kCsv);
  EXPECT_TRUE(config.sinks.at(0).append);
  EXPECT_EQ(config.sinks.at(1).encoding, Encoding::kJsonLines);
  EXPECT_EQ(config.queries.at(0).place.line, 37u);
}

TEST(Config, WatermarkStrategies) {
  const auto lane = [](const std::string& text) {
    return load(with_source(text)).sources.at(0).lane_options();
  };
  EXPECT_EQ(lane("").watermark_by, WatermarkBy::kEvents);
  EXPECT_EQ(lane("out_of_orderness = \"3 s\"\n").bound.ns, 3 * kSecond);
  const LaneOptions monotonous = lane("watermark = \"monotonous\"\n");
  EXPECT_EQ(monotonous.watermark_by, WatermarkBy::kEvents);
  EXPECT_EQ(monotonous.bound.ns, 0);
  EXPECT_EQ(lane("watermark = \"none\"\n").watermark_by, WatermarkBy::kNothing);
  const std::string punctuated =
      "watermark = \"punctuated\"\nprogress = \"protocol == igmp\"\nprogress_of = \"lane\"\n";
  EXPECT_EQ(lane(punctuated).watermark_by, WatermarkBy::kMarks);
  EXPECT_EQ(lane(punctuated).mark_of, MarkOf::kLane);
  EXPECT_EQ(lane(punctuated).bound.ns, 100 * kMillisecond);

  // Without a bound on events, panes are only limited by memory.
  const uint32_t lanes[] = {1};
  const auto source = query_sources(load(with_source(punctuated)), lanes)[0];
  EXPECT_EQ(source.bound.ns, INT64_MAX);
  EXPECT_EQ(source.progress, "protocol == igmp");
  EXPECT_EQ(query_sources(load(with_source("watermark = \"monotonous\"\n")), lanes)[0].bound.ns, 0);
}

TEST(Config, GuardsAndDeclaredPartitions) {
  const SourceConfig source = load(with_source(R"(
partition = "src"
partitions = ["10.0.0.1", "2001:db8::1"]
start_hold = "5 s"
min_time = "2020-01-01T00:00:00Z"
beyond_max_ahead = "divert"
beyond_max_behind = "drop"
before_min_time = "accept"
)"))
                                  .sources.at(0);
  const LaneOptions lane = source.lane_options();
  EXPECT_EQ(lane.declared, 2u);
  EXPECT_EQ(lane.start_hold.ns, 5 * kSecond);
  EXPECT_EQ(lane.min_time.ns, 1'577'836'800 * kSecond);  // date -u -d 2020-01-01 +%s
  EXPECT_EQ(lane.beyond_max_ahead, GuardPolicy::kDivert);
  EXPECT_EQ(lane.beyond_max_behind, GuardPolicy::kDrop);
  EXPECT_EQ(lane.before_min_time, GuardPolicy::kAccept);
  const auto declared = declared_partitions(source);
  ASSERT_EQ(declared.size(), 2u);
  EXPECT_EQ(declared[0], (std::array<int64_t, 2>{0, 0xFFFF'0A00'0001}));
  EXPECT_EQ(declared[1][0], 0x2001'0db8'0000'0000);
  const LaneOptions silent = load(with_source("")).sources.at(0).lane_options();
  EXPECT_EQ(silent.min_time, EventTime::before_all());
  EXPECT_EQ(silent.declared, 0u);
}

TEST(Config, NumbersLanesOverAllSources) {
  const Config config = load(kMinimal + "[source.b]\ntype = \"file\"\npath = [\"x\", \"y\"]\n");
  const uint32_t lanes[] = {2, 3};
  const auto sources = query_sources(config, lanes);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].lanes, (std::vector<LaneId>{LaneId{0}, LaneId{1}}));
  EXPECT_EQ(sources[1].lanes, (std::vector<LaneId>{LaneId{2}, LaneId{3}, LaneId{4}}));
  EXPECT_EQ(sources[0].bound.ns, 100 * kMillisecond);
}

TEST(Config, SeedsAreOddAndOfTheirNumber) {
  Config config;
  EXPECT_EQ(hash_seed(config).multiplier, HashSeed{}.multiplier);
  config.system.hash_seed = 1;
  const HashSeed one = hash_seed(config);
  config.system.hash_seed = 2;
  EXPECT_EQ(one.multiplier % 2, 1u);
  EXPECT_NE(one.multiplier, hash_seed(config).multiplier);
}

TEST(Config, CoresWithoutWorkersCountThem) {
  EXPECT_EQ(load(kMinimal + "[runtime]\ncores = [1, 2, 3]\n").runtime.workers, 3u);
}

// ---- windows: every option ends in its field

QuerySpec spec(const std::string& window, const std::string& query = "") {
  const Config config = load(kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n" +
                             query + "[query.q.window]\n" + window);
  return config.queries.empty() ? QuerySpec{} : config.queries[0].spec;
}

TEST(WindowOptions, OfAlignedWindows) {
  const WindowShape w = spec(R"(type = "tumbling"
size = "10 s"
offset = "-3 s"
allowed_lateness = "1 m"
update_every = "5 s"
early_every = "2 s"
provisional_every = "250 ms"
accumulation = "retracting"
)")
                            .window;
  EXPECT_EQ(w.kind, WindowKind::kTumbling);
  EXPECT_EQ(w.size.ns, 10 * kSecond);
  EXPECT_EQ(w.slide.ns, 10 * kSecond);
  EXPECT_EQ(w.offset.ns, -3 * kSecond);
  EXPECT_EQ(w.lateness.ns, 60 * kSecond);
  EXPECT_EQ(w.gather.ns, 5 * kSecond);
  EXPECT_EQ(w.early.ns, 2 * kSecond);
  EXPECT_EQ(w.early_rows, 0u);
  EXPECT_EQ(w.provisional.ns, 250 * kMillisecond);
  EXPECT_EQ(w.accumulation, Accumulation::kRetracting);
  const WindowShape never = spec(
                                "type = \"tumbling\"\nsize = \"1 s\"\nupdate_every = \"never\"\n"
                                "early_every = \"never\"\nprovisional_every = \"never\"\n")
                                .window;
  EXPECT_EQ(never.gather.ns, 0);
  EXPECT_EQ(never.early.ns, 0);
  EXPECT_EQ(never.provisional.ns, 0);
  EXPECT_EQ(never.lateness.ns, 0);
  EXPECT_EQ(never.accumulation, Accumulation::kAccumulating);
}

TEST(WindowOptions, OfTheOtherKinds) {
  WindowShape w = spec("type = \"cumulate\"\nsize = \"1 h\"\nstep = \"15 m\"\n").window;
  EXPECT_EQ(w.kind, WindowKind::kCumulate);
  EXPECT_EQ(w.slide.ns, 3600 * kSecond);
  EXPECT_EQ(w.early.ns, 900 * kSecond);
  w = spec("type = \"calendar\"\nunit = \"week\"\nzone = \"America/New_York\"\n").window;
  EXPECT_EQ(w.kind, WindowKind::kCalendar);
  EXPECT_EQ(w.unit, CalendarUnit::kWeek);
  EXPECT_EQ(w.zone, "America/New_York");
  EXPECT_EQ(spec("type = \"calendar\"\nunit = \"hour\"\n").window.zone, "UTC");
  EXPECT_EQ(spec("type = \"calendar\"\nunit = \"month\"\n").window.unit, CalendarUnit::kMonth);
  w = spec("type = \"count\"\nrows = 100\n").window;
  EXPECT_EQ(w.kind, WindowKind::kCount);
  EXPECT_EQ(w.rows, 100u);
  EXPECT_EQ(w.row_slide, 100u);
  w = spec("type = \"count\"\nslide_rows = 10\nrows = 100\n").window;
  EXPECT_EQ(w.rows, 100u);
  EXPECT_EQ(w.row_slide, 10u);
  w = spec("type = \"global\"\nearly_every_rows = 50\naccumulation = \"discarding\"\n").window;
  EXPECT_EQ(w.kind, WindowKind::kGlobal);
  EXPECT_EQ(w.early_rows, 50u);
  EXPECT_EQ(w.accumulation, Accumulation::kDiscarding);
  const QuerySpec session = spec(
      "type = \"session\"\ngap_field = \"wire_length\"\ngap_unit = \"1 ms\"\n"
      "early_every_rows = 9\n"
      "max_duration = \"1 h\"\nallowed_lateness = \"3 s\"\n");
  EXPECT_EQ(session.window.kind, WindowKind::kSession);
  EXPECT_EQ(session.window.gap.ns, 0);
  EXPECT_EQ(session.gap_field, "wire_length");
  EXPECT_EQ(session.gap_unit.ns, kMillisecond);
  EXPECT_EQ(session.window.early_rows, 9u);
  EXPECT_EQ(session.window.max_duration.ns, 3600 * kSecond);
  EXPECT_EQ(session.window.lateness.ns, 3 * kSecond);
}

TEST(WindowOptions, OfWhatLeaves) {
  const std::string window = "type = \"tumbling\"\nsize = \"1 s\"\n";
  const QuerySpec s = spec(window,
                           "having = \"count > 3\"\nfill = \"carry\"\nfill_windows = 9\n"
                           "top = 5\ntop_by = \"count\"\ntop_order = \"least\"\n"
                           "max_changes = 321\n");
  EXPECT_EQ(s.having, "count > 3");
  EXPECT_EQ(s.fill, EmptyFill::kCarry);
  EXPECT_EQ(s.fill_windows, 9u);
  EXPECT_EQ(s.top, 5u);
  EXPECT_EQ(s.top_by, "count");
  EXPECT_TRUE(s.top_least);
  EXPECT_EQ(s.max_changes, 321u);
  const QuerySpec plain = spec(window);
  EXPECT_EQ(plain.fill, EmptyFill::kNone);
  EXPECT_EQ(plain.fill_windows, QuerySpec{}.fill_windows);
  EXPECT_EQ(plain.top, 0u);
  EXPECT_FALSE(plain.top_least);
  EXPECT_EQ(plain.max_changes, QuerySpec{}.max_changes);
  EXPECT_EQ(spec(window, "fill = \"zero\"\n").fill, EmptyFill::kZero);
}

TEST(WindowOptions, SinksOfLateEventsGetNoResultsUnlessTheyAreNamed) {
  const std::string sinks = "[sink.a]\ntype = \"terminal\"\n[sink.b]\ntype = \"stdout\"\n";
  const auto with = [&](const std::string& lines) {
    return kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n" + lines +
           "window = { type = \"tumbling\", size = \"1 s\" }\n" + sinks;
  };
  using Names = std::vector<std::string>;
  QuerySpec s = load(with("late_sinks = \"b\"\n")).queries.at(0).spec;
  EXPECT_EQ(s.sinks, Names{"a"});
  EXPECT_EQ(s.late_sinks, Names{"b"});
  s = load(with("sinks = [\"a\", \"b\"]\nlate_sinks = [\"b\", \"a\"]\n")).queries.at(0).spec;
  EXPECT_EQ(s.sinks, (Names{"a", "b"}));
  EXPECT_EQ(s.late_sinks, (Names{"b", "a"}));
  EXPECT_EQ(problems(with("late_sinks = [\"a\", \"b\"]\n")),
            "4:8: query 'q' has no sink for its results: every sink is named in some late_sinks. "
            "One may take both: name it in `sinks` as well\n");
  EXPECT_EQ(problems(with("late_sinks = [\"b\", \"terminal\"]\n")),
            "7:20: late_sinks: no sink is named 'terminal'; valid are: a, b\n");
}

// ---- refusals: place, cause, and what would be right

TEST(Refusals, UnknownNames) {
  EXPECT_EQ(problems("[runtme]\nworkers = 1\n" + kMinimal),
            "1:2: there is no section or option 'runtme'; did you mean 'runtime'?\n");
  EXPECT_EQ(problems("[runtime]\nworker = 1\n" + kMinimal),
            "2:1: [runtime] has no option 'worker'; did you mean 'workers'?\n");
  EXPECT_EQ(problems(with_source("max_ahed = \"1 s\"\n")),
            "4:1: [source.lan] has no option 'max_ahed'; did you mean 'max_ahead'?\n");
  EXPECT_EQ(problems("workers = 1\n" + kMinimal),
            "1:1: there is no section or option 'workers'; valid are: system, runtime, source, "
            "query, sink\n");
  EXPECT_EQ(problems(with_query("[query.q.windw]\nsize = 1\n")),
            "8:10: [query.q] has no option 'windw'; did you mean 'window'?\n");
}

TEST(Refusals, EventTimeOfASource) {
  EXPECT_EQ(
      problems(with_source("watermark = \"processing_time\"\n")),
      "4:13: watermark: cannot be 'processing_time': there is no processing-time strategy: "
      "results would depend on when and how fast a machine ran, and a replay would not give "
      "them again. Where arrival is the time, the format \"packet\" has it from the capture's "
      "stamps\n");
  EXPECT_EQ(problems(with_source("watermark = \"bounde\"\n")),
            "4:13: watermark: cannot be 'bounde'; did you mean 'bounded'?\n");
  EXPECT_EQ(problems(with_source("watermark = \"punctuated\"\n")),
            "4:13: watermark: \"punctuated\" without 'progress' would never move: format 'packet' "
            "has no marks of its own, and the source no clock\n");
  EXPECT_EQ(problems(with_source("watermark = \"punctuated\"\nformat = \"itch\"\n")), "");
  EXPECT_NE(problems(with_source("watermark = \"punctuated\"\nprogress = \"protocl == tcp\"\n"))
                .find("5:13: progress: "),
            std::string::npos);
  EXPECT_NE(problems(with_source("watermark = \"monotonous\"\nout_of_orderness = \"1 s\"\n"))
                .find("5:1: "),
            std::string::npos);
  EXPECT_EQ(problems(with_source("start_hold = \"5 s\"\n")),
            "4:14: start_hold: waits for partitions; name their field in 'partition'\n");
  EXPECT_EQ(problems(with_source("partition = \"src\"\npartitions = [\"10.0.0.1\", \"x\"]\n"))
                .substr(0, 17),
            "5:14: partitions:");
  EXPECT_NE(problems(with_source("partition = \"vlan\"\npartitions = [\"1\", \"1\"]\n"))
                .find("'1' stands there twice"),
            std::string::npos);
  EXPECT_NE(problems(with_source("partition = \"vlan\"\npartitions = [\"1\", \"2\"]\n"
                                 "max_partitions = 2\n"))
                .find("max_partitions must be larger"),
            std::string::npos);
  EXPECT_NE(problems("[source.lan]\ntype = \"port\"\ndevice = \"net_ring0\"\nqueues = 2\n"
                     "partition = \"vlan\"\npartitions = \"1\"\n"
                     "[query.q]\nsource = \"lan\"\naggregates = [\"count\"]\n"
                     "window = { type = \"tumbling\", size = \"1 s\" }\n")
                .find("give 'start_hold' a time"),
            std::string::npos);
  EXPECT_EQ(problems(with_source("min_time = \"yesterday\"\n")),
            "4:12: min_time: must be a time such as \"2020-01-01T00:00:00Z\"\n");
}

TEST(Refusals, WrongTypes) {
  EXPECT_EQ(problems("[runtime]\nworkers = \"2\"\n" + kMinimal),
            "2:11: workers: must be an integer, not a text\n");
  EXPECT_EQ(problems("[runtime]\ncores = 3\n" + kMinimal),
            "2:9: cores: must be a list of integers, not an integer\n");
  EXPECT_EQ(problems("[runtime]\ncores = [0, \"1\"]\n" + kMinimal),
            "2:13: cores: must be a list of integers; this is a text\n");
  EXPECT_EQ(problems(with_source("follow = \"yes\"\n")),
            "4:10: follow: must be true or false, not a text\n");
  EXPECT_EQ(problems(with_source("idle_after = 5\n")),
            "4:14: idle_after: must be a duration in quotes, such as \"250 ms\", not an integer\n");
  EXPECT_EQ(problems(with_source("block_size = 65536\n")),
            "4:14: block_size: must be a size in quotes, such as \"64 KiB\", not an integer\n");
  EXPECT_EQ(problems("source = 1\n" + kQuery),
            ": there is no source: add a section [source.NAME]\n"
            "1:1: 'source' is a section: write [source]\n"
            "3:10: source: no source is named 'lan'\n");
  EXPECT_EQ(problems("[source]\ntype = \"file\"\n" + kMinimal),
            "2:1: a source has a name: write [source.NAME] above 'type'\n");
}

TEST(Refusals, WrongUnitsAndRanges) {
  EXPECT_EQ(problems(with_source("idle_after = \"5\"\n")),
            "4:14: idle_after: '5' has no unit; valid are: ns, us, ms, s, m, h, d\n");
  EXPECT_EQ(problems(with_source("idle_after = \"5 sec\"\n")),
            "4:14: idle_after: '5 sec' has an unknown unit 'sec'; valid are: ns, us, ms, s, m, h, "
            "d\n");
  EXPECT_EQ(problems(with_source("out_of_orderness = \"never\"\n")),
            "4:20: out_of_orderness: 'never' does not begin with a number; write it like \"10 "
            "ms\"\n");
  EXPECT_EQ(problems(with_source("out_of_orderness = \"-1 s\"\n")),
            "4:20: out_of_orderness: must be 0 s to 3650 d, not -1 s\n");
  EXPECT_EQ(problems("[runtime]\nworkers = 0\n" + kMinimal),
            "2:11: workers: must be 1 to 64, not 0\n");
  EXPECT_EQ(problems(with_source("block_size = \"100 kB\"\n")),
            "4:14: block_size: must be a multiple of 4 KiB (direct IO)\n");
  EXPECT_EQ(problems(with_source("block_size = \"1 GiB\"\n")),
            "4:14: block_size: must be 64 KiB to 16 MiB, not 1 GiB\n");
  EXPECT_EQ(problems(with_source("reader = \"urnig\"\n")),
            "4:10: reader: cannot be 'urnig'; did you mean 'uring'?\n");
  EXPECT_EQ(problems(with_source("pace = \"quick\"\n")),
            "4:8: pace: must be \"fast\", \"recorded\", or a multiple such as \"2x\" (1x to "
            "10000x)\n");
  EXPECT_EQ(problems("[runtime]\ncores = [-1]\n" + kMinimal),
            "2:10: cores: must hold numbers from 0 to 4095, not -1\n");
}

TEST(Refusals, MissingAndMisplaced) {
  EXPECT_EQ(problems("[source.lan]\n" + kQuery),
            "1:9: [source.lan] lacks 'type', one of file or port, in quotes\n");
  EXPECT_EQ(problems("[source.lan]\ntype = \"port\"\n" + kQuery),
            "1:9: [source.lan] lacks 'device', a text in quotes\n");
  EXPECT_EQ(problems("[source.lan]\ntype = \"file\"\n" + kQuery),
            "1:9: [source.lan] needs 'path' or 'directory'\n");
  EXPECT_EQ(problems(with_source("directory = \"d\"\n")),
            "1:9: [source.lan] needs 'path' or 'directory', not both\n");
  EXPECT_EQ(problems(with_source("pattern = \"*.pcap\"\n")),
            "4:11: pattern: chooses files of a directory; there is no 'directory'\n");
  EXPECT_EQ(problems(with_source("queues = 4\n")),
            "4:1: 'queues' has no meaning where type is \"file\"\n");
  EXPECT_EQ(problems(with_source("zone = \"UTC\"\n")),
            "4:1: 'zone' has no meaning where format is \"packet\"\n");
  EXPECT_EQ(problems(kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n"),
            "4:8: query 'q' has no window: add a section [query.q.window]\n");
  EXPECT_EQ(problems(kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n"
                               "window = { type = \"session\", size = \"1 s\" }\n"),
            "7:1: gap: a session needs a gap above zero, or gap_field and gap_unit where events "
            "bring their own\n"
            "7:30: 'size' has no meaning where type is \"session\"\n");
  // Of an unknown kind nothing is known, so nothing is said of what it needs.
  EXPECT_EQ(problems(kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n"
                               "window = { type = \"round\", size = \"1 s\" }\n"),
            "7:19: type: cannot be 'round'; valid are: tumbling, sliding, session, cumulate, "
            "calendar, count, global\n");
  EXPECT_EQ(problems(""),
            ": there is no source: add a section [source.NAME]\n"
            ": there is no query: add a section [query.NAME]\n");
  EXPECT_EQ(problems("[source.\"a b\"]\ntype = \"file\"\npath = \"x\"\n" + kMinimal),
            "1:9: 'a b' is no name: letters, digits, '_' and '-', at most 64\n");
}

std::string window_problems(const std::string& lines) {
  std::string all = problems(kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n" +
                             "[query.q.window]\n" + lines);
  return all;
}

TEST(Refusals, ZonesThatTheDatabaseLacks) {
  const auto zone = [](const std::string& name) {
    return window_problems("type = \"calendar\"\nunit = \"day\"\nzone = \"" + name + "\"\n");
  };
  EXPECT_EQ(zone("Europe/Vienna"), "");
  EXPECT_EQ(zone("America/New_Yrok"),
            "10:8: zone: the system's database has no zone 'America/New_Yrok'; did you mean "
            "'America/New_York'?\n");
  EXPECT_EQ(zone("New York"),
            "10:8: zone: the system's database has no zone 'New York'; did you mean "
            "'America/New_York'?\n");
  EXPECT_EQ(zone("the moon's far side"),
            "10:8: zone: the system's database has no zone 'the moon's far side' (IANA names, as "
            "America/New_York; package tzdata)\n");
}

// What others have and we do not, with the reason or the word for it.
TEST(Refusals, WordsOfOtherStreamProcessors) {
  const std::string tumbling = "type = \"tumbling\"\nsize = \"1 s\"\n";
  const auto option = [&](const std::string& name) {
    return window_problems(tumbling + name + " = 1\n");
  };
  EXPECT_EQ(option("evictor"),
            "10:1: [query.q.window] has no option 'evictor': there are no evictors: every event of "
            "a window would have to be kept. Select events with `where`, or take the last n of a "
            "key with type = \"count\"\n");
  EXPECT_EQ(option("delta_trigger"),
            "10:1: [query.q.window] has no option 'delta_trigger': there are no delta triggers: "
            "when they fire depends on the order in which events come. Test the results with "
            "`having`, or choose type = \"count\" or \"session\"\n");
  EXPECT_EQ(option("continuous_trigger"),
            "10:1: [query.q.window] has no option 'continuous_trigger': there is no continuous "
            "trigger: its early results hold events beyond the point at which they leave. "
            "early_every gives results of the events before each step\n");
  EXPECT_EQ(option("stagger"),
            "10:1: [query.q.window] has no option 'stagger': windows are not staggered: results of "
            "one time belong together. A close is worked out in slices anyway "
            "(runtime.results_per_turn), so receiving goes on\n");
  EXPECT_EQ(window_problems("type = \"processing_time\"\nsize = \"1 s\"\n"),
            "8:8: type: cannot be 'processing_time': there are no windows of processing time: "
            "their results would depend on when they were worked out. Choose the same window in "
            "event time; provisional_every shows it by the clock meanwhile\n");
  EXPECT_NE(option("trigger").find("windows fire at their end"), std::string::npos);
  EXPECT_EQ(option("grace"),
            "10:1: [query.q.window] has no option 'grace': say allowed_lateness\n");
  EXPECT_EQ(window_problems("type = \"hopping\"\nsize = \"1 s\"\n"),
            "8:8: type: cannot be 'hopping': say \"sliding\"\n");
  EXPECT_EQ(problems(kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\n"
                               "group_by = \"src\"\nallowed_lateness = \"1 s\"\n"
                               "window = { type = \"tumbling\", size = \"1 s\" }\n"),
            "7:1: [query.q] has no option 'group_by': say key\n"
            "8:1: [query.q] has no option 'allowed_lateness'; it stands in [query.q.window]\n");
}

TEST(Refusals, WhatAWindowCannotHaveWithTheReason) {
  EXPECT_EQ(window_problems("type = \"session\"\ngap = \"1 s\"\nearly_every = \"1 s\"\n"),
            "10:1: 'early_every' has no meaning where type is \"session\": a session has no steps, "
            "since its start moves when an earlier event joins it; provisional_every shows open "
            "sessions by the clock\n");
  EXPECT_EQ(
      window_problems("type = \"count\"\nrows = 5\nallowed_lateness = \"1 s\"\n"),
      "10:1: 'allowed_lateness' has no meaning where type is \"count\": it ends at a row, not "
      "at a time, so that no row is late\n");
  EXPECT_EQ(window_problems("type = \"global\"\nearly_every = \"1 s\"\n"),
            "9:1: 'early_every' has no meaning where type is \"global\": it has no start to count "
            "steps from; early_every_rows counts rows, and type = \"cumulate\" steps from a "
            "start\n");
  EXPECT_EQ(window_problems("type = \"tumbling\"\nsize = \"1 s\"\nearly_every = \"3651 d\"\n"),
            "10:15: early_every: must be 3650 d at most, or \"never\"\n");
  EXPECT_EQ(
      window_problems("type = \"tumbling\"\nsize = \"1 s\"\nzone = \"UTC\"\n"),
      "10:1: 'zone' has no meaning where type is \"tumbling\": windows of a fixed length have "
      "an offset; type = \"calendar\" follows a zone's clock\n");
  // What the compiler finds stands where it was written.
  EXPECT_EQ(window_problems("type = \"cumulate\"\nsize = \"1 s\"\nstep = \"2 s\"\n"),
            "10:8: step: the step 2 s is longer than the size 1 s, so no window would hold one\n");
  EXPECT_EQ(problems(kSource + "partition = \"vlan\"\n[query.q]\nsource = \"lan\"\n"
                               "aggregates = \"count\"\n"
                               "window = { type = \"count\", rows = 5 }\n"),
            "8:19: type: count windows take rows in the order in which they came, but 'lan' sorts "
            "them by the watermark of their partition (vlan): give the source lateness_by = "
            "\"lane\", or no partition\n");
}

TEST(Refusals, Cores) {
  const std::string text = "[runtime]\ncores = [0, 9]\n" + kMinimal;
  EXPECT_EQ(problems(text, {0, 1, 2, 3, 8}),
            "2:9: cores: core 9 does not exist or may not be used by this process; it may use "
            "0-3, 8\n");
  EXPECT_EQ(problems(text, {0, 9}), "");
  EXPECT_EQ(problems("[runtime]\ncores = [0, 0]\n" + kMinimal, {0}),
            "2:9: cores: core 0 stands there twice\n");
  EXPECT_EQ(problems("[runtime]\nworkers = 3\ncores = [0, 1]\n" + kMinimal),
            "3:9: cores: names 2 cores for 3 workers\n");
}

TEST(Refusals, SourcesFormatsAndPartitions) {
  EXPECT_EQ(problems(with_source("format = \"packets\"\n")),
            "4:10: format: there is no format 'packets'; did you mean 'packet'?\n");
  EXPECT_EQ(problems(with_source("partition = \"vlam\"\n")),
            "4:13: partition: format 'packet' has no field 'vlam'; did you mean 'vlan'?\n");
  EXPECT_NE(
      problems(with_source("format = \"itch\"\nzone = \"Mars/Olympus\"\n")).find("5:8: zone: "),
      std::string::npos);
}

TEST(Refusals, Sinks) {
  EXPECT_EQ(problems(kMinimal + "[sink.net]\ntype = \"udp\"\naddress = \"localhost\"\n"),
            "10:11: address: must be \"HOST:PORT\" or \"[IPV6]:PORT\"\n");
  EXPECT_EQ(problems(kMinimal + "[sink.net]\ntype = \"udp\"\naddress = \"::1:80\"\n"),
            "10:11: address: must be \"HOST:PORT\" or \"[IPV6]:PORT\"\n");
  EXPECT_EQ(problems(kMinimal + "[sink.net]\ntype = \"udp\"\naddress = \"h:70000\"\n"),
            "10:11: address: must end in a port from 1 to 65535\n");
  EXPECT_EQ(
      problems(kMinimal + "[sink.net]\ntype = \"udp\"\naddress = \"h:7\"\nformat = \"table\"\n"),
      "11:10: format: a datagram holds one result and no table; choose json, csv or binary\n");
  EXPECT_EQ(problems(kMinimal + "[sink.a]\ntype = \"file\"\npath = \"x\"\n"
                                "[sink.b]\ntype = \"file\"\npath = \"x\"\n"),
            "13:8: path: sink 'a' writes to this file already\n");
  EXPECT_EQ(problems(kSource + "[query.q]\nsource = \"lan\"\naggregates = \"count\"\nsinks = "
                               "[\"terminal\", \"fiel\"]\nwindow = { type = \"tumbling\", size = "
                               "\"1 s\" }\n[sink.file]\ntype = \"file\"\npath = \"x\"\n"),
            "7:10: sinks: no sink is named 'terminal'; valid are: file\n"
            "7:22: sinks: no sink is named 'fiel'; did you mean 'file'?\n");
}

TEST(Refusals, QueriesWithThePlaceInsideTheText) {
  const auto query = [](const std::string& lines) {
    return problems(kSource + "[query.q]\nsource = \"lan\"\n" + lines);
  };
  const std::string window = "window = { type = \"tumbling\", size = \"1 s\" }\n";
  EXPECT_EQ(
      query("where = \"protocol == tcp and dst_prt == 80\"\naggregates = \"count\"\n" + window),
      "6:30: where: format 'packet' has no field 'dst_prt'; did you mean 'dst_port'?\n");
  EXPECT_EQ(query("where = '''\n  protocol == tcp\n  and dst_prt == 80'''\naggregates = "
                  "\"count\"\n" +
                  window),
            "8:7: where: format 'packet' has no field 'dst_prt'; did you mean 'dst_port'?\n");
  EXPECT_EQ(query("key = [\"protocol\",\n  \"src/99\"]\naggregates = \"count\"\n" + window),
            "7:8: key: expected a prefix length from 0 to 32, found '99'\n");
  EXPECT_EQ(query("aggregates = [\"count\", \"sum(src)\"]\n" + window),
            "6:29: aggregates: sum: 'src' is not a number\n");
  EXPECT_EQ(
      query("aggregates = \"count\"\nwindow = { type = \"tumbling\", size = \"1 s\", offset = "
            "\"1 s\" }\n"),
      "7:54: offset: the offset 1 s must be nearer to zero than the size 1 s: windows "
      "repeat, so a smaller one means the same\n");
  // 128 shards of 512 + 5 * 23 + 16, made even: 644 cells of 32 B and 8 B; 32 B of __overflow__.
  EXPECT_EQ(query("aggregates = \"count\"\nmemory = \"4 KiB\"\nkey = \"src\"\n" + window),
            "7:10: memory: one window needs 3 panes of 2638880 B, 7916640 B in all; granted are 0: "
            "allow more memory, or fewer keys (max_keys)\n");
}

TEST(Refusals, AreFoundInOneGo) {
  const std::string text =
      "[runtime]\nworkers = 0\nidel = \"spin\"\n"
      "[source.lan]\ntype = \"file\"\npath = \"a\"\nmax_ahead = \"1\"\n"
      "[query.q]\nsource = \"wan\"\naggregates = [\"cont\"]\n"
      "[sink.x]\ntype = \"fil\"\n";
  EXPECT_EQ(problems(text),
            "2:11: workers: must be 1 to 64, not 0\n"
            "3:1: [runtime] has no option 'idel'; did you mean 'idle'?\n"
            "7:13: max_ahead: '1' has no unit; valid are: ns, us, ms, s, m, h, d\n"
            "8:8: query 'q' has no window: add a section [query.q.window]\n"
            "9:10: source: no source is named 'wan'; did you mean 'lan'?\n"
            "12:8: type: cannot be 'fil'; did you mean 'file'?\n");
}

TEST(Refusals, FilesThatCannotBeRead) {
  const Loaded loaded = load_config_file("no/such/file.conf");
  ASSERT_EQ(loaded.problems.size(), 1u);
  EXPECT_EQ(to_string(loaded.problems[0], loaded.config.file),
            "no/such/file.conf: cannot be read: No such file or directory");
  EXPECT_FALSE(load_config_file(TIDEWIRE_CONFIG_DIR).ok());  // a folder
  const Loaded capture = load_config_file(TIDEWIRE_CONFIG_DIR "/demo.pcap");
  ASSERT_EQ(capture.problems.size(), 1u);
  EXPECT_NE(capture.problems[0].text.find("--pcap"), std::string::npos);
}

TEST(Options, EveryDefaultIsWithinItsLimits) {
  for (const Option& option : options()) {
    const std::string name = std::string(option.section) + "." + std::string(option.key);
    EXPECT_FALSE(option.why.empty()) << name;
    EXPECT_EQ(find_option(option.section, option.key), &option) << name << " stands there twice";
    OptionValue value;
    std::string problem;
    const bool required = option.fallback == kRequired;
    if (required) {
      EXPECT_FALSE(option.example.empty()) << name;
    } else {
      EXPECT_TRUE(read_option(option, option.fallback, value, problem)) << name << ": " << problem;
    }
    if (option.kind == OptionKind::kInteger && !required) {
      EXPECT_TRUE(check_number(option, value.number, problem)) << name << ": " << problem;
      EXPECT_EQ(std::to_string(value.number), option.fallback) << name;
    }
  }
}

}  // namespace
}  // namespace tidewire
