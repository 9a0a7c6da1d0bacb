#include "channels.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "line.h"
#include "watermark/frontier.h"
#include "watermark/lane.h"

namespace tidewire::conformance {
namespace {

struct Token {
  enum class Kind : uint8_t { kWatermark, kIdle, kActive } kind = Kind::kWatermark;
  size_t channel = 0;
  int64_t time = 0;  // Flink's
};

std::optional<Token> parse_token(std::string_view text, size_t channels) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto channel = parse_number(text.substr(0, colon));
  if (!channel || *channel < 0 || static_cast<size_t>(*channel) >= channels) return std::nullopt;
  Token token;
  token.channel = static_cast<size_t>(*channel);
  const std::string_view what = text.substr(colon + 1);
  if (what == "idle") {
    token.kind = Token::Kind::kIdle;
  } else if (what == "active") {
    token.kind = Token::Kind::kActive;
  } else {
    const auto time = parse_number(what);
    if (!time) return std::nullopt;
    token.time = *time;
  }
  return token;
}

// What goes downstream: watermarks that rise, and changes of status.
class Output {
 public:
  void watermark(int64_t time) {
    if (time <= last_) return;
    last_ = time;
    say(time == INT64_MAX ? "MAX" : std::to_string(time));
  }
  void status(bool idle) {
    if (idle != idle_) say(idle ? "IDLE" : "ACTIVE");
    idle_ = idle;
  }
  void silently(bool idle) { idle_ = idle; }
  int64_t last() const { return last_; }
  const std::string& text() const { return text_; }

 private:
  void say(const std::string& word) { text_ += (text_.empty() ? "" : "; ") + word; }
  std::string text_;
  int64_t last_ = INT64_MIN;
  bool idle_ = false;
};

// ---------------------------------------------------------------- the real code
constexpr EventTime kTop{INT64_MAX - 1};  // MAX

EventTime ours(int64_t time) { return time >= kTop.ns - 1 ? kTop : EventTime{time + 1}; }
int64_t flinks(EventTime watermark) {
  if (watermark == EventTime::before_all()) return INT64_MIN;
  return watermark >= kTop ? INT64_MAX : watermark.ns - 1;
}

// Channels as the lanes of a worker.
class Lanes {
 public:
  explicit Lanes(size_t channels) : trackers_(channels) {
    for (PartitionTracker& tracker : trackers_)
      lanes_.push_back(std::make_unique<Lane>(LaneOptions{}, std::span(&tracker, 1)));
  }
  bool idle(size_t c) const { return lanes_[c]->silent(); }
  bool rises(size_t c, int64_t time) const { return ours(time) > lanes_[c]->frontier(); }
  void silence(size_t c) {
    lanes_[c]->punctuate({.watermark = EventTime::before_all(), .why = Punctuation::Why::kSilent});
  }
  void wake(size_t c) {
    lanes_[c]->punctuate({.watermark = frontier_, .why = Punctuation::Why::kReturned});
  }
  void lift(size_t c, int64_t time) {
    lanes_[c]->punctuate({.watermark = ours(time), .why = Punctuation::Why::kOperator});
  }
  // As the workers keep G: the maximum with what it was.
  Progress combine() {
    Combined combined;
    for (const auto& lane : lanes_) combined.take(progress_of(*lane));
    frontier_ = std::max(frontier_, combined.result().frontier());
    return {combined.result().state, frontier_};
  }

 private:
  std::vector<PartitionTracker> trackers_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  EventTime frontier_ = EventTime::before_all();
};

std::string play_lanes(bool is_valve, size_t channels, const std::vector<Token>& script) {
  Lanes lanes(channels);
  Output out;
  for (const Token& token : script) {
    const size_t c = token.channel;
    switch (token.kind) {
      case Token::Kind::kWatermark: {
        if (is_valve && lanes.idle(c)) continue;
        const bool rises = lanes.rises(c, token.time);
        if (lanes.idle(c)) lanes.wake(c);
        lanes.lift(c, token.time);
        const Progress progress = lanes.combine();
        out.watermark(flinks(progress.watermark));
        if (rises) out.silently(progress.state == Progress::State::kSilent);
        continue;
      }
      case Token::Kind::kIdle:
        lanes.silence(c);
        break;
      case Token::Kind::kActive:
        if (lanes.idle(c)) lanes.wake(c);
        break;
    }
    const Progress progress = lanes.combine();
    out.watermark(flinks(progress.watermark));
    out.status(progress.state == Progress::State::kSilent);
  }
  return out.text();
}

// Splits as the partitions of one lane. Idleness is lane time, so the script is given one: who is
// active is heard at every step by an event that moves nothing (far ahead), time passes by one that
// leaves no trace (before min_time, dropped), and watermarks come without a stamp.
class Splits {
 public:
  explicit Splits(size_t channels) : trackers_(channels), idle_(channels) {
    LaneOptions options;
    options.idle_after = {10};
    options.max_ahead = {0};
    options.min_time = EventTime{INT64_MIN + 2};
    options.before_min_time = GuardPolicy::kDrop;
    options.max_partitions = static_cast<uint32_t>(channels);
    lane_ = std::make_unique<Lane>(options, trackers_);
    hear_active();
  }
  bool idle(size_t c) const { return idle_[c]; }
  void silence(size_t c) {
    idle_[c] = true;
    now_ += 6;
    hear_active();
    now_ += 6;  // 12 without a word of c, 6 of the others
    event(0, EventTime{INT64_MIN + 1}, EventTime{now_});
    hear_active();
  }
  void wake(size_t c) {
    idle_[c] = false;
    hear(c);
  }
  void lift(size_t c, int64_t time) {
    idle_[c] = false;
    event(c, ours(time), EventTime::before_all());
    hear(c);
  }
  EventTime frontier() const { return lane_->frontier(); }
  bool all_idle() const { return lane_->holder() == Lane::kNobody; }

 private:
  void hear(size_t c) { event(c, kTop, EventTime{now_}); }
  void hear_active() {
    for (size_t c = 0; c < idle_.size(); ++c)
      if (!idle_[c]) hear(c);
  }
  void event(size_t c, EventTime time, EventTime arrival) {
    batch_->count = 1;
    batch_->time[0] = time;
    batch_->arrival[0] = arrival;
    batch_->partition[0] = PartitionId{static_cast<uint32_t>(c)};
    lane_->stamp(*batch_, counts_);
  }
  std::vector<PartitionTracker> trackers_;
  std::vector<bool> idle_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  LaneCounts counts_;
  int64_t now_ = 0;
};

// A source says IDLE when all its splits are, and ACTIVE only with a higher watermark
// (event-time.md 1.4, 1.5).
std::string play_splits(size_t channels, const std::vector<Token>& script) {
  Splits splits(channels);
  Output out;
  for (const Token& token : script) {
    switch (token.kind) {
      case Token::Kind::kWatermark:
        splits.lift(token.channel, token.time);
        break;
      case Token::Kind::kIdle:
        if (!splits.idle(token.channel)) splits.silence(token.channel);
        break;
      case Token::Kind::kActive:
        if (splits.idle(token.channel)) splits.wake(token.channel);
        break;
    }
    const int64_t frontier = flinks(splits.frontier());
    if (frontier > out.last()) out.status(false);
    out.watermark(frontier);
    if (token.kind == Token::Kind::kIdle && splits.all_idle()) out.status(true);
  }
  return out.text();
}

// ---------------------------------------------------------------- two rules for a valve, modelled
struct Channel {
  int64_t watermark = INT64_MIN;
  bool idle = false, aligned = true;  // aligned: counts in the minimum
};

// `waits`: for a channel that has returned behind (the combiner's rule); else the valve's, as
// released or as fixed by FLINK-40475 (event-time.md 1.6).
class ValveModel {
 public:
  ValveModel(size_t channels, bool waits, bool fixed)
      : channels_(channels), waits_(waits), fixed_(fixed) {}

  std::string play(const std::vector<Token>& script) {
    for (const Token& token : script) {
      Channel& c = channels_[token.channel];
      switch (token.kind) {
        case Token::Kind::kWatermark:
          if (c.idle || token.time <= c.watermark) break;
          c.watermark = token.time;
          if (token.time >= out_.last()) c.aligned = true;
          minimum();
          break;
        case Token::Kind::kIdle:
          if (!c.idle) turn_idle(c);
          break;
        case Token::Kind::kActive:
          if (c.idle) turn_active(c);
          break;
      }
    }
    return out_.text();
  }

 private:
  void turn_idle(Channel& c) {
    c.idle = true;
    const bool held = c.watermark == out_.last();
    const bool all = std::all_of(channels_.begin(), channels_.end(),
                                 [](const Channel& each) { return each.idle; });
    if (!all) {
      if (held || waits_) minimum();
      return;
    }
    int64_t largest = INT64_MIN;
    for (const Channel& each : channels_) largest = std::max(largest, each.watermark);
    if (held || fixed_ || waits_) out_.watermark(largest);
    out_.status(true);
  }
  void turn_active(Channel& c) {
    c.idle = false;
    c.aligned = waits_ || c.watermark >= out_.last();
    out_.status(false);
    if (fixed_) minimum();
  }
  void minimum() {
    std::optional<int64_t> least;
    for (const Channel& each : channels_)
      if (!each.idle && each.aligned) least = std::min(least.value_or(INT64_MAX), each.watermark);
    if (least) out_.watermark(*least);
  }
  std::vector<Channel> channels_;
  bool waits_, fixed_;
  Output out_;
};

}  // namespace

bool is_channels(std::string_view name) {
  return name == "valve" || name == "valve-fixed" || name == "comb" || name == "split";
}

std::optional<std::string> play_channels(std::string_view name, size_t channels,
                                         const std::vector<std::string>& script,
                                         std::string& reason) {
  CHECK(is_channels(name));
  reason.clear();
  std::vector<Token> tokens;
  for (const std::string& text : script) {
    const auto token = parse_token(text, channels);
    if (!token) return "cannot read " + text;
    tokens.push_back(*token);
  }
  if (channels == 0) return "no channels";
  if (name == "split") return play_splits(channels, tokens);
  const bool is_valve = name != "comb";
  if (is_valve && ValveModel(channels, false, name == "valve-fixed").play(tokens) !=
                      ValveModel(channels, true, false).play(tokens)) {
    reason = "a channel that returned behind is not waited for by a valve, and is by a combiner";
    return std::nullopt;
  }
  return play_lanes(is_valve, channels, tokens);
}

}  // namespace tidewire::conformance
