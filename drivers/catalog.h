// The drivers that exist, behind the words of a config. The only file that names all of them.
//
// A source is laid out (how many lanes, which files) without opening anything; then all sources are
// opened together, because DPDK's memory is chosen once for the sum of its ports; then each lane on
// the thread that will poll it.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "io/sink.h"
#include "io/source.h"
#include "memory/arena.h"

namespace tidewire {

struct SourceLayout {
  uint32_t lanes = 1;
  bool live = false;                            // cannot be made to wait
  std::vector<std::vector<std::string>> files;  // [lane], in order; ports: empty
};

// Lists folders; opens nothing.
absl::StatusOr<SourceLayout> lay_out(const SourceConfig& source);

struct OpenOptions {
  int control_core = -1;  // for DPDK's own threads
  int node = -1;          // of the workers, for ports that do not know theirs
};

class OpenSources {
 public:
  static absl::StatusOr<std::unique_ptr<OpenSources>> open(std::span<const SourceConfig> sources,
                                                           std::span<const SourceLayout> layouts,
                                                           const OpenOptions& options);
  virtual ~OpenSources() = default;
  // On the thread that will poll it; buffers come from its arena. `said`: how it is read, one line.
  virtual absl::StatusOr<std::unique_ptr<Source>> open_lane(uint32_t source, uint32_t lane,
                                                            Arena& arena, std::string& said) = 0;
  // What was chosen for the whole: DPDK's memory, each port.
  virtual std::vector<std::string> describe() const = 0;
};

// Bytes that its buffers take: of one lane of a file source, or of all queues of a port.
uint64_t source_memory(const SourceConfig& source);

// `said`: where results really go, one line, for a file: its name may have been taken.
absl::StatusOr<std::unique_ptr<Sink>> open_sink(const SinkConfig& sink, std::string& said);

}  // namespace tidewire
