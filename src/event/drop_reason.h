// Where input ends that does not become rows, and what was odd about input that does. Nothing is
// lost without one of these names; the tables are printed in the summary and (later) exported.
//
//   packets:  received  = parsed + dropped[reason]           (missed by the NIC is counted apart)
//   events:   parsed    = no_time + out_of_range + dropped[guard] + diverted[guard] + passed_on
//   queries:  passed_on = filtered + natural + deferred + late + overflow + no_window
//                         + still deferred
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidewire {

// A packet that yields no event.
enum class DropReason : uint8_t {
  kUnknownLink,    // link type that the format cannot read
  kTruncated,      // too short for the first header that the format needs
  kMalformed,      // lengths or versions that contradict each other
  kNoTime,         // the packet's time is the event's, and it has none
  kNotThisFormat,  // not a packet of this feed (wrong ethertype, protocol or port)
  kDuplicate,      // sequence number seen before
  kCount,
};

// A packet or event that was taken, and this was noticed.
enum class Note : uint8_t {
  kCutByCapture,     // fewer bytes captured than were on the wire
  kTruncatedHeader,  // a header is cut: fields behind it are absent
  kFragmentFirst,    // carries ports
  kFragmentLater,    // carries none
  kBadLength,        // a length field reaches past the packet
  kBadVersion,       // IP version does not fit the ethertype
  kUnknownEthertype,
  kUnknownProtocol,
  kTooManyTags,  // more VLAN tags, MPLS labels or extension headers than are looked at
  kHeartbeat,    // message without an event
  kEndOfSession,
  kUnknownMessage,    // skipped by its length
  kGap,               // sequence numbers missing: how many messages
  kReordered,         // a sequence number below the highest seen that had not come: fills a gap
  kDuplicateMessage,  // a sequence number that had come: the message is left out
  kSequenceRestart,   // numbers far from the highest in the same session: counted on from there
  kSessionChange,
  kPartitionOverflow,  // more partitions than configured: event joins partition 0
  kSaturated,          // a derived column's number has passed 64 bits: the largest of its sign
  kNoTemplate,         // data came before its template, and is kept or left out
  kTemplateChanged,    // the same id describes other records from here on
  kTemplateWithdrawn,
  kTimeFallback,     // the time that was asked for is missing: the next best is taken
  kReversed,         // ends before it starts: no duration is made of it
  kNoSampling,       // sampling rate unknown: counts as 1
  kRestart,          // an exporter's uptime went back
  kTableFull,        // a bounded table of the format: the oldest entry made room
  kUnreadable,       // a record, line or field that is not what it should be
  kNoStamp,          // the frame lacks the stamp that its port should have
  kStampDegraded,    // the device says that its clock is not sure
  kStampCopy,        // the device says that it has sent this frame before
  kFragmentJoined,   // datagrams made whole of fragments
  kFragmentLost,     // fragments whose others did not come in time, or found no room
  kFragmentOverlap,  // fragments that contradict each other: all refused
  kTooDeep,          // a tunnel inside more tunnels than are opened
  kTextCut,      // a text that is longer than its field: its beginning is kept
  kLeapSecond,       // a second that our time scale lacks: the end of the one before
  kCount,
};

// Why a row stands outside all windows. The first is a store's to find, the others are the guards
// of the source, which its policy drops or diverts.
enum class LateReason : uint8_t {
  kLate,           // all its windows were complete
  kTooFarAhead,    // max_ahead
  kTooFarBehind,   // max_behind
  kBeforeMinTime,  // min_time
  kCount,
};

// By guard; that of kLate stays 0.
using GuardCounts = std::array<uint64_t, static_cast<size_t>(LateReason::kCount)>;

// Where an event ends that does not reach the windows, and how many do. A parser counts what it has
// read as passed on; the lane takes back what one of its guards ends.
struct EventCounts {
  uint64_t no_time = 0;
  uint64_t out_of_range = 0;  // within a window of int64's edge
  GuardCounts dropped{};
  GuardCounts diverted{};  // to the late sinks of the source's queries
  uint64_t passed_on = 0;
  uint64_t sum() const {
    uint64_t all = no_time + out_of_range + passed_on;
    for (const uint64_t n : dropped) all += n;
    for (const uint64_t n : diverted) all += n;
    return all;
  }
};

using DropCounts = std::array<uint64_t, static_cast<size_t>(DropReason::kCount)>;
using NoteCounts = std::array<uint64_t, static_cast<size_t>(Note::kCount)>;

// One lane's account. Written by its worker only; read by others when the worker is at rest, or as
// a moment's sample.
struct LaneCounts {
  uint64_t packets = 0;         // received
  uint64_t packets_parsed = 0;  // not dropped; may have held no event
  uint64_t bytes = 0;           // on the wire
  uint64_t events = 0;          // parsed
  DropCounts dropped{};
  NoteCounts noted{};
  EventCounts ended{};
  GuardCounts met{};  // events beyond each guard, whatever became of them
  uint64_t drop(DropReason reason) { return ++dropped[static_cast<size_t>(reason)]; }
  void note(Note n, uint64_t times = 1) { noted[static_cast<size_t>(n)] += times; }
};

std::string_view to_string(DropReason reason);
std::string_view to_string(Note note);
std::string_view to_string(LateReason reason);

}  // namespace tidewire
