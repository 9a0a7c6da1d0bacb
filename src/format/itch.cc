// Layouts: "MoldUDP64 Protocol Specification V 1.00", all big-endian; itch_fields.cc has the
// messages.
//
//   Ethernet .. UDP | session 10 | sequence 8 | count 2 | length 2, message | length 2, message ...
//   record of a file (BinaryFILE: length 2, message; cut by framing): message
//
// Time: midnight is the moment at which the day begins in the zone, and the stamp counts elapsed
// nanoseconds from there, so no hour of a day with a clock change is missing or comes twice. Around
// midnight the arrival's date and the message's may differ: of the days before, at and after the
// arrival's, the one counts that puts the event nearest to the arrival. A file of messages has no
// arrivals: its date is an option.

#include "format/itch.h"

#include <absl/status/status.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "base/zone.h"
#include "format/bytes.h"
#include "format/datagram.h"
#include "format/itch_directory.h"
#include "format/itch_fields.h"
#include "format/message_parser.h"
#include "format/sequence.h"

namespace tidewire {
namespace {

constexpr uint32_t kMoldHeader = 20;
constexpr uint32_t kHeartbeat = 0, kEndOfSession = 0xFFFF;
constexpr int64_t kLongestDay = 25 * 3600 * kSecond;

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
  static constexpr uint32_t kMost = 4;
  // The session of a packet whose first message is `sequence`. `is_new`: it was not known.
  Session& find(const uint8_t* session, uint64_t sequence, LaneCounts& counts, bool& is_new) {
    const uint64_t head = read_be64(session);
    const uint16_t tail = read_be16(session + 8);
    Session* oldest = &slots_[0];
    for (Session& slot : slots_) {
      if (slot.used != 0 && slot.head == head && slot.tail == tail) {
        slot.used = ++clock_;
        is_new = false;
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
    is_new = true;
    return *oldest;
  }
  uint32_t index_of(const Session& session) const {
    return static_cast<uint32_t>(&session - slots_.data());
  }
  // Whether no other session is under way.
  bool none_beside(const Session& session) const {
    return std::all_of(slots_.begin(), slots_.end(), [&](const Session& other) {
      return &other == &session || other.used == 0 || other.ended;
    });
  }

 private:
  uint64_t clock_ = 0;
  std::array<Session, kMost> slots_;
};

// From nanoseconds since midnight to a time. All messages of a packet have its arrival, and nearly
// all of them the middle one of three midnights: that is decided for a range of stamps at once.
class DayClock {
 public:
  DayClock(Zone zone, std::optional<int64_t> date) : zone_(std::move(zone)) {
    if (date) dated_ = zone_.start_of(*date);
  }

  void set_arrival(EventTime arrival) {
    arrival_ = arrival;
    low_ = span_ = 0;
    if (!arrival.is_point()) {
      if (dated_.is_point()) set_usual(dated_, 0, kLongestDay);
      return;
    }
    if (!in_reach(arrival)) return;
    find_days(arrival);
    // Nearest to the arrival is the middle one where the stamp lies between these two.
    set_usual(midnight_[1], std::max<int64_t>(0, arrival.ns - middle_of(1)),
              std::min(kLongestDay, arrival.ns - middle_of(0)));
  }
  // Whether a stamp counts from the usual midnight; the time is usable then (base/time.h).
  bool is_usual(uint64_t since_midnight) const { return since_midnight - low_ < span_; }
  EventTime usual_time(uint64_t since_midnight) const {
    return {usual_.ns + static_cast<int64_t>(since_midnight)};
  }
  // Of the others. before_all(): it has none.
  EventTime unusual_time(uint64_t since_midnight) const {
    if (!arrival_.is_point() || since_midnight >= uint64_t{kLongestDay})
      return EventTime::before_all();
    if (!in_reach(arrival_)) return arrival_;
    const auto stamp = static_cast<int64_t>(since_midnight);
    EventTime nearest{};
    int64_t least = INT64_MAX;
    for (const EventTime midnight : midnight_) {
      const int64_t time = midnight.ns + stamp;
      const int64_t distance = time > arrival_.ns ? time - arrival_.ns : arrival_.ns - time;
      if (distance < least) {
        least = distance;
        nearest = EventTime{time};
      }
    }
    return nearest;
  }

 private:
  // Whether the days around a moment have int64 nanoseconds. What lies farther out is out of any
  // usable range, whatever its day.
  static bool in_reach(EventTime t) {
    return t.ns > INT64_MIN + 4 * kDayLength && t.ns < INT64_MAX - 4 * kDayLength;
  }
  // For stamps in [low, high).
  void set_usual(EventTime midnight, int64_t low, int64_t high) {
    usual_ = midnight;
    if (low >= high || !is_usable(later(midnight, {low})) || !is_usable(later(midnight, {high})))
      return;
    low_ = static_cast<uint64_t>(low);
    span_ = static_cast<uint64_t>(high - low);
  }
  int64_t middle_of(size_t i) const { return (midnight_[i].ns + midnight_[i + 1].ns) / 2; }
  void find_days(EventTime arrival) {
    if (arrival >= midnight_[1] && arrival < midnight_[2]) return;
    const int64_t day = zone_.day_at(arrival);
    for (int64_t i = 0; i < 3; ++i) midnight_[static_cast<size_t>(i)] = zone_.start_of(day - 1 + i);
  }

  Zone zone_;
  EventTime dated_ = EventTime::before_all();  // midnight of the date that was given
  std::array<EventTime, 3> midnight_{};        // of the day before the arrival's, of it, after it
  EventTime arrival_{}, usual_{};
  uint64_t low_ = 0, span_ = 0;  // stamps from low_ on, that many, count from usual_
};

class ItchParser final : public MessageParser<ItchParser, ItchMessage> {
 public:
  ItchParser(const ParserOptions& options, const ColumnMap& columns, DayClock clock)
      : MessageParser(options, {itch_fields(), options, columns}), clock_(std::move(clock)) {
    const uint32_t symbol = itch_symbol_field();
    if (columns.wants(symbol) || options.partition_field == static_cast<int>(symbol))
      directory_.emplace(Sessions::kMost + 1);
  }

  void open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts);
  void read_packet(EventBatch& batch, LaneCounts& counts);

 private:
  static constexpr uint32_t kNoSession = Sessions::kMost;  // of the directory: files of messages
  static constexpr uint64_t kNoSequence = ~uint64_t{0};

  void open_record(uint32_t i, EventBatch& batch, LaneCounts& counts);
  void take_status(bool ends, EventBatch& batch, LaneCounts& counts);
  void take_message(const uint8_t* at, uint32_t length, uint64_t sequence, EventBatch& batch,
                    LaneCounts& counts);
  int64_t look_up(const uint8_t* at);
  void close(LaneCounts& counts);

  DayClock clock_;
  Sessions sessions_;
  std::optional<ItchDirectory> directory_;  // where some query wants it

  // The open packet, and where in it.
  EventTime arrival_{};
  const uint8_t* session_ = nullptr;
  Sessions::Session* session_state_ = nullptr;
  uint32_t names_ = 0;  // its table of the directory
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t sequence_ = 0;
  uint32_t left_ = 0;     // messages
  bool any_new_ = false;  // a message that was no duplicate
  bool cut_by_capture_ = false;
};

void ItchParser::open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts) {
  if (burst().link[i] == LinkType::kPayload) return open_record(i, batch, counts);
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
  bool is_new = false;
  session_state_ = &sessions_.find(session_, sequence_, counts, is_new);
  names_ = sessions_.index_of(*session_state_);
  if (is_new && directory_) directory_->clear(names_);
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
  clock_.set_arrival(arrival_);
}

// A record of a file: one message, no session and no number.
void ItchParser::open_record(uint32_t i, EventBatch& batch, LaneCounts& counts) {
  if (burst().length[i] < burst().wire_length[i]) {
    counts.drop(DropReason::kTruncated);
    return;
  }
  arrival_ = burst().arrival[i];
  clock_.set_arrival(arrival_);
  session_ = nullptr;
  names_ = kNoSession;
  take_message(reinterpret_cast<const uint8_t*>(burst().data[i]), burst().length[i], kNoSequence,
               batch, counts);
  ++counts.packets_parsed;
}

// A heartbeat or the end of the session names the message that comes next. If nothing before it is
// missing, the feed is caught up with the moment at which it was sent; but another session of the
// lane, of which this one knows nothing, must not still be running.
void ItchParser::take_status(bool ends, EventBatch& batch, LaneCounts& counts) {
  counts.note(ends ? Note::kEndOfSession : Note::kHeartbeat);
  SequenceWindow& window = session_state_->window;
  const bool complete = window.next() == sequence_;
  window.expect(sequence_, counts);
  session_state_->ended = ends;
  if (complete && arrival_.is_point() && sessions_.none_beside(*session_state_))
    mark_progress(batch, arrival_);
  ++counts.packets_parsed;
}

void ItchParser::read_packet(EventBatch& batch, LaneCounts& counts) {
  SequenceWindow& window = session_state_->window;
  // Nearly always all of them are the next ones, and their numbers are taken at once.
  const bool in_order = sequence_ == window.next();
  const uint64_t first = sequence_;
  const uint8_t *at = at_, *const end = end_;
  uint64_t sequence = first;
  uint32_t left = left_;
  while (left > 0 && !is_full(batch)) {
    const auto there = static_cast<uint32_t>(end - at);
    const uint32_t length = there >= 2 ? read_be16(at) : 0;
    if (there < 2 || length > there - 2) {
      // Its sequence number was not taken, so the next packet shows how many were lost here.
      counts.note(cut_by_capture_ ? Note::kTruncatedHeader : Note::kBadLength);
      left = 0;
      any_new_ = true;
      break;
    }
    at += 2;
    if (in_order || window.take(sequence, counts)) {
      any_new_ = true;
      take_message(at, length, sequence, batch, counts);
    }
    at += length;
    ++sequence;
    --left;
  }
  at_ = at;
  sequence_ = sequence;
  left_ = left;
  if (in_order) window.take_next(sequence - first);
  if (left == 0) close(counts);
}

inline void ItchParser::take_message(const uint8_t* at, uint32_t length, uint64_t sequence,
                                     EventBatch& batch, LaneCounts& counts) {
  if (length == 0 || length < kItchLengths[at[0]]) [[unlikely]] {
    const bool known = length > 0 && kItchLengths[at[0]] != kItchUnknown;
    return counts.note(known ? Note::kBadLength : Note::kUnknownMessage);
  }
  const ItchMessage message{at, sequence, session_, directory_ ? look_up(at) : kAbsent};
  const uint64_t stamp = read_be48(at + 5);
  if (clock_.is_usual(stamp)) [[likely]]
    append_usable(clock_.usual_time(stamp), arrival_, message, batch, counts);
  else
    append(clock_.unusual_time(stamp), arrival_, message, batch, counts);
}

// The name of a message's stock. The start of a day's messages (S, event O) forgets all names.
int64_t ItchParser::look_up(const uint8_t* at) {
  const uint16_t locate = read_be16(at + 1);
  if (at[0] == 'R') directory_->set(names_, locate, itch_text(read_be64(at + 11)));
  if (at[0] == 'S' && at[11] == 'O') directory_->clear(names_);
  return directory_->find(names_, locate);
}

void ItchParser::close(LaneCounts& counts) {
  open_ = false;
  if (any_new_)
    ++counts.packets_parsed;
  else
    counts.drop(DropReason::kDuplicate);
}

class ItchFormat final : public Format {
 public:
  explicit ItchFormat(DayClock clock) : clock_(std::move(clock)) {}
  const Schema& schema() const override { return schema_; }
  bool has_marks() const override { return true; }
  std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                      const ColumnMap& columns) const override {
    return std::make_unique<ItchParser>(options, columns, clock_);
  }

 private:
  const Schema schema_ = schema_of<ItchMessage>("itch", itch_fields());
  const DayClock clock_;
};

}  // namespace

absl::StatusOr<FormatPtr> open_itch_format(const FormatOptions& options) {
  absl::StatusOr<Zone> zone = Zone::load(options.zone.empty() ? "America/New_York" : options.zone);
  if (!zone.ok())
    return absl::InvalidArgumentError(
        to_absl("zone: " + std::string(from_absl(zone.status().message()))));
  return std::make_unique<ItchFormat>(DayClock(*std::move(zone), options.date));
}

}  // namespace tidewire
