// Templates of flow export: what the records of one id look like, compiled to the few loads that a
// source's queries need. Bounded: the template that was used longest ago makes room for a new one.
//
//   template set    id | fields | element, length [, enterprise] | element, length ...
//   data set        id | record | record | ... | padding
//
//   record of fixed size      loads at known places, all others are not looked at
//   with variable lengths     (RFC 7011, 7: one byte, or 255 and two) field by field
//
// Sources: RFC 3954 (NetFlow 9), RFC 7011 (IPFIX), IANA "IPFIX Information Elements".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/bytes.h"
#include "query/schema.h"

namespace tidewire::flow {

// What a record can say, as int64 words. Raw: times as they stand on the wire.
enum Slot : uint8_t {
  kSrc,  // two words each, up to kFirstSingle
  kDst = 2,
  kNextHop = 4,
  kBgpNextHop = 6,
  kNatSrc = 8,
  kNatDst = 10,
  kFirstSingle = 12,
  kSrcPort = kFirstSingle,
  kDstPort,
  kProtocol,
  kTcpFlags,
  kTos,
  kBytes,
  kPackets,
  kFlows,
  kBytesOut,
  kPacketsOut,
  kInIf,
  kOutIf,
  kSrcAs,
  kDstAs,
  kSrcMask,
  kDstMask,
  kVlan,
  kVlanOut,
  kIcmpBoth,
  kIcmpType,
  kIcmpCode,
  kDirection,
  kSrcMac,
  kDstMac,
  kEndReason,
  kApplication,
  kForwarding,
  kFirewallEvent,
  kVrf,
  kNatSrcPort,
  kNatDstPort,
  kFlowLabel,
  // Sampling, of records and of options.
  kSampler,
  kRate,
  kRateInterval,
  kRateSpace,
  kSystemInit,
  // Times: of the end at kEnd..., of the start at kStart..., in the same order.
  kEndUptime,
  kEndSeconds,
  kEndMillis,
  kEndMicros,
  kEndNanos,
  kEndDelta,
  kStartUptime,
  kStartSeconds,
  kStartMillis,
  kStartMicros,
  kStartNanos,
  kStartDelta,
  kDurationMillis,
  kDurationMicros,
  kObservedSeconds,
  kObservedMillis,
  kObservedMicros,
  kObservedNanos,
  kFirstOwn,  // elements that a config names: two words each
};
inline constexpr uint32_t kOwnMax = 8;
// Not of the record: of its packet, or worked out.
enum OtherSlot : uint8_t {
  kExporter = kFirstOwn + 2 * kOwnMax,  // two words each, up to kExporterPort
  kStream = kExporter + 2,
  kExporterPort = kStream + 2,
  kDomain,
  kVersion,
  kTemplateId,
  kExportTime,
  kStart,
  kEnd,
  kDuration,
  kSampling,
  kSlots,
};
using Values = std::array<int64_t, kSlots>;

// An element that a config has named.
struct OwnElement {
  std::string name;
  uint32_t enterprise = 0;
  uint16_t element = 0;
  bool text = false;
};
// "NUMBER as NAME", "ENTERPRISE/NUMBER as NAME", with " text" behind where it is one. Nullopt: it
// is not so.
std::optional<OwnElement> parse_own_element(std::string_view text);

struct Load {
  // kBits: a number all of whose 64 bits mean something.
  enum class Kind : uint8_t { kSkip, kNumber, kBits, kIpv4, kIpv6, kText } kind = Kind::kSkip;
  uint8_t slot = 0;
  uint16_t at = 0;      // in a record of fixed size
  uint16_t length = 0;  // kVariable: said by the record
};
inline constexpr uint16_t kVariable = 0xFFFF;
inline constexpr uint32_t kElementsMax = 128;

// Whose templates: other exporters, processes behind one address and domains have their own.
struct StreamKey {
  TwoWords exporter{kAbsent, kAbsent};
  int32_t port = kAbsent;
  uint32_t domain = 0;
  uint16_t version = 0;
  bool operator==(const StreamKey&) const = default;
  // Options may come from another port of the exporter than data (formats.md 2).
  bool same_domain(const StreamKey& other) const {
    return exporter == other.exporter && domain == other.domain && version == other.version;
  }
};

struct Template {
  StreamKey stream;
  uint16_t id = 0;
  bool options = false;
  bool fixed = true;
  bool both = false;          // IPv4 and IPv6 for one address: that counts which is not zero
  uint16_t record_bytes = 0;  // least, where it is not fixed
  uint16_t loads = 0;
  uint64_t used = 0;  // when last, in lookups
  uint64_t said = 0;  // hash of the description
  std::array<Load, kElementsMax> load;

  // Reads a record at `at`; its length, 0: it does not fit before `end`.
  uint32_t read(const uint8_t* at, const uint8_t* end, Values& values) const;
};

class TemplateTable {
 public:
  static constexpr uint32_t kTemplates = 512;
  // `needed`: the slots that are to be loaded; what else a record holds is stepped over.
  TemplateTable(std::span<const OwnElement> own, const std::array<bool, kSlots>& needed);

  enum class Learned : uint8_t { kNew, kSame, kChanged, kRefused };
  // One element after the other between begin() and finish(); `enterprise` 0: IANA's or Cisco's.
  void begin(const StreamKey& stream, uint16_t id, bool options);
  void element(uint16_t element, uint16_t length, uint32_t enterprise);
  // A field that only says what an option is about, in a numbering of its own (NetFlow 9).
  void scope(uint16_t type, uint16_t length);
  // What was described, when it can be read; it is not kept. Null: it cannot.
  const Template* seal();
  // `made_room`: another template was forgotten.
  Learned finish(bool& made_room);
  void withdraw(const StreamKey& stream, uint16_t id);
  void withdraw_all(const StreamKey& stream, bool options);

  // That of this port before that of another. Null: none is known.
  const Template* find(const StreamKey& stream, uint16_t id);

 private:
  void add(Load load, uint16_t length, uint64_t word);
  // Of the templates with that id of the exporter's domain, whatever port it sent from.
  template <class Visit>
  void each(const StreamKey& stream, uint16_t id, Visit visit);
  Template* slot_of(const StreamKey& stream, uint16_t id);

  std::span<const OwnElement> own_;
  std::array<bool, kSlots> needed_;
  std::vector<Template> templates_;
  std::vector<uint32_t> tag_;  // of each: hash of domain and id; 0: free
  Template made_;
  uint32_t bytes_ = 0;
  uint32_t fields_ = 0;
  uint64_t clock_ = 0;
  size_t last_ = 0;  // that was found
};

}  // namespace tidewire::flow
