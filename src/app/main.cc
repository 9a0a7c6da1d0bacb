// The program: command line, config, layout, command, exit code.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "app/cli.h"
#include "app/explain.h"
#include "app/peek.h"
#include "app/run.h"
#include "base/strings.h"

namespace tidewire {
namespace {

// Beside the binary when installed, else in the source tree that it was built from.
std::string bundled_capture() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto installed = self.parent_path().parent_path() / "share" / "tidewire" / "demo.pcap";
  return std::filesystem::exists(installed, error) ? installed.string() : TIDEWIRE_BUNDLED_CAPTURE;
}

int print_problems(std::span<const Problem> problems, const std::string& file) {
  for (const Problem& problem : problems)
    std::fprintf(stderr, "%s\n", to_string(problem, file).c_str());
  std::fprintf(stderr, "tidewire: %zu problem%s in %s\n", problems.size(),
               problems.size() == 1 ? "" : "s", file.c_str());
  return kExitConfig;
}

Loaded load(const CommandLine& line, const Topology& topology) {
  std::vector<int> cpus;
  for (const Topology::Core& core : topology.allowed) cpus.push_back(core.id);
  if (!line.config.empty()) return load_config_file(line.config, cpus);
  const std::string capture = line.pcap.empty() ? bundled_capture() : line.pcap;
  return load_config(embedded_default(capture), "the embedded default", cpus);
}

void apply_flags(const CommandLine& line, Config& config) {
  if (line.workers) {
    config.runtime.workers = *line.workers;
    config.runtime.cores.clear();
  }
  if (line.burst) config.runtime.burst = *line.burst;
  if (line.output)
    for (SinkConfig& sink : config.sinks)
      if (sink.type == SinkType::kTerminal || sink.type == SinkType::kStdout)
        sink.encoding = *line.output;
}

// A descriptor from 0 to 2 that the caller closed would be taken by the next file that is opened,
// and what is printed would land there. Opened such that using it fails as before.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

// Before any thread: DPDK's and ours inherit it, and signals reach the one thread that waits for
// them. Not earlier: whoever waits for a config or a full pipe can be interrupted as usual. SIGHUP
// only where it has a meaning: else a terminal that goes away ends the program.
void block_signals(bool reloads) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (reloads) sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int refuse_replay(const std::string& source) {
  std::fprintf(stderr,
               "tidewire: error: source '%s' is a port, and replay reads recorded files: use "
               "'tidewire run', or give replay a capture (--pcap FILE)\n",
               source.c_str());
  return kExitUsage;
}

int run(const CommandLine& line) {
  const auto topology = read_topology();
  if (!topology.ok()) {
    std::fprintf(stderr, "tidewire: error: %s\n",
                 std::string(from_absl(topology.status().message())).c_str());
    return kExitSetup;
  }
  if (line.command == Command::kPeek) {
    block_signals(false);
    return peek(line, *topology);
  }
  Loaded loaded = load(line, *topology);
  if (!loaded.ok()) return print_problems(loaded.problems, loaded.config.file);
  apply_flags(line, loaded.config);
  const std::string file = loaded.config.file;
  LayoutResult laid_out = make_layout(std::move(loaded.config), *topology);
  if (!laid_out.ok()) return print_problems(laid_out.problems, file);
  RunOptions options;
  options.burst = laid_out.layout.config.runtime.burst;
  options.progress = line.progress;
  const auto appliance = [&] {
    block_signals(!laid_out.layout.lookups.empty());
    return run_appliance(std::move(laid_out.layout), options);
  };
  switch (line.command) {
    case Command::kCheck:
      std::printf("%s: no problems\n", file.c_str());
      return kExitOk;
    case Command::kExplain:
      print_explanation(laid_out.layout, stdout);
      return kExitOk;
    case Command::kReplay:
      for (SourceConfig& source : laid_out.layout.config.sources) {
        if (source.type == SourceType::kPort) return refuse_replay(source.name);
        source.file.pace_percent = line.pace_percent;
      }
      return appliance();
    case Command::kRun:
      return appliance();
    case Command::kPeek:
    case Command::kVersion:
      break;
  }
  return kExitUsage;
}

int answer(const CommandLine& line) {
  if (line.help) {
    const std::string text = line.fields ? help_fields() : std::string(help_text(line.command));
    std::fputs(text.c_str(), stdout);
    return kExitOk;
  }
  if (line.command == Command::kVersion) {
    std::puts("tidewire " TIDEWIRE_VERSION);
    return kExitOk;
  }
  return run(line);
}

}  // namespace
}  // namespace tidewire

int main(int argc, char** argv) {
  using namespace tidewire;
  // Built for x86-64-v3: say so instead of dying of an illegal instruction somewhere.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) {
    std::fputs(
        "tidewire: error: this CPU lacks AVX2 and BMI2 (x86-64-v3), which the program is built "
        "for\n",
        stderr);
    return kExitSetup;
  }
  hold_standard_descriptors();
  // A closed pipe and a file at its limit are errors of the sink, not of the program.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  const ParsedLine parsed = parse_command_line({argv + 1, static_cast<size_t>(argc - 1)});
  if (!parsed.error.empty()) {
    std::fprintf(stderr, "tidewire: %s\n(tidewire --help)\n", parsed.error.c_str());
    return kExitUsage;
  }
  const int code = answer(parsed.line);
  // What went to a full disk or a closed pipe has not been said. run counts its own losses.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("tidewire: error: standard output could not be written\n", stderr);
  return code == kExitOk ? kExitFailed : code;
}
