// The formats that exist, by name. Adding one: its file, and its line in catalog.cc.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "format/parser.h"
#include "query/schema.h"

namespace tidewire {

enum class FlowTime : uint8_t { kEnd, kStart, kExport, kArrival };
// kText: as 2024-05-01T13:30:00Z, or with a space, and without Z by the source's zone.
// kAuto: what the format's records have as a rule.
enum class TextTimeUnit : uint8_t {
  kAuto,
  kText,
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds
};

// What single formats can be told; each reads what is its own.
struct FormatOptions {
  std::string zone;  // whose midnight or wall clock its times mean (IANA name); empty: its own
  // Day (from 1970-01-01, on the zone's calendar) of times of day in packets without an arrival.
  std::optional<int64_t> date;
  Duration reorder_wait;  // how long a datagram waits for those numbered before it; 0: not at all
  // Flow export.
  FlowTime flow_time = FlowTime::kEnd;
  bool multiply_sampling = false;
  Duration spread;                    // intervals over which a flow is shared out; 0: not
  Duration template_wait;             // how long data is kept whose template is still to come
  std::vector<std::string> elements;  // "NUMBER as NAME", "ENTERPRISE/NUMBER as NAME text"
  std::vector<std::string> ntp_microseconds;  // exporters with microseconds for NTP fractions
  // Text.
  std::vector<std::string> fields;  // "NAME TYPE" or "NAME TYPE from PLACE", format/text_fields.h
  std::string time;                 // where the time stands, as PLACE; empty: the format's own
  TextTimeUnit time_unit = TextTimeUnit::kAuto;
  bool time_may_be_arrival = false;  // where a record has no time that can be read
  char separator = ',';
  bool header = true;  // the first line names the columns
};

// A format with its options. It outlives its parsers and whoever reads its schema.
class Format {
 public:
  virtual ~Format() = default;
  virtual const Schema& schema() const = 0;
  virtual bool has_marks() const { return false; }  // event/event_batch.h, Mark
  virtual FileRecords records() const { return FileRecords::kCaptures; }
  // The parser of one lane.
  virtual std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                              const ColumnMap& columns) const = 0;
};
using FormatPtr = std::unique_ptr<const Format>;

std::span<const std::string_view> format_names();
// Errors: unknown format, or what a format option cannot be, as "OPTION: why".
absl::StatusOr<FormatPtr> open_format(std::string_view name, const FormatOptions& options = {});

}  // namespace tidewire
