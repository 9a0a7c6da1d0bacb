// Layouts: "Nasdaq TotalView-ITCH 5.0" and "MoldUDP64 Protocol Specification V 1.00", all
// big-endian.
//
//   Ethernet .. UDP | session 10 | sequence 8 | count 2 | length 2, message | length 2, message ...
//   message: type 1 | stock locate 2 | tracking 2 | time 6 (ns since midnight) | body by type
//
// Time: midnight is the moment at which the day begins in the zone, and the stamp counts elapsed
// nanoseconds from there, so no hour of a day with a clock change is missing or comes twice. Around
// midnight the arrival's date and the message's may differ: of the days before, at and after the
// arrival's, the one counts that puts the event nearest to the arrival.

#include "format/itch.h"

#include <absl/status/status.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/zone.h"
#include "format/bytes.h"
#include "format/columns.h"
#include "format/datagram.h"
#include "format/message_parser.h"
#include "format/sequence.h"

namespace tidewire {
namespace {

constexpr uint32_t kMoldHeader = 20, kCommon = 11;
constexpr uint32_t kHeartbeat = 0, kEndOfSession = 0xFFFF;
constexpr int64_t kLongestDay = 25 * 3600 * kSecond;

// Where the fields of a message type stand; 0: it has none. `length` 0: not a type we know.
struct Layout {
  uint8_t length = 0;
  uint8_t order_ref = 0;  // 8 bytes; replace (U): of the order that is replaced
  uint8_t side = 0;       // 1
  uint8_t shares = 0;     // 4, or 8 for a cross (Q)
  uint8_t shares_bytes = 4;
  uint8_t stock = 0;  // 8, padded with spaces
  uint8_t price = 0;  // 4, four decimals
  uint8_t match = 0;  // 8
};

constexpr auto kLayouts = [] {
  std::array<Layout, 256> of{};
  of['S'] = {.length = 12};
  of['R'] = {.length = 39, .stock = 11};
  of['H'] = {.length = 25, .stock = 11};
  of['Y'] = {.length = 20, .stock = 11};
  of['L'] = {.length = 26, .stock = 15};
  of['V'] = {.length = 35};
  of['W'] = {.length = 12};
  of['K'] = {.length = 28, .stock = 11};
  of['J'] = {.length = 35, .stock = 11};
  of['h'] = {.length = 21, .stock = 11};
  of['A'] = {.length = 36, .order_ref = 11, .side = 19, .shares = 20, .stock = 24, .price = 32};
  of['F'] = {.length = 40, .order_ref = 11, .side = 19, .shares = 20, .stock = 24, .price = 32};
  of['E'] = {.length = 31, .order_ref = 11, .shares = 19, .match = 23};
  of['C'] = {.length = 36, .order_ref = 11, .shares = 19, .price = 32, .match = 23};
  of['X'] = {.length = 23, .order_ref = 11, .shares = 19};
  of['D'] = {.length = 19, .order_ref = 11};
  of['U'] = {.length = 35, .order_ref = 11, .shares = 27, .price = 31};
  of['P'] = {.length = 44,
             .order_ref = 11,
             .side = 19,
             .shares = 20,
             .stock = 24,
             .price = 32,
             .match = 36};
  of['Q'] = {.length = 40, .shares = 11, .shares_bytes = 8, .stock = 19, .price = 27, .match = 31};
  of['B'] = {.length = 19, .match = 11};
  of['I'] = {.length = 50, .stock = 28};
  of['N'] = {.length = 20, .stock = 11};
  of['O'] = {.length = 48, .stock = 11};
  return of;
}();

struct Message {
  const uint8_t* at;
  const Layout* layout;
  uint64_t sequence;
  const uint8_t* session;  // 10 bytes
};

int64_t number(uint64_t value) { return static_cast<int64_t>(value); }

// Up to 8 characters, padded with spaces on the wire and with zero bytes in a word.
int64_t text(uint64_t characters) {
  const uint64_t differs = characters ^ 0x2020202020202020u;
  if (differs == 0) return 0;
  const int padding = __builtin_ctzll(differs) / 8 * 8;
  return number(characters & ~uint64_t{0} << padding);
}
int64_t character(uint8_t c) { return number(uint64_t{c} << 56); }

using M = const Message&;
constexpr auto kInteger = FieldType::kInteger;

// name, type, words, bits, decimals, may be absent, help
const ItemField<Message> kFields[] = {
    {{"type", FieldType::kText, 1, 63, 0, false, "message type: A add, E executed, P trade, ..."},
     fill<[](M m) { return character(m.at[0]); }>},
    {{"stock_locate", kInteger, 1, 16, 0, false, "the day's number of the stock; 0: no stock"},
     fill<[](M m) { return number(read_be16(m.at + 1)); }>},
    {{"tracking", kInteger, 1, 16, 0, false, "the exchange's internal tracking number"},
     fill<[](M m) { return number(read_be16(m.at + 3)); }>},
    {{"message_time", kInteger, 1, 48, 0, false, "nanoseconds since midnight, as on the wire"},
     fill<[](M m) { return number(read_be48(m.at + 5)); }>},
    {{"stock", FieldType::kText, 1, 63, 0, true,
      "symbol; E, C, X, D, U have none: use stock_locate"},
     fill<[](M m) {
       return m.layout->stock != 0 ? text(read_be64(m.at + m.layout->stock)) : kAbsent;
     }>},
    {{"side", FieldType::kText, 1, 63, 0, true, "B or S; of A, F, P"},
     fill<[](M m) { return m.layout->side != 0 ? character(m.at[m.layout->side]) : kAbsent; }>},
    {{"shares", kInteger, 1, 63, 0, true, "shares of A, F, E, C, X, U, P, Q"}, fill<[](M m) {
       if (m.layout->shares == 0) return kAbsent;
       const uint8_t* at = m.at + m.layout->shares;
       return number(m.layout->shares_bytes == 8 ? read_be64(at) : read_be32(at));
     }>},
    {{"price", kInteger, 1, 32, 4, true, "price of A, F, C, U, P, Q"}, fill<[](M m) {
       return m.layout->price != 0 ? number(read_be32(m.at + m.layout->price)) : kAbsent;
     }>},
    {{"order_ref", kInteger, 1, 63, 0, true, "order of A, F, E, C, X, D, P; U: the one replaced"},
     fill<[](M m) {
       return m.layout->order_ref != 0 ? number(read_be64(m.at + m.layout->order_ref)) : kAbsent;
     }>},
    {{"match", kInteger, 1, 63, 0, true, "match number of E, C, P, Q, B"}, fill<[](M m) {
       return m.layout->match != 0 ? number(read_be64(m.at + m.layout->match)) : kAbsent;
     }>},
    {{"sequence", kInteger, 1, 63, 0, false, "MoldUDP64 sequence number of the message"},
     fill<[](M m) { return number(m.sequence); }>},
    {{"session", FieldType::kText, 2, 63, 0, false, "MoldUDP64 session"}, fill<[](M m) {
       const int64_t tail = text(uint64_t{read_be16(m.session + 8)} << 48 | 0x202020202020u);
       const uint64_t head = read_be64(m.session);
       return TwoWords{tail == 0 ? text(head) : number(head), tail};
     }>},
};

// The sessions of a lane. Several feeds may share it, and a switch to the standby has a new one; a
// known session goes on where it was.
class Sessions {
 public:
  struct Session {
    uint64_t head = 0;
    uint16_t tail = 0;
    uint64_t used = 0;   // when last, in packets; 0: never
    bool ended = false;  // by its own word; a message after it takes that back
    SequenceWindow window;
  };
  // The session of a packet whose first message is `sequence`.
  Session& find(const uint8_t* session, uint64_t sequence, LaneCounts& counts) {
    const uint64_t head = read_be64(session);
    const uint16_t tail = read_be16(session + 8);
    Session* oldest = &slots_[0];
    for (Session& slot : slots_) {
      if (slot.used != 0 && slot.head == head && slot.tail == tail) {
        slot.used = ++clock_;
        return slot;
      }
      if (slot.used < oldest->used) oldest = &slot;
    }
    if (clock_ != 0) counts.note(Note::kSessionChange);
    oldest->head = head;
    oldest->tail = tail;
    oldest->used = ++clock_;
    oldest->ended = false;
    oldest->window.start(sequence);
    return *oldest;
  }
  // Whether no other session is under way.
  bool none_beside(const Session& session) const {
    return std::all_of(slots_.begin(), slots_.end(), [&](const Session& other) {
      return &other == &session || other.used == 0 || other.ended;
    });
  }

 private:
  uint64_t clock_ = 0;
  std::array<Session, 4> slots_;
};

// Whether the days around a moment have int64 nanoseconds. What lies farther out is out of any
// usable range, whatever its day.
bool in_reach(EventTime t) {
  return t.ns > INT64_MIN + 4 * kDayLength && t.ns < INT64_MAX - 4 * kDayLength;
}

class ItchParser final : public MessageParser<ItchParser, Message> {
 public:
  ItchParser(const ParserOptions& options, const ColumnMap& columns, Zone zone)
      : MessageParser(options, {kFields, options, columns}), zone_(std::move(zone)) {}

  void open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts);
  void read_packet(EventBatch& batch, LaneCounts& counts);

 private:
  void take_status(bool ends, EventBatch& batch, LaneCounts& counts);
  void take_message(uint32_t length, EventBatch& batch, LaneCounts& counts);
  void close(LaneCounts& counts);
  void find_days(EventTime arrival);
  EventTime time_of(uint64_t since_midnight, EventTime arrival) const;

  Zone zone_;
  Sessions sessions_;
  std::array<EventTime, 3> midnight_{};  // of the day before the arrival's, of it, of the day after
  int64_t day_ = INT64_MIN;              // which that is, on the zone's calendar

  // The open packet, and where in it.
  EventTime arrival_{};
  const uint8_t* session_ = nullptr;
  Sessions::Session* session_state_ = nullptr;
  SequenceWindow* window_ = nullptr;  // its
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t sequence_ = 0;
  uint32_t left_ = 0;     // messages
  bool any_new_ = false;  // a message that was no duplicate
  bool cut_by_capture_ = false;
};

void ItchParser::open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts) {
  Datagram datagram;
  if (const auto reason = read_datagram(burst(), i, datagram, counts)) {
    counts.drop(*reason);
    return;
  }
  const uint8_t* const mold = datagram.at;
  end_ = datagram.end;
  if (end_ - mold < kMoldHeader) {
    counts.drop(DropReason::kTruncated);
    return;
  }
  for (uint32_t c = 0; c < 10; ++c) {
    if (mold[c] < 0x20 || mold[c] > 0x7E) {
      counts.drop(DropReason::kNotThisFormat);
      return;
    }
  }
  arrival_ = burst().arrival[i];
  session_ = mold;
  sequence_ = read_be64(mold + 10);
  session_state_ = &sessions_.find(session_, sequence_, counts);
  window_ = &session_state_->window;
  at_ = mold + kMoldHeader;
  cut_by_capture_ = datagram.cut;
  left_ = read_be16(mold + 18);
  if (left_ == kHeartbeat || left_ == kEndOfSession) {
    take_status(left_ == kEndOfSession, batch, counts);
    return;
  }
  session_state_->ended = false;
  any_new_ = false;
  open_ = true;
  find_days(arrival_);
}

// A heartbeat or the end of the session names the message that comes next. If nothing before it is
// missing, the feed is caught up with the moment at which it was sent; but another session of the
// lane, of which this one knows nothing, must not still be running.
void ItchParser::take_status(bool ends, EventBatch& batch, LaneCounts& counts) {
  counts.note(ends ? Note::kEndOfSession : Note::kHeartbeat);
  const bool complete = window_->next() == sequence_;
  window_->expect(sequence_, counts);
  session_state_->ended = ends;
  if (complete && arrival_.is_point() && sessions_.none_beside(*session_state_))
    mark_progress(batch, arrival_);
  ++counts.packets_parsed;
}

void ItchParser::read_packet(EventBatch& batch, LaneCounts& counts) {
  while (left_ > 0 && !is_full(batch)) {
    const uint32_t there = static_cast<uint32_t>(end_ - at_);
    const uint32_t length = there >= 2 ? read_be16(at_) : 0;
    if (there < 2 || length > there - 2) {
      // Its sequence number was not taken, so the next packet shows how many were lost here.
      counts.note(cut_by_capture_ ? Note::kTruncatedHeader : Note::kBadLength);
      left_ = 0;
      any_new_ = true;
      break;
    }
    at_ += 2;
    if (window_->take(sequence_, counts)) {
      any_new_ = true;
      take_message(length, batch, counts);
    }
    at_ += length;
    ++sequence_;
    --left_;
  }
  if (left_ == 0) close(counts);
}

void ItchParser::take_message(uint32_t length, EventBatch& batch, LaneCounts& counts) {
  if (length == 0 || kLayouts[at_[0]].length == 0) return counts.note(Note::kUnknownMessage);
  const Layout& layout = kLayouts[at_[0]];
  if (length < layout.length) return counts.note(Note::kBadLength);
  const uint64_t since_midnight = read_be48(at_ + 5);
  EventTime time = EventTime::before_all();
  if (arrival_.is_point() && since_midnight < uint64_t{kLongestDay})
    time = in_reach(arrival_) ? time_of(since_midnight, arrival_) : arrival_;
  append(time, arrival_, {at_, &layout, sequence_, session_}, batch, counts);
}

void ItchParser::close(LaneCounts& counts) {
  open_ = false;
  if (any_new_)
    ++counts.packets_parsed;
  else
    counts.drop(DropReason::kDuplicate);
}

void ItchParser::find_days(EventTime arrival) {
  if (!in_reach(arrival)) return;
  const int64_t day = zone_.day_at(arrival);
  if (day == day_) return;
  day_ = day;
  for (int64_t i = 0; i < 3; ++i) midnight_[static_cast<size_t>(i)] = zone_.start_of(day - 1 + i);
}

EventTime ItchParser::time_of(uint64_t since_midnight, EventTime arrival) const {
  const auto stamp = static_cast<int64_t>(since_midnight);
  EventTime nearest{};
  int64_t least = INT64_MAX;
  for (const EventTime midnight : midnight_) {
    const int64_t time = midnight.ns + stamp;
    const int64_t distance = time > arrival.ns ? time - arrival.ns : arrival.ns - time;
    if (distance < least) {
      least = distance;
      nearest = EventTime{time};
    }
  }
  return nearest;
}

static_assert(kLayouts['D'].length > kCommon);  // every known message has the common head

class ItchFormat final : public Format {
 public:
  explicit ItchFormat(Zone zone) : zone_(std::move(zone)) {}
  const Schema& schema() const override { return schema_; }
  bool has_marks() const override { return true; }
  std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                      const ColumnMap& columns) const override {
    return std::make_unique<ItchParser>(options, columns, zone_);
  }

 private:
  const Schema schema_ = schema_of<Message>("itch", kFields);
  const Zone zone_;
};

}  // namespace

absl::StatusOr<FormatPtr> open_itch_format(const FormatOptions& options) {
  absl::StatusOr<Zone> zone = Zone::load(options.zone.empty() ? "America/New_York" : options.zone);
  if (!zone.ok())
    return absl::InvalidArgumentError(
        to_absl("zone: " + std::string(from_absl(zone.status().message()))));
  return std::make_unique<ItchFormat>(*std::move(zone));
}

}  // namespace tidewire
