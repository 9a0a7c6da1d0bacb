#include "config/options.h"

#include <charconv>
#include <optional>

#include "query/field_text.h"

namespace tidewire {
namespace {

using Kind = OptionKind;
using Target = OptionTarget;
using Value = OptionValue;

constexpr int64_t kYears = int64_t{3650} * 86'400 * kSecond;  // ten: nothing sane is longer
constexpr int64_t kLine = 4096;                               // characters of a text
constexpr int64_t kNames = 64;                                // items of a list
constexpr int64_t kPartitions = 4096;                         // declared ones

uint32_t u32(const Value& v) { return static_cast<uint32_t>(v.number); }
uint64_t u64(const Value& v) { return static_cast<uint64_t>(v.number); }
Duration duration(const Value& v) { return {v.number}; }
// Of options whose "never" is a length of zero.
Duration or_never(const Value& v) { return {v.number == kNeverAllowed ? 0 : v.number}; }
const char* check_years(const Value& v) {
  return v.number == kNeverAllowed || v.number <= kYears ? nullptr
                                                         : "must be 3650 d at most, or \"never\"";
}

// "fast": 0, "recorded": 100, "3x": 300; nothing: not a pace.
std::optional<uint32_t> pace_percent(std::string_view text) {
  if (text == "fast") return 0;
  if (text == "recorded") return 100;
  uint32_t times = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, times);
  if (code != std::errc() || stop + 1 != end || *stop != 'x' || times < 1 || times > 10'000)
    return std::nullopt;
  return times * 100;
}

const char* check_address(const Value& v) {
  const size_t colon = v.text.rfind(':');
  const std::string host = v.text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (colon == std::string::npos || host.empty() ||
      (!bracketed && host.find(':') != std::string::npos))
    return "must be \"HOST:PORT\" or \"[IPV6]:PORT\"";
  uint32_t port = 0;
  const char* end = v.text.data() + v.text.size();
  const auto [stop, code] = std::from_chars(v.text.data() + colon + 1, end, port);
  if (code != std::errc() || stop != end || port < 1 || port > 65'535)
    return "must end in a port from 1 to 65535";
  return nullptr;
}

constexpr std::string_view kIdle = "spin yield sleep auto";
constexpr std::string_view kNuma = "prefer strict";
constexpr std::string_view kSourceTypes = "file port";
constexpr std::string_view kFileLanes = "one per_file";
constexpr std::string_view kReaders = "auto uring pread";
constexpr std::string_view kFlowTimes = "flow_end flow_start export arrival";
constexpr std::string_view kSampling = "as_is multiply";
constexpr std::string_view kClocks = "none nanoseconds microseconds ticks";
constexpr std::string_view kLateness = "partition lane";
constexpr std::string_view kWatermarks = "bounded monotonous punctuated none";
constexpr std::string_view kMarkOf = "partition lane";
constexpr std::string_view kGuards = "accept drop divert";
constexpr std::string_view kPlacements = "auto local exchange";
constexpr std::string_view kWindows = "tumbling sliding session cumulate calendar count global";
constexpr std::string_view kUnits = "hour day week month";
constexpr std::string_view kAccumulations = "accumulating discarding retracting";
constexpr std::string_view kFills = "none zero carry";
constexpr std::string_view kTopOrders = "greatest least";
constexpr std::string_view kSinkTypes = "terminal stdout file udp";
constexpr std::string_view kEncodings = "table json csv binary auto";

// The choices of an option stand in the order of its enum.
template <class Enum>
Enum chosen(std::string_view choices, const Value& v) {
  uint8_t index = 0;
  for (auto rest = choices; !rest.empty() && first_word(rest) != v.text; rest = after_word(rest))
    ++index;
  return static_cast<Enum>(index);
}

using Text = std::string_view;
using Set = void (*)(Target&, const Value&);

constexpr Option option(Text section, Text key, Kind kind, Text fallback, int64_t least,
                        int64_t most, Text why, Set set) {
  return {section, key, kind, fallback, least, most, {}, {}, {}, why, set};
}
constexpr Option choice(Text section, Text key, Text fallback, Text choices, Text why, Set set) {
  return {section, key, Kind::kChoice, fallback, 0, 0, choices, {}, {}, why, set};
}

// clang-format off: a table, every entry in the same three parts
const Option kOptions[] = {
    // ---- [system]
    option("system", "system_name", Kind::kText, "tidewire", 1, 64,
           "Name of this deployment; stands in every result.",
           [](Target& t, const Value& v) { t.system->system_name = v.text; }),
    option("system", "replication_factor", Kind::kInteger, "3", 1, 7,
           "Hosts that hold the state. Until peers are configured it runs as a single host and "
           "says so.",
           [](Target& t, const Value& v) { t.system->replication_factor = u32(v); }),
    option("system", "enable_zero_copy", Kind::kBool, "true", 0, 1,
           "Packets are read where the driver put them. false: copied at the door, for debugging "
           "drivers.",
           [](Target& t, const Value& v) { t.system->enable_zero_copy = v.number != 0; }),
    option("system", "consensus_timeout_ms", Kind::kInteger, "250", 10, 60'000,
           "Milliseconds after which a leader that says nothing is replaced.",
           [](Target& t, const Value& v) { t.system->consensus_timeout_ms = u32(v); }),
    option("system", "hash_seed", Kind::kInteger, "0", 0, kNoLimit,
           "Seed of the key hash: a secret number keeps crafted keys from piling up. It decides "
           "the order of results, so equal digests need equal seeds.",
           [](Target& t, const Value& v) { t.system->hash_seed = u64(v); }),

    // ---- [runtime]
    option("runtime", "workers", Kind::kInteger, "1", 1, 64,
           "Pinned threads that receive, parse and aggregate. Results do not depend on it. "
           "Without it, as many as `cores` names.",
           [](Target& t, const Value& v) { t.runtime->workers = u32(v); }),
    option("runtime", "cores", Kind::kIntegers, "", 0, 4095,
           "The core of each worker, in turn. Empty: the first that this process may use.",
           [](Target& t, const Value& v) {
             t.runtime->cores.assign(v.numbers.begin(), v.numbers.end());
           }),
    choice(
        "runtime", "idle", "auto", kIdle,
        "What a worker without input does. auto: spin on a core that the kernel leaves alone "
        "(isolcpus), yield elsewhere. sleep costs up to a millisecond of latency. The thread that "
        "sends results yields too where it has a core of its own, else it sleeps.",
        [](Target& t, const Value& v) {
          t.runtime->idle.reset();
          if (v.text != "auto") t.runtime->idle = chosen<IdlePolicy>(kIdle, v);
        }),
    choice("runtime", "numa", "prefer", kNuma,
           "Memory on the worker's own node. prefer: else elsewhere, and said so; strict: else "
           "no start.",
           [](Target& t, const Value& v) { t.runtime->numa = chosen<NumaPolicy>(kNuma, v); }),
    option("runtime", "burst", Kind::kInteger, "256", 1, 256,
           "Most packets taken in one turn of a worker.",
           [](Target& t, const Value& v) { t.runtime->burst = u32(v); }),
    option("runtime", "results_per_turn", Kind::kInteger, "1536", 1, 65'536,
           "Most results of a closing window worked out before receive is polled again.",
           [](Target& t, const Value& v) { t.runtime->results_per_turn = u32(v); }),
    option("runtime", "rows_per_turn", Kind::kInteger, "1024", 256, 65'536,
           "Most rows of other workers taken in one turn.",
           [](Target& t, const Value& v) { t.runtime->rows_per_turn = u32(v); }),
    option("runtime", "result_blocks", Kind::kInteger, "64", 16, 65'536,
           "Blocks of 16 KiB for results on their way out, a worker: what a slow sink may hold "
           "back before windows wait.",
           [](Target& t, const Value& v) { t.runtime->result_blocks = u32(v); }),

    // ---- [source.NAME]
    choice("source", "type", kRequired, kSourceTypes,
           "file: captures on disk (pcap, pcapng, gzip or zstd of them). port: a network port by "
           "DPDK.",
           [](Target& t, const Value& v) { t.source->type = chosen<SourceType>(kSourceTypes, v); })
        .shown("file"),
    option("source", "format", Kind::kText, "packet", 1, 64,
           "How packets become events: packet (headers of Ethernet to TCP), itch (Nasdaq ITCH "
           "5.0 in MoldUDP64), netflow (NetFlow 5, 9 and IPFIX).",
           [](Target& t, const Value& v) { t.source->format_name = v.text; }),
    option("source", "zone", Kind::kText, "America/New_York", 1, 64,
           "The zone whose midnight the format's times count from (IANA name).",
           [](Target& t, const Value& v) { t.source->format_options.zone = v.text; })
        .when("format=itch"),
    choice("source", "flow_time", "flow_end", kFlowTimes,
           "Which time of a flow is its event time. Where it is missing, the export time counts.",
           [](Target& t, const Value& v) {
             t.source->format_options.flow_time = chosen<FlowTime>(kFlowTimes, v);
           })
        .when("format=netflow"),
    choice("source", "sampling", "as_is", kSampling,
           "multiply: bytes and packets times the sampling rate that the exporter says; unknown "
           "counts as 1.",
           [](Target& t, const Value& v) {
             t.source->format_options.multiply_sampling = v.text == "multiply";
           })
        .when("format=netflow"),
    option("source", "spread", Kind::kDuration, "0 s", 0, kYears,
           "Shares each flow out over intervals of this length between its start and end: one "
           "event each, bytes and packets by time. 0 s: one event a flow.",
           [](Target& t, const Value& v) { t.source->format_options.spread = duration(v); })
        .when("format=netflow"),
    option("source", "template_wait", Kind::kDuration, "10 m", 0, kYears,
           "How long data is kept whose template is still to come, in arrival stamps; 256 KiB a "
           "lane.",
           [](Target& t, const Value& v) { t.source->format_options.template_wait = duration(v); })
        .when("format=netflow"),
    option("source", "elements", Kind::kTexts, "", 0, 8,
           "Further fields by their numbers: \"NUMBER as NAME\", of an enterprise "
           "\"ENTERPRISE/NUMBER as NAME\", with \" text\" behind it where it is one (16 bytes).",
           [](Target& t, const Value& v) { t.source->format_options.elements = v.texts; })
        .when("format=netflow"),
    option("source", "ntp_microseconds", Kind::kTexts, "", 0, kNames,
           "Exporters that put microseconds where flowStartMicroseconds has a fraction of 2^-32 s "
           "(Citrix NetScaler); \"*\": all.",
           [](Target& t, const Value& v) { t.source->format_options.ntp_microseconds = v.texts; })
        .when("format=netflow"),
    option("source", "path", Kind::kTexts, "", 1, kNames,
           "The file, or a list of files that are read in this order.",
           [](Target& t, const Value& v) { t.source->file.paths = v.texts; })
        .when("type=file")
        .shown("config/demo.pcap"),
    option("source", "directory", Kind::kText, "", 0, kLine,
           "Instead of `path`: the files of this directory, in name order.",
           [](Target& t, const Value& v) { t.source->file.directory = v.text; })
        .when("type=file"),
    option("source", "pattern", Kind::kText, "*", 1, 256,
           "Which files of the directory: *, ? and [] as in a shell.",
           [](Target& t, const Value& v) { t.source->file.pattern = v.text; })
        .when("type=file"),
    choice(
        "source", "lanes", "one", kFileLanes,
        "one: the files are one stream, read one after the other. per_file: each file is its "
        "own, read side by side.",
        [](Target& t, const Value& v) { t.source->file.lanes = chosen<FileLanes>(kFileLanes, v); })
        .when("type=file"),
    option("source", "follow", Kind::kBool, "false", 0, 1,
           "Wait at the end of the last file for it to grow.",
           [](Target& t, const Value& v) { t.source->file.follow = v.number != 0; })
        .when("type=file"),
    choice(
        "source", "reader", "uring", kReaders,
        "uring: io_uring, refused with a message where the kernel forbids it. pread: plain "
        "reads. auto: uring, else pread and said so.",
        [](Target& t, const Value& v) { t.source->file.reader = chosen<FileReader>(kReaders, v); })
        .when("type=file"),
    option("source", "block_size", Kind::kSize, "256 KiB", 64 << 10, 16 << 20, "Bytes of one read.",
           [](Target& t, const Value& v) { t.source->file.block_size = u32(v); })
        .when("type=file")
        .checked([](const Value& v) {
          return v.number % 4096 == 0 ? nullptr : "must be a multiple of 4 KiB (direct IO)";
        }),
    option("source", "depth", Kind::kInteger, "8", 2, 256, "Reads in flight.",
           [](Target& t, const Value& v) { t.source->file.depth = u32(v); })
        .when("type=file"),
    option("source", "pace", Kind::kText, "fast", 1, 16,
           "fast: as fast as it can be read. recorded: as the capture's stamps say. 2x: twice as "
           "fast.",
           [](Target& t, const Value& v) {
             t.source->file.pace_percent = pace_percent(v.text).value_or(0);
           })
        .when("type=file")
        .checked([](const Value& v) {
          return pace_percent(v.text) ? nullptr
                                      : "must be \"fast\", \"recorded\", or a multiple such as "
                                        "\"2x\" (1x to 10000x)";
        }),
    option("source", "device", Kind::kText, kRequired, 1, kLine,
           "PCI address, or a DPDK virtual device with its arguments.",
           [](Target& t, const Value& v) { t.source->port.device = v.text; })
        .when("type=port")
        .shown("net_af_packet0,iface=eth0"),
    option("source", "queues", Kind::kInteger, "1", 1, 64,
           "Receive queues, one lane each; packets are spread over them by RSS.",
           [](Target& t, const Value& v) { t.source->port.queues = u32(v); })
        .when("type=port"),
    option("source", "descriptors", Kind::kInteger, "1024", 64, 32'768,
           "Packets that a queue's ring holds while its worker is busy. The driver may round it.",
           [](Target& t, const Value& v) { t.source->port.descriptors = u32(v); })
        .when("type=port"),
    option("source", "pool", Kind::kInteger, "0", 0, 16'777'215,
           "Packet buffers a queue. 0: what ring, caches and bursts need.",
           [](Target& t, const Value& v) { t.source->port.pool = u32(v); })
        .when("type=port"),
    choice("source", "clock", "none", kClocks,
           "Unit of the port's hardware receive stamps. none: one reading of the system clock a "
           "burst.",
           [](Target& t, const Value& v) { t.source->port.clock = chosen<StampClock>(kClocks, v); })
        .when("type=port"),
    option("source", "promiscuous", Kind::kBool, "true", 0, 1,
           "Take packets for other hosts too. A stop leaves the interface as it was found, kill -9 "
           "does not.",
           [](Target& t, const Value& v) { t.source->port.promiscuous = v.number != 0; })
        .when("type=port"),
    choice("source", "watermark", "bounded", kWatermarks,
           "What says that no earlier event is still to come. bounded: the latest event, less "
           "out_of_orderness. monotonous: the latest event. punctuated: events that `progress` "
           "names, and what the feed itself says: MoldUDP64's heartbeat and end of session, an "
           "empty poll of a port that stamps packets (clock). none: only the end of the input, so "
           "that windows are all open until then.",
           [](Target& t, const Value& v) {
             t.source->watermark = chosen<WatermarkStrategy>(kWatermarks, v);
           }),
    option("source", "out_of_orderness", Kind::kDuration, "100 ms", 0, kYears,
           "How much earlier than the latest event one may still come. Windows close this much "
           "later. punctuated: than the arrival stamp, where a feed says that it has caught up.",
           [](Target& t, const Value& v) { t.source->out_of_orderness = duration(v); })
        .when("watermark=bounded punctuated"),
    option("source", "progress", Kind::kText, "", 0, kLine,
           "Events that mark progress, in the words of a query's `where`, such as \"type == 'S'\": "
           "no event before the time of such a one is still to come. Empty: none does.",
           [](Target& t, const Value& v) { t.source->progress = v.text; })
        .when("watermark=punctuated"),
    choice("source", "progress_of", "partition", kMarkOf,
           "Whose progress they mark: that of their partition, or of the whole lane.",
           [](Target& t, const Value& v) { t.source->progress_of = chosen<MarkOf>(kMarkOf, v); })
        .when("watermark=punctuated"),
    option("source", "partition", Kind::kText, "", 0, 64,
           "Field whose value names the partition, each with its own watermark. Empty: one "
           "partition a lane.",
           [](Target& t, const Value& v) { t.source->partition = v.text; }),
    option("source", "max_partitions", Kind::kInteger, "64", 1, 65'536,
           "Partitions of a lane; with `partition`. Events of more share the first one, counted.",
           [](Target& t, const Value& v) { t.source->max_partitions = u32(v); }),
    option("source", "partitions", Kind::kTexts, "", 0, kPartitions,
           "Values of `partition` that are waited for from the start: no window closes before each "
           "was heard. Others join when they come.",
           [](Target& t, const Value& v) { t.source->partitions = v.texts; }),
    option("source", "start_hold", Kind::kDuration, "0 s", 0, kYears,
           "How long, in the lane's own arrival stamps, windows stay open at the start: for "
           "`partitions` that are not heard (0 s: without limit), or, without them, for partitions "
           "to turn up (0 s: not at all).",
           [](Target& t, const Value& v) { t.source->start_hold = duration(v); }),
    option("source", "idle_after", Kind::kDuration, "never", 1, kNeverAllowed,
           "A partition without events for so long, in the lane's own arrival stamps, holds "
           "nothing back.",
           [](Target& t, const Value& v) { t.source->idle_after = duration(v); }),
    option("source", "silent_after", Kind::kDuration, "5 s", 1'000'000, kNeverAllowed,
           "A lane without packets for so long, by the clock, holds nothing back. Not for files "
           "that are not followed.",
           [](Target& t, const Value& v) { t.source->silent_after = duration(v); }),
    option("source", "max_ahead", Kind::kDuration, "10 s", 0, kNeverAllowed,
           "An event further ahead of its arrival stamp moves no watermark: one wrong clock must "
           "not make all others late.",
           [](Target& t, const Value& v) { t.source->max_ahead = duration(v); }),
    choice(
        "source", "beyond_max_ahead", "accept", kGuards,
        "What becomes of such an event. accept: it joins its windows. drop: it ends there, "
        "counted. divert: to the `late_sinks` of the source's queries; without any it is dropped.",
        [](Target& t, const Value& v) {
          t.source->beyond_max_ahead = chosen<GuardPolicy>(kGuards, v);
        }),
    option("source", "max_behind", Kind::kDuration, "1 m", 0, kNeverAllowed,
           "A partition further behind its lane's leader holds nothing back: one slow clock must "
           "not stop all windows.",
           [](Target& t, const Value& v) { t.source->max_behind = duration(v); }),
    choice("source", "beyond_max_behind", "accept", kGuards,
           "What becomes of the events of such a partition. accept: they are late where their "
           "windows have closed.",
           [](Target& t, const Value& v) {
             t.source->beyond_max_behind = chosen<GuardPolicy>(kGuards, v);
           }),
    option(
        "source", "min_time", Kind::kText, "", 0, 64,
        "No sound event is earlier, such as \"2020-01-01T00:00:00Z\": clocks that were never set "
        "start in 1970. Empty: any time is.",
        [](Target& t, const Value& v) {
          if (!v.text.empty()) t.source->min_time = parse_time(v.text).value_or(EventTime{});
        })
        .checked([](const Value& v) {
          return v.text.empty() || parse_time(v.text).ok()
                     ? nullptr
                     : "must be a time such as \"2020-01-01T00:00:00Z\"";
        }),
    choice("source", "before_min_time", "drop", kGuards, "What becomes of an earlier one.",
           [](Target& t, const Value& v) {
             t.source->before_min_time = chosen<GuardPolicy>(kGuards, v);
           }),
    option("source", "max_drift", Kind::kDuration, "10 s", 0, kNeverAllowed,
           "How far lanes may run apart; sizes the panes that are open at once.",
           [](Target& t, const Value& v) { t.source->max_drift = duration(v); }),
    choice("source", "lateness_by", "partition", kLateness,
           "An event is late by its own partition's watermark, or by its lane's (Flink's rule "
           "for many partitions read by one task).",
           [](Target& t, const Value& v) {
             t.source->lateness_by = chosen<LatenessBy>(kLateness, v);
           }),

    // ---- [query.NAME]
    option("query", "source", Kind::kText, kRequired, 1, 64, "The source that feeds it.",
           [](Target& t, const Value& v) { t.query->source = v.text; })
        .shown("capture"),
    option("query", "where", Kind::kText, "", 0, kLine,
           "Which events count, such as \"protocol in {tcp, udp} and not src in 10.0.0.0/8\". "
           "Empty: all.",
           [](Target& t, const Value& v) { t.query->where = v.text; }),
    option("query", "key", Kind::kTexts, "", 0, 4,
           "One result for each value of these fields; \"src/24\" cuts IPv4 to 24 bits and IPv6 "
           "to 64, \"src/24/48\" IPv6 to 48. At most 4 words of 8 bytes (an address has 2).",
           [](Target& t, const Value& v) { t.query->key = v.texts; })
        .shown("protocol"),
    option("query", "aggregates", Kind::kTexts, kRequired, 1, 32,
           "count, or of a field f: sum(f), min, max, avg, first, last, any, all (is it not 0), "
           "variance, stddev, variance_samp, stddev_samp, median, p99, quantile(f, 0.95), "
           "distinct, top(f, 3), bottom(f, 3), ohlc(f); vwap(price, volume); and of one before, by "
           "its name, delta(NAME) and rate(NAME). Each with \" as NAME\" if wished. Quantiles are "
           "within 1.6 %, distinct has a standard error of 3.25 %, all else is exact.",
           [](Target& t, const Value& v) { t.query->aggregates = v.texts; })
        .shown("count, sum(wire_length) as bytes"),
    option("query", "sinks", Kind::kTexts, "", 0, kNames,
           "Where results go. Empty: to every sink of the file that is not named in `late_sinks`; "
           "without any sink, a table on the terminal.",
           [](Target& t, const Value& v) { t.query->sinks = v.texts; }),
    option("query", "late_sinks", Kind::kTexts, "", 0, kNames,
           "Where events go that were too late for every window, with the reason and how late they "
           "were. Empty: they are counted only. A sink may take both.",
           [](Target& t, const Value& v) { t.query->late_sinks = v.texts; }),
    option("query", "having", Kind::kText, "", 0, kLine,
           "Which results leave, such as \"packets > 100 and bytes < 4096\": the language of "
           "`where`, over the names of the results. Empty: all.",
           [](Target& t, const Value& v) { t.query->having = v.text; }),
    choice(
        "query", "fill", "none", kFills,
        "What a key shows for windows in which it has no events. none: nothing. zero: counts and "
        "sums of 0. carry: its last result again.",
        [](Target& t, const Value& v) { t.query->fill = chosen<EmptyFill>(kFills, v); }),
    option("query", "fill_windows", Kind::kInteger, "1", 1, 10'000,
           "For so many windows behind the last one with events.",
           [](Target& t, const Value& v) { t.query->fill_windows = u32(v); })
        .when("fill=zero carry"),
    option("query", "top", Kind::kInteger, "0", 0, 10'000,
           "Of each window only so many results, ranked by `top_by`. 0: all.",
           [](Target& t, const Value& v) { t.query->top = u32(v); }),
    option("query", "top_by", Kind::kText, "", 0, 256, "The result that ranks, by its name.",
           [](Target& t, const Value& v) { t.query->top_by = v.text; }),
    choice("query", "top_order", "greatest", kTopOrders, "Which are the first.",
           [](Target& t, const Value& v) { t.query->top_least = v.text == "least"; }),
    option("query", "max_keys", Kind::kInteger, "65536", 1, 1 << 24,
           "Keys at once. Further ones are summed in the row __overflow__ of their window, and "
           "flagged.",
           [](Target& t, const Value& v) { t.query->max_keys = u64(v); }),
    option("query", "max_sessions", Kind::kInteger, "16384", 0, 1 << 24,
           "Open sessions beyond one a key.",
           [](Target& t, const Value& v) { t.query->max_sessions = u64(v); }),
    option("query", "max_deferred", Kind::kInteger, "16384", 1, 1 << 24,
           "Rows that wait for their place between fire points.",
           [](Target& t, const Value& v) { t.query->max_deferred = u64(v); }),
    option(
        "query", "max_changes", Kind::kInteger, "16384", 1, 1 << 24,
        "Windows of a key that late rows have changed, each kept until its window is cleaned up; "
        "with allowed_lateness or early results.",
        [](Target& t, const Value& v) { t.query->max_changes = u64(v); }),
    option("query", "max_panes", Kind::kInteger, "0", 0, 1 << 20,
           "Panes open at once. 0: what the source's bounds allow, within `memory`.",
           [](Target& t, const Value& v) { t.query->max_panes = u64(v); }),
    option("query", "memory", Kind::kSize, "256 MiB", 4096, int64_t{1} << 44,
           "Most memory for its panes; reserved at start.",
           [](Target& t, const Value& v) { t.query->memory = u64(v); }),
    choice("query", "placement", "auto", kPlacements,
           "local: a key's events all come in one lane (RSS by flow, key with the flow), so that "
           "nothing crosses cores. exchange: rows go to their key's owner. auto: local with one "
           "lane.",
           [](Target& t, const Value& v) {
             t.query->placement = chosen<PlacementChoice>(kPlacements, v);
           }),

    // ---- [query.NAME.window]
    choice(
        "query.window", "type", kRequired, kWindows,
        "tumbling: one after the other. sliding: every `slide`, each `size` long. cumulate: as "
        "tumbling, with a result every `step` of all since its start. calendar: hours, days, weeks "
        "or months of a zone. session: until `gap` passes without an event. count: the last `rows` "
        "events of a key. global: one window, which ends with the input.",
        [](Target& t, const Value& v) { t.query->window.kind = chosen<WindowKind>(kWindows, v); })
        .shown("tumbling"),
    option("query.window", "size", Kind::kDuration, kRequired, 1, kYears, "Length.",
           [](Target& t, const Value& v) {
             t.query->window.size = t.query->window.slide = duration(v);
           })
        .when("type=tumbling sliding cumulate")
        .shown("1 s"),
    option("query.window", "slide", Kind::kDuration, kRequired, 1, kYears,
           "Distance from one start to the next; above `size` it leaves gaps.",
           [](Target& t, const Value& v) { t.query->window.slide = duration(v); })
        .when("type=sliding")
        .shown("1 s"),
    option("query.window", "step", Kind::kDuration, kRequired, 1, kYears,
           "A window's results hold its first `step`, its first two, and so on to `size`.",
           [](Target& t, const Value& v) { t.query->window.early = duration(v); })
        .when("type=cumulate")
        .shown("100 ms"),
    option("query.window", "offset", Kind::kDuration, "0 s", -kYears, kYears,
           "Moves all starts, which else are multiples of size or slide since 1970 in UTC; \"-8 "
           "h\" gives days of China.",
           [](Target& t, const Value& v) { t.query->window.offset = duration(v); })
        .when("type=tumbling sliding cumulate"),
    choice(
        "query.window", "unit", kRequired, kUnits,
        "A week begins on Monday. Where clocks change, a day has 23 or 25 hours.",
        [](Target& t, const Value& v) { t.query->window.unit = chosen<CalendarUnit>(kUnits, v); })
        .when("type=calendar")
        .shown("day"),
    option("query.window", "zone", Kind::kText, "UTC", 1, 64,
           "The zone whose wall clock is meant (IANA name, as America/New_York).",
           [](Target& t, const Value& v) { t.query->window.zone = v.text; })
        .when("type=calendar"),
    option("query.window", "rows", Kind::kInteger, kRequired, 1, 1 << 20,
           "Events of a key in a window, in the order in which they came.",
           [](Target& t, const Value& v) {
             t.query->window.rows = t.query->window.row_slide = u64(v);
           })
        .when("type=count")
        .shown("100"),
    option("query.window", "slide_rows", Kind::kInteger, "0", 0, 1 << 20,
           "A result every so many events of a key, of its last `rows`. 0: every `rows`.",
           [](Target& t, const Value& v) {
             if (v.number > 0) t.query->window.row_slide = u64(v);
           })
        .when("type=count"),
    option("query.window", "gap", Kind::kDuration, "0 s", 0, kYears,
           "A session ends when its key has no event for so long. 0 s: see `gap_field`.",
           [](Target& t, const Value& v) { t.query->window.gap = duration(v); })
        .when("type=session")
        .shown("2 s"),
    option("query.window", "gap_field", Kind::kText, "", 0, 64,
           "Instead of `gap`: the field with which each event brings its own, in `gap_unit`.",
           [](Target& t, const Value& v) { t.query->gap_field = v.text; })
        .when("type=session"),
    option("query.window", "gap_unit", Kind::kDuration, "0 s", 0, kYears,
           "How long a 1 in `gap_field` is.",
           [](Target& t, const Value& v) { t.query->gap_unit = duration(v); })
        .when("type=session"),
    option("query.window", "max_duration", Kind::kDuration, "never", 1, kNeverAllowed,
           "Sessions end at each multiple of it since 1970 in UTC, as well as after a gap. never: "
           "one lasts as long as its events come.",
           [](Target& t, const Value& v) { t.query->window.max_duration = or_never(v); })
        .when("type=session")
        .checked(check_years),
    option(
        "query.window", "allowed_lateness", Kind::kDuration, "0 s", 0, kYears,
        "How far beyond a window's end the watermark may be for a late event still to count: the "
        "window then has another result.",
        [](Target& t, const Value& v) { t.query->window.lateness = duration(v); })
        .when("type=tumbling sliding cumulate calendar session"),
    option(
        "query.window", "update_every", Kind::kDuration, "never", 1, kNeverAllowed,
        "Gathers the results of late events: one each so much event time behind the end, and one "
        "at the end of allowed_lateness. never: one for each late event.",
        [](Target& t, const Value& v) { t.query->window.gather = or_never(v); })
        .when("type=tumbling sliding cumulate calendar session")
        .checked(check_years),
    option("query.window", "early_every", Kind::kDuration, "never", 1, kNeverAllowed,
           "Results before the end, each so much event time from the window's start, of the events "
           "up to there.",
           [](Target& t, const Value& v) { t.query->window.early = or_never(v); })
        .when("type=tumbling sliding calendar")
        .checked(check_years),
    option("query.window", "early_every_rows", Kind::kInteger, "0", 0, 1 << 30,
           "Results before the end, each so many events of a key and window in the order in which "
           "they came. 0: none.",
           [](Target& t, const Value& v) { t.query->window.early_rows = u64(v); })
        .when("type=tumbling sliding calendar session global"),
    option("query.window", "provisional_every", Kind::kDuration, "never", 1'000'000, kNeverAllowed,
           "What open windows hold, each so often by the clock. Marked provisional: it depends on "
           "when it was asked, so it stands outside sequence and digest.",
           [](Target& t, const Value& v) { t.query->window.provisional = or_never(v); })
        .checked(check_years),
    choice("query.window", "accumulation", "accumulating", kAccumulations,
           "What a window's further results say. accumulating: all so far. discarding: what came "
           "since the one before. retracting: the old one taken back, then all so far.",
           [](Target& t, const Value& v) {
             t.query->window.accumulation = chosen<Accumulation>(kAccumulations, v);
           }),

    // ---- [sink.NAME]
    choice("sink", "type", kRequired, kSinkTypes,
           "terminal: for eyes. stdout: for pipes. file: by io_uring. udp: a datagram a result.",
           [](Target& t, const Value& v) { t.sink->type = chosen<SinkType>(kSinkTypes, v); })
        .shown("terminal"),
    choice("sink", "format", "auto", kEncodings,
           "json: JSON lines. binary: fixed layout, versioned. auto: table on a terminal, json "
           "elsewhere.",
           [](Target& t, const Value& v) {
             t.sink->encoding = v.text != "auto" ? chosen<Encoding>(kEncodings, v)
                                : t.sink->type == SinkType::kTerminal ? Encoding::kTable
                                                                      : Encoding::kJsonLines;
           }),
    option("sink", "path", Kind::kText, kRequired, 1, kLine,
           "The file. One that exists is never overwritten: a new name is taken, or see "
           "`append`.",
           [](Target& t, const Value& v) { t.sink->path = v.text; })
        .when("type=file")
        .shown("results.jsonl"),
    option("sink", "append", Kind::kBool, "false", 0, 1, "Go on at the end of a file that exists.",
           [](Target& t, const Value& v) { t.sink->append = v.number != 0; })
        .when("type=file"),
    option("sink", "address", Kind::kText, kRequired, 1, 260, "HOST:PORT or [IPV6]:PORT.",
           [](Target& t, const Value& v) { t.sink->address = v.text; })
        .when("type=udp")
        .shown("127.0.0.1:9000")
        .checked(check_address),
};
// clang-format on

}  // namespace

std::span<const Option> options() { return kOptions; }

const Option* find_option(std::string_view section, std::string_view key) {
  for (const Option& option : kOptions)
    if (option.section == section && option.key == key) return &option;
  return nullptr;
}

}  // namespace tidewire
