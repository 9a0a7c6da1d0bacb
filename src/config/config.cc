#include "config/config.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>

#include "base/strings.h"
#include "base/units.h"
#include "base/zone.h"
#include "config/columns.h"
#include "config/options.h"
#include "config/peer_words.h"
#include "config/zone_name.h"
#include "format/catalog.h"
#include "query/field_text.h"
#include "query/nearest.h"

namespace tidewire {
namespace {

constexpr size_t kSourcesMax = 64, kQueriesMax = 64, kSinksMax = 16;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// Names stand in metrics, file names and messages.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

class Loader {
 public:
  Loader(std::string_view text, std::string file, std::span<const int> cpus)
      : text_(text), cpus_(cpus) {
    out_.config.file = std::move(file);
  }

  Loaded load() {
    Document document = parse_document(text_);
    if (document.error) {
      out_.problems.push_back(*document.error);
      return std::move(out_);
    }
    root_ = &document.root;
    check_sections();
    read_single("system", [&](OptionTarget& t) { t.system = &out_.config.system; });
    read_single("runtime", [&](OptionTarget& t) { t.runtime = &out_.config.runtime; });
    read_named<SourceConfig>("source", kSourcesMax, out_.config.sources,
                             [](OptionTarget& t, SourceConfig& s) { t.source = &s; });
    read_named<SinkConfig>("sink", kSinksMax, out_.config.sinks,
                           [](OptionTarget& t, SinkConfig& s) { t.sink = &s; });
    read_queries();
    check_runtime();
    for (SourceConfig& source : out_.config.sources) check_source(source);
    for (const SourceConfig& source : out_.config.sources) check_followed(source);
    check_sinks();
    if (out_.config.sources.empty()) problem({}, "there is no source: add a section [source.NAME]");
    if (out_.config.queries.empty()) problem({}, "there is no query: add a section [query.NAME]");
    check_queries();
    std::stable_sort(out_.problems.begin(), out_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.place < b.place; });
    return std::move(out_);
  }

 private:
  void problem(Place place, std::string text) { out_.problems.push_back({place, std::move(text)}); }

  // ---- sections
  void check_sections() {
    static constexpr std::string_view kSections[] = {"system", "runtime", "source", "query",
                                                     "sink"};
    for (const Node& node : root_->children) {
      if (std::find(std::begin(kSections), std::end(kSections), node.key) == std::end(kSections))
        problem(node.key_place, "there is no section or option " + quoted(node.key) +
                                    suggestion(node.key, kSections));
      else if (node.type != Node::Type::kTable)
        problem(node.key_place, quoted(node.key) + " is a section: write [" + node.key + "]");
    }
  }

  template <class Aim>
  void read_single(std::string_view section, const Aim& aim) {
    static const Node kNothing{Node::Type::kTable, {}, {}, {}, {}, 0, {}};
    const Node* node = root_->find(section);
    if (node == nullptr || node->type != Node::Type::kTable) node = &kNothing;
    OptionTarget target;
    aim(target);
    read_options(*node, section, std::string(section), target);
  }

  // The tables of [section.NAME]; what else stands under the section is a problem.
  std::vector<const Node*> named(std::string_view section, size_t most) {
    std::vector<const Node*> found;
    const Node* all = root_->find(section);
    if (all == nullptr || all->type != Node::Type::kTable) return found;
    for (const Node& node : all->children) {
      if (node.type != Node::Type::kTable)
        problem(node.key_place, "a " + std::string(section) + " has a name: write [" +
                                    std::string(section) + ".NAME] above " + quoted(node.key));
      else if (!is_name(node.key))
        problem(node.key_place,
                quoted(node.key) + " is no name: letters, digits, '_' and '-', at most 64");
      else if (found.size() == most)
        problem(node.key_place, "more than " + std::to_string(most) + " sections [" +
                                    std::string(section) + ".NAME]");
      else
        found.push_back(&node);
    }
    return found;
  }

  template <class Entry, class Aim>
  void read_named(std::string_view section, size_t most, std::vector<Entry>& entries,
                  const Aim& aim) {
    for (const Node* node : named(section, most)) {
      Entry entry;
      entry.name = node->key;
      entry.place = node->key_place;
      OptionTarget target;
      aim(target, entry);
      read_options(*node, section, std::string(section) + "." + node->key, target);
      entries.push_back(std::move(entry));
    }
  }

  void read_queries() {
    for (const Node* node : named("query", kQueriesMax)) {
      QueryConfig query;
      query.spec.name = node->key;
      query.place = node->key_place;
      OptionTarget target;
      target.query = &query.spec;
      const std::string name = "query." + node->key;
      read_options(*node, "query", name, target);
      const Node* window = node->find("window");
      if (window == nullptr)
        problem(node->key_place, "query " + quoted(node->key) + " has no window: add a section [" +
                                     name + ".window]");
      else if (window->type != Node::Type::kTable)
        problem(window->place,
                "window: must be a table, such as { type = \"tumbling\", size = \"1 s\" }");
      else
        read_options(*window, "query.window", name + ".window", target);
      out_.config.queries.push_back(std::move(query));
      query_nodes_.push_back(node);
    }
  }

  // ---- options of one table
  void read_options(const Node& table, std::string_view section, const std::string& name,
                    OptionTarget& target) {
    // The text of an option as far as it is one, for options that depend on it.
    const auto setting = [&](std::string_view key) -> std::string_view {
      const Node* node = table.find(key);
      if (node != nullptr) return node->text;
      const Option* option = find_option(section, key);
      return option->fallback == kRequired ? std::string_view() : option->fallback;
    };
    refuse_unknown(table, section, name, setting);
    for (const Option& option : options()) {
      if (option.section != section) continue;
      const Node* node = table.find(option.key);
      if (!applies(option, setting)) {
        if (node != nullptr) refuse_elsewhere(option, *node, setting);
        continue;
      }
      OptionValue value;
      std::string text;
      if (node != nullptr) {
        Place place = node->place;
        if (read_node(option, *node, value, place, text))
          option.set(target, value);
        else
          problem(place, std::string(option.key) + ": " + text);
      } else if (option.fallback == kRequired) {
        problem(table.key_place,
                "[" + name + "] lacks " + quoted(option.key) + ", " + describe(option));
      } else if (read_option(option, option.fallback, value, text)) {
        option.set(target, value);
        out_.config.defaulted.push_back(
            {name + "." + std::string(option.key), std::string(option.fallback)});
      }
    }
  }

  template <class Setting>
  void refuse_unknown(const Node& table, std::string_view section, const std::string& name,
                      const Setting& setting) {
    std::vector<std::string_view> keys;
    for (const Option& option : options())
      if (option.section == section && applies(option, setting)) keys.push_back(option.key);
    const std::string_view inner = section == "query"    ? "window"
                                   : section == "source" ? "columns"
                                                         : "";
    if (!inner.empty()) keys.push_back(inner);
    for (const Node& node : table.children) {
      if (find_option(section, node.key) != nullptr || node.key == inner) continue;
      const std::string_view peer = peer_option(section, node.key);
      const bool of_window = section == "query" && find_option("query.window", node.key) != nullptr;
      problem(node.key_place, "[" + name + "] has no option " + quoted(node.key) +
                                  (of_window      ? "; it stands in [" + name + ".window]"
                                   : peer.empty() ? suggestion(node.key, keys)
                                                  : ": " + std::string(peer)));
    }
  }

  template <class Setting>
  void refuse_elsewhere(const Option& option, const Node& node, const Setting& setting) {
    const std::string_view other = option.only.substr(0, option.only.find('='));
    const std::string_view text = setting(other);
    const Option* decides = find_option(option.section, other);
    OptionValue value;
    std::string ignored;
    // Where that one is missing or wrong, it is the problem, and this one may be right.
    if (text.empty() || !read_option(*decides, text, value, ignored)) return;
    const std::string_view why = peer_reason(option.section, option.key, text);
    problem(node.key_place, quoted(option.key) + " has no meaning where " + std::string(other) +
                                " is \"" + std::string(text) + "\"" +
                                (why.empty() ? "" : ": " + std::string(why)));
  }

  bool read_node(const Option& option, const Node& node, OptionValue& value, Place& place,
                 std::string& text) {
    using Type = Node::Type;
    switch (option.kind) {
      case OptionKind::kBool:
        if (node.type != Type::kBool) break;
        value.number = node.integer;
        return true;
      case OptionKind::kInteger:
        if (node.type != Type::kInteger) break;
        value.number = node.integer;
        if (!check_number(option, node.integer, text)) return false;
        return passes(option, value, text);
      case OptionKind::kDuration:
      case OptionKind::kSize:
      case OptionKind::kText:
      case OptionKind::kChoice:
        if (node.type != Type::kText) break;
        return read_option(option, node.text, value, text);
      case OptionKind::kIntegers:
      case OptionKind::kTexts:
        return read_list(option, node, value, place, text);
    }
    text = "must be " + describe(option) + ", not " + std::string(to_string(node.type));
    return false;
  }

  static bool passes(const Option& option, const OptionValue& value, std::string& text) {
    const char* wrong = option.check != nullptr ? option.check(value) : nullptr;
    if (wrong != nullptr) text = wrong;
    return wrong == nullptr;
  }

  bool read_list(const Option& option, const Node& node, OptionValue& value, Place& place,
                 std::string& text) {
    const bool texts = option.kind == OptionKind::kTexts;
    const auto wanted = texts ? Node::Type::kText : Node::Type::kInteger;
    if (texts && node.type == Node::Type::kText) {
      value.texts = {node.text};
    } else if (node.type != Node::Type::kArray) {
      text = "must be " + describe(option) + ", not " + std::string(to_string(node.type));
      return false;
    }
    for (const Node& item : node.children) {
      place = item.place;
      if (item.type != wanted) {
        text = "must be " + describe(option) + "; this is " + std::string(to_string(item.type));
        return false;
      }
      if (!texts && !check_number(option, item.integer, text)) return false;
      if (texts)
        value.texts.push_back(item.text);
      else
        value.numbers.push_back(item.integer);
    }
    place = node.place;
    if (!texts) return true;
    const auto count = static_cast<int64_t>(value.texts.size());
    if (count >= option.least && count <= option.most) return true;
    text = "must hold " + std::to_string(option.least) + " to " + std::to_string(option.most) +
           " texts, not " + std::to_string(count);
    return false;
  }

  // ---- what single options cannot know
  Place place_of(std::string_view section, std::string_view name, std::string_view key) const {
    const Node* node = root_->find(section);
    if (node != nullptr && !name.empty()) node = node->find(name);
    if (node == nullptr) return {};
    const Node* option = node->find(key);
    return option != nullptr ? option->place : node->key_place;
  }
  bool written(std::string_view section, std::string_view name, std::string_view key) const {
    const Node* node = root_->find(section);
    if (node != nullptr && !name.empty()) node = node->find(name);
    return node != nullptr && node->find(key) != nullptr;
  }

  void check_runtime() {
    RuntimeConfig& runtime = out_.config.runtime;
    if (runtime.cores.empty()) return;
    const Place place = place_of("runtime", "", "cores");
    if (!written("runtime", "", "workers"))
      runtime.workers = static_cast<uint32_t>(runtime.cores.size());
    else if (runtime.workers != runtime.cores.size())
      problem(place, "cores: names " + std::to_string(runtime.cores.size()) + " cores for " +
                         std::to_string(runtime.workers) + " workers");
    std::set<int> seen;
    for (const int core : runtime.cores) {
      if (!seen.insert(core).second)
        problem(place, "cores: core " + std::to_string(core) + " stands there twice");
      else if (!cpus_.empty() && std::find(cpus_.begin(), cpus_.end(), core) == cpus_.end())
        problem(place, "cores: core " + std::to_string(core) +
                           " does not exist or may not be used by this process; it may use " +
                           cpu_list());
    }
  }

  // "0-3, 8"
  std::string cpu_list() const {
    std::vector<int> cpus(cpus_.begin(), cpus_.end());
    std::sort(cpus.begin(), cpus.end());
    std::string list;
    for (size_t i = 0; i < cpus.size();) {
      size_t last = i;
      while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
      list += (list.empty() ? "" : ", ") + std::to_string(cpus[i]);
      if (last > i) list += "-" + std::to_string(cpus[last]);
      i = last + 1;
    }
    return list;
  }

  // What a format's options may be, only the format knows.
  void open(SourceConfig& source) {
    const auto place = [&](std::string_view key) { return place_of("source", source.name, key); };
    const auto names = format_names();
    if (std::find(names.begin(), names.end(), source.format_name) == names.end()) {
      problem(place("format"), "format: there is no format " + quoted(source.format_name) +
                                   suggestion(source.format_name, names));
      return;
    }
    auto format = open_format(source.format_name, source.format_options);
    if (format.ok()) {
      source.format = *std::move(format);
      return;
    }
    const std::string text(from_absl(format.status().message()));  // "OPTION: why"
    problem(place(std::string_view(text).substr(0, text.find(':'))), text);
  }

  void check_source(SourceConfig& source) {
    const auto place = [&](std::string_view key) { return place_of("source", source.name, key); };
    open(source);
    const Schema* fields = source.format ? &source.format->schema() : nullptr;
    if (fields != nullptr) check_event_time(source, *fields);
    const Node* columns = root_->find("source")->find(source.name)->find("columns");
    if (const size_t before = out_.problems.size(); fields != nullptr && columns != nullptr) {
      source.derived = read_columns(*columns, *fields, text_, out_.problems);
      if (out_.problems.size() > before) spoilt_.insert(source.name);
    }
    if (source.partition.empty()) {
      source.max_partitions = 1;
    } else if (fields != nullptr && fields->find(source.partition) < 0 && source.derived &&
               source.derived->schema.find(source.partition) >= 0) {
      problem(place("partition"), "partition: " + quoted(source.partition) +
                                      " is derived; partitions are told apart before that");
    } else if (fields != nullptr && fields->find(source.partition) < 0) {
      problem(place("partition"), "partition: format " + quoted(source.format_name) +
                                      " has no field " + quoted(source.partition) +
                                      suggestion(source.partition, names(*fields)));
    }
    if (source.type != SourceType::kFile || !written("source", source.name, "type")) return;
    const FileConfig& file = source.file;
    if (file.paths.empty() == file.directory.empty() &&
        !(file.paths.empty() &&
          (written("source", source.name, "path") || written("source", source.name, "directory"))))
      problem(source.place, "[source." + source.name + "] needs " +
                                (file.paths.empty() ? "'path' or 'directory'"
                                                    : "'path' or 'directory', not both"));
    if (file.directory.empty() && written("source", source.name, "pattern"))
      problem(place("pattern"), "pattern: chooses files of a directory; there is no 'directory'");
  }

  void check_event_time(const SourceConfig& source, const Schema& fields) {
    const auto place = [&](std::string_view key) { return place_of("source", source.name, key); };
    if (!source.progress.empty()) {
      std::string text;
      size_t at = 0;
      if (!compile_progress(source.progress, fields, text, at))
        problem(place_inside(text_, place("progress"), at), "progress: " + text);
    } else if (source.watermark == WatermarkStrategy::kPunctuated && !source.format->has_marks() &&
               !source.has_clock()) {
      problem(place("watermark"),
              "watermark: \"punctuated\" without 'progress' would never move: format " +
                  quoted(source.format_name) + " has no marks of its own, and the source no clock");
    }
    check_partitions(source, fields);
  }

  void check_partitions(const SourceConfig& source, const Schema& fields) {
    const auto place = [&](std::string_view key) { return place_of("source", source.name, key); };
    const bool held = source.start_hold.ns > 0;
    if (source.partition.empty()) {
      for (const std::string_view key : {"partitions", "start_hold"})
        if (key == "partitions" ? !source.partitions.empty() : held)
          problem(place(key), std::string(key) +
                                  ": waits for partitions; name their field in "
                                  "'partition'");
      return;
    }
    const int field = fields.find(source.partition);
    if (source.partitions.empty() || field < 0) return;
    std::set<std::array<int64_t, kMaxKeyWords>> seen;
    for (const std::string& value : source.partitions) {
      const auto words = parse_field(fields.fields[static_cast<size_t>(field)], value);
      if (!words.ok())
        problem(place("partitions"),
                "partitions: " + std::string(from_absl(words.status().message())));
      else if (!seen.insert(words->word).second)
        problem(place("partitions"), "partitions: " + quoted(value) + " stands there twice");
    }
    if (source.partitions.size() >= source.max_partitions)
      problem(place("partitions"), "partitions: names " + std::to_string(source.partitions.size()) +
                                       "; max_partitions must be larger, one being for the rest");
    if (likely_lanes(source) > 1 && !held)
      problem(place("partitions"),
              "partitions: a partition lives in one lane, and with several nobody knows in which: "
              "each would wait for all; give 'start_hold' a time");
  }

  // A followed file that does not grow keeps the frontier where it is, until it counts as silent;
  // files that may not run further ahead than max_drift are not read on meanwhile.
  void check_followed(const SourceConfig& source) {
    const bool stays = source.type == SourceType::kFile && source.file.follow &&
                       source.silent_after.ns == INT64_MAX;
    if (!stays) return;
    for (const SourceConfig& other : out_.config.sources) {
      const bool waits = other.type == SourceType::kFile && other.max_drift.ns != INT64_MAX &&
                         (&other != &source || likely_lanes(source) > 1);
      if (!waits) continue;
      problem(place_of("source", source.name, "silent_after"),
              "silent_after: \"never\" on a followed file stops " + quoted(other.name) +
                  " for as long as the file does not grow, since it may run only max_drift = " +
                  format_duration(other.max_drift) +
                  " ahead; give silent_after a time, or set that max_drift to \"never\"");
      return;
    }
  }

  static std::vector<std::string_view> names(const Schema& schema) {
    std::vector<std::string_view> all;
    for (const Field& field : schema.fields) all.push_back(field.name);
    return all;
  }

  void check_sinks() {
    std::vector<SinkConfig>& sinks = out_.config.sinks;
    if (root_->find("sink") == nullptr) {
      sinks.push_back({"terminal", SinkType::kTerminal, Encoding::kTable, {}, false, {}, {}});
      out_.config.defaulted.push_back({"sink.terminal.type", "terminal"});
    }
    for (size_t i = 0; i < sinks.size(); ++i) {
      if (sinks[i].type == SinkType::kUdp && sinks[i].encoding == Encoding::kTable)
        problem(place_of("sink", sinks[i].name, "format"),
                "format: a datagram holds one result and no table; choose json, csv or binary");
      for (size_t j = 0; j < i; ++j)
        if (sinks[i].type == SinkType::kFile && !sinks[i].path.empty() &&
            sinks[j].path == sinks[i].path)
          problem(place_of("sink", sinks[i].name, "path"),
                  "path: sink " + quoted(sinks[j].name) + " writes to this file already");
    }
  }

  // ---- queries
  void check_sink_names(const QueryConfig& query, std::string_view option,
                        const std::vector<std::string>& names,
                        std::span<const std::string_view> known) {
    for (size_t i = 0; i < names.size(); ++i)
      if (std::find(known.begin(), known.end(), names[i]) == known.end())
        problem(item_place(query_node(query), option, static_cast<int32_t>(i), -1),
                std::string(option) + ": no sink is named " + quoted(names[i]) +
                    suggestion(names[i], known));
  }

  void check_zone(const QueryConfig& query) {
    const WindowShape& window = query.spec.window;
    if (window.kind != WindowKind::kCalendar || window.zone.empty()) return;
    if (Zone::load(window.zone).ok()) return;
    const std::string near = nearest_zone(window.zone);
    problem(item_place(query_node(query), "window.zone", -1, -1),
            "zone: the system's database has no zone " + quoted(window.zone) +
                (near.empty() ? " (IANA names, as America/New_York; package tzdata)"
                              : "; did you mean '" + near + "'?"));
  }

  void check_queries() {
    std::vector<std::string_view> known;
    for (const SinkConfig& sink : out_.config.sinks) known.push_back(sink.name);
    std::vector<std::string_view> of_results = known;  // those that no query keeps for late rows
    for (const QueryConfig& query : out_.config.queries)
      for (const std::string& name : query.spec.late_sinks) std::erase(of_results, name);
    for (QueryConfig& query : out_.config.queries) {
      check_sink_names(query, "sinks", query.spec.sinks, known);
      check_sink_names(query, "late_sinks", query.spec.late_sinks, known);
      if (!query.spec.sinks.empty()) continue;
      query.spec.sinks.assign(of_results.begin(), of_results.end());
      if (of_results.empty())
        problem(query.place, "query " + quoted(query.spec.name) +
                                 " has no sink for its results: every sink is named in some "
                                 "late_sinks. One may take both: name it in `sinks` as well");
    }
    for (const QueryConfig& query : out_.config.queries) check_zone(query);
    std::vector<uint32_t> lanes;
    for (const SourceConfig& source : out_.config.sources) lanes.push_back(likely_lanes(source));
    std::vector<QueryProblem> found;
    std::vector<QuerySource> sources = query_sources(out_.config, lanes);
    // A column with a problem is none: what names it is not told again.
    for (QuerySource& source : sources)
      if (spoilt_.contains(source.name)) source.schema = nullptr, source.derived = nullptr;
    compile(query_specs(out_.config), sources, hash_seed(out_.config), found);
    for (const QueryProblem& p : found) {
      const Node& node = *query_nodes_[p.query];
      // What the options' own limits have refused already is not told again.
      const std::string_view top = std::string_view(p.option).substr(0, p.option.find('.'));
      if (!complete(node, p.option)) continue;
      const std::string name = top == "window" ? p.option.substr(7) : p.option;
      problem(item_place(node, p.option, p.item, p.column), name + ": " + p.text);
    }
  }

  // Without looking at the disk: several files may be one lane each.
  static uint32_t likely_lanes(const SourceConfig& source) {
    if (source.type == SourceType::kPort) return source.port.queues;
    if (source.file.lanes == FileLanes::kOne) return 1;
    return source.file.paths.empty() ? 2 : static_cast<uint32_t>(source.file.paths.size());
  }

  const Node& query_node(const QueryConfig& query) const {
    return *query_nodes_[static_cast<size_t>(&query - out_.config.queries.data())];
  }

  // Whether an option that the compiler found wrong has the value that the file gives it.
  bool complete(const Node& query, std::string_view option) const {
    const Node* table = &query;
    if (option.starts_with("window.")) {
      table = query.find("window");
      option.remove_prefix(7);
      if (table == nullptr || table->type != Node::Type::kTable) return false;
      const Node* type = table->find("type");
      if (type == nullptr || refused(*type)) return false;
    }
    const Option* known = find_option(table == &query ? "query" : "query.window", option);
    const Node* node = table->find(option);
    if (node == nullptr) return known->fallback != kRequired;
    return !refused(*node);
  }

  bool refused(const Node& node) const {
    return std::any_of(out_.problems.begin(), out_.problems.end(),
                       [&](const Problem& p) { return p.place == node.place; });
  }

  Place item_place(const Node& query, std::string_view option, int32_t item, int32_t column) const {
    const Node* node = &query;
    if (option.starts_with("window.")) {
      node = query.find("window");
      option.remove_prefix(7);
    }
    const Node* value = node->find(option);
    if (value == nullptr) return node->key_place;
    if (item >= 0 && static_cast<size_t>(item) < value->children.size())
      value = &value->children[static_cast<size_t>(item)];
    return column < 0 ? value->place
                      : place_inside(text_, value->place, static_cast<size_t>(column));
  }

  std::string_view text_;
  std::span<const int> cpus_;
  const Node* root_ = nullptr;
  std::vector<const Node*> query_nodes_;  // of config.queries
  std::set<std::string> spoilt_;          // sources whose columns have problems
  Loaded out_;
};

}  // namespace

Loaded load_config(std::string_view text, std::string file, std::span<const int> cpus) {
  return Loader(text, std::move(file), cpus).load();
}

}  // namespace tidewire
