#include "format/netflow.h"

#include <absl/status/status.h>

#include <algorithm>

#include "base/strings.h"
#include "format/netflow_parser.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

using namespace flow;

class NetflowFormat final : public Format {
 public:
  explicit NetflowFormat(NetflowOptions options) : options_(std::move(options)) {
    options_.fields = flow_fields(options_.own);
    schema_.format = "netflow";
    for (const ValueField& field : options_.fields) schema_.fields.push_back(field.field);
  }
  const Schema& schema() const override { return schema_; }
  std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                      const ColumnMap& columns) const override {
    return std::make_unique<NetflowParser>(options, columns, options_);
  }

 private:
  NetflowOptions options_;
  Schema schema_;
};

absl::Status refuse(const std::string& text) { return absl::InvalidArgumentError(to_absl(text)); }

}  // namespace

absl::StatusOr<FormatPtr> open_netflow_format(const FormatOptions& options) {
  NetflowOptions made;
  made.time = options.flow_time;
  made.multiply = options.multiply_sampling;
  made.spread = options.spread;
  made.template_wait = options.template_wait;
  if (made.spread.ns > 0 && made.time != FlowTime::kEnd && made.time != FlowTime::kStart)
    return refuse(
        "spread: shares a flow out between its start and end; flow_time must be "
        "\"flow_end\" or \"flow_start\"");
  if (options.elements.size() > kOwnMax)
    return refuse("elements: at most " + std::to_string(kOwnMax));
  for (const std::string& text : options.elements) {
    const auto own = parse_own_element(text);
    if (!own)
      return refuse("elements: '" + text +
                    "' is none; write \"NUMBER as NAME\" or "
                    "\"ENTERPRISE/NUMBER as NAME\", with \" text\" behind it where it is one");
    const std::vector<ValueField> taken = flow_fields(made.own);
    if (std::any_of(taken.begin(), taken.end(),
                    [&](const ValueField& f) { return f.field.name == own->name; }))
      return refuse("elements: there is a field '" + own->name + "' already");
    made.own.push_back(*own);
  }
  for (const std::string& text : options.ntp_microseconds) {
    Field address;
    address.type = FieldType::kAddress;
    address.words = 2;
    if (text == "*") {
      made.micros_of_all = true;
      continue;
    }
    const auto words = parse_field(address, text);
    if (!words.ok())
      return refuse("ntp_microseconds: '" + text + "' is no address; \"*\" means all exporters");
    made.micros.push_back({words->word[0], words->word[1]});
  }
  return std::make_unique<NetflowFormat>(std::move(made));
}

}  // namespace tidewire
