// Lookup files: what is refused and where, and the flattened ranges against a scan of all lines.
#include "query/lookup.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "base/int128.h"
#include "base/rng.h"
#include "base/strings.h"
#include "query/field_text.h"

namespace tidewire {
namespace {

LookupSpec spec_of(FieldType key, FieldType value = FieldType::kText) {
  LookupSpec spec;
  spec.path = "f.csv";
  spec.key.type = key;
  spec.key.words = key == FieldType::kAddress ? 2 : 1;
  spec.value.type = value;
  spec.value.words = value == FieldType::kText ? 2 : 1;
  return spec;
}

std::string error_of(const LookupSpec& spec, std::string_view text) {
  const auto content = parse_lookup(spec, text);
  return content.ok() ? "none" : std::string(from_absl(content.status().message()));
}

TEST(Lookup, SaysWhatIsWrongAndWhere) {
  const LookupSpec address = spec_of(FieldType::kAddress), number = spec_of(FieldType::kInteger);
  EXPECT_EQ(error_of(address, "10.0.0.0/8,a\n\n# c\n10.0.0.1\n"), "4: expected KEY,NAME");
  EXPECT_EQ(error_of(address, "10.0.0.1/8,a"), "1: '10.0.0.1/8' has bits set behind its prefix");
  EXPECT_EQ(error_of(address, "network,name"), "1: 'network' is not an IPv4 or IPv6 address");
  EXPECT_EQ(error_of(address, "10.0.0.9..10.0.0.1,a"),
            "1: the range '10.0.0.9..10.0.0.1' is empty");
  EXPECT_EQ(error_of(address, "10.0.0.1,a,b"),
            "1: one comma too many: a name that holds one stands in double quotes");
  EXPECT_EQ(error_of(address, "10.0.0.1,\"a"), "1: the quote is not closed");
  EXPECT_EQ(error_of(address, "10.0.0.1,"), "1: the name is missing");
  EXPECT_EQ(error_of(address, ",a"), "1: the key is missing");
  EXPECT_EQ(error_of(address, "10.0.0.1,seventeen letters"),
            "1: the name 'seventeen letters' has 17 bytes; 16 is the limit");
  EXPECT_EQ(error_of(address, "10.0.0.1,a\tb"), "1: the name holds a control character");
  EXPECT_EQ(error_of(number, "1,a\n2,b\n1,a\n"), "3: the key is that of line 1");
  EXPECT_EQ(error_of(number, "5..9,a\n1..5,b\n"), "2: the key overlaps that of line 1");
  EXPECT_EQ(error_of(number, "1..9,a\n2..3,b\n2,c\n"), "none");
  EXPECT_EQ(error_of(spec_of(FieldType::kInteger, FieldType::kInteger), "1,two"),
            "1: 'two' is not a number; the default is one, so names are");
  EXPECT_EQ(error_of(spec_of(FieldType::kProtocol), "tcp,stream\nsctpp,x"),
            "2: 'sctpp' is not an IP protocol (a name, or 0 to 255)");
}

TEST(Lookup, TheHashIsOfTheContent) {
  const LookupSpec spec = spec_of(FieldType::kInteger);
  const auto hash = [&](const char* text) { return parse_lookup(spec, text)->hash; };
  EXPECT_EQ(hash("1,a\n"), hash("1,a\n"));
  EXPECT_NE(hash("1,a\n"), hash("1,b\n"));
  EXPECT_NE(hash("1,a\n"), hash("1,a"));
  const LookupContent one = *parse_lookup(spec, "1,a\n"), two = *parse_lookup(spec, "2,a\n");
  const LookupContent ab[] = {one, two}, ba[] = {two, one};
  EXPECT_NE(lookup_hash(ab), lookup_hash(ba));
}

TEST(Lookup, TwoVersionsStandBesideEachOther) {
  const LookupSpec specs[] = {spec_of(FieldType::kInteger, FieldType::kInteger)};
  const auto content = [&](const std::string& text) {
    return std::vector<LookupContent>{*parse_lookup(specs[0], text)};
  };
  Arena arena({.fault_in = false});
  const auto first = content("5,50\n"), second = content("5,51\n6,60\n");
  LookupTables tables(specs, first, arena);
  EXPECT_EQ(arena.bytes(), lookup_memory(specs[0], first[0]));
  EXPECT_EQ(tables.version_of(lookup_hash(first)), 0u);
  ASSERT_TRUE(tables.replace(second).ok());
  EXPECT_EQ(tables.version(), 1u);
  EXPECT_EQ(tables.version_of(lookup_hash(second)), 1u);
  EXPECT_EQ(tables.version_of(lookup_hash(first)), 0u);
  EXPECT_EQ(tables.table(0, 0).value[0][1], 50);
  EXPECT_EQ(tables.table(1, 0).value[0][1], 51);
  std::string many;
  for (uint32_t i = 0; i <= kLookupEntriesLeast; ++i) many += std::to_string(i) + ",1\n";
  EXPECT_EQ(from_absl(tables.replace(content(many)).message()),
            "f.csv: 1025 entries; room for 1024 was reserved at start");
  EXPECT_EQ(tables.version(), 1u);
}

// ---- random tables against a scan: the narrowest range that holds the key

struct Line {
  uint128 low = 0, high = 0;
  int64_t value = 0;
};

int64_t scan(const std::vector<Line>& lines, uint128 key) {
  const Line* best = nullptr;
  for (const Line& line : lines)
    if (line.low <= key && key <= line.high &&
        (!best || line.high - line.low < best->high - best->low))
      best = &line;
  return best ? best->value : -1;
}

TEST(Lookup, RandomPrefixesAgreeWithAScan) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t start = given ? std::strtoull(given, nullptr, 0) : 20261206;
  std::printf("TIDEWIRE_SEED=%llu\n", static_cast<unsigned long long>(start));
  Rng rng(start);
  LookupSpec spec = spec_of(FieldType::kAddress, FieldType::kInteger);
  spec.fallback = {-1, 0};
  const auto rank = [](int64_t high, int64_t low) {
    return static_cast<uint128>(static_cast<uint64_t>(high)) << 64 | static_cast<uint64_t>(low);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Line> lines;
    std::string text;
    // Few different bits, so that prefixes lie inside each other; the ends of both families too.
    const auto address = [&](bool ipv4) -> std::pair<int64_t, int64_t> {
      const uint64_t pattern[] = {0, ~uint64_t{0}, rng.below(4) << 62, rng.below(4)};
      if (!ipv4)
        return {static_cast<int64_t>(pattern[rng.below(4)]),
                static_cast<int64_t>(pattern[rng.below(4)])};
      const uint64_t low = rng.one_in(4) ? 0xFFFFFFFF : rng.below(4) << 30 | rng.below(4);
      return {0, static_cast<int64_t>(uint64_t{0xFFFF} << 32 | low)};
    };
    for (uint64_t n = rng.below(30); n > 0; --n) {
      const bool ipv4 = rng.one_in(2);
      auto [high, low] = address(ipv4);
      const auto bits = static_cast<uint32_t>(rng.below(ipv4 ? 33 : 129));
      const PrefixMask mask = prefix_mask(ipv4, bits);
      high &= mask.high;
      low &= mask.low;
      if (!ipv4 && is_ipv4(high, low)) continue;  // would be written, and read, as IPv4
      const Line line{rank(high, low), rank(high | ~mask.high, low | ~mask.low),
                      static_cast<int64_t>(lines.size())};
      bool twice = false;
      for (const Line& other : lines) twice |= other.low == line.low && other.high == line.high;
      if (twice) continue;
      lines.push_back(line);
      std::array<char, 64> room;
      TextWriter out(room);
      append_address(out, high, low);
      text += std::string(out.text()) + "/" + std::to_string(bits) + "," +
              std::to_string(line.value) + "\n";
    }
    SCOPED_TRACE(text);
    const auto content = parse_lookup(spec, text);
    ASSERT_TRUE(content.ok()) << content.status();
    ASSERT_EQ(content->entries, lines.size());
    for (int probe = 0; probe < 200; ++probe) {
      const auto [high, low] = address(rng.one_in(2));
      const LookupWords key = {lookup_order(high, false), lookup_order(low, false)};
      size_t at = 0;
      while (at + 1 < content->start.size() && content->start[at + 1] <= key) ++at;
      ASSERT_EQ(content->value[at][0], scan(lines, rank(high, low))) << high << " " << low;
    }
  }
}

}  // namespace
}  // namespace tidewire
