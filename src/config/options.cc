#include "config/options.h"

#include <charconv>
#include <vector>

#include "config/option_rows.h"

namespace tidewire {
namespace {

using namespace option_rows;

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
constexpr std::string_view kSinkTypes = "terminal stdout file udp";
constexpr std::string_view kEncodings = "table json csv binary auto";

// clang-format off: a table, every entry in the same three parts
const Option kProcess[] = {
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
};

const Option kSinks[] = {
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

std::span<const Option> options() {
  static const std::vector<Option> kAll = [] {
    std::vector<Option> all;
    for (const std::span<const Option> rows : {std::span<const Option>(kProcess), source_options(),
                                               query_options(), std::span<const Option>(kSinks)})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return kAll;
}

const Option* find_option(std::string_view section, std::string_view key) {
  for (const Option& option : options())
    if (option.section == section && option.key == key) return &option;
  return nullptr;
}

}  // namespace tidewire
