// Flow export: NetFlow 5, NetFlow 9 and IPFIX, told apart by the version in each packet; every data
// record is an event. Its time is the flow's end unless FlowTime says otherwise; what is missing is
// replaced by the export time, counted. One lane may hear many exporters: templates, sampling rates
// and sequence numbers are those of exporter, port and domain.
#pragma once

#include "format/catalog.h"

namespace tidewire {

// Errors: an element or an exporter in the options that is none.
absl::StatusOr<FormatPtr> open_netflow_format(const FormatOptions& options);

}  // namespace tidewire
