#include "drivers/dpdk/eal.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_version.h>
#include <sched.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "base/strings.h"

namespace tidewire::dpdk {
namespace {

std::atomic<bool> g_started{false};  // ever
std::atomic<bool> g_running{false};

// Where DPDK's lines go. Process-wide like EAL itself, since DPDK's and libbpf's callbacks carry no
// pointer of ours that could be taken back. Control threads only.
struct LogState {
  std::mutex mutex;
  LogLine line;
  std::vector<std::string> complaints;
  FILE* stream = nullptr;
};
LogState& log_state() {
  static LogState state;
  return state;
}

// The first ones: what went wrong stands before who gave up because of it.
constexpr size_t kMostComplaints = 3;
void complain(LogState& state, std::string_view line) {
  if (state.complaints.size() < kMostComplaints) state.complaints.emplace_back(line);
}

void log_line(uint32_t level, std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.empty()) return;
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  if (level <= RTE_LOG_WARNING) complain(state, text);
  if (state.line)
    state.line(level, text);
  else if (level <= RTE_LOG_ERR)
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

ssize_t write_log(void*, const char* bytes, size_t count) {
  const int level = rte_log_cur_msg_loglevel();
  log_line(level < 0 ? RTE_LOG_NOTICE : static_cast<uint32_t>(level), {bytes, count});
  return static_cast<ssize_t>(count);
}

// libbpf and libxdp write to stderr past rte_log. What they call a warning is mostly a fall-back
// that works, so it is told as information, and kept for the case that the port fails.
void log_library(bool warning, const char* format, va_list arguments) {
  std::array<char, 512> text{};
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  if (length <= 0 || !warning) return;
  std::string_view line(text.data());
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  log_line(RTE_LOG_INFO, line);
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  complain(state, line);
}

int print_bpf(enum libbpf_print_level level, const char* format, va_list arguments) {
  log_library(level == LIBBPF_WARN, format, arguments);
  return 0;
}

int print_xdp(enum libxdp_print_level level, const char* format, va_list arguments) {
  log_library(level == LIBXDP_WARN, format, arguments);
  return 0;
}

void route_log(const LogLine& line) {
  LogState& state = log_state();
  {
    const std::lock_guard lock(state.mutex);
    state.line = line;
  }
  cookie_io_functions_t functions{};
  functions.write = write_log;
  state.stream = fopencookie(nullptr, "w", functions);
  if (state.stream != nullptr) {
    setvbuf(state.stream, nullptr, _IOLBF, 4096);
    rte_openlog_stream(state.stream);
  }
  libbpf_set_print(print_bpf);
  libxdp_set_print(print_xdp);
  // Without the dispatcher one program is attached plainly, and `ip link set dev X xdp off` takes
  // away whatever a killed process left.
  setenv("LIBXDP_SKIP_DISPATCHER", "1", 0);
}

std::vector<std::string> arguments_for(const EalOptions& options, int core, PageKind memory,
                                       std::span<const Device> devices) {
  std::vector<std::string> arguments = {"tidewire",
                                        "-l",
                                        std::to_string(core),
                                        "--no-telemetry",
                                        "--iova-mode=va",
                                        "--log-level=info",
                                        "--file-prefix=tidewire-" + std::to_string(getpid())};
  if (!options.log) arguments[5] = "--log-level=error";
  if (memory == PageKind::kHuge)
    arguments.insert(arguments.end(), {"--in-memory"});
  else
    arguments.insert(arguments.end(), {"--no-huge", "-m", "32", "--no-shconf"});
  bool pci = false;
  for (const Device& device : devices) {
    if (device.kind != DeviceKind::kPci) continue;
    pci = true;
    arguments.push_back("-a");
    arguments.push_back(device.name + (device.arguments.empty() ? "" : ",") + device.arguments);
  }
  if (!pci) arguments.push_back("--no-pci");
  return arguments;
}

int first_core() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) return core;
  return 0;
}

// EAL pins the caller to its core and gives its helper threads the caller's other cores, which
// would be the workers'. So the caller stands on the control core alone for that moment.
class OnCore {
 public:
  explicit OnCore(int core) {
    CPU_ZERO(&before_);
    pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pinned_ = pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
  }
  ~OnCore() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;
  bool pinned() const { return pinned_; }

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PoolMemory>> PoolMemory::hugepages(int node) {
  auto memory = std::unique_ptr<PoolMemory>(new PoolMemory);
  memory->socket_ = node < 0 ? SOCKET_ID_ANY : node;
  memory->kind_ = to_string(PageKind::kHuge);
  return memory;
}

absl::StatusOr<std::unique_ptr<PoolMemory>> PoolMemory::heap(const std::string& name, int node,
                                                             uint64_t bytes) {
  constexpr size_t kPage = size_t{2} << 20;
  auto memory = std::unique_ptr<PoolMemory>(new PoolMemory);
  // EAL zeroes all of it, which faults it in: done twice it would double the start-up time.
  memory->arena_ = std::make_unique<Arena>(
      ArenaOptions{.node = node, .require_node = node >= 0, .fault_in = false});
  try {
    memory->bytes_ = memory->arena_->take_bytes(bytes, kPage, "packet buffers");
  } catch (const std::bad_alloc&) {
    return refusal(absl::StatusCode::kResourceExhausted, memory->arena_->error(),
                   "fewer queues, descriptors or mbufs, or more memory on that node");
  }
  memory->kind_ = to_string(memory->arena_->weakest());
  const auto failed = [&](const char* what) {
    return refusal(absl::StatusCode::kResourceExhausted,
                   std::string(what) + " for packet buffers: " + rte_strerror(rte_errno),
                   "DPDK holds at most " + std::to_string(RTE_MAX_HEAPS) +
                       " heaps, one a port: open fewer ports, or reserve hugepages");
  };
  if (rte_malloc_heap_create(name.c_str()) != 0) return failed("no heap");
  memory->name_ = name;
  if (rte_malloc_heap_memory_add(name.c_str(), memory->bytes_.data(), memory->bytes_.size(),
                                 nullptr, 0, kPage) != 0)
    return failed("the heap takes no memory");
  memory->added_ = true;
  memory->socket_ = rte_malloc_heap_get_socket(name.c_str());
  return memory;
}

PoolMemory::~PoolMemory() {
  if (added_) rte_malloc_heap_memory_remove(name_.c_str(), bytes_.data(), bytes_.size());
  if (!name_.empty()) rte_malloc_heap_destroy(name_.c_str());
}

absl::StatusOr<std::shared_ptr<Eal>> Eal::start(const EalOptions& options,
                                                std::span<const PortOptions> ports) {
  std::vector<Device> devices;
  std::vector<NodeNeed> needs;
  for (const PortOptions& port : ports) {
    absl::StatusOr<Device> device = parse_device(port.device);
    if (!device.ok()) return device.status();
    if (absl::Status status = check_device(*device); !status.ok()) return status;
    const absl::StatusOr<uint32_t> count = pool_count(port, *device);
    if (!count.ok()) return count.status();
    const int node = node_of(*device);
    needs.push_back({.node = node >= 0 ? node : port.node,
                     .bytes = pool_bytes(*count, data_room(port)),
                     .dma = device->kind == DeviceKind::kPci});
    devices.push_back(*std::move(device));
  }
  MemoryChoice choice;
  if (options.memory) {
    choice = {*options.memory, std::string(to_string(*options.memory)) + ", as told"};
  } else {
    absl::StatusOr<MemoryChoice> looked = choose_memory(look_at_host(options.sysfs), needs);
    if (!looked.ok()) return looked.status();
    choice = *std::move(looked);
  }
  const int core = options.control_core >= 0 ? options.control_core : first_core();
  const OnCore on_core(core);
  if (!on_core.pinned())
    return refusal(absl::StatusCode::kInvalidArgument,
                   "control core " + std::to_string(core) + " cannot be used by this process",
                   "name one of the cores that it is allowed (taskset -p, cpuset)");
  if (g_started.exchange(true))
    return refusal(absl::StatusCode::kFailedPrecondition,
                   "DPDK has been started in this process before",
                   "it can be started once a process, so start the program again");
  route_log(options.log);
  std::vector<std::string> words = arguments_for(options, core, choice.kind, devices);
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    const int error = rte_errno;
    return refusal(absl::StatusCode::kInternal,
                   std::string("DPDK does not start: ") + rte_strerror(error),
                   "it says: " + take_complaints());
  }
  // EAL makes a folder for each prefix and leaves it. Nothing of ours stands in it, so it goes now,
  // and a killed process leaves none.
  rmdir(rte_eal_get_runtime_dir());
  // Only now: what destroys an Eal ends DPDK, and a start that was refused must not.
  auto eal = std::shared_ptr<Eal>(new Eal);
  g_running = true;
  eal->choice_ = std::move(choice);
  eal->description_ = std::string(rte_version()) + ", packet buffers in " + eal->choice_.reason +
                      ", control core " + std::to_string(core);
  return eal;
}

Eal::~Eal() {
  g_running = false;
  rte_eal_cleanup();
  LogState& state = log_state();
  rte_openlog_stream(nullptr);
  if (state.stream != nullptr) std::fclose(state.stream);
  const std::lock_guard lock(state.mutex);
  state.stream = nullptr;
  state.line = nullptr;
}

bool Eal::running() { return g_running; }

absl::StatusOr<std::unique_ptr<PoolMemory>> Eal::pool_memory(const std::string& name, int node,
                                                             uint64_t bytes) const {
  return choice_.kind == PageKind::kHuge ? PoolMemory::hugepages(node)
                                         : PoolMemory::heap(name, node, bytes);
}

int Eal::socket_for(int node) const {
  return choice_.kind == PageKind::kHuge && node >= 0 ? node : SOCKET_ID_ANY;
}

std::string Eal::take_complaints() {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  std::string all;
  for (const std::string& line : state.complaints) all += (all.empty() ? "" : " / ") + line;
  state.complaints.clear();
  return all.empty() ? "nothing" : all;
}

}  // namespace tidewire::dpdk
