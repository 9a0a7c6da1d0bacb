// By simdjson's on-demand reader, which wants bytes behind the text that it may look at: a line is
// copied into a buffer of the parser's own. One pass over a line: its members are met in their
// order, and each is looked up in a tree of the places that are asked for.

#include "format/json.h"

#include <absl/status/status.h>
#include <simdjson.h>

#include <algorithm>

#include "base/check.h"
#include "format/text_parser.h"

namespace tidewire {
namespace {

using namespace text;
namespace od = simdjson::ondemand;

constexpr size_t kLineMax = 65'536;
constexpr uint32_t kDepthMax = 8;

// A member that is asked for, or an object on the way to one.
struct Place {
  std::string name;
  int field = -1;  // index of the declared field
  bool is_time = false;
  std::vector<Place> inside;
};

// Parts of /of/a/path; a name without a slash is one part. ~1 is a slash, ~0 a tilde.
std::vector<std::string> parts_of(std::string_view place) {
  if (!place.starts_with('/')) return {std::string(place)};
  std::vector<std::string> parts;
  for (size_t at = 0; at < place.size(); ++at) {
    if (place[at] == '/')
      parts.emplace_back();
    else if (place[at] == '~' && at + 1 < place.size() && place[at + 1] == '1')
      parts.back() += '/', ++at;
    else if (place[at] == '~' && at + 1 < place.size() && place[at + 1] == '0')
      parts.back() += '~', ++at;
    else
      parts.back() += place[at];
  }
  return parts;
}

Place& place_at(Place& root, std::string_view text) {
  Place* at = &root;
  for (const std::string& part : parts_of(text)) {
    const auto found = std::find_if(at->inside.begin(), at->inside.end(),
                                    [&](const Place& p) { return p.name == part; });
    at = found != at->inside.end() ? &*found : &at->inside.emplace_back(Place{part, -1, false, {}});
  }
  return *at;
}

class JsonParser final : public TextParser<JsonParser> {
 public:
  JsonParser(const ParserOptions& options, const ColumnMap& columns, const TextOptions& text)
      : TextParser(options, columns, text), line_(kLineMax + simdjson::SIMDJSON_PADDING) {
    CHECK(reader_.allocate(kLineMax, kDepthMax * 4) == simdjson::SUCCESS);
    for (size_t f = 0; f < text.fields.size(); ++f)
      place_at(root_, text.fields[f].place).field = static_cast<int>(f);
    if (!text.time.empty()) place_at(root_, text.time).is_time = true;
  }

  void read_line(std::string_view line, EventBatch& batch, LaneCounts& counts) {
    if (line.size() > kLineMax) return counts.note(Note::kUnreadable);
    std::copy(line.begin(), line.end(), line_.begin());
    begin_line();
    time_ = EventTime::before_all();
    od::document document;
    od::object object;
    if (reader_.iterate(line_.data(), line.size(), line_.size()).get(document) !=
            simdjson::SUCCESS ||
        document.get_object().get(object) != simdjson::SUCCESS ||
        !read_object(object, root_, counts) || !ends(document))
      return counts.note(Note::kUnreadable);
    emit(time_, batch, counts);
  }

 private:
  // Behind the object nothing else stands.
  static bool ends(od::document& document) {
    const char* at = nullptr;
    return document.current_location().get(at) == simdjson::OUT_OF_BOUNDS;
  }

  // False: it is not JSON.
  bool read_object(od::object& object, const Place& place, LaneCounts& counts) {
    size_t next = 0;  // members come in one order as a rule
    for (auto member : object) {
      std::string_view key;
      od::value value;
      if (member.unescaped_key().get(key) != simdjson::SUCCESS ||
          member.value().get(value) != simdjson::SUCCESS)
        return false;
      const size_t count = place.inside.size();
      for (size_t i = 0; i < count; ++i) {
        const size_t at = next + i < count ? next + i : next + i - count;
        if (place.inside[at].name != key) continue;
        if (!read_value(value, place.inside[at], counts)) return false;
        next = at + 1;
        break;
      }
    }
    return true;
  }

  bool read_value(od::value& value, const Place& place, LaneCounts& counts) {
    od::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    std::string_view text;
    switch (type) {
      case od::json_type::object: {
        od::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) return false;
        return read_object(object, place, counts);
      }
      case od::json_type::array:
      case od::json_type::null:
        return true;
      case od::json_type::string:
        if (value.get_string().get(text) != simdjson::SUCCESS) return false;
        break;
      case od::json_type::number:
      case od::json_type::boolean:
        text = value.raw_json_token();
        while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
        break;
    }
    if (place.field >= 0) set(this->text().fields[static_cast<size_t>(place.field)], text, counts);
    if (place.is_time) time_ = time_of(text, counts);
    return true;
  }

  od::parser reader_;
  std::vector<char> line_;
  Place root_;
  EventTime time_{};
};

}  // namespace

absl::StatusOr<FormatPtr> open_json_format(const FormatOptions& options) {
  auto made = make_text_options(options, TextTimeUnit::kText);
  if (!made.ok()) return made.status();
  if (made->time.empty() && !made->time_may_be_arrival)
    return absl::InvalidArgumentError(
        "time: name the member that holds it, or set missing_time to \"arrival\"");
  return std::make_unique<TextFormat<JsonParser>>("json", *std::move(made));
}

}  // namespace tidewire
