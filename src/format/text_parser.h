// What the text formats share: a packet is a datagram with lines in it, or a line of a file; each
// line is a record. Self has
//
//   void read_line(std::string_view line, EventBatch&, LaneCounts&)
//       fills values() from begin_line() on, and gives them to emit() with a time
//
// A line that cannot be read ends as unreadable, and the others of its packet go on.
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "format/datagram.h"
#include "format/message_parser.h"
#include "format/text_fields.h"

namespace tidewire::text {

// What open_..._format() has made of the options.
struct TextOptions {
  std::vector<TextField> fields;
  std::vector<ValueField> values;
  std::string time;
  TextTimeUnit unit = TextTimeUnit::kText;
  bool time_may_be_arrival = false;
  char separator = ',';
  bool header = true;
  Zone zone;
};
absl::StatusOr<TextOptions> make_text_options(const FormatOptions& options, TextTimeUnit usual);

template <class Self>
class TextParser : public MessageParser<Self, TwoWords, PartitionWriter> {
  using Base = MessageParser<Self, TwoWords, PartitionWriter>;

 public:
  void open_packet(uint32_t i, EventBatch&, LaneCounts& counts) {
    Datagram datagram;
    if (const auto reason = read_datagram(this->burst(), i, datagram, counts, &fragments_)) {
      counts.drop(*reason);
      return;
    }
    if (datagram.at == nullptr) {
      ++counts.packets_parsed;
      return;
    }
    rest_ = {reinterpret_cast<const char*>(datagram.at),
             static_cast<size_t>(datagram.end - datagram.at)};
    cut_ = datagram.cut;
    arrival_ = this->burst().arrival[i];
    values_[kSender] = datagram.source.high;
    values_[kSender + 1] = datagram.source.low;
    ++counts.packets_parsed;
    this->open_ = true;
  }

  void read_packet(EventBatch& batch, LaneCounts& counts) {
    while (!rest_.empty() && !this->is_full(batch)) {
      const auto* const end =
          static_cast<const char*>(std::memchr(rest_.data(), '\n', rest_.size()));
      std::string_view line = rest_;
      if (end != nullptr) line = rest_.substr(0, static_cast<size_t>(end - rest_.data()));
      const bool is_last = end == nullptr;
      rest_.remove_prefix(is_last ? rest_.size() : line.size() + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (is_last && cut_) {
        counts.note(Note::kTruncatedHeader);
        break;
      }
      if (!line.empty()) static_cast<Self&>(*this).read_line(line, batch, counts);
    }
    if (rest_.empty()) this->open_ = false;
  }

 protected:
  TextParser(const ParserOptions& options, const ColumnMap& columns, const TextOptions& text)
      : Base(options, {text.values, options}),
        text_(text),
        columns_(text.values, options, columns),
        zone_(text.zone) {}

  const TextOptions& text() const { return text_; }
  void begin_line() {
    for (const TextField& field : text_.fields) set_absent(field, values_.data());
  }
  void set(const TextField& field, std::string_view value, LaneCounts& counts) {
    set_value(field, value, values_.data(), counts);
  }
  EventTime time_of(std::string_view value, LaneCounts& counts) const {
    return read_time(value, text_.unit, zone_, counts);
  }
  void emit(EventTime time, EventBatch& batch, LaneCounts& counts) {
    if (time == EventTime::before_all() && text_.time_may_be_arrival && arrival_.is_point()) {
      counts.note(Note::kTimeFallback);
      time = arrival_;
    }
    const uint32_t n = batch.count;
    this->append(time, arrival_, columns_.partition(values_.data()), batch, counts);
    if (batch.count > n) columns_.write(values_.data(), batch, n);
  }

 private:
  const TextOptions& text_;
  ValueColumns columns_;
  const Zone zone_;
  Fragments fragments_;
  std::string_view rest_;  // of the open packet
  EventTime arrival_{};
  bool cut_ = false;
  std::array<int64_t, kSlots> values_{};
};

template <class Made>
class TextFormat final : public Format {
 public:
  TextFormat(std::string_view name, TextOptions options) : options_(std::move(options)) {
    options_.values = value_fields(options_.fields);
    schema_.format = name;
    for (const ValueField& field : options_.values) schema_.fields.push_back(field.field);
  }
  const Schema& schema() const override { return schema_; }
  FileRecords records() const override { return FileRecords::kLines; }
  std::unique_ptr<Parser> make_parser(const ParserOptions& options,
                                      const ColumnMap& columns) const override {
    return std::make_unique<Made>(options, columns, options_);
  }

 private:
  TextOptions options_;
  Schema schema_;
};

}  // namespace tidewire::text
