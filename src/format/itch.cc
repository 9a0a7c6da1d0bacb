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
//
// Order: messages are given as they come, unless datagrams are to wait (reorder_wait). Then one
// that is ahead of its session's next number is held. What is next goes first, then whatever has
// waited for too long behind a number that is given up:
//
//   next 7:   arrives 9-10 (held)   12 (held)   7-8   ->  7-8, 9-10;   12 waits for 11, or goes

#include "format/itch.h"

#include <absl/status/status.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "base/zone.h"
#include "format/bytes.h"
#include "format/datagram.h"
#include "format/held_datagrams.h"
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
  // Null: not known.
  Session* find(const uint8_t* name) {
    const uint64_t head = read_be64(name);
    const uint16_t tail = read_be16(name + 8);
    for (Session& slot : slots_) {
      if (slot.used == 0 || slot.head != head || slot.tail != tail) continue;
      slot.used = ++clock_;
      return &slot;
    }
    return nullptr;
  }
  // The one that makes room for a new one.
  Session& oldest() {
    return *std::min_element(slots_.begin(), slots_.end(),
                             [](const Session& a, const Session& b) { return a.used < b.used; });
  }
  void start(Session& slot, const uint8_t* name, uint64_t sequence, LaneCounts& counts) {
    if (clock_ != 0) counts.note(Note::kSessionChange);
    slot.head = read_be64(name);
    slot.tail = read_be16(name + 8);
    slot.used = ++clock_;
    slot.ended = false;
    slot.window.start(sequence);
  }
  Session& operator[](uint32_t i) { return slots_[i]; }
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

  // Stamps that count from the middle midnight: all times are usable (base/time.h).
  struct Usual {
    EventTime midnight{};
    uint64_t low = 0, span = 0;  // from low on, so many
    bool has(uint64_t since_midnight) const { return since_midnight - low < span; }
    EventTime time_of(uint64_t since_midnight) const {
      return {midnight.ns + static_cast<int64_t>(since_midnight)};
    }
  };

  void set_arrival(EventTime arrival) {
    arrival_ = arrival;
    usual_ = {};
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
  const Usual& usual() const { return usual_; }
  // before_all(): it has none.
  EventTime time_of(uint64_t since_midnight) const {
    if (usual_.has(since_midnight)) return usual_.time_of(since_midnight);
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
    if (low >= high || !is_usable(later(midnight, {low})) || !is_usable(later(midnight, {high})))
      return;
    usual_ = {midnight, static_cast<uint64_t>(low), static_cast<uint64_t>(high - low)};
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
  EventTime arrival_{};
  Usual usual_;
};

class ItchParser final : public MessageParser<ItchParser, ItchMessage> {
 public:
  // `wait`: how long a datagram waits for those before it; 0: not at all.
  ItchParser(const ParserOptions& options, const ColumnMap& columns, DayClock clock, Duration wait)
      : MessageParser(options, {itch_fields(), options, columns}),
        clock_(std::move(clock)),
        wait_(wait) {
    const uint32_t symbol = itch_symbol_field();
    if (columns.wants(symbol) || options.partition_field == static_cast<int>(symbol))
      directory_.emplace(Sessions::kMost + 1);
    if (wait.ns > 0) held_.emplace(Sessions::kMost);
  }

  bool holds_back() const override { return held_ && !held_->empty(); }
  void open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts);
  void read_packet(EventBatch& batch, LaneCounts& counts);
  void open_end() { open_ = ending_ = holds_back(); }

 private:
  using Session = Sessions::Session;
  static constexpr uint32_t kNoSession = Sessions::kMost;  // of the directory: files of messages
  static constexpr uint64_t kNoSequence = ~uint64_t{0};

  // A MoldUDP64 datagram whose header is there.
  struct Mold {
    const uint8_t* at = nullptr;
    const uint8_t* end = nullptr;
    EventTime arrival{};
    bool cut = false;      // the capture ends before the datagram does
    bool counted = false;  // as parsed, when it was put aside
    uint64_t first() const { return read_be64(at + 10); }
    uint32_t count() const { return read_be16(at + 18); }
    bool is_status() const { return count() == kHeartbeat || count() == kEndOfSession; }
  };

  void open_record(uint32_t i, EventBatch& batch, LaneCounts& counts);
  bool start_next(EventBatch& batch, LaneCounts& counts);
  bool wait_or_make_way(uint32_t session, int64_t ahead, EventBatch& batch, LaneCounts& counts);
  bool start_ready(EventBatch& batch, LaneCounts& counts);
  bool start_overdue(EventBatch& batch, LaneCounts& counts);
  void start_lowest(uint32_t session, EventBatch& batch, LaneCounts& counts);
  void start(const Mold& mold, Session& session, EventBatch& batch, LaneCounts& counts);
  void put_aside(uint32_t session);
  void drop_copy(LaneCounts& counts) const;
  // How far a number lies beyond the next one of a session.
  int64_t ahead_of(uint32_t session, uint64_t first) {
    return static_cast<int64_t>(first - sessions_[session].window.next());
  }
  void take_status(bool ends, EventBatch& batch, LaneCounts& counts);
  void read_messages(EventBatch& batch, LaneCounts& counts);
  void read_usual(EventBatch& batch, LaneCounts& counts);
  void take_message(const uint8_t* at, uint32_t length, uint64_t sequence, EventBatch& batch,
                    LaneCounts& counts);
  int64_t look_up(const uint8_t* at);
  void close(LaneCounts& counts);

  DayClock clock_;
  Duration wait_;
  Sessions sessions_;
  std::optional<ItchDirectory> directory_;  // where some query wants it
  std::optional<HeldDatagrams> held_;       // where datagrams wait
  Mold incoming_;                           // the packet that was opened last
  bool is_incoming_ = false;                // it has not been started, nor put aside
  bool ending_ = false;                     // nothing is waited for

  // The datagram that is being read, and where in it.
  Mold mold_;
  Session* session_ = nullptr;
  uint32_t names_ = 0;  // its table of the directory
  const uint8_t* at_ = nullptr;
  uint64_t sequence_ = 0;
  uint32_t left_ = 0;  // messages
  bool is_reading_ = false;
  bool fills_a_gap_ = false;
  bool any_new_ = false;  // a message that was no duplicate
};

void ItchParser::open_packet(uint32_t i, EventBatch& batch, LaneCounts& counts) {
  if (burst().link[i] == LinkType::kPayload) return open_record(i, batch, counts);
  Datagram datagram;
  if (const auto reason = read_datagram(burst(), i, datagram, counts)) {
    counts.drop(*reason);
    return;
  }
  const uint8_t* const mold = datagram.at;
  if (datagram.end - mold < kMoldHeader) {
    counts.drop(DropReason::kTruncated);
    return;
  }
  for (uint32_t c = 0; c < 10; ++c) {
    if (mold[c] < 0x20 || mold[c] > 0x7E) {
      counts.drop(DropReason::kNotThisFormat);
      return;
    }
  }
  incoming_ = {mold, datagram.end, burst().arrival[i], datagram.cut};
  open_ = is_incoming_ = true;
}

void ItchParser::read_packet(EventBatch& batch, LaneCounts& counts) {
  if (is_reading_) read_messages(batch, counts);
  if (is_reading_) return;  // the batch is full
  open_ = start_next(batch, counts);
  if (!open_) ending_ = false;
}

// A record of a file: one message, no session and no number.
void ItchParser::open_record(uint32_t i, EventBatch& batch, LaneCounts& counts) {
  if (burst().length[i] < burst().wire_length[i]) {
    counts.drop(DropReason::kTruncated);
    return;
  }
  mold_ = {.arrival = burst().arrival[i]};
  clock_.set_arrival(mold_.arrival);
  names_ = kNoSession;
  take_message(reinterpret_cast<const uint8_t*>(burst().data[i]), burst().length[i], kNoSequence,
               batch, counts);
  ++counts.packets_parsed;
}

// One datagram after the other: those that are next, the one that came, those that have waited for
// too long. False: nothing is left that could be read now.
bool ItchParser::start_next(EventBatch& batch, LaneCounts& counts) {
  if (holds_back() && start_ready(batch, counts)) return true;
  if (!is_incoming_) return holds_back() && start_overdue(batch, counts);
  Session* session = sessions_.find(incoming_.at);
  if (session == nullptr) {
    session = &sessions_.oldest();
    const uint32_t index = sessions_.index_of(*session);
    if (held_ && held_->any(index)) {  // before it makes room
      start_lowest(index, batch, counts);
      return true;
    }
    sessions_.start(*session, incoming_.at, incoming_.first(), counts);
    if (directory_) directory_->clear(index);
  }
  if (held_) {
    const uint32_t index = sessions_.index_of(*session);
    const int64_t ahead = ahead_of(index, incoming_.first());
    if (wait_or_make_way(index, ahead, batch, counts)) return true;
    fills_a_gap_ = held_->any(index);
  }
  is_incoming_ = false;
  start(incoming_, *session, batch, counts);
  return true;
}

// False: the datagram that came is read now. Else it was put aside, or was a copy of one that is
// there, or another one goes first.
bool ItchParser::wait_or_make_way(uint32_t session, int64_t ahead, EventBatch& batch,
                                  LaneCounts& counts) {
  const bool restarts = SequenceWindow::is_restart(ahead);
  if (ahead <= 0 && !restarts) return false;
  const bool fits = incoming_.end - incoming_.at <= HeldDatagrams::kBytes;
  if (!restarts && fits) {
    const bool is_copy = held_->has(session, incoming_.first(), incoming_.count());
    if (is_copy || !held_->full()) {
      is_incoming_ = false;
      is_copy ? drop_copy(counts) : put_aside(session);
      counts.packets_parsed += is_copy ? 0 : 1;
      return true;
    }
  }
  if (held_->any(session)) {
    start_lowest(session, batch, counts);
    return true;
  }
  if (restarts || !fits) return false;
  uint32_t other = 0;  // all room is that of other sessions
  while (!held_->any(other)) ++other;
  start_lowest(other, batch, counts);
  return true;
}

void ItchParser::put_aside(uint32_t session) {
  HeldDatagrams::Datagram& held =
      held_->put(session, incoming_.first(), {incoming_.at, incoming_.end});
  held.count = incoming_.count();
  held.cut = incoming_.cut;
  held.arrival = incoming_.arrival;
}

void ItchParser::drop_copy(LaneCounts& counts) const {
  // As many messages as it can hold: its count may lie.
  const auto bytes = static_cast<uint32_t>(incoming_.end - incoming_.at - kMoldHeader);
  if (!incoming_.is_status())
    counts.note(Note::kDuplicateMessage, std::min(incoming_.count(), bytes / 2));
  counts.drop(DropReason::kDuplicate);
}

bool ItchParser::start_ready(EventBatch& batch, LaneCounts& counts) {
  for (uint32_t s = 0; s < Sessions::kMost; ++s) {
    if (!held_->any(s) || ahead_of(s, held_->lowest(s).first) > 0) continue;
    start_lowest(s, batch, counts);
    return true;
  }
  return false;
}

bool ItchParser::start_overdue(EventBatch& batch, LaneCounts& counts) {
  for (uint32_t s = 0; s < Sessions::kMost; ++s) {
    if (!held_->any(s)) continue;
    const EventTime since = held_->since(s), now = incoming_.arrival;
    const bool overdue = now.is_point() && since.is_point() && now >= later(since, wait_);
    if (!ending_ && !overdue) continue;
    start_lowest(s, batch, counts);
    return true;
  }
  return false;
}

void ItchParser::start_lowest(uint32_t session, EventBatch& batch, LaneCounts& counts) {
  const HeldDatagrams::Datagram& held = held_->take_lowest(session);
  fills_a_gap_ = false;
  start({held.bytes.data(), held.end(), held.arrival, held.cut, true}, sessions_[session], batch,
        counts);
}

void ItchParser::start(const Mold& mold, Session& session, EventBatch& batch, LaneCounts& counts) {
  mold_ = mold;
  session_ = &session;
  names_ = sessions_.index_of(session);
  sequence_ = mold.first();
  if (mold.is_status()) return take_status(mold.count() == kEndOfSession, batch, counts);
  session.ended = false;
  at_ = mold.at + kMoldHeader;
  left_ = mold.count();
  any_new_ = false;
  is_reading_ = true;
  clock_.set_arrival(mold.arrival);
}

// A heartbeat or the end of the session names the message that comes next. If nothing before it is
// missing, the feed is caught up with the moment at which it was sent; but another session of the
// lane, of which this one knows nothing, must not still be running.
void ItchParser::take_status(bool ends, EventBatch& batch, LaneCounts& counts) {
  counts.note(ends ? Note::kEndOfSession : Note::kHeartbeat);
  SequenceWindow& window = session_->window;
  const bool complete = window.next() == sequence_ && !(held_ && held_->any(names_));
  window.expect(sequence_, counts);
  session_->ended = ends;
  if (complete && mold_.arrival.is_point() && sessions_.none_beside(*session_))
    mark_progress(batch, mold_.arrival);
  if (!mold_.counted) ++counts.packets_parsed;
}

void ItchParser::read_messages(EventBatch& batch, LaneCounts& counts) {
  SequenceWindow& window = session_->window;
  // Nearly always all of them are the next ones, and their numbers are taken at once.
  const bool in_order = sequence_ == window.next();
  const uint64_t first = sequence_;
  if (in_order) read_usual(batch, counts);
  const uint8_t *at = at_, *const end = mold_.end;
  uint64_t sequence = sequence_;
  uint32_t left = left_;
  any_new_ |= sequence != first;
  while (left > 0 && !is_full(batch)) {
    const auto there = static_cast<uint32_t>(end - at);
    const uint32_t length = there >= 2 ? read_be16(at) : 0;
    if (there < 2 || length > there - 2) {
      // Its sequence number was not taken, so the next packet shows how many were lost here.
      counts.note(mold_.cut ? Note::kTruncatedHeader : Note::kBadLength);
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
  if (in_order) {
    window.take_next(sequence - first);
    if (fills_a_gap_) counts.note(Note::kReordered, sequence - first);
  }
  if (left == 0) close(counts);
}

// The messages that are all that one expects: known, whole, with a stamp of the usual day. Stops
// before the first that is not.
inline void ItchParser::read_usual(EventBatch& batch, LaneCounts& counts) {
  const uint8_t *at = at_, *const end = mold_.end, *const session = mold_.at;
  const auto& lengths = kItchLengths;
  const DayClock::Usual usual = clock_.usual();
  const bool is_named = directory_.has_value();
  uint64_t sequence = sequence_;
  uint32_t left = left_;
  append_usable(mold_.arrival, batch, counts, [&](EventTime& time, ItchMessage& message) {
    if (left == 0 || end - at < 2 + kItchLeast) return false;
    const uint32_t length = read_be16(at);
    const uint8_t* const m = at + 2;
    if (length > end - m || length < lengths[m[0]]) return false;
    const uint64_t stamp = itch_stamp(m);
    if (!usual.has(stamp)) return false;
    time = usual.time_of(stamp);
    message = {m, sequence, session, is_named ? look_up(m) : kAbsent};
    at = m + length;
    ++sequence;
    --left;
    return true;
  });
  at_ = at;
  sequence_ = sequence;
  left_ = left;
}

void ItchParser::take_message(const uint8_t* at, uint32_t length, uint64_t sequence,
                              EventBatch& batch, LaneCounts& counts) {
  if (length == 0 || length < kItchLengths[at[0]]) [[unlikely]] {
    const bool known = length > 0 && kItchLengths[at[0]] != kItchUnknown;
    return counts.note(known ? Note::kBadLength : Note::kUnknownMessage);
  }
  append(clock_.time_of(itch_stamp(at)), mold_.arrival,
         {at, sequence, mold_.at, directory_ ? look_up(at) : kAbsent}, batch, counts);
}

// The name of a message's stock. The start of a day's messages (S, event O) forgets all names.
int64_t ItchParser::look_up(const uint8_t* at) {
  const uint16_t locate = read_be16(at + 1);
  if (at[0] == 'R') directory_->set(names_, locate, itch_text(read_be64(at + 11)));
  if (at[0] == 'S' && at[11] == 'O') directory_->clear(names_);
  return directory_->find(names_, locate);
}

void ItchParser::close(LaneCounts& counts) {
  is_reading_ = false;
  if (mold_.counted) return;
  if (any_new_)
    ++counts.packets_parsed;
  else
    counts.drop(DropReason::kDuplicate);
}

class ItchFormat final : public Format {
 public:
  ItchFormat(DayClock clock, Duration wait) : clock_(std::move(clock)), wait_(wait) {}
  const Schema& schema() const override { return schema_; }
  bool has_marks() const override { return true; }
  FileRecords records() const override { return FileRecords::kMessages; }
  std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                      const ColumnMap& columns) const override {
    return std::make_unique<ItchParser>(options, columns, clock_, wait_);
  }

 private:
  const Schema schema_ = schema_of<ItchMessage>("itch", itch_fields());
  const DayClock clock_;
  const Duration wait_;
};

}  // namespace

absl::StatusOr<FormatPtr> open_itch_format(const FormatOptions& options) {
  absl::StatusOr<Zone> zone = Zone::load(options.zone.empty() ? "America/New_York" : options.zone);
  if (!zone.ok())
    return absl::InvalidArgumentError(
        to_absl("zone: " + std::string(from_absl(zone.status().message()))));
  return std::make_unique<ItchFormat>(DayClock(*std::move(zone), options.date),
                                      options.reorder_wait);
}

}  // namespace tidewire
