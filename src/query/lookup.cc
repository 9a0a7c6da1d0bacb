#include "query/lookup.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/hash.h"
#include "base/int128.h"
#include "base/strings.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

// A key's words as one number, so that every key is a range of numbers.
uint128 rank_of(const LookupWords& words, const Field& key) {
  if (is_lookup_signed(key)) return static_cast<uint64_t>(words[0]) ^ uint64_t { 1 } << 63;
  return static_cast<uint128>(static_cast<uint64_t>(words[0])) << 64 |
         static_cast<uint64_t>(words[1]);
}
LookupWords words_at(uint128 rank, const Field& key) {
  const auto low = static_cast<int64_t>(static_cast<uint64_t>(rank));
  if (is_lookup_signed(key)) return {low ^ INT64_MIN, 0};
  const auto high = static_cast<int64_t>(static_cast<uint64_t>(rank >> 64));
  return {lookup_order(high, false), lookup_order(low, false)};
}
uint128 last_rank(const Field& key) {
  return is_lookup_signed(key) ? uint128{UINT64_MAX} : ~uint128{0};
}

struct Entry {
  uint128 low = 0, high = 0;  // both included
  LookupWords value{};
  uint32_t line = 0;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// One cell of a line, up to the comma; or in double quotes, in which "" is a quote (RFC 4180).
std::optional<std::string> take_cell(std::string_view& rest) {
  rest = trim(rest);
  if (!rest.starts_with('"')) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string cell(trim(rest.substr(0, comma)));
    rest.remove_prefix(comma);
    return cell;
  }
  std::string cell;
  for (size_t at = 1; at < rest.size(); ++at) {
    if (rest[at] != '"') {
      cell += rest[at];
    } else if (rest.substr(at).starts_with("\"\"")) {
      cell += rest[++at];
    } else {
      rest = trim(rest.substr(at + 1));
      return cell;
    }
  }
  return std::nullopt;
}

absl::Status error(std::string_view text) { return absl::InvalidArgumentError(to_absl(text)); }
std::string text_of(const absl::Status& status) { return std::string(from_absl(status.message())); }

bool has_order(FieldType type) {
  switch (type) {
    case FieldType::kInteger:
    case FieldType::kAddress:
    case FieldType::kMac:
    case FieldType::kProtocol:
    case FieldType::kEthertype:
    case FieldType::kTime:
      return true;
    case FieldType::kText:
    case FieldType::kFlags:
    case FieldType::kFlow:
      return false;
  }
  return false;
}

class Reader {
 public:
  explicit Reader(const LookupSpec& spec) : spec_(spec) {}

  absl::Status add(std::string_view line, uint32_t number) {
    std::string_view rest = line;
    const std::optional<std::string> key = take_cell(rest);
    if (!key || !rest.starts_with(','))
      return error(key ? "expected KEY,NAME" : "the quote is not closed");
    rest.remove_prefix(1);
    const std::optional<std::string> name = take_cell(rest);
    if (!name) return error("the quote is not closed");
    if (!rest.empty())
      return error("one comma too many: a name that holds one stands in double quotes");
    Entry entry;
    entry.line = number;
    if (absl::Status status = read_key(*key, entry); !status.ok()) return status;
    if (absl::Status status = read_name(*name, entry.value); !status.ok()) return status;
    entries_.push_back(entry);
    return absl::OkStatus();
  }
  size_t entries() const { return entries_.size(); }

  // The narrower range wins, so ranges stand inside each other or apart, as prefixes do.
  absl::StatusOr<LookupContent> flatten() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.low != b.low ? a.low < b.low : a.high > b.high;
    });
    out_.entries = static_cast<uint32_t>(entries_.size());
    change(0, spec_.fallback);
    for (const Entry& entry : entries_) {
      while (!open_.empty() && open_.back()->high < entry.low) close();
      if (!open_.empty() && entry.high > open_.back()->high)
        return clash(entry, *open_.back(), "overlaps that of line ");
      if (!open_.empty() && entry.low == open_.back()->low && entry.high == open_.back()->high)
        return clash(entry, *open_.back(), "is that of line ");
      change(entry.low, entry.value);
      open_.push_back(&entry);
    }
    while (!open_.empty()) close();
    return std::move(out_);
  }

 private:
  absl::StatusOr<LookupWords> value_of(std::string_view text) const {
    Field field = spec_.key;
    field.may_be_absent = false;
    const auto read = parse_field(field, text);
    if (!read.ok()) return read.status();
    return LookupWords{read->word[0], read->word[1]};
  }

  absl::Status read_key(const std::string& text, Entry& entry) const {
    if (text.empty()) return error("the key is missing");
    const bool address = spec_.key.type == FieldType::kAddress;
    if (address && text.find('/') != std::string::npos) {
      const auto prefix = parse_prefix(text);
      if (!prefix.ok()) return prefix.status();
      const PrefixMask mask = prefix_mask(prefix->ipv4, prefix->length);
      entry.low = rank_of({prefix->high, prefix->low}, spec_.key);
      entry.high = rank_of({prefix->high | ~mask.high, prefix->low | ~mask.low}, spec_.key);
      return absl::OkStatus();
    }
    const size_t dots = has_order(spec_.key.type) ? text.find("..") : std::string::npos;
    const auto low = value_of(trim(std::string_view(text).substr(0, dots)));
    if (!low.ok()) return low.status();
    entry.low = entry.high = rank_of(*low, spec_.key);
    if (dots == std::string::npos) return absl::OkStatus();
    const auto high = value_of(trim(std::string_view(text).substr(dots + 2)));
    if (!high.ok()) return high.status();
    entry.high = rank_of(*high, spec_.key);
    if (entry.low > entry.high) return error("the range '" + text + "' is empty");
    return absl::OkStatus();
  }

  absl::Status read_name(const std::string& text, LookupWords& value) const {
    if (text.empty()) return error("the name is missing");
    if (spec_.value.type == FieldType::kInteger) {
      const auto read = parse_field(spec_.value, text);
      if (!read.ok()) return error(text_of(read.status()) + "; the default is one, so names are");
      if (read->word[0] == kAbsentNumber) return error("'" + text + "' does not fit 64 bits");
      value[0] = read->word[0];
      return absl::OkStatus();
    }
    for (const char c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F ||
          static_cast<unsigned char>(c) == 0xFF)
        return error("the name holds a control character");
    const auto read = parse_packed_text(text, kLookupWords);
    if (!read.ok())
      return error("the name '" + text + "' has " + std::to_string(text.size()) +
                   " bytes; 16 is the limit");
    value = {read->word[0], read->word[1]};
    return absl::OkStatus();
  }

  void change(uint128 rank, const LookupWords& value) {
    const LookupWords start = words_at(rank, spec_.key);
    if (out_.start.empty() || out_.start.back() != start) {
      out_.start.push_back(start);
      out_.value.push_back(value);
    } else {
      out_.value.back() = value;
    }
  }
  void close() {
    const uint128 last = open_.back()->high;
    open_.pop_back();
    if (last != last_rank(spec_.key))
      change(last + 1, open_.empty() ? spec_.fallback : open_.back()->value);
  }
  static absl::Status clash(const Entry& a, const Entry& b, const char* how) {
    const auto [first, second] = std::minmax(a.line, b.line);
    return error(std::to_string(second) + ": the key " + how + std::to_string(first));
  }

  const LookupSpec& spec_;
  std::vector<Entry> entries_;
  std::vector<const Entry*> open_;  // the ranges around the place that is looked at
  LookupContent out_;
};

// An interval begins at each key's first place and behind its last one, and one at the least key;
// one more word stands for the key that is absent.
uint64_t intervals(uint64_t entries) { return 2 * entries + 2; }

uint32_t room_for(const LookupContent& content) {
  return std::max(kLookupEntriesLeast, 2 * content.entries);
}

uint64_t hash_text(std::string_view text) {
  const HashSeed seed{};  // a constant: the hash names the content wherever it is read
  uint64_t hash = mix_words(text.size(), 0, seed);
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    hash = mix_words(hash, word, seed);
  }
  return hash;
}

}  // namespace

absl::StatusOr<LookupContent> parse_lookup(const LookupSpec& spec, std::string_view text) {
  Reader reader(spec);
  uint32_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (reader.entries() == kLookupEntriesMax)
      return error(std::to_string(number) + ": more than " + std::to_string(kLookupEntriesMax) +
                   " entries");
    if (absl::Status status = reader.add(line, number); !status.ok())
      return error(std::to_string(number) + ": " + text_of(status));
  }
  auto content = reader.flatten();
  if (content.ok()) content->hash = hash_text(text);
  return content;
}

LookupTables::LookupTables(std::span<const LookupSpec> specs,
                           std::span<const LookupContent> contents, Arena& arena)
    : specs_(specs.begin(), specs.end()) {
  CHECK(specs.size() == contents.size());
  for (const LookupContent& content : contents) room_.push_back(room_for(content));
  for (Set& set : sets_) {
    for (size_t t = 0; t < specs_.size(); ++t) {
      LookupTable& table = set.tables.emplace_back();
      for (uint32_t w = 0; w < specs_[t].key.words; ++w)
        table.start[w] = arena.take<int64_t>(intervals(room_[t]), "lookup tables");
      for (uint32_t w = 0; w < specs_[t].value.words; ++w)
        table.value[w] = arena.take<int64_t>(intervals(room_[t]), "lookup tables");
    }
    fill(set, contents);
  }
}

void LookupTables::fill(Set& set, std::span<const LookupContent> contents) {
  set.hash = lookup_hash(contents);
  for (size_t t = 0; t < set.tables.size(); ++t) {
    LookupTable& table = set.tables[t];
    table.count = static_cast<uint32_t>(contents[t].start.size());
    for (uint32_t w = 0; w < specs_[t].value.words; ++w)
      table.value[w][table.count] = specs_[t].value.absent;
    for (size_t i = 0; i < table.count; ++i) {
      for (uint32_t w = 0; w < specs_[t].key.words; ++w)
        table.start[w][i] = contents[t].start[i][w];
      for (uint32_t w = 0; w < specs_[t].value.words; ++w)
        table.value[w][i] = contents[t].value[i][w];
    }
  }
}

absl::Status LookupTables::replace(std::span<const LookupContent> contents) {
  CHECK(contents.size() == specs_.size());
  for (size_t t = 0; t < specs_.size(); ++t)
    if (contents[t].entries > room_[t])
      return absl::ResourceExhaustedError(
          to_absl(specs_[t].path + ": " + std::to_string(contents[t].entries) +
                  " entries; room for " + std::to_string(room_[t]) + " was reserved at start"));
  const uint32_t next = version_.load(std::memory_order_relaxed) + 1;
  fill(sets_[next & 1], contents);
  version_.store(next, std::memory_order_release);
  return absl::OkStatus();
}

uint32_t LookupTables::version_of(uint64_t hash) const {
  const uint32_t newest = version();
  if (this->hash(newest) == hash) return newest;
  CHECK(newest > 0 && this->hash(newest - 1) == hash);  // else a replay without the file
  return newest - 1;
}

uint64_t lookup_hash(std::span<const LookupContent> contents) {
  uint64_t hash = contents.size();
  for (const LookupContent& content : contents) hash = mix_words(hash, content.hash, HashSeed{});
  return hash;
}

uint64_t lookup_memory(const LookupSpec& spec, const LookupContent& content) {
  return 2 * intervals(room_for(content)) * 8 * (uint64_t{spec.key.words} + spec.value.words);
}

}  // namespace tidewire
