#include "app/chart.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/int128.h"
#include "base/units.h"
#include "query/field_text.h"
#include "window/geometry.h"

namespace tidewire {
namespace {

constexpr int64_t kColumns = 64;
constexpr size_t kLabel = 12;  // in front of them
constexpr uint32_t kWindows = 3;
constexpr int64_t kPointsNamed = 4, kMarksDrawn = 20, kPanesDrawn = 32;

std::string line(std::string label, std::string_view drawing) {
  label = "    " + label;
  label.resize(std::max(kLabel, label.size() + 1), ' ');
  const size_t end = drawing.find_last_not_of(' ');
  return label + std::string(drawing.substr(0, end == std::string_view::npos ? 0 : end + 1)) + "\n";
}

// Without the zeros that say nothing.
std::string time_text(int64_t t) {
  std::array<char, 64> room;
  TextWriter out(room);
  append_time(out, EventTime{t});
  std::string text(out.text());
  text.pop_back();  // Z
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + "Z";
}
// The time of day alone, where the day is that of `near`.
std::string near_text(int64_t t, int64_t near) {
  const std::string text = time_text(t), other = time_text(near);
  const size_t day = text.find('T');
  return other.compare(0, day, text, 0, day) == 0 ? text.substr(day + 1) : text;
}

// "a, b, c, ... z (9 in all)": `step` from `first`, `count` of them.
template <class At>
std::string list_text(int64_t count, int64_t near, const At& at) {
  std::string text;
  for (int64_t i = 0; i < std::min(count, kPointsNamed); ++i)
    text += (i ? ", " : "") + near_text(at(i), near);
  if (count > kPointsNamed)
    text += (count > kPointsNamed + 1 ? ", ... " : ", ") + near_text(at(count - 1), near) + " (" +
            std::to_string(count) + " in all)";
  return text;
}

// A stretch of time on a line of text.
class Scale {
 public:
  Scale(int64_t from, int64_t to) : from_(from), length_(int128{to} - from) {}
  size_t column(int64_t t) const {
    const int128 at = (int128{t} - from_) * (kColumns - 1) / length_;
    return static_cast<size_t>(std::clamp<int128>(at, 0, kColumns - 1));
  }

 private:
  int64_t from_;
  int128 length_;
};

class AlignedChart {
 public:
  AlignedChart(const Plan& plan, int64_t from) : w_(plan.window), geometry_(w_) {
    for (int64_t end = geometry_.first_end(from); windows_.size() < kWindows && end != INT64_MAX;
         end = geometry_.next_end(end))
      windows_.push_back({geometry_.start_of(end), end});
  }

  std::string draw() const {
    if (windows_.empty()) return {};
    const int64_t first = windows_.front().start, last = windows_.back().end;
    // Of a long lateness only as much as leaves the windows to be seen.
    const int64_t shown = std::min(geometry_.gone_at(last), last + (last - first) / 2);
    const Scale scale(first, shown);
    std::string text = panes(scale);
    for (size_t i = 0; i < windows_.size(); ++i)
      text += line(std::to_string(i + 1), row(windows_[i], scale, shown));
    return text + legend();
  }

  std::string list() const {
    std::string text;
    for (size_t i = 0; i < windows_.size(); ++i) text += points(windows_[i], i + 1);
    return text;
  }

 private:
  std::string panes(const Scale& scale) const {
    std::vector<Span> all;
    for (const Span& window : windows_)
      for (int64_t at = window.start; at < window.end; at = all.back().end) {
        all.push_back(geometry_.pane_of(at));
        if (all.size() > kWindows * kPanesDrawn) break;
      }
    std::sort(all.begin(), all.end(),
              [](const Span& a, const Span& b) { return a.start < b.start; });
    all.erase(std::unique(all.begin(), all.end(),
                          [](const Span& a, const Span& b) { return a.start == b.start; }),
              all.end());
    if (all.size() > kPanesDrawn) {
      const Span& pane = all.front();
      return line("panes",
                  "of " + format_duration({pane.end - pane.start}) + ", too many to be drawn");
    }
    std::string drawing(kColumns, ' ');
    for (const Span& pane : all)
      for (size_t c = scale.column(pane.start); c <= scale.column(pane.end); ++c)
        if (drawing[c] == ' ') drawing[c] = '-';
    for (const Span& pane : all)
      drawing[scale.column(pane.start)] = drawing[scale.column(pane.end)] = '|';
    return line("panes", drawing);
  }

  std::string row(const Span& window, const Scale& scale, int64_t shown) const {
    std::string drawing(kColumns, ' ');
    const size_t start = scale.column(window.start), end = scale.column(window.end);
    std::fill(drawing.begin() + static_cast<ptrdiff_t>(start),
              drawing.begin() + static_cast<ptrdiff_t>(end), '=');
    if (step_count(window) <= kMarksDrawn)
      for (int64_t i = 0; i < step_count(window); ++i) drawing[scale.column(step(window, i))] = '+';
    drawing[start] = '[';
    if (w_.lateness.ns > 0) {
      const int64_t gone = geometry_.gone_at(window.end);
      const size_t last = scale.column(std::min(gone, shown));
      for (size_t c = end; c <= last; ++c) drawing[c] = '~';
      if (gather_count() <= kMarksDrawn)
        for (int64_t i = 0; i < gather_count(); ++i)
          if (gathered(window, i) < shown) drawing[scale.column(gathered(window, i))] = 'u';
      drawing[last] = gone > shown ? '>' : 'x';
    }
    drawing[end] = ')';
    return drawing;
  }

  std::string legend() const {
    std::string text = "[ start";
    if (w_.early.ns > 0) text += "   + early";
    text += "   ) end";
    if (w_.lateness.ns > 0) text += "   ~ lateness";
    if (w_.gather.ns > 0) text += "   u gathered";
    if (w_.lateness.ns > 0) text += "   x clean-up";
    return line("", text);
  }

  std::string points(const Span& window, size_t number) const {
    std::string text = "    " + std::to_string(number);
    text.resize(kLabel, ' ');
    text += time_text(window.start) + " to " + near_text(window.end, window.start);
    if (w_.kind == WindowKind::kCalendar)
      text += " (" + format_duration({window.end - window.start}) + ")";
    text += "\n";
    const auto add = [&](const char* what, const std::string& when) {
      std::string label(kLabel, ' ');
      label += what;
      label.resize(kLabel + 12, ' ');
      text += label + when + "\n";
    };
    const int64_t near = window.start;
    if (const int64_t count = step_count(window); count > 0)
      add("early", list_text(count, near, [&](int64_t i) { return step(window, i); }));
    add("on time", near_text(window.end, near));
    if (w_.lateness.ns == 0) return text;
    const int64_t gone = geometry_.gone_at(window.end);
    if (w_.gather.ns > 0)
      add("updates",
          list_text(gather_count(), near, [&](int64_t i) { return gathered(window, i); }));
    add("clean-up", near_text(gone, near));
    return text;
  }

  int64_t step_count(const Span& window) const {
    return w_.early.ns > 0 ? (window.end - window.start - 1) / w_.early.ns : 0;
  }
  int64_t step(const Span& window, int64_t i) const { return window.start + (i + 1) * w_.early.ns; }
  int64_t gather_count() const {
    return w_.gather.ns > 0 ? (w_.lateness.ns + w_.gather.ns - 1) / w_.gather.ns : 0;
  }
  int64_t gathered(const Span& window, int64_t i) const {
    return window.end + std::min((i + 1) * w_.gather.ns, w_.lateness.ns);
  }

  const WindowShape& w_;
  Geometry geometry_;
  std::vector<Span> windows_;
};

// Five events, a gap of ten columns.
std::string session_chart(const Plan& plan, int64_t from) {
  const WindowShape& w = plan.window;
  const std::string late = w.lateness.ns > 0 ? "~~~~x" : "";
  std::string text = line("events", "*  *     *                 *   *") +
                     line("1", "[==================)" + late) +
                     line("2", "                           [=============)" + late) +
                     line("", std::string("* event   ) last event + gap") +
                                  (late.empty() ? "" : "   ~ lateness   x clean-up"));
  if (plan.gap_value < 0)
    text += line(
        "", "an event at " + time_text(from) + " alone: until " + near_text(from + w.gap.ns, from));
  if (w.max_duration.ns == 0) return text;
  const int64_t first = floor_div(from, w.max_duration.ns) + 1;
  return text + line("", "all end at " + list_text(3, from, [&](int64_t i) {
                           return (first + i) * w.max_duration.ns;
                         }) + ", ...");
}

// Rows of one key from left to right.
std::string count_chart(const Plan& plan) {
  const auto rows = static_cast<int64_t>(plan.window.rows);
  const auto slide = static_cast<int64_t>(plan.window.row_slide);
  const Scale scale(0, slide * kWindows);
  std::string text, list;
  for (int64_t i = 1; i <= kWindows; ++i) {
    const int64_t last = i * slide, first = std::max<int64_t>(0, last - rows);
    const std::string number = std::to_string(i);
    std::string drawing(kColumns, ' ');
    for (size_t c = scale.column(first); c < scale.column(last); ++c) drawing[c] = '=';
    drawing[scale.column(first)] = '[';
    drawing[scale.column(last)] = ')';
    text += line(number, drawing);
    list += line(number, "behind a key's row " + std::to_string(last) + ": rows " +
                             std::to_string(first + 1) + " to " + std::to_string(last));
  }
  return text + list;
}

std::string global_chart(const Plan& plan) {
  const uint64_t early = plan.window.early_rows;
  if (early == 0) return line("1", "[=======================  ...  to the end of input )");
  return line("1", "[=======+=======+=======  ...  to the end of input )") +
         line("", "+ behind each " + std::to_string(early) + " rows of a key");
}

}  // namespace

std::string window_chart(const Plan& plan, EventTime from) {
  switch (plan.window.kind) {
    case WindowKind::kTumbling:
    case WindowKind::kSliding:
    case WindowKind::kCumulate:
    case WindowKind::kCalendar: {
      const AlignedChart chart(plan, from.ns);
      return chart.draw() + chart.list();
    }
    case WindowKind::kSession:
      return session_chart(plan, from.ns);
    case WindowKind::kCount:
      return count_chart(plan);
    case WindowKind::kGlobal:
      return global_chart(plan);
  }
  return {};
}

}  // namespace tidewire
