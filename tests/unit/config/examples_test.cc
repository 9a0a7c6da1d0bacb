// The example configurations are what most people start from: each loads, and the one with all
// options is the option table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/config.h"
#include "config/options.h"

namespace tidewire {
namespace {

const std::filesystem::path kFolder = TIDEWIRE_CONFIG_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string problems(const Loaded& loaded) {
  std::string all;
  for (const Problem& p : loaded.problems) all += to_string(p, loaded.config.file) + "\n";
  return all;
}

TEST(Examples, AllLoadAndSayWhatTheyAreFor) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".conf") continue;
    ++seen;
    EXPECT_EQ(problems(load_config_file(entry.path().string())), "");
    EXPECT_EQ(read(entry.path()).substr(0, 2), "# ") << entry.path();
  }
  EXPECT_GE(seen, 14);
}

TEST(Examples, TheOneWithAllOptionsIsTheTable) {
  const auto path = kFolder / "tidewire.conf";
  if (std::getenv("TIDEWIRE_UPDATE_EXAMPLE") != nullptr) std::ofstream(path) << print_example();
  EXPECT_EQ(read(path), print_example())
      << "run this test with TIDEWIRE_UPDATE_EXAMPLE=1 to write the file again";
}

// What is commented out is the default: writing it out changes nothing.
TEST(Examples, CommentedDefaultsAreTheDefaults) {
  const std::string text = print_example();
  std::istringstream lines(text);
  std::string line, all;
  while (std::getline(lines, line)) {
    // "#key = value" is an option, "# text" a reason. What has no meaning for the example's
    // sections stays out.
    const bool option = line.size() > 1 && line[0] == '#' && line[1] != ' ';
    const auto key = option ? line.substr(1, line.find(' ') - 1) : std::string();
    static const std::string kElsewhere[] = {
        "progress",    "progress_of", "zone",         "device",     "queues",    "descriptors",
        "pool",        "clock",       "gap",          "slide",      "address",   "append",
        "promiscuous", "path",        "pattern",      "directory",  "step",      "unit",
        "rows",        "gap_unit",    "max_duration", "slide_rows", "gap_field", "fill_windows"};
    const Option* known = find_option("source", key);
    const bool out =
        std::find(std::begin(kElsewhere), std::end(kElsewhere), key) != std::end(kElsewhere) ||
        (known != nullptr && known->only.starts_with("format="));
    all += (option && !out ? line.substr(1) : line) + "\n";
  }
  const Loaded written = load_config(all, "written");
  const Loaded silent = load_config(text, "silent");
  ASSERT_EQ(problems(written), "");
  ASSERT_EQ(problems(silent), "");
  EXPECT_LT(written.config.defaulted.size() + 30, silent.config.defaulted.size());
  const RuntimeConfig &a = written.config.runtime, &b = silent.config.runtime;
  EXPECT_EQ(a.workers, b.workers);
  EXPECT_EQ(a.idle, b.idle);
  EXPECT_EQ(a.results_per_turn, b.results_per_turn);
  EXPECT_EQ(a.result_blocks, b.result_blocks);
  const SourceConfig &s = written.config.sources.at(0), &t = silent.config.sources.at(0);
  EXPECT_EQ(s.max_ahead, t.max_ahead);
  EXPECT_EQ(s.idle_after, t.idle_after);
  EXPECT_EQ(s.silent_after, t.silent_after);
  EXPECT_EQ(s.file.block_size, t.file.block_size);
  EXPECT_EQ(s.file.pace_percent, t.file.pace_percent);
  EXPECT_EQ(written.config.queries.at(0).spec.memory, silent.config.queries.at(0).spec.memory);
}

TEST(Examples, EveryOptionStandsInIt) {
  const std::string text = print_example();
  for (const Option& option : options())
    EXPECT_NE(text.find("\n" + std::string(option.key) + " = "),
              text.find("\n#" + std::string(option.key) + " = "))
        << option.key << " is missing";
  for (std::string_view line :
       {"\n[system]\n", "\n[runtime]\n", "\n[source.capture]\n", "\n[query.traffic]\n",
        "\n[query.traffic.window]\n", "\n[sink.terminal]\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(Examples, TheEmbeddedDefaultLoads) {
  const Loaded loaded = load_config(embedded_default("some \"odd\" \\ place/demo.pcap"), "default");
  ASSERT_EQ(problems(loaded), "");
  EXPECT_EQ(loaded.config.sources.at(0).file.paths.at(0), "some \"odd\" \\ place/demo.pcap");
  EXPECT_EQ(loaded.config.sources.at(0).file.reader, FileReader::kAuto);
  ASSERT_EQ(loaded.config.queries.size(), 3u);
  EXPECT_EQ(loaded.config.queries[0].spec.window.kind, WindowKind::kTumbling);
  EXPECT_EQ(loaded.config.queries[1].spec.window.kind, WindowKind::kSliding);
  EXPECT_EQ(loaded.config.queries[2].spec.window.kind, WindowKind::kSession);
  // Counts and sums of one length are the fast case, and it had better be the default's.
  const uint32_t lanes[] = {1};
  std::vector<QueryProblem> found;
  const Compiled compiled =
      compile(query_specs(loaded.config), query_sources(loaded.config, lanes), HashSeed{}, found);
  for (const Plan& plan : compiled.plans) EXPECT_EQ(plan.cell, CellKind::kStats) << plan.name;
}

}  // namespace
}  // namespace tidewire
