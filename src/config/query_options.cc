#include "config/option_rows.h"

namespace tidewire::option_rows {
namespace {

constexpr std::string_view kPlacements = "auto local exchange";
constexpr std::string_view kWindows = "tumbling sliding session cumulate calendar count global";
constexpr std::string_view kUnits = "hour day week month";
constexpr std::string_view kAccumulations = "accumulating discarding retracting";
constexpr std::string_view kFills = "none zero carry";
constexpr std::string_view kTopOrders = "greatest least";

// clang-format off: a table, every entry in the same three parts
const Option kOptions[] = {
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
};
// clang-format on

}  // namespace

std::span<const Option> query_options() { return kOptions; }

}  // namespace tidewire::option_rows
