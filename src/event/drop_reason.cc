#include "event/drop_reason.h"

namespace tidewire {

std::string_view to_string(DropReason reason) {
  static constexpr std::string_view kNames[] = {"unknown_link", "truncated",       "malformed",
                                                "no_time",      "not_this_format", "duplicate"};
  static_assert(std::size(kNames) == static_cast<size_t>(DropReason::kCount));
  return kNames[static_cast<size_t>(reason)];
}

std::string_view to_string(Note note) {
  static constexpr std::string_view kNames[] = {
      "cut_by_capture",
      "truncated_header",
      "fragment_first",
      "fragment_later",
      "bad_length",
      "bad_version",
      "unknown_ethertype",
      "unknown_protocol",
      "too_many_tags",
      "heartbeat",
      "end_of_session",
      "unknown_message",
      "gap",
      "reordered",
      "duplicate_message",
      "sequence_restart",
      "session_change",
      "partition_overflow",
      "saturated",
      "no_template",
      "template_changed",
      "template_withdrawn",
      "time_fallback",
      "reversed",
      "no_sampling",
      "exporter_restart",
      "table_full",
      "unreadable",
      "no_stamp",
      "stamp_degraded",
      "stamp_copy",
      "fragment_joined",
      "fragment_lost",
      "fragment_overlap",
      "too_deep",
      "text_cut",
      "leap_second",
  };
  static_assert(std::size(kNames) == static_cast<size_t>(Note::kCount));
  return kNames[static_cast<size_t>(note)];
}

std::string_view to_string(LateReason reason) {
  static constexpr std::string_view kNames[] = {"late", "too_far_ahead", "too_far_behind",
                                                "before_min_time"};
  static_assert(std::size(kNames) == static_cast<size_t>(LateReason::kCount));
  return kNames[static_cast<size_t>(reason)];
}

}  // namespace tidewire
