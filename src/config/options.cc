#include "config/options.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/units.h"
#include "query/nearest.h"

namespace tidewire {
namespace {

using Kind = OptionKind;
using Target = OptionTarget;
using Value = OptionValue;

constexpr int64_t kMany = INT64_MAX - 1;                      // no limit of its own
constexpr int64_t kYears = int64_t{3650} * 86'400 * kSecond;  // ten: nothing sane is longer
constexpr int64_t kLine = 4096;                               // characters of a text
constexpr int64_t kNames = 64;                                // items of a list

uint32_t u32(const Value& v) { return static_cast<uint32_t>(v.number); }
uint64_t u64(const Value& v) { return static_cast<uint64_t>(v.number); }
Duration duration(const Value& v) { return {v.number}; }

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
constexpr std::string_view kClocks = "none nanoseconds microseconds ticks";
constexpr std::string_view kLateness = "partition lane";
constexpr std::string_view kPlacements = "auto local exchange";
constexpr std::string_view kWindows = "tumbling sliding session";
constexpr std::string_view kSinkTypes = "terminal stdout file udp";
constexpr std::string_view kEncodings = "table json csv binary auto";

// The choices of an option stand in the order of its enum.
template <class Enum>
Enum chosen(std::string_view choices, const Value& v) {
  uint8_t index = 0;
  for (std::string_view word = first_word(choices); word != v.text && !choices.empty(); ++index) {
    choices = after_word(choices);
    word = first_word(choices);
  }
  return static_cast<Enum>(index);
}

const Option kOptions[] = {
    // ---- [system]
    {"system",
     "system_name",
     Kind::kText,
     "tidewire",
     1,
     64,
     {},
     {},
     {},
     "Name of this deployment; stands in every result.",
     [](Target& t, const Value& v) { t.system->system_name = v.text; }},
    {"system",
     "replication_factor",
     Kind::kInteger,
     "3",
     1,
     7,
     {},
     {},
     {},
     "Hosts that hold the state. Until peers are configured it runs as a single host and says so.",
     [](Target& t, const Value& v) { t.system->replication_factor = u32(v); }},
    {"system",
     "enable_zero_copy",
     Kind::kBool,
     "true",
     0,
     1,
     {},
     {},
     {},
     "Packets are read where the driver put them. false: copied at the door, for debugging "
     "drivers.",
     [](Target& t, const Value& v) { t.system->enable_zero_copy = v.number != 0; }},
    {"system",
     "consensus_timeout_ms",
     Kind::kInteger,
     "250",
     10,
     60'000,
     {},
     {},
     {},
     "Milliseconds after which a leader that says nothing is replaced.",
     [](Target& t, const Value& v) { t.system->consensus_timeout_ms = u32(v); }},
    {"system",
     "hash_seed",
     Kind::kInteger,
     "0",
     0,
     kMany,
     {},
     {},
     {},
     "Seed of the key hash: a secret number keeps crafted keys from piling up. It decides the "
     "order "
     "of results, so equal digests need equal seeds.",
     [](Target& t, const Value& v) { t.system->hash_seed = u64(v); }},

    // ---- [runtime]
    {"runtime",
     "workers",
     Kind::kInteger,
     "1",
     1,
     64,
     {},
     {},
     {},
     "Pinned threads that receive, parse and aggregate. Results do not depend on it. Without it, "
     "as "
     "many as `cores` names.",
     [](Target& t, const Value& v) { t.runtime->workers = u32(v); }},
    {"runtime",
     "cores",
     Kind::kIntegers,
     "",
     0,
     4095,
     {},
     {},
     {},
     "The core of each worker, in turn. Empty: the first that this process may use.",
     [](Target& t, const Value& v) {
       t.runtime->cores.assign(v.numbers.begin(), v.numbers.end());
     }},
    {"runtime",
     "idle",
     Kind::kChoice,
     "auto",
     0,
     0,
     kIdle,
     {},
     {},
     "What a worker without input does. auto: spin on a core that the kernel leaves alone "
     "(isolcpus), "
     "yield elsewhere. sleep costs up to a millisecond of latency.",
     [](Target& t, const Value& v) {
       t.runtime->idle.reset();
       if (v.text != "auto") t.runtime->idle = chosen<IdlePolicy>(kIdle, v);
     }},
    {"runtime",
     "numa",
     Kind::kChoice,
     "prefer",
     0,
     0,
     kNuma,
     {},
     {},
     "Memory on the worker's own node. prefer: else elsewhere, and said so; strict: else no start.",
     [](Target& t, const Value& v) { t.runtime->numa = chosen<NumaPolicy>(kNuma, v); }},
    {"runtime",
     "burst",
     Kind::kInteger,
     "256",
     1,
     256,
     {},
     {},
     {},
     "Most packets taken in one turn of a worker.",
     [](Target& t, const Value& v) { t.runtime->burst = u32(v); }},
    {"runtime",
     "results_per_turn",
     Kind::kInteger,
     "512",
     1,
     65'536,
     {},
     {},
     {},
     "Most results of a closing window worked out before receive is polled again.",
     [](Target& t, const Value& v) { t.runtime->results_per_turn = u32(v); }},
    {"runtime",
     "rows_per_turn",
     Kind::kInteger,
     "1024",
     256,
     65'536,
     {},
     {},
     {},
     "Most rows of other workers taken in one turn.",
     [](Target& t, const Value& v) { t.runtime->rows_per_turn = u32(v); }},
    {"runtime",
     "result_blocks",
     Kind::kInteger,
     "64",
     16,
     65'536,
     {},
     {},
     {},
     "Blocks of 16 KiB for results on their way out, a worker: what a slow sink may hold back "
     "before windows wait.",
     [](Target& t, const Value& v) { t.runtime->result_blocks = u32(v); }},

    // ---- [source.NAME]
    {"source",
     "type",
     Kind::kChoice,
     kRequired,
     0,
     0,
     kSourceTypes,
     {},
     "file",
     "file: captures on disk (pcap, pcapng, gzip or zstd of them). port: a network port by DPDK.",
     [](Target& t, const Value& v) { t.source->type = chosen<SourceType>(kSourceTypes, v); }},
    {"source",
     "format",
     Kind::kText,
     "packet",
     1,
     64,
     {},
     {},
     {},
     "How packets become events: packet (headers of Ethernet to TCP), itch (Nasdaq ITCH 5.0 in "
     "MoldUDP64).",
     [](Target& t, const Value& v) { t.source->format = v.text; }},
    {"source",
     "zone",
     Kind::kText,
     "America/New_York",
     1,
     64,
     {},
     "format=itch",
     {},
     "The zone whose midnight the format's times count from (IANA name).",
     [](Target& t, const Value& v) { t.source->zone = v.text; }},
    {"source",
     "path",
     Kind::kTexts,
     "",
     1,
     kNames,
     {},
     "type=file",
     "config/demo.pcap",
     "The file, or a list of files that are read in this order.",
     [](Target& t, const Value& v) { t.source->file.paths = v.texts; }},
    {"source",
     "directory",
     Kind::kText,
     "",
     0,
     kLine,
     {},
     "type=file",
     {},
     "Instead of `path`: the files of this directory, in name order.",
     [](Target& t, const Value& v) { t.source->file.directory = v.text; }},
    {"source",
     "pattern",
     Kind::kText,
     "*",
     1,
     256,
     {},
     "type=file",
     {},
     "Which files of the directory: *, ? and [] as in a shell.",
     [](Target& t, const Value& v) { t.source->file.pattern = v.text; }},
    {"source",
     "lanes",
     Kind::kChoice,
     "one",
     0,
     0,
     kFileLanes,
     "type=file",
     {},
     "one: the files are one stream, read one after the other. per_file: each file is its own, "
     "read "
     "side by side.",
     [](Target& t, const Value& v) { t.source->file.lanes = chosen<FileLanes>(kFileLanes, v); }},
    {"source",
     "follow",
     Kind::kBool,
     "false",
     0,
     1,
     {},
     "type=file",
     {},
     "Wait at the end of the last file for it to grow.",
     [](Target& t, const Value& v) { t.source->file.follow = v.number != 0; }},
    {"source",
     "reader",
     Kind::kChoice,
     "uring",
     0,
     0,
     kReaders,
     "type=file",
     {},
     "uring: io_uring, refused with a message where the kernel forbids it. pread: plain reads. "
     "auto: "
     "uring, else pread and said so.",
     [](Target& t, const Value& v) { t.source->file.reader = chosen<FileReader>(kReaders, v); }},
    {"source",
     "block_size",
     Kind::kSize,
     "256 KiB",
     64 << 10,
     16 << 20,
     {},
     "type=file",
     {},
     "Bytes of one read.",
     [](Target& t, const Value& v) { t.source->file.block_size = u32(v); },
     [](const Value& v) {
       return v.number % 4096 == 0 ? nullptr : "must be a multiple of 4 KiB (direct IO)";
     }},
    {"source",
     "depth",
     Kind::kInteger,
     "8",
     2,
     256,
     {},
     "type=file",
     {},
     "Reads in flight.",
     [](Target& t, const Value& v) { t.source->file.depth = u32(v); }},
    {"source",
     "pace",
     Kind::kText,
     "fast",
     1,
     16,
     {},
     "type=file",
     {},
     "fast: as fast as it can be read. recorded: as the capture's stamps say. 2x: twice as fast.",
     [](Target& t, const Value& v) {
       t.source->file.pace_percent = pace_percent(v.text).value_or(0);
     },
     [](const Value& v) {
       return pace_percent(v.text)
                  ? nullptr
                  : "must be \"fast\", \"recorded\", or a multiple such as \"2x\" (1x to 10000x)";
     }},
    {"source",
     "device",
     Kind::kText,
     kRequired,
     1,
     kLine,
     {},
     "type=port",
     "net_af_packet0,iface=eth0",
     "PCI address, or a DPDK virtual device with its arguments.",
     [](Target& t, const Value& v) { t.source->port.device = v.text; }},
    {"source",
     "queues",
     Kind::kInteger,
     "1",
     1,
     64,
     {},
     "type=port",
     {},
     "Receive queues, one lane each; packets are spread over them by RSS.",
     [](Target& t, const Value& v) { t.source->port.queues = u32(v); }},
    {"source",
     "descriptors",
     Kind::kInteger,
     "1024",
     64,
     32'768,
     {},
     "type=port",
     {},
     "Packets that a queue's ring holds while its worker is busy. The driver may round it.",
     [](Target& t, const Value& v) { t.source->port.descriptors = u32(v); }},
    {"source",
     "pool",
     Kind::kInteger,
     "0",
     0,
     16'777'215,
     {},
     "type=port",
     {},
     "Packet buffers a queue. 0: what ring, caches and bursts need.",
     [](Target& t, const Value& v) { t.source->port.pool = u32(v); }},
    {"source",
     "clock",
     Kind::kChoice,
     "none",
     0,
     0,
     kClocks,
     "type=port",
     {},
     "Unit of the port's hardware receive stamps. none: one reading of the system clock a burst.",
     [](Target& t, const Value& v) { t.source->port.clock = chosen<StampClock>(kClocks, v); }},
    {"source",
     "promiscuous",
     Kind::kBool,
     "true",
     0,
     1,
     {},
     "type=port",
     {},
     "Take packets for other hosts too.",
     [](Target& t, const Value& v) { t.source->port.promiscuous = v.number != 0; }},
    {"source",
     "out_of_orderness",
     Kind::kDuration,
     "100 ms",
     0,
     kYears,
     {},
     {},
     {},
     "How much earlier than the latest event one may still come. Windows close this much later.",
     [](Target& t, const Value& v) { t.source->out_of_orderness = duration(v); }},
    {"source",
     "partition",
     Kind::kText,
     "",
     0,
     64,
     {},
     {},
     {},
     "Field whose value names the partition, each with its own watermark. Empty: one partition a "
     "lane.",
     [](Target& t, const Value& v) { t.source->partition = v.text; }},
    {"source",
     "max_partitions",
     Kind::kInteger,
     "64",
     1,
     65'536,
     {},
     {},
     {},
     "Partitions of a lane; with `partition`. Events of more share the first one, counted.",
     [](Target& t, const Value& v) { t.source->max_partitions = u32(v); }},
    {"source",
     "idle_after",
     Kind::kDuration,
     "never",
     1,
     kNeverAllowed,
     {},
     {},
     {},
     "A partition without events for so long, in the lane's own arrival stamps, holds nothing "
     "back.",
     [](Target& t, const Value& v) { t.source->idle_after = duration(v); }},
    {"source",
     "silent_after",
     Kind::kDuration,
     "5 s",
     1'000'000,
     kNeverAllowed,
     {},
     {},
     {},
     "A lane without packets for so long, by the clock, holds nothing back. Not for files that are "
     "not followed.",
     [](Target& t, const Value& v) { t.source->silent_after = duration(v); }},
    {"source",
     "max_ahead",
     Kind::kDuration,
     "10 s",
     0,
     kNeverAllowed,
     {},
     {},
     {},
     "An event further ahead of its arrival stamp moves no watermark: one wrong clock must not "
     "make "
     "all others late.",
     [](Target& t, const Value& v) { t.source->max_ahead = duration(v); }},
    {"source",
     "max_behind",
     Kind::kDuration,
     "1 m",
     0,
     kNeverAllowed,
     {},
     {},
     {},
     "A partition further behind its lane's leader holds nothing back: one slow clock must not "
     "stop "
     "all windows.",
     [](Target& t, const Value& v) { t.source->max_behind = duration(v); }},
    {"source",
     "max_drift",
     Kind::kDuration,
     "10 s",
     0,
     kNeverAllowed,
     {},
     {},
     {},
     "How far lanes may run apart; sizes the panes that are open at once.",
     [](Target& t, const Value& v) { t.source->max_drift = duration(v); }},
    {"source",
     "lateness_by",
     Kind::kChoice,
     "partition",
     0,
     0,
     kLateness,
     {},
     {},
     "An event is late by its own partition's watermark, or by its lane's (Flink's rule for many "
     "partitions read by one task).",
     [](Target& t, const Value& v) { t.source->lateness_by = chosen<LatenessBy>(kLateness, v); }},

    // ---- [query.NAME]
    {"query",
     "source",
     Kind::kText,
     kRequired,
     1,
     64,
     {},
     {},
     "capture",
     "The source that feeds it.",
     [](Target& t, const Value& v) { t.query->source = v.text; }},
    {"query",
     "where",
     Kind::kText,
     "",
     0,
     kLine,
     {},
     {},
     {},
     "Which events count, such as \"protocol in {tcp, udp} and not src in 10.0.0.0/8\". Empty: "
     "all.",
     [](Target& t, const Value& v) { t.query->where = v.text; }},
    {"query",
     "key",
     Kind::kTexts,
     "",
     0,
     4,
     {},
     {},
     "protocol",
     "One result for each value of these fields; \"src/24\" cuts IPv4 to 24 bits and IPv6 to 64, "
     "\"src/24/48\" IPv6 to 48. At most 4 words of 8 bytes (an address has 2).",
     [](Target& t, const Value& v) { t.query->key = v.texts; }},
    {"query",
     "aggregates",
     Kind::kTexts,
     kRequired,
     1,
     32,
     {},
     {},
     "count, sum(wire_length) as bytes",
     "count, sum(f), min(f), max(f), avg(f), first(f), last(f), each with \" as NAME\" if wished.",
     [](Target& t, const Value& v) { t.query->aggregates = v.texts; }},
    {"query",
     "sinks",
     Kind::kTexts,
     "",
     0,
     kNames,
     {},
     {},
     {},
     "Where results go. Empty: to every sink of the file; without any, a table on the terminal.",
     [](Target& t, const Value& v) { t.query->sinks = v.texts; }},
    {"query",
     "max_keys",
     Kind::kInteger,
     "65536",
     1,
     1 << 24,
     {},
     {},
     {},
     "Keys at once. Further ones are summed in the row __overflow__ of their window, and flagged.",
     [](Target& t, const Value& v) { t.query->max_keys = u64(v); }},
    {"query",
     "max_sessions",
     Kind::kInteger,
     "16384",
     0,
     1 << 24,
     {},
     {},
     {},
     "Open sessions beyond one a key.",
     [](Target& t, const Value& v) { t.query->max_sessions = u64(v); }},
    {"query",
     "max_deferred",
     Kind::kInteger,
     "16384",
     1,
     1 << 24,
     {},
     {},
     {},
     "Rows that wait for their place between fire points.",
     [](Target& t, const Value& v) { t.query->max_deferred = u64(v); }},
    {"query",
     "max_panes",
     Kind::kInteger,
     "0",
     0,
     1 << 20,
     {},
     {},
     {},
     "Panes open at once. 0: what the source's bounds allow, within `memory`.",
     [](Target& t, const Value& v) { t.query->max_panes = u64(v); }},
    {"query",
     "memory",
     Kind::kSize,
     "256 MiB",
     4096,
     int64_t{1} << 44,
     {},
     {},
     {},
     "Most memory for its panes; reserved at start.",
     [](Target& t, const Value& v) { t.query->memory = u64(v); }},
    {"query",
     "placement",
     Kind::kChoice,
     "auto",
     0,
     0,
     kPlacements,
     {},
     {},
     "local: a key's events all come in one lane (RSS by flow, key with the flow), so that nothing "
     "crosses cores. exchange: rows go to their key's owner. auto: local with one lane.",
     [](Target& t, const Value& v) {
       t.query->placement = chosen<PlacementChoice>(kPlacements, v);
     }},

    // ---- [query.NAME.window]
    {"query.window",
     "type",
     Kind::kChoice,
     kRequired,
     0,
     0,
     kWindows,
     {},
     "tumbling",
     "tumbling: one after the other. sliding: every `slide`, each `size` long. session: until "
     "`gap` "
     "passes without an event.",
     [](Target& t, const Value& v) { t.query->window.kind = chosen<WindowKind>(kWindows, v); }},
    {"query.window",
     "size",
     Kind::kDuration,
     kRequired,
     1,
     kYears,
     {},
     "type=tumbling sliding",
     "1 s",
     "Length.",
     [](Target& t, const Value& v) { t.query->window.size = t.query->window.slide = duration(v); }},
    {"query.window",
     "slide",
     Kind::kDuration,
     kRequired,
     1,
     kYears,
     {},
     "type=sliding",
     "1 s",
     "Distance from one start to the next; above `size` it leaves gaps.",
     [](Target& t, const Value& v) { t.query->window.slide = duration(v); }},
    {"query.window",
     "offset",
     Kind::kDuration,
     "0 s",
     -kYears,
     kYears,
     {},
     "type=tumbling sliding",
     {},
     "Moves all starts, which else are multiples of size or slide since 1970 in UTC; \"-8 h\" "
     "gives "
     "days of China.",
     [](Target& t, const Value& v) { t.query->window.offset = duration(v); }},
    {"query.window",
     "gap",
     Kind::kDuration,
     kRequired,
     1,
     kYears,
     {},
     "type=session",
     "2 s",
     "A session ends when its key has no event for so long.",
     [](Target& t, const Value& v) { t.query->window.gap = duration(v); }},

    // ---- [sink.NAME]
    {"sink",
     "type",
     Kind::kChoice,
     kRequired,
     0,
     0,
     kSinkTypes,
     {},
     "terminal",
     "terminal: for eyes. stdout: for pipes. file: by io_uring. udp: a datagram a result.",
     [](Target& t, const Value& v) { t.sink->type = chosen<SinkType>(kSinkTypes, v); }},
    {"sink",
     "format",
     Kind::kChoice,
     "auto",
     0,
     0,
     kEncodings,
     {},
     {},
     "json: JSON lines. binary: fixed layout, versioned. auto: table on a terminal, json "
     "elsewhere.",
     [](Target& t, const Value& v) {
       t.sink->encoding = v.text != "auto"                      ? chosen<Encoding>(kEncodings, v)
                          : t.sink->type == SinkType::kTerminal ? Encoding::kTable
                                                                : Encoding::kJsonLines;
     }},
    {"sink",
     "path",
     Kind::kText,
     kRequired,
     1,
     kLine,
     {},
     "type=file",
     "results.jsonl",
     "The file. One that exists is never overwritten: a new name is taken, or see `append`.",
     [](Target& t, const Value& v) { t.sink->path = v.text; }},
    {"sink",
     "append",
     Kind::kBool,
     "false",
     0,
     1,
     {},
     "type=file",
     {},
     "Go on at the end of a file that exists.",
     [](Target& t, const Value& v) { t.sink->append = v.number != 0; }},
    {"sink",
     "address",
     Kind::kText,
     kRequired,
     1,
     260,
     {},
     "type=udp",
     "127.0.0.1:9000",
     "HOST:PORT or [IPV6]:PORT.",
     [](Target& t, const Value& v) { t.sink->address = v.text; },
     check_address},
};

// "a, b or c"
std::string listed(std::string_view words) {
  std::string text;
  while (!words.empty()) {
    const std::string_view word = first_word(words);
    words = after_word(words);
    text += (text.empty() ? "" : words.empty() ? " or " : ", ") + std::string(word);
  }
  return text;
}

std::string show_number(const Option& option, int64_t number) {
  switch (option.kind) {
    case Kind::kDuration:
      return format_duration({number});
    case Kind::kSize:
      return format_size(static_cast<uint64_t>(number));
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kIntegers:
    case Kind::kText:
    case Kind::kTexts:
    case Kind::kChoice:
      break;
  }
  return std::to_string(number);
}

// As TOML: quoted where the kind is a text.
std::string as_toml(Kind kind, std::string_view value) {
  switch (kind) {
    case Kind::kBool:
    case Kind::kInteger:
      return std::string(value);
    case Kind::kIntegers:
      return "[" + std::string(value) + "]";
    case Kind::kDuration:
    case Kind::kSize:
    case Kind::kText:
    case Kind::kChoice:
      return "\"" + std::string(value) + "\"";
    case Kind::kTexts:
      break;
  }
  std::string text;
  while (!value.empty()) {
    const size_t comma = value.find(", ");
    text += (text.empty() ? "\"" : ", \"") + std::string(value.substr(0, comma)) + "\"";
    value = comma == std::string_view::npos ? std::string_view() : value.substr(comma + 2);
  }
  return "[" + text + "]";
}

// The limits in words, or nothing where there are none worth a word.
std::string limits(const Option& option) {
  const std::string least = show_number(option, option.least);
  switch (option.kind) {
    case Kind::kChoice:
      return listed(option.choices);
    case Kind::kInteger:
      return option.most == kMany ? least + " or more"
                                  : least + " to " + show_number(option, option.most);
    case Kind::kSize:
      return least + " to " + show_number(option, option.most);
    case Kind::kDuration:
      return option.most == kNeverAllowed ? least + " or more, or never"
                                          : least + " to " + show_number(option, option.most);
    case Kind::kBool:
    case Kind::kIntegers:
    case Kind::kText:
    case Kind::kTexts:
      break;
  }
  return {};
}

// Breaks a sentence into comment lines.
std::string comment(const std::string& text) {
  constexpr size_t kWidth = 98;
  std::string out, line = "#";
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view word = first_word(rest);
    rest = after_word(rest);
    if (line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = "#";
    }
    line += " " + std::string(word);
  }
  return out + line + "\n";
}

}  // namespace

std::span<const Option> options() { return kOptions; }

const Option* find_option(std::string_view section, std::string_view key) {
  for (const Option& option : kOptions)
    if (option.section == section && option.key == key) return &option;
  return nullptr;
}

std::string describe(const Option& option) {
  switch (option.kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
      return "an integer";
    case Kind::kIntegers:
      return "a list of integers";
    case Kind::kDuration:
      return "a duration in quotes, such as \"250 ms\"";
    case Kind::kSize:
      return "a size in quotes, such as \"64 KiB\"";
    case Kind::kText:
      return "a text in quotes";
    case Kind::kTexts:
      return "a list of texts, or one text";
    case Kind::kChoice:
      return "one of " + listed(option.choices) + ", in quotes";
  }
  return {};
}

bool check_number(const Option& option, int64_t number, std::string& problem) {
  if (number >= option.least && number <= option.most) return true;
  problem = "must be " + limits(option);
  if (option.kind == Kind::kIntegers)
    problem = "must hold numbers from " + std::to_string(option.least) + " to " +
              std::to_string(option.most);
  problem += ", not " + show_number(option, number);
  return false;
}

bool read_option(const Option& option, std::string_view text, OptionValue& out,
                 std::string& problem) {
  switch (option.kind) {
    case Kind::kBool:
      out.number = text == "true" ? 1 : 0;
      break;
    case Kind::kInteger:
      std::from_chars(text.data(), text.data() + text.size(), out.number);
      break;
    case Kind::kDuration: {
      if (text == "never" && option.most == kNeverAllowed) {
        out.number = INT64_MAX;
        break;
      }
      Duration read;
      if (!parse_duration(text, read, problem)) return false;
      out.number = read.ns;
      if (!check_number(option, out.number, problem)) return false;
      break;
    }
    case Kind::kSize: {
      uint64_t read = 0;
      if (!parse_size(text, read, problem)) return false;
      out.number = read > INT64_MAX ? INT64_MAX : static_cast<int64_t>(read);
      if (!check_number(option, out.number, problem)) return false;
      break;
    }
    case Kind::kChoice: {
      std::vector<std::string_view> words;
      for (std::string_view rest = option.choices; !rest.empty(); rest = after_word(rest))
        words.push_back(first_word(rest));
      if (std::find(words.begin(), words.end(), text) == words.end()) {
        problem = "cannot be '" + std::string(text) + "'" + suggestion(text, words);
        return false;
      }
      out.text = text;
      break;
    }
    case Kind::kText:
      if (text.size() < static_cast<size_t>(option.least)) {
        problem = "must not be empty";
        return false;
      }
      if (text.size() > static_cast<size_t>(option.most)) {
        problem = "is longer than " + std::to_string(option.most) + " characters";
        return false;
      }
      if (text.find('\0') != std::string_view::npos) {
        problem = "must not hold a zero byte";
        return false;
      }
      out.text = text;
      break;
    case Kind::kIntegers:
      break;  // the only default is the empty list
    case Kind::kTexts:
      if (!text.empty()) out.texts.emplace_back(text);
      break;
  }
  const char* wrong = option.check != nullptr ? option.check(out) : nullptr;
  if (wrong != nullptr) problem = wrong;
  return wrong == nullptr;
}

std::string print_example() {
  std::string out =
      "# Every option of Tidewire with its reason, limits and default; what is commented out is "
      "the\n"
      "# default. It runs as it is: packets and bytes by protocol, each second, of one capture.\n"
      "# Printed from the table in src/config/options.cc; a test compares the two.\n";
  const auto setting = [](std::string_view section) {
    return [section](std::string_view key) {
      const Option* option = find_option(section, key);
      return option->example.empty() ? option->fallback : option->example;
    };
  };
  std::string_view section;
  for (const Option& option : kOptions) {
    if (option.section != section) {
      section = option.section;
      out += section == "source"
                 ? "\n# Where events come from; as many as wished.\n[source.capture]\n"
             : section == "query"
                 ? "\n# What is asked; as many as wished, also on one source.\n[query.traffic]\n"
             : section == "query.window" ? "\n[query.traffic.window]\n"
             : section == "sink"         ? "\n# Where results go.\n[sink.terminal]\n"
                                         : "\n[" + std::string(section) + "]\n";
    }
    std::string words(option.why);
    const std::string limit = limits(option);
    if (!option.only.empty()) {
      const size_t equals = option.only.find('=');
      words += " Only where " + std::string(option.only.substr(0, equals)) + " is " +
               listed(option.only.substr(equals + 1)) + ".";
    }
    if (!limit.empty()) words += " (" + limit + ")";
    out += comment(words);
    const bool live = !option.example.empty() && applies(option, setting(section));
    const std::string_view value =
        option.fallback == kRequired || live ? option.example : option.fallback;
    out += (live ? "" : "#") + std::string(option.key) + " = " + as_toml(option.kind, value) + "\n";
  }
  return out;
}

}  // namespace tidewire
