#include "config/peer_words.h"

#include <algorithm>

namespace tidewire {
namespace {

struct Word {
  std::string_view section, written;  // "key", "key=value", "key@value of what decides"
  std::string_view text;
};

constexpr std::string_view kProcessingTime =
    "there are no windows of processing time: their results would depend on when they were worked "
    "out. Choose the same window in event time; provisional_every shows it by the clock meanwhile";
constexpr std::string_view kProcessingStrategy =
    "there is no processing-time strategy: results would depend on when and how fast a machine "
    "ran, "
    "and a replay would not give them again. Where arrival is the time, the format \"packet\" has "
    "it "
    "from the capture's stamps";
constexpr std::string_view kEvictor =
    "there are no evictors: every event of a window would have to be kept. Select events with "
    "`where`, or take the last n of a key with type = \"count\"";
constexpr std::string_view kDelta =
    "there are no delta triggers: when they fire depends on the order in which events come. Test "
    "the results with `having`, or choose type = \"count\" or \"session\"";
constexpr std::string_view kContinuous =
    "there is no continuous trigger: its early results hold events beyond the point at which they "
    "leave. early_every gives results of the events before each step";
constexpr std::string_view kStagger =
    "windows are not staggered: results of one time belong together. A close is worked out in "
    "slices anyway (runtime.results_per_turn), so receiving goes on";
constexpr std::string_view kTrigger =
    "windows fire at their end. early_every, early_every_rows and provisional_every give results "
    "before, allowed_lateness and update_every after it, accumulation = \"discarding\" purges";

constexpr Word kWords[] = {
    // ---- what is left out, and why
    {"query.window", "evictor", kEvictor},
    {"query.window", "evict", kEvictor},
    {"query.window", "delta", kDelta},
    {"query.window", "delta_trigger", kDelta},
    {"query.window", "threshold", kDelta},
    {"query.window", "stagger", kStagger},
    {"query.window", "window_stagger", kStagger},
    {"query.window", "continuous", kContinuous},
    {"query.window", "continuous_trigger", kContinuous},
    {"query.window", "trigger", kTrigger},
    {"query.window", "triggers", kTrigger},
    {"query.window", "time", kProcessingTime},
    {"query.window", "processing_time", kProcessingTime},
    {"query.window", "proctime", kProcessingTime},
    {"query.window", "time_characteristic", kProcessingTime},
    {"query.window", "type=processing", kProcessingTime},
    {"query.window", "type=processing_time", kProcessingTime},
    {"query.window", "type=proctime", kProcessingTime},
    {"query.window", "type=tumbling_processing_time", kProcessingTime},
    {"query.window", "type=sliding_processing_time", kProcessingTime},
    {"query.window", "type=processing_time_session", kProcessingTime},
    {"query.window", "type=delta", kDelta},
    {"query.window", "type=continuous", kContinuous},
    {"source", "watermark=processing", kProcessingStrategy},
    {"source", "watermark=processing_time", kProcessingStrategy},
    {"source", "watermark=proctime", kProcessingStrategy},
    {"source", "watermark=ingestion", kProcessingStrategy},
    {"source", "watermark=ingestion_time", kProcessingStrategy},
    {"source", "watermark=arrival", kProcessingStrategy},
    {"source", "watermark=clock", kProcessingStrategy},
    {"source", "watermark=wall_clock", kProcessingStrategy},
    {"source", "watermark=system_time", kProcessingStrategy},
    // ---- what is called otherwise
    {"source", "watermark=bounded_out_of_orderness", "say \"bounded\""},
    {"source", "watermark=monotonic", "say \"monotonous\""},
    {"source", "watermark=ascending", "say \"monotonous\""},
    {"source", "watermark=no_watermarks", "say \"none\""},
    {"source", "watermark_strategy", "say watermark"},
    {"source", "idle_timeout", "say idle_after (a partition) or silent_after (a lane)"},
    {"source", "with_idleness", "say idle_after (a partition) or silent_after (a lane)"},
    {"source", "max_out_of_orderness", "say out_of_orderness"},
    {"source", "watermark_alignment", "say max_drift"},
    {"query.window", "type=tumble", "say \"tumbling\""},
    {"query.window", "type=fixed", "say \"tumbling\""},
    {"query.window", "type=hop", "say \"sliding\""},
    {"query.window", "type=hopping", "say \"sliding\""},
    {"query.window", "type=sessions", "say \"session\""},
    {"query.window", "type=dynamic_session", "say \"session\", with gap_field and gap_unit"},
    {"query.window", "type=cumulative", "say \"cumulate\""},
    {"query.window", "type=hour", "say type = \"calendar\", unit = \"hour\""},
    {"query.window", "type=day", "say type = \"calendar\", unit = \"day\""},
    {"query.window", "type=daily", "say type = \"calendar\", unit = \"day\""},
    {"query.window", "type=week", "say type = \"calendar\", unit = \"week\""},
    {"query.window", "type=month", "say type = \"calendar\", unit = \"month\""},
    {"query.window", "type=rows", "say \"count\""},
    {"query.window", "lateness", "say allowed_lateness"},
    {"query.window", "grace", "say allowed_lateness"},
    {"query.window", "grace_period", "say allowed_lateness"},
    {"query.window", "length", "say size"},
    {"query.window", "duration", "say size"},
    {"query.window", "max_size", "say size"},
    {"query.window", "hop", "say slide"},
    {"query.window", "period", "say slide"},
    {"query.window", "advance", "say slide"},
    {"query.window", "timeout", "say gap"},
    {"query.window", "inactivity_gap", "say gap"},
    {"query.window", "dynamic_gap", "say gap_field and gap_unit"},
    {"query.window", "count", "say type = \"count\" and rows"},
    {"query.window", "timezone", "say zone"},
    {"query.window", "time_zone", "say zone"},
    {"query.window", "tz", "say zone"},
    {"query.window", "origin", "say offset"},
    {"query.window", "accumulation_mode", "say accumulation"},
    {"query.window", "purge", "say accumulation = \"discarding\""},
    {"query.window", "purging", "say accumulation = \"discarding\""},
    {"query.window", "accumulation=purging", "say \"discarding\""},
    {"query.window", "accumulation=accumulate", "say \"accumulating\""},
    {"query.window", "accumulation=accumulating_and_retracting", "say \"retracting\""},
    {"query.window", "early_fire", "say early_every"},
    {"query.window", "early_firing", "say early_every"},
    {"query.window", "early_delay", "say early_every"},
    {"query.window", "emit_early", "say early_every"},
    {"query.window", "late_fire", "say update_every"},
    {"query.window", "late_firing", "say update_every"},
    {"query.window", "late_delay", "say update_every"},
    {"query.window", "emit_every", "say early_every (event time) or provisional_every (clock)"},
    {"query.window", "watermark", "is a matter of the source: its out_of_orderness"},
    {"query.window", "out_of_orderness", "is a matter of the source"},
    {"query", "group_by", "say key"},
    {"query", "keys", "say key"},
    {"query", "key_by", "say key"},
    {"query", "filter", "say where"},
    {"query", "select", "say aggregates"},
    {"query", "late_output", "say late_sinks"},
    {"query", "late_sink", "say late_sinks"},
    {"query", "side_output", "say late_sinks"},
    {"query", "limit", "say top and top_by"},
    {"query", "top_n", "say top and top_by"},
    {"query", "order_by", "say top_by"},
    {"query", "rank_by", "say top_by"},
    {"query", "empty_windows", "say fill"},
    {"query", "parallelism", "say runtime.workers; results do not depend on it"},
    {"query", "ttl", "is not needed: a key is forgotten with the last window that holds it"},
    {"query", "state_ttl", "is not needed: a key is forgotten with the last window that holds it"},
    {"query", "fill=previous", "say \"carry\""},
    {"query", "fill=null", "say \"zero\" or \"carry\""},
    {"query", "top_order=desc", "say \"greatest\""},
    {"query", "top_order=asc", "say \"least\""},
    // ---- what goes with some windows only
    {"query.window", "early_every@session",
     "a session has no steps, since its start moves when an earlier event joins it; "
     "provisional_every shows open sessions by the clock"},
    {"query.window", "early_every@count",
     "a count window ends at a row, not at a time; slide_rows gives a result every so many rows"},
    {"query.window", "early_every@global",
     "it has no start to count steps from; early_every_rows counts rows, and type = \"cumulate\" "
     "steps from a start"},
    {"query.window", "early_every@cumulate", "its step says so already"},
    {"query.window", "early_every_rows@count", "slide_rows says so already"},
    {"query.window", "early_every_rows@cumulate",
     "it shows what it holds at its steps; ask for results every n rows with a query of its own"},
    {"query.window", "allowed_lateness@count",
     "it ends at a row, not at a time, so that no row is late"},
    {"query.window", "allowed_lateness@global", "it ends with the input, so that no row is late"},
    {"query.window", "slide@count", "say slide_rows"},
    {"query.window", "size@count", "say rows"},
    {"query.window", "size@calendar", "say unit"},
    {"query.window", "zone@tumbling",
     "windows of a fixed length have an offset; type = \"calendar\" follows a zone's clock"},
};

std::string_view find(std::string_view section, const std::string& written) {
  const auto word = std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& w) {
    return w.section == section && w.written == written;
  });
  return word == std::end(kWords) ? std::string_view() : word->text;
}

}  // namespace

std::string_view peer_option(std::string_view section, std::string_view key) {
  return find(section, std::string(key));
}

std::string_view peer_value(std::string_view section, std::string_view key,
                            std::string_view value) {
  return find(section, std::string(key) + "=" + std::string(value));
}

std::string_view peer_reason(std::string_view section, std::string_view key,
                             std::string_view beside) {
  return find(section, std::string(key) + "@" + std::string(beside));
}

}  // namespace tidewire
