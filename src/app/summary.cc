#include "app/summary.h"

#include <cinttypes>

#include "app/summary_lanes.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

std::string text_of(EventTime time) {
  if (time == EventTime::before_all()) return "nothing yet";
  if (time == EventTime::end_of_time()) return "the end";
  char room[64];
  TextWriter out(room);
  append_time(out, time);
  return std::string(out.text());
}

const char* verdict(bool balanced) { return balanced ? "balanced" : "NOT BALANCED"; }

LaneCounts add_up(const Layout& layout, Appliance& appliance) {
  LaneCounts sum;
  for (const LaneLayout& lane : layout.lanes) {
    const LaneCounts& c = appliance.worker(lane.worker).pipeline().lane_counts(lane.id);
    sum.packets += c.packets;
    sum.packets_parsed += c.packets_parsed;
    sum.bytes += c.bytes;
    sum.events += c.events;
    for (size_t i = 0; i < sum.dropped.size(); ++i) sum.dropped[i] += c.dropped[i];
    for (size_t i = 0; i < sum.noted.size(); ++i) sum.noted[i] += c.noted[i];
    sum.ended.no_time += c.ended.no_time;
    sum.ended.out_of_range += c.ended.out_of_range;
    sum.ended.passed_on += c.ended.passed_on;
    for (size_t i = 0; i < sum.met.size(); ++i) {
      sum.met[i] += c.met[i];
      sum.ended.dropped[i] += c.ended.dropped[i];
      sum.ended.diverted[i] += c.ended.diverted[i];
    }
  }
  return sum;
}

QueryCounts add_up(Appliance& appliance, QueryId id) {
  QueryCounts sum;
  for (size_t w = 0; w < appliance.workers(); ++w) {
    const QueryCounts c = appliance.worker(w).pipeline().counts(id);
    sum.passed_on += c.passed_on;
    sum.filtered += c.filtered;
    sum.store.natural += c.store.natural;
    sum.store.deferred += c.store.deferred;
    sum.store.late += c.store.late;
    sum.store.overflow += c.store.overflow;
    sum.store.no_window += c.store.no_window;
    sum.store.still_deferred += c.store.still_deferred;
    sum.store.results += c.store.results;
    sum.store.flagged += c.store.flagged;
  }
  return sum;
}

// Packets: received = parsed + dropped by reason. Missed ones never reached us; they are said
// beside it.
bool print_packets(const LaneCounts& sum, const ApplianceSample& sample, std::FILE* out) {
  uint64_t dropped = 0;
  for (const uint64_t n : sum.dropped) dropped += n;
  const bool balanced = sum.packets == sum.packets_parsed + dropped;
  std::fprintf(out,
               "packets   %" PRIu64 " received = %" PRIu64 " parsed + %" PRIu64
               " dropped   %s; %" PRIu64 " bytes on the wire\n",
               sum.packets, sum.packets_parsed, dropped, verdict(balanced), sum.bytes);
  for (size_t i = 0; i < sum.dropped.size(); ++i)
    if (sum.dropped[i])
      std::fprintf(out, "          dropped %s: %" PRIu64 "\n",
                   to_string(static_cast<DropReason>(i)).data(), sum.dropped[i]);
  for (size_t i = 0; i < sum.noted.size(); ++i)
    if (sum.noted[i])
      std::fprintf(out, "          noted %s: %" PRIu64 "\n", to_string(static_cast<Note>(i)).data(),
                   sum.noted[i]);
  SourceCounters total;
  for (const SourceCounters& s : sample.sources) {
    total.missed += s.missed;
    total.no_buffer += s.no_buffer;
    total.errors += s.errors;
    total.segmented += s.segmented;
  }
  if (total.missed + total.no_buffer + total.errors > 0)
    std::fprintf(out,
                 "          beside: %" PRIu64 " missed (ring full), %" PRIu64
                 " without a buffer, %" PRIu64 " bad frames or cut records\n",
                 total.missed, total.no_buffer, total.errors);
  if (total.segmented > 0)
    std::fprintf(out,
                 "          %" PRIu64 " came in several buffers: only the first is looked at\n",
                 total.segmented);
  return balanced;
}

bool print_events(const LaneCounts& sum, std::FILE* out) {
  const EventCounts& e = sum.ended;
  const bool balanced = sum.events == e.sum();
  uint64_t dropped = 0, diverted = 0;
  for (const uint64_t n : e.dropped) dropped += n;
  for (const uint64_t n : e.diverted) diverted += n;
  std::fprintf(out,
               "events    %" PRIu64 " parsed = %" PRIu64 " passed on + %" PRIu64
               " without time + %" PRIu64 " out of range",
               sum.events, e.passed_on, e.no_time, e.out_of_range);
  if (dropped + diverted > 0)
    std::fprintf(out, " + %" PRIu64 " dropped + %" PRIu64 " diverted", dropped, diverted);
  std::fprintf(out, "   %s\n", verdict(balanced));
  return balanced;
}

bool print_query(const Plan& plan, const QueryCounts& c, std::FILE* out) {
  const StoreCounts& s = c.store;
  const uint64_t ended =
      c.filtered + s.natural + s.deferred + s.late + s.overflow + s.no_window + s.still_deferred;
  const bool balanced = c.passed_on == ended;
  std::fprintf(out,
               "query     %s: %" PRIu64 " = %" PRIu64 " filtered + %" PRIu64 " natural + %" PRIu64
               " deferred + %" PRIu64 " late + %" PRIu64 " overflow + %" PRIu64
               " no window + %" PRIu64 " still deferred   %s; %" PRIu64 " results\n",
               plan.name.c_str(), c.passed_on, c.filtered, s.natural, s.deferred, s.late,
               s.overflow, s.no_window, s.still_deferred, verdict(balanced), s.results);
  if (s.overflow)
    std::fprintf(out,
                 "          some pool was full: %" PRIu64
                 " results flagged, and what lost every row has none: this digest compares with no "
                 "other; raise max_keys, max_panes, max_sessions or max_deferred\n",
                 s.flagged);
  return balanced;
}

void print_holder(const Layout& layout, Appliance& appliance, std::FILE* out) {
  const std::vector<HolderTime> holders = appliance.holders();
  if (holders.empty()) return;
  int64_t total = 0;
  for (const HolderTime& h : holders) total += h.held.ns;
  const HolderTime& most = holders.front();
  std::string who = partition_name(layout, appliance, most.lane, most.partition);
  if (!who.empty()) who = ", " + who;
  std::fprintf(out, "frontier  held back longest by %s (lane %u%s): %.3f of %.3f s\n",
               layout.lane_name(most.lane).c_str(), index_of(most.lane), who.c_str(),
               static_cast<double>(most.held.ns) / 1e9, static_cast<double>(total) / 1e9);
}

void print_results(const EgressCounts& c, std::FILE* out) {
  std::fprintf(out, "results   %" PRIu64 " in %" PRIu64 " windows", c.results, c.windows);
  const auto also = [&](uint64_t count, const char* what) {
    if (count > 0) std::fprintf(out, ", %" PRIu64 " %s", count, what);
  };
  also(c.partial, "of them partial");
  also(c.early, "early");
  also(c.updates, "updates");
  also(c.retractions, "retractions");
  also(c.empty, "of empty windows");
  also(c.flagged, "flagged (outside the digest)");
  std::fprintf(out, "\n");
  if (c.having + c.below_top > 0)
    std::fprintf(out, "          held back: %" PRIu64 " by having, %" PRIu64 " below top\n",
                 c.having, c.below_top);
  if (c.keys_forgotten > 0)
    std::fprintf(
        out,
        "          %" PRIu64
        " keys were forgotten before their empty windows or next rows came: raise max_keys\n",
        c.keys_forgotten);
  if (c.provisional + c.late_rows > 0)
    std::fprintf(out, "          beside: %" PRIu64 " provisional results, %" PRIu64 " late rows\n",
                 c.provisional, c.late_rows);
}

}  // namespace

std::string in_thousands(double value) {
  char text[32];
  if (value >= 1e9)
    std::snprintf(text, sizeof text, "%.2f G", value / 1e9);
  else if (value >= 1e6)
    std::snprintf(text, sizeof text, "%.2f M", value / 1e6);
  else if (value >= 1e3)
    std::snprintf(text, sizeof text, "%.1f k", value / 1e3);
  else
    std::snprintf(text, sizeof text, "%.0f ", value);
  return text;
}

Summary print_summary(const Layout& layout, Appliance& appliance, double seconds, std::FILE* out) {
  Summary summary;
  const ApplianceSample sample = appliance.sample();
  const LaneCounts lanes = add_up(layout, appliance);
  summary.packets = lanes.packets;
  summary.events = lanes.events;
  summary.balanced &= print_packets(lanes, sample, out);
  summary.balanced &= print_events(lanes, out);
  print_guards(layout, appliance, out);
  print_lateness(layout, appliance, out);
  for (const Plan& plan : layout.pipeline.plans) {
    const QueryCounts counts = add_up(appliance, plan.id);
    summary.late += counts.store.late;
    summary.balanced &= print_query(plan, counts, out);
  }
  for (size_t s = 0; s < sample.sources.size(); ++s)
    if (sample.lanes[s].failed) {
      summary.source_failed = true;
      std::fprintf(out, "source    %s failed at %s: %s\n",
                   layout.lane_name(sample.lanes[s].lane).c_str(),
                   text_of(sample.lanes[s].highest).c_str(),
                   sample.sources[s].failure ? sample.sources[s].failure : "no reason given");
    }
  const auto& sinks = appliance.egress().sinks;
  for (size_t i = 0; i < sinks.size(); ++i) {
    SinkCounters c;
    sinks[i]->sample(c);
    summary.lost += c.lost;
    if (c.lost)
      std::fprintf(out, "sink      %s: %" PRIu64 " records lost: %s\n",
                   layout.config.sinks[i].name.c_str(), c.lost,
                   c.failure ? c.failure : "no reason given");
  }
  print_holder(layout, appliance, out);
  print_drift(layout, appliance, out);
  LatencyHistogram turns;
  for (size_t w = 0; w < appliance.workers(); ++w) turns.merge(appliance.worker(w).turn_latency());
  std::fprintf(out, "turns     %" PRIu64 ", us p50 %.1f  p99 %.1f  p99.99 %.1f  longest %.1f\n",
               turns.count(), static_cast<double>(turns.percentile(50)) / 1e3,
               static_cast<double>(turns.percentile(99)) / 1e3,
               static_cast<double>(turns.percentile(99.99)) / 1e3,
               static_cast<double>(turns.max()) / 1e3);
  summary.windows = sample.egress.windows;
  summary.digest = sample.egress.digest;
  print_results(sample.egress, out);
  if (!summary.balanced)
    std::fprintf(out, "tidewire: bug: a balance does not hold; please report this run\n");
  std::fprintf(
      out,
      "tidewire: %" PRIu64 " packets, %" PRIu64 " events, %" PRIu64 " windows, %" PRIu64
      " late, %spackets/s, digest %016" PRIx64 "\n",
      summary.packets, summary.events, summary.windows, summary.late,
      in_thousands(seconds > 0 ? static_cast<double>(summary.packets) / seconds : 0).c_str(),
      summary.digest);
  return summary;
}

}  // namespace tidewire
