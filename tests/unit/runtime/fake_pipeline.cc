#include "fake_pipeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"

namespace tidewire {
namespace {

std::map<const Pipeline*, FakePipeline*>& all_fakes() {
  static std::map<const Pipeline*, FakePipeline*> fakes;
  return fakes;
}

}  // namespace

struct Pipeline::Impl {
  FakePipeline fake;
  struct LaneState {
    std::array<PartitionTracker, 1> trackers;
    std::unique_ptr<Lane> lane;
    LaneCounts counts;
  };
  std::map<LaneId, LaneState> lanes;
  EventTime frontier() const {
    if (fake.frontier) return *fake.frontier;
    EventTime least = EventTime::end_of_time();
    for (const auto& [id, state] : lanes)
      if (!state.lane->silent()) least = std::min(least, state.lane->frontier());
    return least;
  }
};

std::vector<FakePipeline::Event> FakePipeline::events() const {
  std::vector<Event> all;
  for (const Taken& turn : turns) all.insert(all.end(), turn.events.begin(), turn.events.end());
  return all;
}

std::vector<Punctuation> FakePipeline::punctuations() const {
  std::vector<Punctuation> all;
  for (const Taken& turn : turns)
    all.insert(all.end(), turn.punctuations.begin(), turn.punctuations.end());
  return all;
}

std::vector<LaneId> FakePipeline::lanes_read() const {
  std::vector<LaneId> all;
  for (const Taken& turn : turns)
    if (!turn.events.empty()) all.push_back(turn.events[0].lane);
  return all;
}

FakePipeline& fake(Pipeline& pipeline) { return *all_fakes().at(&pipeline); }

Pipeline::Pipeline(const PipelineOptions& options, ExchangeFabric&, Arena&)
    : impl_(std::make_unique<Impl>()) {
  for (const LaneSpec& spec : options.lanes) {
    Impl::LaneState& state = impl_->lanes[spec.id];
    state.lane = std::make_unique<Lane>(spec.options, state.trackers);
  }
  all_fakes()[this] = &impl_->fake;
}
Pipeline::~Pipeline() { all_fakes().erase(this); }

bool Pipeline::has_room() const { return impl_->fake.room; }
bool Pipeline::keeps_up() const { return impl_->fake.room; }

uint32_t Pipeline::turn(const Turn& in, ResultWriter&) {
  FakePipeline& fake = impl_->fake;
  ++fake.turn_count;
  FakePipeline::Taken taken;
  for (const Punctuation& punctuation : in.punctuations) {
    impl_->lanes.at(punctuation.lane).lane->punctuate(punctuation);
    if (fake.record) taken.punctuations.push_back(punctuation);
  }
  uint32_t work = std::exchange(fake.extra_work, 0);
  if (in.batch) {
    CHECK(fake.room);
    Impl::LaneState& state = impl_->lanes.at(in.batch->lane);
    CHECK(!state.lane->silent());  // kReturned comes before the first event
    state.lane->stamp(*in.batch, state.counts);
    work += in.batch->count;
    for (uint32_t i = 0; fake.record && i < in.batch->count; ++i)
      taken.events.push_back({in.batch->lane, index_of(in.batch->ordinal) + i, in.batch->time[i],
                              in.batch->arrival[i]});
  }
  if (fake.record) fake.turns.push_back(std::move(taken));
  return work;
}

void Pipeline::show(QueryId query) { impl_->fake.shown.push_back(query); }

bool Pipeline::wake(LaneId, EventTime& floor) {
  ++impl_->fake.wakes;
  if (!impl_->fake.floor) return false;
  floor = *impl_->fake.floor;
  return true;
}

const Lane& Pipeline::lane(LaneId id) const { return *impl_->lanes.at(id).lane; }
LaneCounts& Pipeline::lane_counts(LaneId id) { return impl_->lanes.at(id).counts; }
EventTime Pipeline::frontier() const { return impl_->frontier(); }
EventTime Pipeline::fired() const { return impl_->fake.fired.value_or(impl_->frontier()); }
bool Pipeline::at_rest() const { return impl_->fake.at_rest; }
uint64_t Pipeline::rows_sent() const { return impl_->fake.sent; }
uint64_t Pipeline::rows_taken() const { return impl_->fake.taken; }

}  // namespace tidewire
