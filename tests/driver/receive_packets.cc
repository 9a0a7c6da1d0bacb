// Receives from one port through our own Source and writes what came, for tests that send from
// another process:
//
//   receive_packets [options] DEVICE
//     --out FILE       records of {u32 length, bytes}, in order of arrival
//     --count N        end after N packets (default: none, only by time)
//     --seconds S      end after S seconds without a packet (default 2)
//     --memory KIND    huge | transparent (default: by looking)
//     --clock KIND     nanoseconds | microseconds
//     --stall MS       look away for so long before the first packet is taken
//     --queues N       one lane each, polled in turn
//
// Prints "ready" once packets are being taken, then what the port is and its counters, a name and a
// number each line. Exit 1 with the message if the port cannot be opened.
#include <getopt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "drivers/dpdk/eal.h"
#include "drivers/dpdk/port.h"

namespace {

using namespace tidewire;
using Steady = std::chrono::steady_clock;

struct Task {
  dpdk::PortOptions port;
  dpdk::EalOptions eal;
  std::string out;
  uint64_t count = UINT64_MAX;
  double seconds = 2;
  int stall_ms = 0;
};

int refuse(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

struct Got {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t stamped = 0;
};

Got take(const Task& task, const std::vector<std::unique_ptr<Source>>& sources) {
  std::ofstream file;
  if (!task.out.empty()) file.open(task.out, std::ios::binary);
  Got got;
  Burst burst;
  std::vector<bool> ended(sources.size());
  size_t running = sources.size();
  auto last = Steady::now();
  while (running != 0 && got.packets < task.count) {
    bool any = false;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (ended[i]) continue;
      const Received received = sources[i]->receive(burst);
      if (received == Received::kEnded || received == Received::kFailed) {
        ended[i] = true;
        --running;
      }
      if (received != Received::kPackets) continue;
      any = true;
      for (uint32_t k = 0; k < burst.count; ++k) {
        const uint32_t length = burst.length[k];
        if (file.is_open()) {
          file.write(reinterpret_cast<const char*>(&length), sizeof length);
          file.write(reinterpret_cast<const char*>(burst.data[k]), length);
        }
        got.bytes += length;
      }
      got.packets += burst.count;
      got.stamped += burst.count - burst.unstamped;
      sources[i]->release(burst);
    }
    const auto now = Steady::now();
    if (any)
      last = now;
    else if (std::chrono::duration<double>(now - last).count() > task.seconds)
      break;
    else
      std::this_thread::yield();
  }
  return got;
}

int run(Task& task) {
  auto eal = dpdk::Eal::start(task.eal, std::span(&task.port, 1));
  if (!eal.ok()) return refuse(eal.status());
  auto port = dpdk::Port::open(*eal, task.port);
  if (!port.ok()) return refuse(port.status());
  std::vector<std::unique_ptr<Source>> sources;
  for (uint16_t queue = 0; queue < task.port.queues; ++queue)
    sources.push_back((*port)->queue(queue));
  std::printf("eal: %s\nport: %s\nready\n", (*eal)->describe().c_str(),
              (*port)->describe().c_str());
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::milliseconds(task.stall_ms));
  const Got got = take(task, sources);
  SourceCounters counters;
  sources[0]->sample(counters);
  std::printf("packets %lu\nbytes %lu\nstamped %lu\nmissed %lu\nno_buffer %lu\nerrors %lu\n",
              got.packets, got.bytes, got.stamped, counters.missed, counters.no_buffer,
              counters.errors);
  return 0;
}

bool parse(int argc, char** argv, Task& task) {
  const option kOptions[] = {{"out", 1, nullptr, 'o'},     {"count", 1, nullptr, 'c'},
                             {"seconds", 1, nullptr, 's'}, {"memory", 1, nullptr, 'm'},
                             {"clock", 1, nullptr, 'k'},   {"stall", 1, nullptr, 'w'},
                             {"queues", 1, nullptr, 'q'},  {nullptr, 0, nullptr, 0}};
  int letter = 0;
  while ((letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
    const std::string value = letter == '?' ? "" : optarg;
    if (letter == 'o')
      task.out = value;
    else if (letter == 'c')
      task.count = std::stoull(value);
    else if (letter == 's')
      task.seconds = std::stod(value);
    else if (letter == 'm')
      task.eal.memory = value == "huge" ? PageKind::kHuge : PageKind::kTransparentHuge;
    else if (letter == 'k')
      task.port.clock = value == "microseconds" ? dpdk::StampClock::kMicroseconds
                                                : dpdk::StampClock::kNanoseconds;
    else if (letter == 'w')
      task.stall_ms = std::stoi(value);
    else if (letter == 'q')
      task.port.queues = static_cast<uint16_t>(std::stoi(value));
    else
      return false;
  }
  if (optind + 1 != argc) return false;
  task.port.device = argv[optind];
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Task task;
  if (!parse(argc, argv, task)) {
    std::fprintf(stderr, "usage: receive_packets [options] DEVICE\n");
    return 2;
  }
  return run(task);
}
