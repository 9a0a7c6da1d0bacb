#include <charconv>
#include <optional>

#include "config/option_rows.h"
#include "query/field_text.h"

namespace tidewire::option_rows {
namespace {

constexpr int64_t kPartitions = 4096;  // declared ones

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

// Of "2019-10-30", from 1970-01-01; nothing: it is no day, or out of any usable range.
std::optional<int64_t> day_of(const std::string& text) {
  constexpr int64_t kDay = 86'400 * kSecond;
  const auto midnight = parse_time(text + "T00:00:00Z");
  if (text.size() != 10 || !midnight.ok() || !is_usable(later(*midnight, {2 * kDay})))
    return std::nullopt;
  return floor_div(midnight->ns, kDay);
}

constexpr std::string_view kSourceTypes = "file port";
constexpr std::string_view kFileLanes = "one per_file";
constexpr std::string_view kReaders = "auto uring pread";
constexpr std::string_view kFlowTimes = "flow_end flow_start export arrival";
constexpr std::string_view kTimeUnits = "auto text s ms us ns";
constexpr std::string_view kMissingTimes = "drop arrival";
constexpr std::string_view kSampling = "as_is multiply";
constexpr std::string_view kClocks = "none nanoseconds microseconds ticks";
constexpr std::string_view kLateness = "partition lane";
constexpr std::string_view kWatermarks = "bounded monotonous punctuated none";
constexpr std::string_view kMarkOf = "partition lane";
constexpr std::string_view kGuards = "accept drop divert";

// clang-format off: a table, every entry in the same three parts
const Option kOptions[] = {
    // ---- [source.NAME]
    choice("source", "type", kRequired, kSourceTypes,
           "file: captures on disk (pcap, pcapng), files of records where the format has some, "
           "gzip or "
           "zstd of them. port: a network port by "
           "DPDK.",
           [](Target& t, const Value& v) { t.source->type = chosen<SourceType>(kSourceTypes, v); })
        .shown("file"),
    option("source", "format", Kind::kText, "packet", 1, 64,
           "How packets become events: packet (headers of Ethernet to TCP), itch (Nasdaq ITCH "
           "5.0 in MoldUDP64), netflow (NetFlow 5, 9 and IPFIX), sflow (version 5), influx (line "
           "protocol), csv, json "
           "(JSON lines).",
           [](Target& t, const Value& v) { t.source->format_name = v.text; }),
    option("source", "zone", Kind::kText, "", 0, 64,
           "The zone whose midnight or wall clock the format's times mean (IANA name). Empty: itch "
           "America/New_York, texts UTC.",
           [](Target& t, const Value& v) { t.source->format_options.zone = v.text; })
        .when("format=itch csv json"),
    option("source", "date", Kind::kText, "", 0, 10,
           "Day of the messages in files that have no arrival stamps, such as \"2019-10-30\". "
           "Empty: messages without an arrival have no time.",
           [](Target& t, const Value& v) { t.source->format_options.date = day_of(v.text); })
        .when("format=itch")
        .checked([](const Value& v) {
          return v.text.empty() || day_of(v.text) ? nullptr
                                                  : "must be a day such as \"2019-10-30\"";
        }),
    option(
        "source", "reorder_wait", Kind::kDuration, "0 s", 0, 10 * kSecond,
        "How long, in the lane's own arrival stamps, a datagram waits for one numbered before it "
        "to come on the other line of an A/B pair; then the gap is counted. 256 may wait at "
        "once. 0 s: messages count as they come.",
        [](Target& t, const Value& v) { t.source->format_options.reorder_wait = duration(v); })
        .when("format=itch"),
    option("source", "fields", Kind::kTexts, "", 0, 62,
           "What a record holds: \"NAME TYPE\", or \"NAME TYPE from PLACE\" where it has another "
           "name there, or is column #3 of a CSV or member /of/a/path of JSON. Types: integer, "
           "decimal(2), text, text(32), address, flag.",
           [](Target& t, const Value& v) { t.source->format_options.fields = v.texts; })
        .when("format=influx csv json"),
    option("source", "time", Kind::kText, "", 0, 256,
           "Where the time stands, as a PLACE of `fields`.",
           [](Target& t, const Value& v) { t.source->format_options.time = v.text; })
        .when("format=csv json"),
    choice(
        "source", "time_unit", "auto", kTimeUnits,
        "text: as 2024-05-01T13:30:00Z. s to ns: a number since 1970, with decimals or not. auto: "
        "ns for influx, text elsewhere.",
        [](Target& t, const Value& v) {
          t.source->format_options.time_unit = chosen<TextTimeUnit>(kTimeUnits, v);
        })
        .when("format=influx csv json"),
    choice("source", "missing_time", "drop", kMissingTimes,
           "What becomes of a record without a time that can be read. arrival: it has the time at "
           "which it came, counted; lines of a file have none.",
           [](Target& t, const Value& v) {
             t.source->format_options.time_may_be_arrival = v.text == "arrival";
           })
        .when("format=influx csv json"),
    option("source", "separator", Kind::kText, ",", 1, 3,
           "Between values: a character, or \"tab\".",
           [](Target& t, const Value& v) {
             t.source->format_options.separator = v.text == "tab" ? '\t' : v.text[0];
           })
        .when("format=csv")
        .checked([](const Value& v) {
          return v.text.size() == 1 || v.text == "tab" ? nullptr
                                                       : "must be one character, or \"tab\"";
        }),
    option("source", "header", Kind::kBool, "true", 0, 1,
           "The first line names the columns. false: they go by number, as in \"load integer from "
           "#3\".",
           [](Target& t, const Value& v) { t.source->format_options.header = v.number != 0; })
        .when("format=csv"),
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
        .when("format=netflow sflow"),
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
};
// clang-format on

}  // namespace

std::span<const Option> source_options() { return kOptions; }

}  // namespace tidewire::option_rows
