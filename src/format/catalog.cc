#include "format/catalog.h"

#include <absl/status/status.h>

#include <array>

#include "base/strings.h"
#include "format/csv.h"
#include "format/influx.h"
#include "format/itch.h"
#include "format/json.h"
#include "format/netflow.h"
#include "format/packet.h"
#include "format/sflow.h"

namespace tidewire {
namespace {

struct Known {
  std::string_view name;
  absl::StatusOr<FormatPtr> (*open)(const FormatOptions&);
};

constexpr std::array kKnown{
    Known{"packet", open_packet_format},   Known{"itch", open_itch_format},
    Known{"netflow", open_netflow_format}, Known{"sflow", open_sflow_format},
    Known{"influx", open_influx_format},   Known{"csv", open_csv_format},
    Known{"json", open_json_format},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kKnown.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kKnown[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> format_names() { return kNames; }

absl::StatusOr<FormatPtr> open_format(std::string_view name, const FormatOptions& options) {
  for (const Known& known : kKnown)
    if (known.name == name) return known.open(options);
  return absl::NotFoundError(to_absl("no format named '" + std::string(name) + "'"));
}

}  // namespace tidewire
