#include "egress/egress.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <span>
#include <utility>

#include "base/check.h"
#include "egress/digest.h"
#include "egress/encode.h"
#include "egress/shape.h"

namespace tidewire {
namespace {

// No record is shorter in any encoding: how many of them a full buffer may hold.
constexpr size_t kRecordBytesMin = 32;

// One way of writing; sinks that share it share the text of a row.
struct Format {
  Encoding encoding;
  bool colour;
  Encoder encoder;
  std::vector<char> room;
  std::string_view text;
  uint64_t row = 0;  // number of the row that `text` is
};

// A sink and what is encoded for it.
struct Outlet {
  Sink* sink = nullptr;
  uint32_t format = 0;
  SinkProgress progress;
  std::vector<char> bytes;
  size_t used = 0;
  std::vector<uint32_t> ends;
  bool unflushed = false;
};

// What other threads sample.
constexpr uint64_t EgressCounts::*kCounts[] = {
    &EgressCounts::results,   &EgressCounts::windows,       &EgressCounts::flagged,
    &EgressCounts::partial,   &EgressCounts::digest,        &EgressCounts::early,
    &EgressCounts::updates,   &EgressCounts::retractions,   &EgressCounts::provisional,
    &EgressCounts::late_rows, &EgressCounts::empty,         &EgressCounts::having,
    &EgressCounts::below_top, &EgressCounts::keys_forgotten};
static_assert(sizeof kCounts / sizeof *kCounts == sizeof(EgressCounts) / sizeof(uint64_t));

}  // namespace

struct Egress::Impl {
  Impl(EgressOptions o, std::vector<const Plan*> p, std::vector<ResultRing*> rings,
       const std::vector<SinkBinding>& sinks);

  void bind(const SinkBinding& binding);
  uint32_t format_for(const SinkBinding& binding);
  void take(Result& row);
  void number(Result& row);
  void count_window(const Result& row);
  void hand_out(const Result& row, const std::vector<uint32_t>& to);
  std::string_view text_of(const Result& row, Format& format);
  void append(const Result& row, std::string_view text, Outlet& outlet);
  void send(Outlet& outlet);
  void flush();
  void publish();

  const EgressOptions options;
  const std::vector<const Plan*> plans;
  Shaper shaper;
  std::vector<size_t> bytes_max;  // by query: a row and what may stand before it
  std::vector<Format> formats;
  std::vector<Outlet> outlets;
  std::vector<std::vector<uint32_t>> outlets_of, late_outlets_of;  // by query

  uint64_t rows = 0, sequence = 0;
  EgressCounts counted;
  std::vector<Digest> digests;  // by query
  bool any_window = false;
  uint16_t window_query = 0;
  EventTime window_place, window_start, window_end;

  std::atomic<int64_t> partial_after{INT64_MAX};
  std::atomic<int64_t> emitted{INT64_MIN};
  std::array<std::atomic<uint64_t>, std::size(kCounts)> counts{};  // as last published
};

Egress::Impl::Impl(EgressOptions o, std::vector<const Plan*> p, std::vector<ResultRing*> rings,
                   const std::vector<SinkBinding>& sinks)
    : options(std::move(o)), plans(std::move(p)), shaper(plans, std::move(rings)) {
  CHECK(options.rows_per_step > 0);
  for (const Plan* plan : plans) {
    bytes_max.push_back(encoded_bytes_max(options.system_name, *plan));
    digests.emplace_back(plan->name);
  }
  outlets_of.resize(plans.size());
  late_outlets_of.resize(plans.size());
  for (const SinkBinding& binding : sinks) bind(binding);
}

void Egress::Impl::bind(const SinkBinding& binding) {
  CHECK(binding.sink != nullptr);
  Outlet outlet;
  outlet.sink = binding.sink;
  outlet.format = format_for(binding);
  outlet.progress.seen.resize(plans.size());
  size_t room = options.buffer_bytes;
  const auto take_queries = [&](const std::vector<QueryId>& queries,
                                std::vector<std::vector<uint32_t>>& of) {
    for (const QueryId query : queries) {
      CHECK(index_of(query) < plans.size());
      room = std::max(room, bytes_max[index_of(query)]);
      of[index_of(query)].push_back(static_cast<uint32_t>(outlets.size()));
    }
  };
  take_queries(binding.queries, outlets_of);
  take_queries(binding.late, late_outlets_of);
  CHECK(room <= UINT32_MAX);
  outlet.bytes.resize(room);
  outlet.ends.reserve(room / kRecordBytesMin);
  outlets.push_back(std::move(outlet));
}

uint32_t Egress::Impl::format_for(const SinkBinding& binding) {
  const bool colour = binding.colour && binding.encoding == Encoding::kTable;
  for (uint32_t i = 0; i < formats.size(); ++i)
    if (formats[i].encoding == binding.encoding && formats[i].colour == colour) return i;
  size_t room = 0;
  for (const size_t bytes : bytes_max) room = std::max(room, bytes);
  formats.push_back({binding.encoding,
                     colour,
                     make_encoder(binding.encoding, colour, options.system_name, plans),
                     std::vector<char>(room),
                     {},
                     0});
  return static_cast<uint32_t>(formats.size() - 1);
}

void Egress::Impl::take(Result& row) {
  ++rows;
  if (row.kind == RunKind::kLate) {
    ++counted.late_rows;
    return hand_out(row, late_outlets_of[row.query]);
  }
  if (row.kind == RunKind::kProvisional)
    ++counted.provisional;
  else
    number(row);
  hand_out(row, outlets_of[row.query]);
}

void Egress::Impl::number(Result& row) {
  row.sequence = ++sequence;
  if (row.place.ns > partial_after.load(std::memory_order_relaxed)) row.flags |= kFlagPartial;
  ++counted.results;
  if ((row.flags & kFlagPartial) != 0) ++counted.partial;
  if ((row.flags & (kFlagOverflow | kFlagOverflowRow)) != 0)
    ++counted.flagged;
  else
    digests[row.query].add(row);
  switch (row.fire) {
    case FireKind::kOnTime:
      return count_window(row);
    case FireKind::kEarly:
      ++counted.early;
      break;
    case FireKind::kUpdate:
      ++counted.updates;
      break;
    case FireKind::kRetraction:
      ++counted.retractions;
      break;
    case FireKind::kProvisional:
      break;
  }
}

void Egress::Impl::count_window(const Result& row) {
  const bool same = any_window && window_query == row.query && window_place == row.place &&
                    window_start == row.start && window_end == row.end;
  if (row.kind != RunKind::kPoint || !same) ++counted.windows;
  any_window = true;
  window_query = row.query;
  window_place = row.place;
  window_start = row.start;
  window_end = row.end;
}

void Egress::Impl::hand_out(const Result& row, const std::vector<uint32_t>& to) {
  for (const uint32_t at : to) {
    Outlet& outlet = outlets[at];
    append(row, text_of(row, formats[outlet.format]), outlet);
  }
}

std::string_view Egress::Impl::text_of(const Result& row, Format& format) {
  if (format.row == rows) return format.text;
  TextWriter out(format.room);
  std::visit(
      [&](auto& encoder) {
        if (row.kind == RunKind::kLate)
          encoder.late(row, out);
        else
          encoder.row(row, out);
      },
      format.encoder);
  CHECK(!out.truncated());
  format.text = out.text();
  format.row = rows;
  return format.text;
}

// A record is a row with what stands before it, so that a sink's count is a count of results.
void Egress::Impl::append(const Result& row, std::string_view text, Outlet& outlet) {
  if (outlet.bytes.size() - outlet.used < bytes_max[row.query] ||
      outlet.ends.size() == outlet.ends.capacity())
    send(outlet);
  TextWriter out(std::span(outlet.bytes).subspan(outlet.used));
  std::visit([&](const auto& encoder) { encoder.before(row, outlet.progress, out); },
             formats[outlet.format].encoder);
  out.put(text);
  CHECK(!out.truncated());
  outlet.used += out.size();
  outlet.ends.push_back(static_cast<uint32_t>(outlet.used));
}

void Egress::Impl::send(Outlet& outlet) {
  if (outlet.ends.empty()) return;
  outlet.sink->send({std::as_bytes(std::span(outlet.bytes).first(outlet.used)), outlet.ends});
  outlet.used = 0;
  outlet.ends.clear();
  outlet.unflushed = true;
}

void Egress::Impl::flush() {
  for (Outlet& outlet : outlets)
    if (std::exchange(outlet.unflushed, false)) outlet.sink->flush();
}

void Egress::Impl::publish() {
  uint64_t sum = 0;
  for (const Digest& query : digests) sum += query.finish();
  counted.digest = sum;
  const ShapeCounts& shaped = shaper.counts();
  counted.empty = shaped.empty;
  counted.having = shaped.having;
  counted.below_top = shaped.below_top;
  counted.keys_forgotten = shaped.keys_forgotten;
  for (size_t i = 0; i < counts.size(); ++i)
    counts[i].store(counted.*kCounts[i], std::memory_order_relaxed);
  emitted.store(shaper.passed().ns, std::memory_order_release);
}

Egress::Egress(EgressOptions options, std::vector<const Plan*> plans,
               std::vector<ResultRing*> rings, const std::vector<SinkBinding>& sinks)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(plans), std::move(rings), sinks)) {
}
Egress::~Egress() = default;

uint32_t Egress::step() {
  Impl& self = *impl_;
  uint32_t rows = 0;
  Result row;
  while (rows < self.options.rows_per_step && self.shaper.next(row)) {
    self.take(row);
    ++rows;
  }
  self.publish();
  for (Outlet& outlet : self.outlets) self.send(outlet);
  if (rows == 0) self.flush();
  return rows;
}

void Egress::partial_after(EventTime place) {
  impl_->partial_after.store(place.ns, std::memory_order_release);
}

std::vector<ArenaTerm> egress_memory(const std::vector<const Plan*>& plans) {
  return Shaper::memory(plans);
}

EventTime Egress::emitted() const {
  return EventTime{impl_->emitted.load(std::memory_order_acquire)};
}

void Egress::flush() {
  for (Outlet& outlet : impl_->outlets) {
    impl_->send(outlet);
    outlet.sink->flush();
  }
}

EgressCounts Egress::counts() const {
  EgressCounts sample;
  for (size_t i = 0; i < impl_->counts.size(); ++i)
    sample.*kCounts[i] = impl_->counts[i].load(std::memory_order_relaxed);
  return sample;
}

}  // namespace tidewire
