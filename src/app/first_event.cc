#include "app/first_event.h"

#include <memory>
#include <span>
#include <string>

#include "event/burst.h"
#include "event/event_batch.h"
#include "format/catalog.h"
#include "runtime/clock.h"

namespace tidewire {

std::optional<EventTime> first_event(const Layout& layout, uint32_t source) {
  constexpr int64_t kPatience = kSecond / 4;
  SourceConfig config = layout.config.sources[source];
  if (config.type != SourceType::kFile || layout.sources[source].files.empty()) return {};
  if (config.file.reader == FileReader::kUring) config.file.reader = FileReader::kAuto;
  auto sources = OpenSources::open(std::span(&config, 1), std::span(&layout.sources[source], 1),
                                   OpenOptions{});
  if (!sources.ok()) return {};
  Arena arena({.node = -1, .require_node = false, .fault_in = false});
  std::string said;
  auto lane = (*sources)->open_lane(0, 0, arena, said);
  if (!lane.ok()) return {};
  const auto parser = config.format->make_parser(ParserOptions{}, ColumnMap{});
  LaneCounts counts;
  auto burst = std::make_unique<Burst>();
  auto batch = std::make_unique<EventBatch>();
  const MonotonicTime begin = system_clock().now();
  while (between(begin, system_clock().now()).ns < kPatience) {
    const Received got = (*lane)->receive(*burst);
    if (got == Received::kEnded || got == Received::kFailed) break;
    if (got != Received::kPackets) continue;
    burst->first = Position{counts.packets};
    counts.packets += burst->count;
    parser->begin(*burst);
    for (bool more = true; more;) {
      more = parser->next(*batch, counts);
      if (batch->count > 0) return batch->time[0];
    }
    (*lane)->release(*burst);
  }
  return {};
}

}  // namespace tidewire
