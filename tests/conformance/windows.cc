#include "windows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "window/store.h"

namespace tidewire::conformance {
namespace {

// Values of a row: what is summed, and its own gap where sessions have one.
constexpr uint8_t kValue = 0, kGap = 1;

struct Token {  // k@ts=v
  std::string key;
  int64_t time = 0, value = 1;
};

std::optional<Token> parse_record(std::string_view text) {
  const size_t at = text.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  Token token;
  token.key = text.substr(0, at);
  text.remove_prefix(at + 1);
  const size_t equals = text.find('=');
  const auto time = parse_number(text.substr(0, equals));
  const auto value = equals == std::string_view::npos ? std::optional<int64_t>(1)
                                                      : parse_number(text.substr(equals + 1));
  if (!time || !value) return std::nullopt;
  token.time = *time;
  token.value = *value;
  return token;
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

bool is_sql(const Line& line) { return line.name.starts_with("sql-"); }
bool is_session(const Line& line) {
  return line.name == "session" || line.name == "sql-session" || line.name == "dynsession" ||
         line.name == "pointsession";
}
std::string trigger(const Line& line) {
  const auto found = line.options.find("trig");
  return found == line.options.end() ? "" : found->second;
}

// The argument of `name(...)` at the head of a text that ends there.
std::optional<std::string_view> inside(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.ends_with(')')) return std::nullopt;
  text.remove_prefix(name.size());
  if (!text.starts_with('(')) return std::nullopt;
  return text.substr(1, text.size() - 2);
}
std::string_view without_purge(std::string_view trig) {
  return inside(trig, "purge").value_or(trig);
}
// 0: fires by something else.
int64_t count_of(std::string_view trig) {
  const auto n = inside(without_purge(trig), "count");
  return n ? parse_number(*n).value_or(0) : 0;
}

// ---- what cannot be read. Empty: nothing
bool is_trigger(std::string_view trig, bool global) {
  const std::string_view inner = without_purge(trig);
  if (inner == "et" || inner == "pt" || (inner == "eos" && global)) return true;
  for (const std::string_view name : {"count", "cont", "delta"})
    if (const auto argument = inside(inner, name)) {
      const auto number = parse_number(*argument);
      return number && (*number > 0 || name == "delta");
    }
  return false;
}
bool is_evictor(std::string_view evict) {
  for (const std::string_view name : {"count", "time", "delta"})
    if (auto argument = inside(evict, name)) {
      if (argument->ends_with(",after")) argument->remove_suffix(6);
      return parse_number(*argument).has_value();
    }
  return false;
}
std::string unreadable(const Line& line) {
  struct Form {
    std::string_view name;
    size_t least, most, lengths;  // arguments, and how many of them are lengths
  };
  static constexpr std::array kForms = {
      Form{"tumble", 1, 2, 1},     Form{"slide", 2, 3, 2},        Form{"session", 1, 1, 1},
      Form{"global", 0, 0, 0},     Form{"pointsession", 2, 2, 1}, Form{"dynsession", 0, 0, 0},
      Form{"ptumble", 1, 1, 1},    Form{"pslide", 2, 2, 2},       Form{"psession", 1, 1, 1},
      Form{"sql-tumble", 1, 1, 1}, Form{"sql-hop", 2, 2, 2},      Form{"sql-cumulate", 2, 2, 2},
      Form{"sql-session", 1, 1, 1}};
  const auto form = std::find_if(kForms.begin(), kForms.end(),
                                 [&](const Form& f) { return f.name == line.name; });
  if (form == kForms.end()) return "operator " + line.name;
  const size_t given = line.arguments.size();
  if (given < form->least || given > form->most) return "number of arguments of " + line.name;
  for (size_t i = 0; i < given; ++i) {
    const auto number = parse_number(line.arguments[i]);
    if (!number || (i < form->lengths && (*number <= 0 || *number > kWindowLengthMax)))
      return "argument " + line.arguments[i];
  }
  const size_t offset = form->lengths;  // of aligned windows: less than what it moves
  if (line.name != "pointsession" && given > offset &&
      (line.number(offset) <= -line.number(offset - 1) ||
       line.number(offset) >= line.number(offset - 1)))
    return "argument " + line.arguments[offset];
  for (const auto& [name, value] : line.options) {
    const auto number = parse_number(value);
    const bool known = name == "L"       ? number && *number >= 0
                       : name == "trig"  ? is_trigger(value, line.name == "global")
                       : name == "evict" ? is_evictor(value)
                                         : false;
    if (!known) return "option " + name + "=" + value;
  }
  for (const std::string& word : line.script) {
    const bool timed = word.starts_with("w ") || word.starts_with("p ");
    if (word != "snap" &&
        !(timed ? parse_number(word.substr(2)).has_value() : parse_record(word).has_value()))
      return "token " + word;
  }
  return {};
}

// The gap of a row of `dynsession` and `pointsession`.
int64_t gap_of(const Line& line, const Token& token) {
  if (line.name == "pointsession") return token.value == line.number(1) ? 0 : line.number(0);
  if (line.name == "dynsession") return token.key == "k1" ? 3000 : token.value == 10 ? 1000 : 2000;
  return line.number(0);
}

// ---- what is left out
struct Reason {
  const char* feature;
  const char* why;
};
constexpr Reason kEvictor{"evictor",
                          "keeps every row of a window; aggregates are folded as they come"};
constexpr Reason kDelta{"delta trigger", "fires by arrival order within a window"};
constexpr Reason kContinuous{"continuous trigger",
                             "its early result holds events beyond the point; steps are used"};
constexpr Reason kCountForEnd{"count trigger in the place of the end",
                              "a window ends by event time; early_every_rows comes in addition"};
constexpr Reason kProcessing{"processing-time windows", "results would depend on when rows came"};
constexpr Reason kForgotten{"DataStream snap that forgets the watermark",
                            "the watermark is always restored, as in SQL"};
constexpr Reason kNoEnd{"global window without an end",
                        "a global window gives its result when the input ends"};

// Does a record, behind a snap and before the watermark is back, meet a window that the forgotten
// watermark had completed?
bool needs_forgotten(const Line& line) {
  if (is_sql(line)) return false;
  int64_t watermark = INT64_MIN, forgotten = INT64_MIN;  // frontier form
  for (const std::string& word : line.script) {
    if (word == "snap") {
      forgotten = std::max(forgotten, watermark);
      watermark = INT64_MIN;
    } else if (word.starts_with("w ")) {
      watermark = std::max(watermark, saturating_add(*parse_number(word.substr(2)), 1));
    } else if (const auto record = parse_record(word); record && watermark < forgotten) {
      int64_t first_end = INT64_MAX;
      if (is_session(line)) {
        first_end = saturating_add(record->time, gap_of(line, *record));
      } else if (line.name == "tumble" || line.name == "slide") {
        const bool slides = line.name == "slide";
        const int128 size = line.number(0), slide = slides ? line.number(1) : line.number(0);
        const int128 offset = line.number(slides ? 2 : 1);
        int128 rest = (record->time - offset) % slide;
        if (rest < 0) rest += slide;
        int128 start = record->time - rest;
        if (start + size <= record->time) {  // between windows
          first_end = record->time;
        } else {
          while (start - slide + size > record->time) start -= slide;
          first_end = static_cast<int64_t>(std::min<int128>(start + size, INT64_MAX));
        }
      }
      if (first_end <= forgotten) return true;
    }
  }
  return false;
}

std::optional<Reason> left_out(const Line& line) {
  const std::string trig = trigger(line);
  if (line.options.contains("evict")) return kEvictor;
  if (line.name == "ptumble" || line.name == "pslide" || line.name == "psession" ||
      trig.find("pt") != std::string::npos)
    return kProcessing;
  if (trig.find("delta(") != std::string::npos) return kDelta;
  if (trig.find("cont(") != std::string::npos) return kContinuous;
  const bool counts = count_of(trig) > 0;
  if (counts && line.name != "global") return kCountForEnd;
  const bool ends = std::find(line.script.begin(), line.script.end(), "w MAX") != line.script.end();
  if (line.name == "global" && ends) {
    if (trig.empty()) return kNoEnd;
    if (trig.starts_with("count(")) return kCountForEnd;
  }
  if (needs_forgotten(line)) return kForgotten;
  return std::nullopt;
}

// ---- the operator as a plan
Plan plan_of(const Line& line, const std::vector<Token>& records) {
  Plan plan;
  plan.name = line.id;
  plan.lanes = {LaneId{0}};
  plan.key_words = 1;
  plan.values = {kValue, kGap};
  plan.gap_unit = {1};
  plan.late_rows = !is_sql(line);
  plan.max_keys = 64;
  plan.max_panes = 4096;
  plan.batch_panes = 4;
  plan.max_sessions = records.size() + 16;
  plan.max_deferred = 16;
  plan.max_changes = 16 * (records.size() + 16);
  WindowShape& w = plan.window;
  const std::string trig = trigger(line);
  if (line.options.contains("L")) w.lateness = {*parse_number(line.options.at("L"))};
  if (trig.starts_with("purge(")) w.accumulation = Accumulation::kDiscarding;
  const auto rows = static_cast<uint64_t>(count_of(trig));
  if (is_session(line)) {
    w.kind = WindowKind::kSession;
    w.gap = {line.number(0)};
    if (line.name == "dynsession" || line.name == "pointsession") {
      plan.gap_value = kGap;
      w.gap = {3000};
    }
  } else if (line.name == "global") {
    const bool by_count = rows > 0 && w.accumulation == Accumulation::kDiscarding;
    w.kind = by_count ? WindowKind::kCount : WindowKind::kGlobal;
    w.rows = w.row_slide = w.early_rows = rows;
    w.accumulation = Accumulation::kAccumulating;
  } else {
    const bool slides = line.name == "slide" || line.name == "sql-hop";
    w.kind = slides                        ? WindowKind::kSliding
             : line.name == "sql-cumulate" ? WindowKind::kCumulate
                                           : WindowKind::kTumbling;
    w.size = w.slide = {line.number(0)};
    if (slides) w.slide = {line.number(1)};
    if (w.kind == WindowKind::kCumulate) w.early = {line.number(1)};
    if (!is_sql(line)) w.offset = {line.number(slides ? 2 : 1)};
  }
  return plan;
}

// ---- the real store, and what it says in the words of the files
class Player {
 public:
  Player(const Line& line, const std::vector<Token>& records)
      : line_(line),
        plan_(plan_of(line, records)),
        blocks_(16),
        arena_(ArenaOptions{-1, false, false}) {
    ring_.blocks.adopt(blocks_);
    store_ = make_store(plan_, {0, plan_.shards}, arena_);
  }
  std::string play() {
    for (const std::string& word : line_.script) {
      if (word.starts_with("w ")) {
        watermark(*parse_number(word.substr(2)));
      } else if (const auto record = parse_record(word)) {
        add(*record);
      }
      run();
    }
    close_group();
    const StoreCounts counts = store_->counts();
    if (is_sql(line_)) put("drop " + std::to_string(counts.late));
    if (counts.overflow + counts.unshown + counts.flagged > 0) put("a pool was full");
    return out_;
  }

 private:
  void add(const Token& token) {
    const auto [known, fresh] =
        numbers_.try_emplace(token.key, static_cast<int64_t>(numbers_.size() + 1));
    if (fresh) names_[known->second] = token.key;
    const EventTime time{token.time}, stamp{frontier_};
    const uint64_t hash = hash_words<1>(&known->second, plan_.seed);
    const int64_t gap = gap_of(line_, token);
    Rows row;
    row.count = 1;
    row.first = Ordinal{ordinal_++};
    row.time = &time;
    row.stamp = &stamp;
    row.hash = &hash;
    row.key[0] = &known->second;
    row.value[kValue] = &token.value;
    row.value[kGap] = &gap;
    row.min_time = row.max_time = time;
    row.max_stamp = stamp;
    store_->add(row);
  }
  // Results of a watermark stand before it. One that SQL has seen is forwarded as it stood.
  void watermark(int64_t t) {
    if (is_sql(line_)) t = told_ = std::max(told_, t);
    frontier_ = std::max(frontier_, saturating_add(t, 1));
    run();
    close_group();
    put("w " + (t == INT64_MAX ? std::string("MAX") : std::to_string(t)));
  }
  void run() {
    for (;;) {
      const uint32_t used = store_->fire({frontier_}, {frontier_}, 512, writer_);
      writer_.close();
      const bool any = read();
      if (used == 0 && !any) return;
    }
  }
  bool read() {
    bool any = false;
    for (const ResultBlock* block; (block = ring_.blocks.front()); ring_.blocks.pop()) {
      any = true;
      for (uint32_t at = 0; at < block->used;) {
        Run run;
        std::memcpy(&run, block->bytes.data() + at, sizeof run);
        at += sizeof run;
        for (uint32_t i = 0; i < run.rows; ++i, at += block->row_words * 8) {
          std::vector<int64_t> row(block->row_words);
          std::memcpy(row.data(), block->bytes.data() + at, row.size() * 8);
          group_.push_back(text_of(run, row));
        }
      }
    }
    return any;
  }
  std::string text_of(const Run& run, const std::vector<int64_t>& row) {
    if (run.kind == RunKind::kLate) return "late " + names_[row[2]] + "@" + std::to_string(row[0]);
    const bool placed = run.kind == RunKind::kPlaced;
    const int64_t* at = row.data() + (placed ? 2 : 0);
    const int64_t start = placed ? row[0] : run.start.ns, end = placed ? row[1] : run.end.ns;
    const std::string window = line_.name == "global"
                                   ? "G"
                                   : "[" + std::to_string(start) + "," + std::to_string(end) + ")";
    return names_[at[1]] + window + "=" + std::to_string(at[3]);  // { hash, key, count, sum, ... }
  }
  void put(const std::string& token) {
    if (!out_.empty()) out_ += "; ";
    out_ += token;
  }
  // Between two watermarks the order is not compared: sorted as bytes.
  void close_group() {
    std::sort(group_.begin(), group_.end());
    for (const std::string& token : group_) put(token);
    group_.clear();
  }

  const Line& line_;
  Plan plan_;
  std::vector<ResultBlock> blocks_;
  ResultRing ring_;
  ResultWriter writer_{ring_};
  Arena arena_;
  std::unique_ptr<WindowStore> store_;
  std::map<std::string, int64_t> numbers_;
  std::map<int64_t, std::string> names_;
  std::vector<std::string> group_;
  std::string out_;
  uint64_t ordinal_ = 0;
  int64_t frontier_ = INT64_MIN + 1;  // before_all() is no place, and rows may answer at once
  int64_t told_ = INT64_MIN;
};

}  // namespace

Played play_windows(const Line& line) {
  if (const std::string what = unreadable(line); !what.empty())
    return {{}, {}, "cannot read " + what};
  if (const auto reason = left_out(line)) return {reason->feature, reason->why, {}};
  std::vector<Token> records;
  for (const std::string& word : line.script)
    if (const auto record = parse_record(word)) records.push_back(*record);
  return {{}, {}, Player(line, records).play()};
}

}  // namespace tidewire::conformance
