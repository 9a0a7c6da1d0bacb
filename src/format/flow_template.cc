#include "format/flow_template.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/hash.h"

namespace tidewire::flow {
namespace {

using Kind = Load::Kind;

struct Element {
  uint16_t number;
  Kind kind;
  uint8_t slot;
};

// What is known of IANA's registry; NetFlow 9 has the same numbers below 128.
constexpr Element kElements[] = {
    {1, Kind::kNumber, kBytes},
    {2, Kind::kNumber, kPackets},
    {3, Kind::kNumber, kFlows},
    {4, Kind::kNumber, kProtocol},
    {5, Kind::kNumber, kTos},
    {6, Kind::kNumber, kTcpFlags},
    {7, Kind::kNumber, kSrcPort},
    {8, Kind::kIpv4, kSrc},
    {9, Kind::kNumber, kSrcMask},
    {10, Kind::kNumber, kInIf},
    {11, Kind::kNumber, kDstPort},
    {12, Kind::kIpv4, kDst},
    {13, Kind::kNumber, kDstMask},
    {14, Kind::kNumber, kOutIf},
    {15, Kind::kIpv4, kNextHop},
    {16, Kind::kNumber, kSrcAs},
    {17, Kind::kNumber, kDstAs},
    {18, Kind::kIpv4, kBgpNextHop},
    {21, Kind::kNumber, kEndUptime},
    {22, Kind::kNumber, kStartUptime},
    {23, Kind::kNumber, kBytesOut},
    {24, Kind::kNumber, kPacketsOut},
    {27, Kind::kIpv6, kSrc},
    {28, Kind::kIpv6, kDst},
    {29, Kind::kNumber, kSrcMask},
    {30, Kind::kNumber, kDstMask},
    {31, Kind::kNumber, kFlowLabel},
    {32, Kind::kNumber, kIcmpBoth},
    {34, Kind::kNumber, kRate},
    {48, Kind::kNumber, kSampler},
    {50, Kind::kNumber, kRate},
    {56, Kind::kNumber, kSrcMac},
    {58, Kind::kNumber, kVlan},
    {59, Kind::kNumber, kVlanOut},
    {61, Kind::kNumber, kDirection},
    {62, Kind::kIpv6, kNextHop},
    {63, Kind::kIpv6, kBgpNextHop},
    {80, Kind::kNumber, kDstMac},
    {89, Kind::kNumber, kForwarding},
    {95, Kind::kNumber, kApplication},
    {136, Kind::kNumber, kEndReason},
    {139, Kind::kNumber, kIcmpBoth},
    {150, Kind::kNumber, kStartSeconds},
    {151, Kind::kNumber, kEndSeconds},
    {152, Kind::kNumber, kStartMillis},
    {153, Kind::kNumber, kEndMillis},
    {154, Kind::kBits, kStartMicros},
    {155, Kind::kBits, kEndMicros},
    {156, Kind::kBits, kStartNanos},
    {157, Kind::kBits, kEndNanos},
    {158, Kind::kNumber, kStartDelta},
    {159, Kind::kNumber, kEndDelta},
    {160, Kind::kNumber, kSystemInit},
    {161, Kind::kNumber, kDurationMillis},
    {162, Kind::kNumber, kDurationMicros},
    {176, Kind::kNumber, kIcmpType},
    {177, Kind::kNumber, kIcmpCode},
    {178, Kind::kNumber, kIcmpType},
    {179, Kind::kNumber, kIcmpCode},
    {225, Kind::kIpv4, kNatSrc},
    {226, Kind::kIpv4, kNatDst},
    {227, Kind::kNumber, kNatSrcPort},
    {228, Kind::kNumber, kNatDstPort},
    {233, Kind::kNumber, kFirewallEvent},
    {234, Kind::kNumber, kVrf},
    {281, Kind::kIpv6, kNatSrc},
    {282, Kind::kIpv6, kNatDst},
    {302, Kind::kNumber, kSampler},
    {305, Kind::kNumber, kRateInterval},
    {306, Kind::kNumber, kRateSpace},
    {322, Kind::kNumber, kObservedSeconds},
    {323, Kind::kNumber, kObservedMillis},
    {324, Kind::kBits, kObservedMicros},
    {325, Kind::kBits, kObservedNanos},
};

// Where a record has no element of the kind above: counters since the flow's start, and those of a
// firewall's side that opened it; a VLAN tag as the frame has it.
constexpr Element kSubstitutes[] = {
    {85, Kind::kNumber, kBytes},    {86, Kind::kNumber, kPackets}, {231, Kind::kNumber, kBytes},
    {298, Kind::kNumber, kPackets}, {243, Kind::kNumber, kVlan},   {252, Kind::kNumber, kInIf},
    {253, Kind::kNumber, kOutIf},
};

template <size_t N>
const Element* entry_of(const Element (&elements)[N], uint16_t number) {
  const auto* found = std::find_if(std::begin(elements), std::end(elements),
                                   [number](const Element& e) { return e.number == number; });
  return found == std::end(elements) ? nullptr : found;
}

bool fits(Kind kind, uint16_t length) {
  switch (kind) {
    case Kind::kNumber:
    case Kind::kBits:
      return (length >= 1 && length <= 8) || length == kVariable;
    case Kind::kIpv4:
      return length == 4;
    case Kind::kIpv6:
      return length == 16;
    case Kind::kText:
      return length >= 1;
    case Kind::kSkip:
      return true;
  }
  return false;
}

// Big-endian, 1 to 8 bytes (RFC 7011, 6.2: exporters may send fewer than the element has).
uint64_t number_at(const uint8_t* at, uint32_t length) {
  switch (length) {
    case 1:
      return *at;
    case 2:
      return read_be16(at);
    case 4:
      return read_be32(at);
    case 6:
      return read_be48(at);
    case 8:
      return read_be64(at);
    default:
      break;
  }
  uint64_t number = 0;
  for (uint32_t i = 0; i < length; ++i) number = number << 8 | at[i];
  return number;
}

// As much of it as two words hold, without what pads it.
TwoWords text_at(const uint8_t* at, uint32_t length) {
  std::array<uint8_t, 16> held{};
  std::memcpy(held.data(), at, std::min<uint32_t>(length, 16));
  const auto end = std::find(held.begin(), held.end(), uint8_t{0});
  std::fill(end, held.end(), uint8_t{0});
  return {static_cast<int64_t>(read_be64(held.data())),
          static_cast<int64_t>(read_be64(held.data() + 8))};
}

[[gnu::always_inline]] inline void load(const Load& load, const uint8_t* at, uint32_t length,
                                        Values& values) {
  switch (load.kind) {
    case Kind::kSkip:
      return;
    case Kind::kNumber: {
      if (length == 0 || length > 8) return;
      constexpr auto kMost = static_cast<uint64_t>(INT64_MAX);
      values[load.slot] = static_cast<int64_t>(std::min(number_at(at, length), kMost));
      return;
    }
    case Kind::kBits:
      if (length > 0 && length <= 8)
        values[load.slot] = static_cast<int64_t>(number_at(at, length));
      return;
    case Kind::kIpv4: {
      const uint32_t address = read_be32(at);
      if (address == 0 && values[load.slot] != kAbsent) return;
      values[load.slot] = 0;
      values[load.slot + 1u] = int64_t{0xFFFF} << 32 | address;
      return;
    }
    case Kind::kIpv6: {
      const uint64_t high = read_be64(at), low = read_be64(at + 8);
      if ((high | low) == 0 && values[load.slot] != kAbsent) return;
      values[load.slot] = static_cast<int64_t>(high);
      values[load.slot + 1u] = static_cast<int64_t>(low);
      return;
    }
    case Kind::kText: {
      const TwoWords words = text_at(at, length);
      values[load.slot] = words.high;
      values[load.slot + 1u] = words.low;
      return;
    }
  }
}

uint32_t tag_of(const StreamKey& stream, uint16_t id) {
  const int64_t words[4] = {stream.exporter.high, stream.exporter.low, stream.domain,
                            int64_t{stream.version} << 16 | id};
  return static_cast<uint32_t>(hash_words<4>(words, HashSeed{})) | 1;
}

}  // namespace

std::optional<OwnElement> parse_own_element(std::string_view text) {
  OwnElement own;
  const auto number = [&text](auto& to) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (code != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
  };
  uint32_t first = 0;
  if (!number(first)) return std::nullopt;
  if (text.starts_with('/')) {
    text.remove_prefix(1);
    own.enterprise = first;
    if (!number(own.element)) return std::nullopt;
  } else if (first > UINT16_MAX) {
    return std::nullopt;
  } else {
    own.element = static_cast<uint16_t>(first);
  }
  constexpr std::string_view kAs = " as ", kIsText = " text";
  if (!text.starts_with(kAs)) return std::nullopt;
  text.remove_prefix(kAs.size());
  own.text = text.ends_with(kIsText);
  if (own.text) text.remove_suffix(kIsText.size());
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (text.empty() || text.size() > 64 || (text[0] >= '0' && text[0] <= '9') ||
      !std::all_of(text.begin(), text.end(), is_word))
    return std::nullopt;
  own.name = text;
  return own;
}

uint32_t Template::read(const uint8_t* at, const uint8_t* end, Values& values) const {
  const auto there = static_cast<size_t>(end - at);
  if (there < record_bytes) return 0;
  if (fixed) {
    for (uint32_t i = 0; i < loads; ++i)
      flow::load(load[i], at + load[i].at, load[i].length, values);
    return record_bytes;
  }
  const uint8_t* const begin = at;
  for (uint32_t i = 0; i < loads; ++i) {
    uint32_t length = load[i].length;
    if (length == kVariable) {
      if (end - at < 1) return 0;
      length = *at++;
      if (length == 255) {
        if (end - at < 2) return 0;
        length = read_be16(at);
        at += 2;
      }
    }
    if (static_cast<size_t>(end - at) < length) return 0;
    flow::load(load[i], at, length, values);
    at += length;
  }
  return static_cast<uint32_t>(at - begin);
}

TemplateTable::TemplateTable(std::span<const OwnElement> own,
                             const std::array<bool, kSlots>& needed)
    : own_(own), needed_(needed), templates_(kTemplates), tag_(kTemplates) {}

void TemplateTable::begin(const StreamKey& stream, uint16_t id, bool options) {
  made_.stream = stream;
  made_.id = id;
  made_.options = options;
  made_.fixed = true;
  made_.both = false;
  made_.loads = 0;
  made_.said = options ? 1 : 0;
  bytes_ = fields_ = 0;
}

void TemplateTable::element(uint16_t element, uint16_t length, uint32_t enterprise) {
  Load load;
  const auto own = std::find_if(own_.begin(), own_.end(), [&](const OwnElement& o) {
    return o.enterprise == enterprise && o.element == element;
  });
  const auto has = [this](uint8_t slot) {
    return std::any_of(made_.load.begin(), made_.load.begin() + made_.loads,
                       [slot](const Load& l) { return l.kind != Kind::kSkip && l.slot == slot; });
  };
  if (own != own_.end()) {
    load.kind = own->text ? Kind::kText : Kind::kNumber;
    load.slot = static_cast<uint8_t>(kFirstOwn + 2 * (own - own_.begin()));
  } else if (enterprise == 0) {
    if (const Element* known = entry_of(kElements, element)) {
      load.kind = known->kind;
      load.slot = known->slot;
      // What stands in for it gives way.
      for (uint32_t i = 0; i < made_.loads; ++i) {
        Load& other = made_.load[i];
        if (other.kind == Kind::kSkip || other.slot != load.slot) continue;
        if (load.kind == Kind::kNumber)
          other.kind = Kind::kSkip;
        else
          made_.both = true;
      }
    } else if (const Element* other = entry_of(kSubstitutes, element); other && !has(other->slot)) {
      load.kind = other->kind;
      load.slot = other->slot;
    }
  }
  if (!fits(load.kind, length) || !needed_[load.slot]) load.kind = Kind::kSkip;
  add(load, length, uint64_t{enterprise} << 32 | uint64_t{element} << 16);
}

void TemplateTable::scope(uint16_t type, uint16_t length) {
  add({}, length, uint64_t{1} << 63 | uint64_t{type} << 16);
}

void TemplateTable::add(Load load, uint16_t length, uint64_t word) {
  const int64_t words[2] = {static_cast<int64_t>(made_.said), static_cast<int64_t>(word | length)};
  made_.said = hash_words<2>(words, HashSeed{});
  ++fields_;
  if (length == kVariable) made_.fixed = false;
  load.length = length;
  load.at = static_cast<uint16_t>(std::min<uint32_t>(bytes_, UINT16_MAX));
  bytes_ += length == kVariable ? 1 : length;
  // Of a record of fixed size nobody reads the others; whether it is one shows at the end.
  if (made_.loads < kElementsMax) made_.load[made_.loads++] = load;
}

const Template* TemplateTable::seal() {
  if (fields_ == 0 || fields_ > kElementsMax || bytes_ == 0 || bytes_ > UINT16_MAX) return nullptr;
  made_.record_bytes = static_cast<uint16_t>(bytes_);
  if (made_.fixed) {
    const auto end = std::remove_if(made_.load.begin(), made_.load.begin() + made_.loads,
                                    [](const Load& l) { return l.kind == Kind::kSkip; });
    made_.loads = static_cast<uint16_t>(end - made_.load.begin());
  }
  return &made_;
}

TemplateTable::Learned TemplateTable::finish(bool& made_room) {
  made_room = false;
  if (!seal()) return Learned::kRefused;
  Template* slot = slot_of(made_.stream, made_.id);
  Learned learned = Learned::kChanged;
  if (!slot) {
    size_t at = 0;  // a free one, or the one that was used longest ago
    for (size_t i = 1; i < kTemplates && tag_[at] != 0; ++i)
      if (tag_[i] == 0 || templates_[i].used < templates_[at].used) at = i;
    made_room = tag_[at] != 0;
    tag_[at] = tag_of(made_.stream, made_.id);
    slot = &templates_[at];
    learned = Learned::kNew;
  } else if (slot->said == made_.said && slot->options == made_.options) {
    slot->used = ++clock_;
    return Learned::kSame;
  }
  *slot = made_;
  slot->used = ++clock_;
  return learned;
}

template <class Visit>
void TemplateTable::each(const StreamKey& stream, uint16_t id, Visit visit) {
  const uint32_t tag = tag_of(stream, id);
  for (size_t i = 0; i < kTemplates; ++i)
    if (tag_[i] == tag && templates_[i].id == id && templates_[i].stream.same_domain(stream))
      visit(templates_[i]);
}

// Most records come in runs of one exporter and template.
Template* TemplateTable::slot_of(const StreamKey& stream, uint16_t id) {
  if (tag_[last_] != 0 && templates_[last_].id == id && templates_[last_].stream == stream)
    return &templates_[last_];
  Template* found = nullptr;
  each(stream, id, [&](Template& t) {
    if (t.stream == stream) found = &t;
  });
  if (found) last_ = static_cast<size_t>(found - templates_.data());
  return found;
}

void TemplateTable::withdraw(const StreamKey& stream, uint16_t id) {
  if (const Template* slot = slot_of(stream, id))
    tag_[static_cast<size_t>(slot - templates_.data())] = 0;
}

void TemplateTable::withdraw_all(const StreamKey& stream, bool options) {
  for (size_t i = 0; i < kTemplates; ++i)
    if (templates_[i].stream == stream && templates_[i].options == options) tag_[i] = 0;
}

const Template* TemplateTable::find(const StreamKey& stream, uint16_t id) {
  Template* best = slot_of(stream, id);
  if (!best)
    each(stream, id, [&](Template& t) {
      if (!best || t.used > best->used) best = &t;
    });
  if (best) best->used = ++clock_;
  return best;
}

}  // namespace tidewire::flow
