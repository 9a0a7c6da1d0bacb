#include "query/window_check.h"

#include "base/units.h"

namespace tidewire {
namespace {

constexpr int64_t kHourNs = 3600 * kSecond, kDayNs = 24 * kHourNs;

class Checker {
 public:
  explicit Checker(const QuerySpec& spec) : spec_(spec), w_(spec.window) {}

  std::vector<WindowProblem> run() {
    switch (w_.kind) {
      case WindowKind::kTumbling:
      case WindowKind::kSliding:
      case WindowKind::kCumulate:
        check_aligned();
        break;
      case WindowKind::kCalendar:
        check_steps(shortest(w_.unit), "the shortest unit, ");
        break;
      case WindowKind::kSession:
        check_session();
        break;
      case WindowKind::kCount:
        check_count();
        break;
      case WindowKind::kGlobal:
        check_global();
        break;
    }
    check_firing();
    check_fill();
    check_top();
    return std::move(problems_);
  }

 private:
  void problem(std::string option, std::string text) {
    problems_.push_back({std::move(option), std::move(text)});
  }

  void check_aligned() {
    if (w_.size.ns <= 0) return problem("window.size", "a window's size must be above zero");
    if (w_.slide.ns <= 0) return problem("window.slide", "a window's slide must be above zero");
    if (w_.kind == WindowKind::kTumbling && w_.slide != w_.size)
      problem("window.slide", "a tumbling window slides by its size; choose type = \"sliding\"");
    if (w_.offset.ns <= -w_.slide.ns || w_.offset.ns >= w_.slide.ns)
      problem("window.offset",
              "the offset " + format_duration(w_.offset) + " must be nearer to zero than " +
                  (w_.kind == WindowKind::kSliding ? "the slide " : "the size ") +
                  format_duration(w_.slide) + ": windows repeat, so a smaller one means the same");
    if (w_.kind != WindowKind::kCumulate) return check_steps(w_.size, "the size ");
    if (w_.early.ns <= 0)
      problem("window.step", "a cumulating window's step must be above zero");
    else if (w_.early > w_.size)
      problem("window.step", "the step " + format_duration(w_.early) + " is longer than the size " +
                                 format_duration(w_.size) + ", so no window would hold one");
  }

  void check_steps(Duration size, const char* what) {
    if (w_.early.ns > 0 && w_.early >= size)
      problem("window.early_every", "no step of " + format_duration(w_.early) + " lies inside " +
                                        what + format_duration(size) +
                                        ": the end's result would be the first");
  }

  void check_session() {
    const bool field = !spec_.gap_field.empty();
    if (w_.gap.ns <= 0 && !field)
      problem("window.gap",
              "a session needs a gap above zero, or gap_field and gap_unit where events bring "
              "their own");
    if (w_.gap.ns > 0 && field)
      problem("window.gap", "there is gap_field = \"" + spec_.gap_field +
                                "\" already; a session has one gap, so leave one of them out");
    if (field && spec_.gap_unit.ns <= 0)
      problem("window.gap_unit",
              "how long is a 1 in '" + spec_.gap_field + "'? Say so, e.g. gap_unit = \"1 ms\"");
    if (!field && spec_.gap_unit.ns > 0)
      problem("window.gap_unit", "has no meaning without gap_field");
    if (w_.max_duration.ns > 0 && w_.max_duration < w_.gap)
      problem("window.max_duration",
              format_duration(w_.max_duration) + " is shorter than the gap " +
                  format_duration(w_.gap) +
                  ": every session would be cut, none would end; choose type = \"tumbling\"");
    if (w_.early.ns > 0)
      problem("window.early_every",
              "a session has no steps: its start moves when an earlier event joins it. "
              "provisional_every shows open sessions by the clock");
  }

  void check_count() {
    if (w_.rows == 0) problem("window.rows", "a count window needs one row or more");
    if (w_.early.ns > 0)
      problem("window.early_every",
              "a count window ends at a row, not at a time: it has no steps; slide_rows gives a "
              "result every so many rows");
    if (w_.early_rows > 0)
      problem("window.early_every_rows",
              "slide_rows says already after how many rows a result comes");
    refuse_lateness("a count window ends at a row, not at a time: no row is late for it");
  }

  void check_global() {
    if (w_.early.ns > 0)
      problem("window.early_every",
              "a global window has no start to count steps from; early_every_rows gives results "
              "every so many rows, type = \"cumulate\" steps from a start");
    refuse_lateness("a global window ends with the input: no row is late for it");
  }

  void refuse_lateness(const char* why) {
    if (w_.lateness.ns > 0) problem("window.allowed_lateness", why);
  }

  void check_firing() {
    if (w_.is_aligned() && w_.early.ns > 0 && w_.early_rows > 0)
      problem("window.early_every_rows",
              "a window shows what it holds either each so many rows or at steps of event time, "
              "not both: ask with two queries");
    if (w_.gather.ns > 0 && w_.lateness.ns == 0)
      problem("window.update_every",
              "gathers the updates that late rows make; without allowed_lateness there are none");
    if (w_.kind == WindowKind::kCumulate && w_.accumulation == Accumulation::kRetracting)
      problem("window.accumulation",
              "each step of a cumulating window is a result of its own, with its own end: there is "
              "nothing to take back; type = \"tumbling\" with early_every takes back");
    const bool several = w_.early.ns > 0 || w_.early_rows > 0 || w_.lateness.ns > 0;
    if (w_.accumulation != Accumulation::kAccumulating && !several)
      problem("window.accumulation",
              "each window has one result, so nothing can be discarded or taken back; add "
              "early_every, early_every_rows or allowed_lateness");
  }

  void check_fill() {
    if (spec_.fill == EmptyFill::kNone || w_.is_aligned()) return;
    problem("fill", w_.kind == WindowKind::kSession
                        ? "there are no empty sessions: one begins with an event"
                    : w_.kind == WindowKind::kCount
                        ? "there are no empty count windows: they are made of rows"
                        : "a key has one global window, and it has rows");
  }

  void check_top() {
    if (spec_.top == 0) {
      if (!spec_.top_by.empty() || spec_.top_least)
        problem(spec_.top_by.empty() ? "top_order" : "top_by", "has no meaning without top");
      return;
    }
    if (w_.accumulation == Accumulation::kRetracting)
      problem("top",
              "a result that is taken back and the one that replaces it would be ranked as two; "
              "choose accumulation = \"accumulating\"");
    if (spec_.top_by.empty()) problem("top_by", "by which result? top needs a name of one");
    if (w_.kind == WindowKind::kSession || w_.kind == WindowKind::kCount)
      problem("top", std::string("a ") +
                         (w_.kind == WindowKind::kSession ? "session" : "count window") +
                         " is of one key alone, so keys have nothing to be ranked in; choose "
                         "windows that all keys share, as tumbling ones");
    if (w_.lateness.ns > 0)
      problem("top",
              "with allowed_lateness a late row could change who is among the first, after the "
              "results have left; leave one of the two out (late_sinks shows the late rows)");
    if (w_.early_rows > 0)
      problem("top",
              "results every n rows come key by key, each in its turn: there is no moment at "
              "which keys are ranked; early_every ranks at its steps");
  }

  const QuerySpec& spec_;
  const WindowShape& w_;
  std::vector<WindowProblem> problems_;
};

}  // namespace

std::vector<WindowProblem> check_window(const QuerySpec& spec) { return Checker(spec).run(); }

std::vector<WindowProblem> check_lane_order(const QuerySpec& spec, const QuerySource& source,
                                            bool local) {
  std::vector<WindowProblem> problems;
  const bool count = spec.window.kind == WindowKind::kCount;
  if (!count && spec.window.early_rows == 0) return problems;
  const std::string what = count ? "count windows take" : "results every n rows take";
  if (!source.lane_order)
    problems.push_back({count ? "window.type" : "window.early_every_rows",
                        what + " rows in the order in which they came, but '" + source.name +
                            "' sorts them by the watermark of their partition (" +
                            source.partition +
                            "): give the source lateness_by = \"lane\", or no partition"});
  if (!local)
    problems.push_back(
        {"placement", what + " the rows of a key one after the other, but those of '" +
                          source.name + "' come in " + std::to_string(source.lanes.size()) +
                          " lanes, which have no order among each other; set placement = "
                          "\"local\" if each key comes in one lane only (as a flow under RSS), or "
                          "let one lane feed the query"});
  return problems;
}

Duration shortest(CalendarUnit unit) {
  switch (unit) {
    case CalendarUnit::kHour:  // some zones leap by half an hour
      return {kHourNs / 2};
    case CalendarUnit::kDay:
      return {kDayNs - kHourNs};
    case CalendarUnit::kWeek:
      return {7 * kDayNs - kHourNs};
    case CalendarUnit::kMonth:
      return {28 * kDayNs - kHourNs};
  }
  return {};
}

}  // namespace tidewire
