#include "drivers/catalog.h"

#include <unistd.h>

#include <cstdio>

#include "base/strings.h"
#include "drivers/dpdk/port.h"
#include "drivers/udp/udp_sink.h"
#include "drivers/uring/descriptor_sink.h"
#include "drivers/uring/file_sink.h"
#include "drivers/uring/file_source.h"

namespace tidewire {
namespace {

dpdk::StampClock clock_of(StampClock clock) {
  switch (clock) {
    case StampClock::kNone:
      return dpdk::StampClock::kNone;
    case StampClock::kNanoseconds:
      return dpdk::StampClock::kNanoseconds;
    case StampClock::kMicroseconds:
      return dpdk::StampClock::kMicroseconds;
    case StampClock::kTicks:
      return dpdk::StampClock::kTicks;
  }
  return dpdk::StampClock::kNone;
}

dpdk::PortOptions port_options(const SourceConfig& source, const OpenOptions& options) {
  dpdk::PortOptions port;
  port.device = source.port.device;
  port.queues = static_cast<uint16_t>(source.port.queues);
  port.descriptors = static_cast<uint16_t>(source.port.descriptors);
  port.pool = source.port.pool;
  port.promiscuous = source.port.promiscuous;
  port.clock = clock_of(source.port.clock);
  port.node = options.node;
  return port;
}

uring::FileSourceOptions file_options(const SourceConfig& source) {
  const FileConfig& file = source.file;
  uring::FileSourceOptions options;
  if (source.format) options.records = source.format->records();
  options.block_bytes = file.block_size;
  options.depth = file.depth;
  options.follow = file.follow;
  options.reader =
      file.reader == FileReader::kPread ? uring::Reader::kPread : uring::Reader::kUring;
  return options;
}

class Sources final : public OpenSources {
 public:
  absl::Status open(std::span<const SourceConfig> sources, std::span<const SourceLayout> layouts,
                    const OpenOptions& options) {
    sources_.assign(sources.begin(), sources.end());
    layouts_.assign(layouts.begin(), layouts.end());
    ports_.resize(sources.size());
    std::vector<dpdk::PortOptions> wanted;
    for (const SourceConfig& source : sources)
      if (source.type == SourceType::kPort) wanted.push_back(port_options(source, options));
    if (wanted.empty()) return absl::OkStatus();
    dpdk::EalOptions eal_options;
    eal_options.control_core = options.control_core;
    eal_options.log = [](uint32_t level, std::string_view line) {
      if (level <= 5)
        std::fprintf(stderr, "tidewire: dpdk: %.*s\n", static_cast<int>(line.size()), line.data());
    };
    auto eal = dpdk::Eal::start(eal_options, wanted);
    if (!eal.ok()) return eal.status();
    described_.push_back((*eal)->describe());
    for (size_t s = 0, w = 0; s < sources_.size(); ++s) {
      if (sources_[s].type != SourceType::kPort) continue;
      auto port = dpdk::Port::open(*eal, wanted[w++]);
      if (!port.ok())
        return absl::Status(port.status().code(),
                            to_absl("source." + sources_[s].name + ": " +
                                    std::string(from_absl(port.status().message()))));
      ports_[s] = *std::move(port);
      described_.push_back(ports_[s]->describe());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Source>> open_lane(uint32_t s, uint32_t lane, Arena& arena,
                                                    std::string& said) override {
    const SourceConfig& source = sources_[s];
    if (source.type == SourceType::kPort) return ports_[s]->queue(static_cast<uint16_t>(lane));
    uring::FileSourceOptions options = file_options(source);
    options.arena = &arena;
    std::string why;
    if (source.file.reader == FileReader::kAuto) {
      if (const absl::Status usable = uring::probe(); !usable.ok()) {
        options.reader = uring::Reader::kPread;
        why = "; io_uring is refused here (" + std::string(from_absl(usable.message())) + ")";
      }
    }
    auto opened = uring::FileSource::open(layouts_[s].files[lane], options);
    if (!opened.ok()) return opened.status();
    said = (*opened)->describe() + why;
    return std::unique_ptr<Source>(*std::move(opened));
  }

  std::vector<std::string> describe() const override { return described_; }

 private:
  std::vector<SourceConfig> sources_;
  std::vector<SourceLayout> layouts_;
  std::vector<std::shared_ptr<dpdk::Port>> ports_;  // [source]; null: a file source
  std::vector<std::string> described_;
};

}  // namespace

absl::StatusOr<SourceLayout> lay_out(const SourceConfig& source) {
  SourceLayout layout;
  if (source.type == SourceType::kPort) {
    layout.lanes = source.port.queues;
    layout.live = true;
    return layout;
  }
  std::vector<std::string> files = source.file.paths;
  if (!source.file.directory.empty()) {
    auto found = uring::list_files(source.file.directory, source.file.pattern);
    if (!found.ok()) return found.status();
    files = *std::move(found);
  }
  if (source.file.lanes == FileLanes::kOne) {
    layout.files.push_back(std::move(files));
  } else {
    for (std::string& file : files) layout.files.push_back({std::move(file)});
  }
  layout.lanes = static_cast<uint32_t>(layout.files.size());
  return layout;
}

absl::StatusOr<std::unique_ptr<OpenSources>> OpenSources::open(
    std::span<const SourceConfig> sources, std::span<const SourceLayout> layouts,
    const OpenOptions& options) {
  auto opened = std::make_unique<Sources>();
  if (absl::Status status = opened->open(sources, layouts, options); !status.ok()) return status;
  return opened;
}

uint64_t source_memory(const SourceConfig& source) {
  if (source.type == SourceType::kFile) return uring::FileSource::memory(file_options(source));
  const dpdk::PortOptions port = port_options(source, {});
  const auto device = dpdk::parse_device(port.device);
  if (!device.ok()) return 0;  // open() says what is wrong with it
  const auto count = dpdk::pool_count(port, *device);
  return count.ok() ? dpdk::pool_bytes(*count, dpdk::data_room(port)) : 0;
}

absl::StatusOr<std::unique_ptr<Sink>> open_sink(const SinkConfig& sink, std::string& said) {
  switch (sink.type) {
    case SinkType::kTerminal:
    case SinkType::kStdout:
      return std::make_unique<uring::DescriptorSink>(STDOUT_FILENO);
    case SinkType::kFile: {
      uring::FileSinkOptions options;
      options.append = sink.append;
      auto opened = uring::FileSink::open(sink.path, options);
      if (!opened.ok()) return opened.status();
      said = (*opened)->describe();
      return std::unique_ptr<Sink>(*std::move(opened));
    }
    case SinkType::kUdp: {
      auto opened = udp::UdpSink::open(sink.address);
      if (!opened.ok()) return opened.status();
      return std::unique_ptr<Sink>(*std::move(opened));
    }
  }
  return absl::InternalError("no such sink");
}

}  // namespace tidewire
