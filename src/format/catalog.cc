#include "format/catalog.h"

#include <absl/status/status.h>

#include <array>

#include "base/strings.h"
#include "format/itch.h"
#include "format/packet.h"

namespace tidewire {
namespace {

struct Format {
  std::string_view name;
  const Schema& (*schema)();
  absl::StatusOr<std::unique_ptr<Parser>> (*make)(const ParserOptions&, const ColumnMap&,
                                                  const FormatOptions&);
  bool marks;  // its packets say how far the feed is
};

constexpr std::array kFormats{
    Format{"packet", packet_schema, make_packet_parser, false},
    Format{"itch", itch_schema, make_itch_parser, true},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kFormats.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kFormats[i].name;
  return names;
}();

const Format* find(std::string_view name) {
  for (const Format& format : kFormats)
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace

std::span<const std::string_view> format_names() { return kNames; }

const Schema* schema(std::string_view format) {
  const Format* found = find(format);
  return found != nullptr ? &found->schema() : nullptr;
}

bool has_marks(std::string_view format) {
  const Format* found = find(format);
  return found != nullptr && found->marks;
}

absl::StatusOr<std::unique_ptr<Parser>> make_parser(std::string_view format,
                                                    const ParserOptions& options,
                                                    const ColumnMap& columns,
                                                    const FormatOptions& format_options) {
  const Format* found = find(format);
  if (found == nullptr)
    return absl::NotFoundError(to_absl("no format named '" + std::string(format) + "'"));
  return found->make(options, columns, format_options);
}

}  // namespace tidewire
