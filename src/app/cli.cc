#include "app/cli.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "event/burst.h"
#include "format/catalog.h"
#include "query/nearest.h"

namespace tidewire {
namespace {

struct Name {
  std::string_view text;
  Command command;
};
constexpr Name kCommands[] = {{"run", Command::kRun},         {"check", Command::kCheck},
                              {"explain", Command::kExplain}, {"peek", Command::kPeek},
                              {"replay", Command::kReplay},   {"version", Command::kVersion}};

// Which flags a command takes; a flag elsewhere is an error that names the commands it belongs to.
struct Flag {
  std::string_view name;
  std::string_view commands;
  bool has_value;
};
constexpr Flag kFlags[] = {
    {"--pcap", "run explain replay", true},
    {"--workers", "run explain replay", true},
    {"--burst", "run replay", true},
    {"--output", "run replay", true},
    {"--no-progress", "run replay", false},
    {"--speed", "replay", true},
    {"--count", "peek", true},
    {"--format", "peek", true},
    {"--config", "peek", true},
    {"--help", "run check explain peek replay version", false},
};

bool whole_number(std::string_view text, uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// "max", "1", "2.5x": percent of the recorded pace.
bool speed(std::string_view text, uint32_t& percent) {
  if (text == "max") return percent = 0, true;
  if (text.ends_with('x')) text.remove_suffix(1);
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(factor >= 0.01 && factor <= 10'000))
    return false;
  percent = static_cast<uint32_t>(std::lround(factor * 100));
  return true;
}

std::string set_flag(std::string_view flag, std::string_view value, CommandLine& line) {
  uint64_t number = 0;
  const auto number_in = [&](uint64_t low, uint64_t high) {
    return whole_number(value, number) && number >= low && number <= high
               ? std::string()
               : std::string(flag) + " takes a whole number from " + std::to_string(low) + " to " +
                     std::to_string(high) + ", not '" + std::string(value) + "'";
  };
  std::string error;
  if (flag == "--help") {
    line.help = true;
  } else if (flag == "--no-progress") {
    line.progress = false;
  } else if (flag == "--pcap") {
    line.pcap = value;
  } else if (flag == "--config") {
    line.config = value;
  } else if (flag == "--format") {
    line.format = value;
  } else if (flag == "--workers") {
    error = number_in(1, 64);
    line.workers = static_cast<uint32_t>(number);
  } else if (flag == "--burst") {
    error = number_in(1, kBurstMax);
    line.burst = static_cast<uint32_t>(number);
  } else if (flag == "--count") {
    error = number_in(1, 1'000'000'000);
    line.count = number;
  } else if (flag == "--speed") {
    if (!speed(value, line.pace_percent))
      error = "--speed takes a factor from 0.01 to 10000 ('1', '2.5x') or 'max', not '" +
              std::string(value) + "'";
  } else if (flag == "--output") {
    if (value == "table")
      line.output = Encoding::kTable;
    else if (value == "json")
      line.output = Encoding::kJsonLines;
    else if (value == "csv")
      line.output = Encoding::kCsv;
    else
      error = "--output takes table, json or csv, not '" + std::string(value) + "'";
  }
  return error;
}

}  // namespace

ParsedLine parse_command_line(std::span<const char* const> arguments) {
  ParsedLine parsed;
  CommandLine& line = parsed.line;
  const auto fail = [&](std::string text) {
    parsed.error = std::move(text);
    return parsed;
  };
  if (arguments.empty()) return fail("a command is missing");
  const std::string_view first = arguments[0];
  if (first == "--help" || first == "-h" || first == "help") {
    line.help = true;
    line.command = Command::kVersion;  // the general help
    if (arguments.size() < 2) return parsed;
    arguments = arguments.subspan(1);
    line.fields = std::string_view(arguments[0]) == "fields";
    if (line.fields) return parsed;
  } else if (first == "--version") {
    line.command = Command::kVersion;
    return parsed;
  }
  const auto* command = std::find_if(std::begin(kCommands), std::end(kCommands),
                                     [&](const Name& n) { return n.text == arguments[0]; });
  if (command == std::end(kCommands)) {
    std::vector<std::string_view> names;
    for (const Name& n : kCommands) names.push_back(n.text);
    names.push_back("help");
    return fail("no command '" + std::string(arguments[0]) + "'" + suggestion(arguments[0], names));
  }
  line.command = command->command;
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (word == "-h") word = "--help";
    if (!word.starts_with("--")) {
      std::string& place = line.command == Command::kPeek ? line.source : line.config;
      if (!place.empty()) return fail("one too many: '" + std::string(word) + "'");
      place = word;
      continue;
    }
    std::string_view value;
    const size_t equals = word.find('=');
    const bool inlined = equals != std::string_view::npos;
    if (inlined) {
      value = word.substr(equals + 1);
      word = word.substr(0, equals);
    }
    const auto* flag = std::find_if(std::begin(kFlags), std::end(kFlags),
                                    [&](const Flag& f) { return f.name == word; });
    if (flag == std::end(kFlags)) {
      std::vector<std::string_view> names;
      for (const Flag& f : kFlags) names.push_back(f.name);
      return fail("no flag '" + std::string(word) + "'" + suggestion(word, names));
    }
    if ((" " + std::string(flag->commands) + " ").find(" " + std::string(command->text) + " ") ==
        std::string::npos)
      return fail(std::string(word) + " is not for '" + std::string(command->text) +
                  "'; it belongs to: " + std::string(flag->commands));
    if (flag->has_value && !inlined) {
      if (++i == arguments.size()) return fail(std::string(word) + " needs a value");
      value = arguments[i];
    }
    if (!flag->has_value && inlined) return fail(std::string(word) + " takes no value");
    if (std::string error = set_flag(word, value, line); !error.empty())
      return fail(std::move(error));
  }
  if (line.help) return parsed;
  if (!line.pcap.empty() && !line.config.empty())
    return fail("--pcap runs the embedded default's queries; with a config, name the file there");
  if (line.command == Command::kCheck && line.config.empty())
    return fail("check needs a config file");
  if (line.command == Command::kPeek && line.source.empty())
    return fail(
        "peek needs a source: a capture file, a device, or with --config the name of one of its "
        "sources");
  return parsed;
}

std::string_view help_text() {
  return R"(tidewire: event-time windows at wire speed

  tidewire run      [CONFIG]   read packets, print windows until the input ends or Ctrl-C
  tidewire check     CONFIG    find every problem in a config, with its place
  tidewire explain  [CONFIG]   what a config comes to: lanes, cores, panes, memory
  tidewire peek      SOURCE    the first events of a capture, device or configured source, as parsed
  tidewire replay   [CONFIG]   run recorded input at its recorded pace, or a multiple of it
  tidewire version

Without CONFIG the embedded default runs: three queries on the bundled capture, or on --pcap FILE.

  tidewire run --pcap trace.pcapng                  see what is in a capture
  tidewire run my.conf --workers 2 --output json    the same results on any number of workers
  tidewire peek trace.pcapng --count 5              is the time right? are the fields as expected?
  tidewire help run                                 the flags of a command
  tidewire help fields                              what a query can name; how `where` is written

Exit codes: 0 done; 1 the config has problems; 2 wrong command line; 3 a file, port, sink or memory
could not be had; 4 it ran, but a source failed on the way or a sink lost results.
)";
}

std::string_view help_text(Command command) {
  switch (command) {
    case Command::kRun:
      return R"(tidewire run [CONFIG] [flags]: read packets, print windows

  CONFIG            a config file (see config/tidewire.conf for every option with its reason)
  --pcap FILE       no config: the embedded default's queries on this capture (pcap, pcapng, .gz,
                    .zst)
  --workers N       worker threads; results do not depend on it
  --burst N         packets a source hands over at most in one call (1 to 256); nor on this
  --output FORM     table, json or csv on the terminal and stdout sinks
  --no-progress     no progress line (there is none anyway where stderr is no terminal)

Ctrl-C or SIGTERM drains: open windows are emitted and marked partial, everything is written, the
balances are printed. A second one exits at once.

  tidewire run
  tidewire run --pcap trace.pcapng --output csv > windows.csv
  tidewire run live.conf
)";
    case Command::kCheck:
      return R"(tidewire check CONFIG: every problem of a config in one go

Each with file:line:column, its cause and the nearest valid name. Exit code 0 when there is none, 1
otherwise. Opens no device.
)";
    case Command::kExplain:
      return R"(tidewire explain [CONFIG] [--pcap FILE] [--workers N]: the effective plan

Lanes, partitions, cores and nodes, queues, queries with their columns and panes, a drawing of the
next windows with their fire points, the memory sum term by term, and what was defaulted. Opens no
port and reserves nothing.
)";
    case Command::kPeek:
      return R"(tidewire peek SOURCE [flags]: the first events as parsed

  SOURCE            a capture file; a device ("net_af_packet0,iface=eth0", "0000:3b:00.0"); or with
                    --config the name of one of its sources
  --config FILE     where SOURCE is configured
  --format NAME     packet (default), or another one of `tidewire help fields`
  --count N         how many events (20)

One line an event: event time, how long before its arrival it happened (skew), partition, fields.
At the end: what was dropped or odd, by name; how far event times lie from arrivals, and what that
says of the source's clock (a wrong unit, local time, TAI, never set).

  tidewire peek trace.pcapng --count 5
  tidewire peek totalview.pcap --format itch
)";
    case Command::kReplay:
      return R"(tidewire replay [CONFIG] [flags]: recorded input at its recorded pace

  --speed FACTOR    1 (as recorded, default), 0.5, 10x, ... or max
  and the flags of run

The results are those of run: pace is not an input. Sources that are ports are refused.
)";
    case Command::kVersion:
      return help_text();
  }
  return {};
}

constexpr std::string_view kAggregatesHelp = R"help(
  aggregates = ["count", "p99(wire_length)", "vwap(price, shares) as mean"]

  count                  the rows
  sum min max avg first last
                         of a FIELD, as the others here; first and last by event time
  variance stddev        of all rows; variance_samp, stddev_samp: divided by rows - 1
  median p95 p99 p999 quantile(FIELD, 0.25)
                         within 1.6 %; below 64 (counted in the field's last decimal) exact
  distinct               how many different values; standard error 3.25 %
  top(FIELD, 3) bottom(FIELD, 3)
                         the greatest or least values, up to 8, a result each: top(FIELD,3).1, ...
  ohlc                   four results: open(FIELD), high, low, close
  vwap(PRICE, VOLUME)    sum(PRICE * VOLUME) / sum(VOLUME)
  any all                1 where any, where every value is other than 0; else 0
  delta(NAME) rate(NAME) of an aggregate before it, by its name: less that of the key's window
                         before, and that a second; no value in a first window

All but quantiles and distinct are exact; an average, deviation or vwap is rounded once, six
decimals behind the field's. With " as NAME" the names of several results are NAME_open, NAME_1, ...
)help";

constexpr std::string_view kColumnsHelp = R"help(
A source can derive fields from others, which queries then name like the format's:

  [source.capture.columns]
  bits    = "wire_length * 8"
  service = "case(dst_port < 1024, dst_port, src_port)"
  site    = "lookup(src, 'config/sites.csv', 'elsewhere')"

  + - * / ( )            exact. Decimals: + and - keep the larger count, * adds the two, / keeps
                         those of the left side and rounds half to even
  round(x, DECIMALS)     more decimals, or fewer, half to even
  bucket(x, WIDTH)       the multiple of WIDTH at or below x
  case(CONDITION, a, b)  a where the condition (as in `where`) holds, else b; nests
  prefix(ADDRESS, 24)    cut to 24 bits, IPv6 to 64; prefix(ADDRESS, 24, 48): IPv6 to 48
  forward(src, src_port, dst, dst_port)
                         1 from the first end of `flow` to the second, 0 the other way
  lookup(x, FILE, DEFAULT)
                         lines KEY,NAME; KEY is a value, LOW..HIGH or ADDRESS/BITS, the narrowest
                         wins; NAME up to 16 bytes, or a number where DEFAULT is one. SIGHUP reads
                         the files again

A formula of an absent field is absent, and so is a division by zero; case(x present, x, 0) is not.
What passes 64 bits becomes the largest number of its sign, counted as "saturated".
)help";

std::string help_fields() {
  std::string text = R"help(what a query can name in `where`, `key` and `aggregates`

  where = "protocol in {tcp, udp} and not (dst_port < 1024 or src in 10.0.0.0/8)"

  FIELD == VALUE                 and != < <= > >=
  FIELD in {VALUE, LOW..HIGH}    any of them; addresses also as 10.0.0.0/8
  FIELD has LETTERS              all these TCP flags are set: tcp_flags has SA
  FIELD present, FIELD absent    whether the event has it: a frame without IP has no protocol
  not, and, or                   in this order of strength, with parentheses

A VALUE is written as it is shown: 443, 0x1bb, 12.50, 10.0.0.1, 00:11:22:33:44:55, tcp, ipv6,
'text', 2024-05-01T13:30:00Z. A field marked ? may be absent. No condition on it holds then but !=
and `absent`; as a key it is a value of its own, shown as - (null in JSON, nothing in CSV); an
aggregate of it needs "FIELD present" in `where`.
)help";
  text += std::string(kAggregatesHelp) + std::string(kColumnsHelp);
  for (const std::string_view name : format_names()) {
    text += "\nformat = \"" + std::string(name) + "\"\n";
    const auto format = open_format(name);
    // Texts have no schema of their own; some do not open before they are told more.
    if (!format.ok() || (*format)->records() == FileRecords::kLines) {
      text += "  those that the source declares in `fields`, and sender\n";
      continue;
    }
    for (const Field& field : (*format)->schema().fields) {
      std::string column = std::string(field.name) + (field.may_be_absent ? " ?" : "");
      column.resize(std::max<size_t>(column.size(), 18), ' ');
      text += "  " + column + "  " + std::string(field.help) + "\n";
    }
  }
  return text;
}

}  // namespace tidewire
