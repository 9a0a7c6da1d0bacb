#include "app/summary_lanes.h"

#include <algorithm>
#include <cinttypes>

#include "base/int128.h"
#include "base/units.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

struct Guard {
  LateReason reason;
  const char* what;
};
constexpr Guard kGuards[] = {{LateReason::kTooFarAhead, "beyond max_ahead of their arrival"},
                             {LateReason::kTooFarBehind, "of partitions beyond max_behind"},
                             {LateReason::kBeforeMinTime, "before min_time"}};

// The partition that met a guard most often, over all lanes of a source.
struct Offender {
  LaneId lane{};
  PartitionId partition{};
  uint64_t events = 0;
};

Offender worst(const Layout& layout, Appliance& appliance, uint32_t source, size_t guard) {
  Offender most;
  for (const LaneLayout& lane : layout.lanes) {
    if (lane.source != source) continue;
    const auto offences = appliance.worker(lane.worker).pipeline().lane_record(lane.id).offences;
    for (uint32_t p = 0; p < offences.size(); ++p)
      if (offences[p][guard] > most.events) most = {lane.id, PartitionId{p}, offences[p][guard]};
  }
  return most;
}

void print_guard(const Layout& layout, Appliance& appliance, uint32_t source, const Guard& guard,
                 std::FILE* out) {
  const auto at = static_cast<size_t>(guard.reason);
  uint64_t met = 0, dropped = 0, diverted = 0;
  for (const LaneLayout& lane : layout.lanes) {
    if (lane.source != source) continue;
    const LaneCounts& c = appliance.worker(lane.worker).pipeline().lane_counts(lane.id);
    met += c.met[at];
    dropped += c.ended.dropped[at];
    diverted += c.ended.diverted[at];
  }
  if (met == 0) return;
  std::string became;
  if (dropped > 0) became += ", " + std::to_string(dropped) + " dropped";
  if (diverted > 0) became += ", " + std::to_string(diverted) + " diverted";
  if (became.empty())
    became = guard.reason == LateReason::kTooFarAhead ? ", accepted, but they moved no watermark"
                                                      : ", accepted";
  const Offender most = worst(layout, appliance, source, at);
  std::string who = layout.lane_name(most.lane);
  if (const std::string name = partition_name(layout, appliance, most.lane, most.partition);
      !name.empty())
    who += " " + name;
  std::fprintf(out, "guard     %s: %" PRIu64 " events %s%s; most, %" PRIu64 ", from %s (lane %u)\n",
               layout.config.sources[source].name.c_str(), met, guard.what, became.c_str(),
               most.events, who.c_str(), index_of(most.lane));
}

// Up to three figures, and never less: what is advised must keep what it says.
Duration rounded_up(uint64_t ns) {
  uint64_t unit = 1;
  while (ns / unit >= 1000) unit *= 10;
  return {static_cast<int64_t>((ns + unit - 1) / unit * unit)};
}

// Down to two decimals: 99.999 is not all.
std::string percent(uint64_t part, uint64_t of) {
  const auto hundredths = static_cast<uint64_t>(static_cast<uint128>(part) * 10'000 / of);
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", static_cast<double>(hundredths) / 100);
  return text;
}

}  // namespace

std::string partition_name(const Layout& layout, Appliance& appliance, LaneId lane,
                           PartitionId partition) {
  if (partition == Lane::kNobody) return "no partition yet";
  const LaneLayout& at = layout.lanes[index_of(lane)];
  const std::string& name = layout.config.sources[at.source].partition;
  if (name.empty()) return {};
  const Worker& worker = appliance.worker(at.worker);
  uint32_t index = 0;
  while (index < worker.lanes() && worker.sample_lane(index).lane != lane) ++index;
  std::array<int64_t, 2> words{};
  if (index == worker.lanes() || !worker.parser(index).partition_value(partition, words))
    return "the partition of those beyond max_partitions";
  const Schema& schema = *layout.schemas[at.source];
  const Field& field = schema.fields[static_cast<size_t>(schema.find(name))];
  char room[kFieldTextMax];
  TextWriter text(room);
  append_field(text, field, std::span(words.data(), field.words));
  return name + " " + std::string(text.text());
}

void print_guards(const Layout& layout, Appliance& appliance, std::FILE* out) {
  for (uint32_t s = 0; s < layout.config.sources.size(); ++s)
    for (const Guard& guard : kGuards) print_guard(layout, appliance, s, guard, out);
}

std::string lateness_advice(const LatencyHistogram& lateness, uint64_t beyond, Duration bound) {
  const uint64_t events = lateness.count();
  if (events == 0 || lateness.max() == 0) return {};
  // Where 99.9 % was kept already, only a bound for all would be a change.
  const bool all = beyond <= events / 1000;
  const uint64_t needs = all ? lateness.max() : lateness.percentile(99.9);
  return "out_of_orderness " + format_duration(rounded_up(needs)) + " would have kept " +
         (all ? "all" : "99.9 %") + " (now " + format_duration(bound) + " kept " +
         (beyond == 0 ? "all" : percent(events - beyond, events) + " %") + ")";
}

void print_lateness(const Layout& layout, Appliance& appliance, std::FILE* out) {
  for (uint32_t s = 0; s < layout.config.sources.size(); ++s) {
    LatencyHistogram lateness;
    uint64_t beyond = 0;
    for (const LaneLayout& lane : layout.lanes) {
      if (lane.source != s) continue;
      const LaneRecord& record = appliance.worker(lane.worker).pipeline().lane_record(lane.id);
      lateness.merge(record.lateness);
      beyond += record.beyond_bound;
    }
    const SourceConfig& source = layout.config.sources[s];
    const std::string advice = lateness_advice(lateness, beyond, source.lane_options().bound);
    if (!advice.empty())
      std::fprintf(out, "lateness  %s: %s\n", source.name.c_str(), advice.c_str());
  }
}

void print_drift(const Layout& layout, Appliance& appliance, std::FILE* out) {
  for (const LaneDrift& drift : appliance.drifts()) {
    const SourceConfig& source = layout.config.sources[layout.lanes[index_of(drift.lane)].source];
    std::fprintf(out, "drift     %s ran up to %.3f s ahead of the frontier%s\n",
                 layout.lane_name(drift.lane).c_str(), static_cast<double>(drift.most.ns) / 1e9,
                 drift.most > source.max_drift
                     ? ", more than the max_drift that its panes are sized for"
                     : "");
  }
}

}  // namespace tidewire
