// The hot rooms one by one, over input made beforehand, for bench/gate/run to count instructions
// in: no clock, one thread, the same work each time. What is counted is what gate_measured() runs,
// a second pass: the first one makes keys known and gives results their digest.
//
//   gate_rooms           who compiled it, then the names
//   gate_rooms ROOM      ROOM EVENTS RESULTS DIGEST
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "egress/egress.h"
#include "format/catalog.h"
#include "itch_builder.h"
#include "packet_builder.h"
#include "pipeline/exchange.h"
#include "pipeline/select.h"
#include "watermark/lane.h"
#include "window/store.h"

namespace tidewire {
namespace {

constexpr size_t kBatches = 64;  // a pass; valgrind is slow
constexpr size_t kEvents = kBatches * kBatchMax;
constexpr int64_t kBegin = 1'572'442'200 * kSecond;

class Room {
 public:
  virtual ~Room() = default;
  virtual void prepare() {}  // before each pass
  virtual void pass() = 0;   // the same number of events each time
  uint64_t events = kEvents, results = 0, digest = 0;
  bool looks = true;  // into what it gives; not where it is counted

 protected:
  void look(const void* words, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      uint64_t word;
      std::memcpy(&word, static_cast<const char*>(words) + 8 * i, 8);
      digest = mix_words(digest, word, HashSeed{});
    }
  }
};

// ---------------------------------------------------------------- format

class Parse final : public Room {
 public:
  using Make = std::function<test::Bytes(Rng&)>;
  Parse(const char* format, const std::vector<std::string>& fields, uint64_t events_a_packet,
        const Make& make) {
    format_ = *open_format(format);
    const Schema& known = format_->schema();
    ColumnMap map;
    for (const std::string& name : fields) {
      const auto field = static_cast<size_t>(known.find(name));
      map.column[field] = static_cast<uint8_t>(map.used);
      map.used += known.fields[field].words;
    }
    columns_ = map.used;
    parser_ = format_->make_parser({}, map);
    Rng rng(1);
    for (size_t i = 0; i < 2 * kEvents / events_a_packet; ++i) packets_.push_back(make(rng));
    events = packets_.size() / 2 * events_a_packet;
    burst_.link.fill(LinkType::kEthernet);
    burst_.interface.fill(0);
  }
  void pass() override {
    for (const size_t end = at_ + packets_.size() / 2; at_ < end;) {
      burst_.count = static_cast<uint32_t>(std::min<size_t>(kBurstMax, end - at_));
      for (uint32_t i = 0; i < burst_.count; ++i, ++at_) {
        burst_.data[i] = reinterpret_cast<const std::byte*>(packets_[at_].data());
        burst_.length[i] = burst_.wire_length[i] = static_cast<uint32_t>(packets_[at_].size());
        burst_.arrival[i] = EventTime{kBegin + static_cast<int64_t>(at_)};
      }
      parser_->begin(burst_);
      while (parser_->next(*batch_, counts_)) take();
      take();
    }
  }

 private:
  void take() {
    if (!looks) return;
    results += batch_->count;
    for (uint32_t c = 0; c < columns_; ++c) look(batch_->column[c].data(), batch_->count);
  }
  uint32_t columns_ = 0;
  size_t at_ = 0;
  std::vector<test::Bytes> packets_;
  FormatPtr format_;
  std::unique_ptr<Parser> parser_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  Burst burst_;
  LaneCounts counts_;
};

std::unique_ptr<Room> parse_packet() {
  return std::make_unique<Parse>(
      "packet",
      std::vector<std::string>{"src", "dst", "src_port", "dst_port", "protocol", "wire_length"}, 1,
      [](Rng& rng) {
        return test::PacketBuilder()
            .ethernet()
            .ipv4(static_cast<uint32_t>(rng.next()), static_cast<uint32_t>(rng.next()))
            .udp(static_cast<uint32_t>(rng.below(65536)), 53, 12)
            .finish(64);
      });
}

std::unique_ptr<Room> parse_itch() {
  constexpr uint64_t kMessages = 32;
  return std::make_unique<Parse>(
      "itch", std::vector<std::string>{"stock", "price", "shares"}, kMessages,
      [sequence = uint64_t{1}](Rng& rng) mutable {
        std::vector<test::ItchMessage> list;
        for (uint64_t i = 0; i < kMessages; ++i)
          list.push_back(test::add_order(34'200'000'000'000 + sequence + i, rng.next() >> 1, 'B',
                                         100, "MSFT", 100'000));
        const test::Bytes frame = test::mold_frame("SESSION", sequence, list);
        sequence += kMessages;
        return frame;
      });
}

// ---------------------------------------------------------------- watermark

class Stamp final : public Room {
 public:
  explicit Stamp(uint32_t partitions)
      : trackers_(partitions),
        offences_(partitions),
        lane_({.bound = {100 * kMillisecond},
               .idle_after = {60 * kSecond},
               .max_ahead = {60 * kSecond},
               .max_partitions = partitions},
              trackers_, &record_) {
    record_.offences = offences_;
    Rng rng(42);
    for (size_t b = 0; b < 2 * kBatches; ++b) {
      EventBatch& batch = *batches_.emplace_back(std::make_unique<EventBatch>());
      batch.count = kBatchMax;
      for (uint32_t i = 0; i < kBatchMax; ++i) {
        now_ += 100 * kMicrosecond;
        batch.arrival[i] = {now_};
        batch.time[i] = {now_ - static_cast<int64_t>(rng.below(100 * kMillisecond))};
        batch.partition[i] = PartitionId{static_cast<uint32_t>(rng.below(partitions))};
      }
    }
  }
  void pass() override {
    for (const size_t end = at_ + kBatches; at_ < end; ++at_) {
      EventBatch& batch = *batches_[at_];
      lane_.stamp(batch, counts_);
      if (!looks) continue;
      results += batch.count;
      look(batch.stamp.data(), batch.count);
    }
  }

 private:
  int64_t now_ = kBegin;
  size_t at_ = 0;
  std::vector<std::unique_ptr<EventBatch>> batches_;
  std::vector<PartitionTracker> trackers_;
  std::vector<GuardCounts> offences_;
  LaneRecord record_;
  LaneCounts counts_;
  Lane lane_;
};

// ---------------------------------------------------------------- pipeline

// Two words of key, half of the rows left out.
class Select final : public Room {
 public:
  Select() {
    plan_.key_words = 2;
    plan_.key = {{.column = 1}, {.column = 2}};
    plan_.values = {0};
    plan_.where = {{.op = PredicateStep::Op::kRange, .column = 0, .low = 0, .high = 49}};
    Rng rng(42);
    batch_->count = kBatchMax;
    for (uint32_t i = 0; i < kBatchMax; ++i) {
      batch_->column[0][i] = static_cast<int64_t>(rng.below(100));
      for (const uint32_t c : {1, 2}) batch_->column[c][i] = static_cast<int64_t>(rng.next());
    }
  }
  void pass() override {
    for (size_t b = 0; b < kBatches; ++b) {
      const Rows rows = select(plan_, *batch_, *scratch_);
      if (!looks) continue;
      results += rows.count;
      look(rows.hash, rows.count);
    }
  }

 private:
  Plan plan_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  std::unique_ptr<SelectScratch> scratch_ = std::make_unique<SelectScratch>();
};

// Stamped rows of keys in disorder, as select() gives them; two passes of them.
class Batches {
 public:
  Batches(const Plan& plan, uint64_t keys, int64_t step, int64_t disorder, uint64_t late) {
    Rng rng(42);
    int64_t watermark = INT64_MIN, now = kBegin;
    for (size_t b = 0; b < 2 * kBatches; ++b) {
      One& one = *batches_.emplace_back(std::make_unique<One>());
      Rows& rows = one.rows;
      rows.count = kBatchMax;
      rows.first = Ordinal{b * kBatchMax};
      rows.min_time = EventTime::end_of_time();
      rows.max_time = EventTime::before_all();
      for (uint32_t i = 0; i < kBatchMax; ++i, now += step) {
        one.time[i] = {now - static_cast<int64_t>(rng.below(static_cast<uint64_t>(disorder)))};
        if (late > 0 && rng.one_in(late)) one.time[i].ns -= disorder + kSecond;
        rows.min_time = std::min(rows.min_time, one.time[i]);
        rows.max_time = std::max(rows.max_time, one.time[i]);
        one.stamp[i] = {watermark};
        watermark = std::max(watermark, one.time[i].ns - disorder);
        one.key[i] = static_cast<int64_t>(Rng(rng.below(keys)).next());
        one.value[i] = static_cast<int64_t>(rng.below(2001)) - 1000;
        one.hash[i] = hash_words<1>(&one.key[i], plan.seed);
      }
      rows.max_stamp = {watermark};
      rows.time = one.time.data();
      rows.stamp = one.stamp.data();
      rows.hash = one.hash.data();
      rows.key[0] = one.key.data();
      rows.value[0] = one.value.data();
    }
  }
  const Rows& operator[](size_t i) const { return batches_[i]->rows; }

 private:
  struct One {
    Rows rows;
    alignas(64) std::array<EventTime, kBatchMax> time, stamp;
    alignas(64) std::array<uint64_t, kBatchMax> hash;
    alignas(64) std::array<int64_t, kBatchMax> key, value;
  };
  std::vector<std::unique_ptr<One>> batches_;
};

// Is only asked in which of two forms rows may cross.
class Form final : public WindowStore {
 public:
  explicit Form(bool narrow) : narrow_(narrow) {}
  bool bounds_suffice(const Rows&) const override { return narrow_; }
  void add(const Rows&) override {}
  void divert(const Rows&, LateReason) override {}
  bool has_room() const override { return true; }
  uint32_t fire(EventTime, EventTime, uint32_t, ResultWriter&) override { return 0; }
  std::optional<EventTime> next(EventTime) const override { return std::nullopt; }
  void begin_provisional() override {}
  uint32_t provisional(uint32_t, ResultWriter&) override { return 0; }
  bool is_showing() const override { return false; }
  StoreCounts counts() const override { return {}; }
  StoreUse use() const override { return {}; }

 private:
  bool narrow_;
};

// Half of the rows are the other worker's: sent, and taken there.
class Crossing final : public Room {
 public:
  explicit Crossing(bool narrow) : form_(narrow), batches_(plans_[0], 1000, kMicrosecond, 1, 0) {
    Arena* const arenas[] = {&arena_, &arena_};
    fabric_ = std::make_unique<ExchangeFabric>(plans_, arenas);
    const std::vector<Progress> start(2, {Progress::State::kHolds, EventTime::before_all()});
    for (uint32_t w = 0; w < 2; ++w)
      ends_.push_back(std::make_unique<Exchange>(*fabric_, w, plans_, start, arena_));
  }
  void pass() override {
    for (const size_t end = at_ + kBatches; at_ < end; ++at_) {
      const Rows& rows = batches_[at_];
      see(ends_[0]->route(plans_[0], rows, form_));
      ends_[0]->publish({Progress::State::kHolds, rows.max_stamp}, false);
      ends_[1]->take(
          1024, [] { return true; }, [&](QueryId, const Rows& taken) { see(taken); });
    }
  }

 private:
  static std::vector<Plan> plans() {
    Plan plan;
    plan.key_words = 1;
    plan.values = {0};
    plan.shards = 16;
    return {plan};
  }
  void see(const Rows& rows) {
    if (!looks) return;
    results += rows.count;
    look(rows.hash, rows.count);
    look(rows.value[0], rows.count);
  }
  Form form_;
  std::vector<Plan> plans_ = plans();
  Batches batches_;
  size_t at_ = 0;
  Arena arena_{{}};
  std::unique_ptr<ExchangeFabric> fabric_;
  std::vector<std::unique_ptr<Exchange>> ends_;
};

// ---------------------------------------------------------------- window and egress

struct StoreCase {
  WindowKind kind = WindowKind::kTumbling;
  uint64_t keys = 1000;
  int64_t step = 0;
  int64_t lateness = 0;
  uint64_t late = 0;  // one row in so many
};

Plan plan_of(const StoreCase& c) {
  Plan plan;
  plan.name = "gate";
  plan.lanes = {LaneId{0}};
  plan.key_words = 1;
  plan.key_fields.resize(1);
  plan.key_fields[0].name = "key";
  plan.key_fields[0].words = 1;
  plan.values = {0};
  plan.window.kind = c.kind;
  plan.window.slide = {kSecond};
  plan.window.size = {c.kind == WindowKind::kSliding ? 10 * kSecond : kSecond};
  plan.window.gap = {230 * kMillisecond};
  plan.window.lateness = {c.lateness};
  while (c.keys / plan.shards > 512) plan.shards *= 2;
  plan.max_keys = c.keys;
  plan.max_panes = 24;
  plan.max_sessions = c.keys / 4 + 8192;
  plan.max_deferred = 4096;
  plan.max_changes = c.lateness > 0 ? 65'536 : 0;
  const std::array<std::pair<const char*, OutputOp>, 4> outputs{{{"count", OutputOp::kCount},
                                                                 {"sum", OutputOp::kSum},
                                                                 {"min", OutputOp::kMin},
                                                                 {"max", OutputOp::kMax}}};
  for (const auto& [name, op] : outputs) {
    Output output;
    output.name = name;
    output.op = op;
    output.word = static_cast<uint16_t>(plan.outputs.size());
    plan.outputs.push_back(output);
  }
  return plan;
}

class Store : public Room {
 public:
  explicit Store(const StoreCase& c)
      : plan_(plan_of(c)), batches_(plan_, c.keys, c.step, 100 * kMillisecond, c.late) {
    store_ = make_store(plan_, {0, plan_.shards}, arena_);
    ring_.blocks.adopt(arena_.take<ResultBlock>(256, "results"));
  }
  void pass() override {
    for (const size_t end = at_ + kBatches; at_ < end; ++at_) {
      const Rows& rows = batches_[at_];
      store_->add(rows);
      store_->fire(rows.max_stamp, rows.max_stamp, 512, out_);
      out_.close();
      empty();
    }
    if (!looks) return;
    const StoreCounts counts = store_->counts();  // of a pass in which nothing closes, all there is
    results += counts.natural;
    look(&counts.natural, 1);
  }

 protected:
  void empty() {
    for (; const ResultBlock* block = ring_.blocks.front(); ring_.blocks.pop()) {
      if (!looks) continue;
      results += block->rows;
      look(block->bytes.data(), block->used / 8);
    }
  }
  Plan plan_;
  Batches batches_;
  size_t at_ = 0;
  Arena arena_{{}};
  std::unique_ptr<WindowStore> store_;
  ResultRing ring_;
  ResultWriter out_{ring_};
};

// A window of some 8,000 keys leaves the store, and nothing else happens. An event is a result
// here.
class Fire : public Store {
 public:
  Fire() : Store({.keys = 10'000, .step = kMicrosecond}) {}
  void prepare() override {
    // Each pass has a window of its own, with the same rows in it.
    Rows rows;
    std::array<EventTime, kBatchMax> time;
    for (size_t b = 0; b < kBatches; ++b) {
      rows = batches_[b];
      for (uint32_t i = 0; i < kBatchMax; ++i) time[i] = later(rows.time[i], shift_);
      std::array<EventTime, kBatchMax> stamp;
      stamp.fill({kBegin + shift_.ns - kSecond});
      rows.time = time.data();
      rows.stamp = stamp.data();
      rows.min_time = later(rows.min_time, shift_);
      rows.max_time = later(rows.max_time, shift_);
      rows.max_stamp = stamp[0];
      store_->add(rows);
    }
    end_ = {kBegin + shift_.ns + 5 * kSecond};
    shift_.ns += 10 * kSecond;
  }
  void pass() override {
    fire();
    empty();
    events = results;
  }

 protected:
  void fire() {
    while (store_->fire(end_, end_, 512, out_) > 0) {
    }
    out_.close();
  }
  Duration shift_{};
  EventTime end_;
};

// Such a window through egress to text or bytes.
class Encode final : public Fire {
 public:
  explicit Encode(Encoding encoding) : sink_(*this) {
    SinkBinding binding;
    binding.sink = &sink_;
    binding.encoding = encoding;
    binding.queries = {QueryId{0}};
    egress_ = std::make_unique<Egress>(EgressOptions{.system_name = "gate"},
                                       std::vector<const Plan*>{&plan_},
                                       std::vector<ResultRing*>{&ring_}, std::vector{binding});
  }
  void prepare() override {
    Fire::prepare();
    fire();
    out_.publish_fired(end_);
  }
  void pass() override {
    while (egress_->emitted() < end_) egress_->step();
    egress_->flush();
    events = results;
  }

 private:
  struct Taker final : Sink {
    explicit Taker(Encode& owner) : room(owner) {}
    void send(const Records& records) override {
      if (!room.looks) return;
      room.results += records.ends.size();
      room.look(records.bytes.data(), records.bytes.size() / 8);
    }
    void flush() override {}
    void sample(SinkCounters&) const override {}
    Encode& room;
  };
  Taker sink_;
  std::unique_ptr<Egress> egress_;
};

template <class R, auto... arguments>
std::unique_ptr<Room> make() {
  return std::make_unique<R>(arguments...);
}

std::unique_ptr<Room> store(const StoreCase& c) { return std::make_unique<Store>(c); }

struct Named {
  const char* name;
  std::unique_ptr<Room> (*make)();
};
// A pass of steps of 400 us is 6.5 s long: windows close in it.
constexpr std::array kRooms{
    Named{"parse-packet", parse_packet},
    Named{"parse-itch-message", parse_itch},
    Named{"stamp-1-partition", make<Stamp, 1u>},
    Named{"stamp-64-partitions", make<Stamp, 64u>},
    Named{"select-and-hash", make<Select>},
    Named{"add-tumbling", [] { return store({.step = 250}); }},
    Named{"add-sliding",
          [] { return store({.kind = WindowKind::kSliding, .step = 400 * kMicrosecond}); }},
    Named{"add-session",
          [] {
            return store({.kind = WindowKind::kSession, .keys = 250, .step = 400 * kMicrosecond});
          }},
    Named{
        "add-late",
        [] { return store({.step = 400 * kMicrosecond, .lateness = 10 * kSecond, .late = 100}); }},
    Named{"fire-result", make<Fire>},
    Named{"cross-wide", make<Crossing, false>},
    Named{"cross-narrow", make<Crossing, true>},
    Named{"encode-json", make<Encode, Encoding::kJsonLines>},
    Named{"encode-binary", make<Encode, Encoding::kBinary>},
};

}  // namespace

// By this name callgrind knows when to count.
extern "C" [[gnu::noinline]] void gate_measured(Room* room) { room->pass(); }

}  // namespace tidewire

int main(int argc, char** argv) {
  using tidewire::kRooms;
  if (argc < 2) {
    std::printf("g++ %d.%d\n", __GNUC__, __GNUC_MINOR__);
    for (const auto& room : kRooms) std::printf("%s\n", room.name);
    return 0;
  }
  const auto* const named = std::find_if(kRooms.begin(), kRooms.end(), [&](const auto& room) {
    return std::string_view(room.name) == argv[1];
  });
  if (named == kRooms.end()) {
    std::fprintf(stderr, "gate_rooms: no room '%s'; without an argument it names them\n", argv[1]);
    return 2;
  }
  const auto room = named->make();
  room->prepare();
  room->pass();
  room->looks = false;
  room->prepare();
  tidewire::gate_measured(room.get());
  std::printf("%s %lu %lu %016lx\n", named->name, room->events, room->results, room->digest);
}
