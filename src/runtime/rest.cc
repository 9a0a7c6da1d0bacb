#include "runtime/rest.h"

namespace tidewire {

std::optional<EventTime> RestDetector::observe(std::span<const RestReport> reports) {
  uint64_t sent = 0, taken = 0;
  bool could_rest = !reports.empty();
  for (const RestReport& report : reports) {
    sent += report.rows_sent;
    taken += report.rows_taken;
    could_rest = could_rest && report.resting && report.frontier == reports[0].frontier;
  }
  bool equal = looks_ > 0 && last_.size() == reports.size();
  bool turned = looks_ == 2;
  for (size_t i = 0; equal && i < reports.size(); ++i) {
    equal = reports[i].same_but_turns(last_[i]);
    // The turn under way at look 2 may have begun before it: the next one did not.
    turned = turned && reports[i].turns >= last_[i].turns + 2;
  }
  if (!could_rest || sent != taken) {
    looks_ = 0;
  } else if (!equal) {
    looks_ = 1;
    last_.assign(reports.begin(), reports.end());
  } else if (looks_ == 1) {
    looks_ = 2;
    last_.assign(reports.begin(), reports.end());
  } else if (turned) {
    return reports[0].frontier;
  }
  return std::nullopt;
}

}  // namespace tidewire
