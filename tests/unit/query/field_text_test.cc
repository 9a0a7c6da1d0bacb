#include "query/field_text.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/rng.h"

namespace tidewire {
namespace {

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t s = given ? std::strtoull(given, nullptr, 0) : 20240229;
  ::testing::Test::RecordProperty("seed", std::to_string(s));
  return s;
}

template <class Append>
std::string written(Append append) {
  std::array<char, 256> room;
  TextWriter out(room);
  append(out);
  EXPECT_FALSE(out.truncated());
  return std::string(out.text());
}

std::string integer(int128 v) {
  return written([&](TextWriter& out) { append_integer(out, v); });
}
std::string decimal(int128 v, uint32_t decimals) {
  return written([&](TextWriter& out) { append_decimal(out, v, decimals); });
}
std::string address(uint64_t high, uint64_t low, uint32_t p4 = 32, uint32_t p6 = 128) {
  return written([&](TextWriter& out) {
    append_address(out, static_cast<int64_t>(high), static_cast<int64_t>(low), p4, p6);
  });
}
std::string time(int64_t ns) {
  return written([&](TextWriter& out) { append_time(out, EventTime{ns}); });
}
std::string field(const Field& f, std::initializer_list<int64_t> words) {
  return written(
      [&](TextWriter& out) { append_field(out, f, std::span(words.begin(), words.size())); });
}

Field make_field(FieldType type, uint8_t words = 1) {
  Field f;
  f.type = type;
  f.words = words;
  return f;
}

TEST(TextWriter, LeavesOutWhatDoesNotFit) {
  std::array<char, 4> room;
  TextWriter out(room);
  out.put("abc");
  out.put("de");
  EXPECT_TRUE(out.truncated());
  out.put('f');  // would fit, but would follow a hole
  EXPECT_EQ(out.text(), "abc");
}

TEST(FieldText, Integers) {
  EXPECT_EQ(integer(0), "0");
  EXPECT_EQ(integer(-7), "-7");
  EXPECT_EQ(integer(INT64_MIN), "-9223372036854775808");
  const int128 most = static_cast<int128>((~static_cast<uint128>(0)) >> 1);
  EXPECT_EQ(integer(most), "170141183460469231731687303715884105727");
  EXPECT_EQ(integer(-most - 1), "-170141183460469231731687303715884105728");
  EXPECT_EQ(integer(static_cast<int128>(1'000'000'000'000'000'000) * 1000 + 5),
            "1000000000000000000005");
  EXPECT_EQ(*parse_integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(*parse_integer("+12"), 12);
  EXPECT_EQ(*parse_integer("0x10"), 16);
  EXPECT_EQ(*parse_integer("0xffffffffffffffff"), -1);
  for (const char* bad : {"", "-", "1x", "9223372036854775808", "-9223372036854775809", "1.5", " 1",
                          "0x", "0xg", "0x10000000000000000"})
    EXPECT_FALSE(parse_integer(bad).ok()) << bad;
}

TEST(FieldText, DecimalsAreExact) {
  EXPECT_EQ(decimal(-1, 3), "-0.001");
  EXPECT_EQ(decimal(0, 2), "0.00");
  EXPECT_EQ(decimal(123456, 4), "12.3456");
  EXPECT_EQ(decimal(INT64_MIN, 18), "-9.223372036854775808");
  EXPECT_EQ(*parse_decimal("12.5", 4), 125000);
  EXPECT_EQ(*parse_decimal("12.500000", 2),
            1250);  // zeros behind the field's decimals lose nothing
  EXPECT_EQ(*parse_decimal("-0.001", 3), -1);
  EXPECT_EQ(*parse_decimal("-9.223372036854775808", 18), INT64_MIN);
  for (const char* bad : {"12.345", ".5", "1.", "1..2", "1.2.3", "9223372036854775807"})
    EXPECT_FALSE(parse_decimal(bad, 2).ok()) << bad;
}

TEST(FieldText, AddressesInTheFormOfRfc5952) {
  const struct {
    uint64_t high, low;
    const char* text;
  } cases[] = {
      {0, 0x0000FFFF'0A010203, "10.1.2.3"},
      {0, 0x0000FFFF'FFFFFFFF, "255.255.255.255"},
      {0, 0, "::"},
      {0, 1, "::1"},
      {0x20010DB8'00000000, 1, "2001:db8::1"},
      {0x20010DB8'00000000, 0x00010000'00000001, "2001:db8::1:0:0:1"},     // 4.2.3: first of equals
      {0x20010DB8'00000001, 0x00010001'00010001, "2001:db8:0:1:1:1:1:1"},  // 4.2.2: one group stays
      {0x20010000'00000001, 0x00000000'00000001, "2001:0:0:1::1"},         // the longest
      {0xFE800000'00000000, 0, "fe80::"},
      {0x00010002'00030004, 0x00050006'00070008, "1:2:3:4:5:6:7:8"},
      {0, 0x00000001'00000000, "::1:0:0"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(address(c.high, c.low), c.text);
    const auto back = parse_address(c.text);
    ASSERT_TRUE(back.ok()) << c.text;
    EXPECT_EQ(static_cast<uint64_t>(back->high), c.high) << c.text;
    EXPECT_EQ(static_cast<uint64_t>(back->low), c.low) << c.text;
  }
  EXPECT_EQ(address(0, 0x0000FFFF'0A010200, 24, 48), "10.1.2.0/24");
  EXPECT_EQ(address(0x20010DB8'00010000, 0, 24, 48), "2001:db8:1::/48");
  EXPECT_EQ(address(0, 0x0000FFFF'00000000, 0, 48), "0.0.0.0/0");
}

// glibc is the independent tool. Zeros are frequent, so that runs of all lengths occur.
TEST(FieldText, AddressesAsTheSystemReadsAndWritesThem) {
  Rng rng(seed());
  for (int round = 0; round < 20'000; ++round) {
    unsigned char bytes[16];
    uint64_t words[2] = {};
    for (uint32_t i = 0; i < 16; ++i) {
      if (i % 2 == 0) bytes[i] = 0;
      if (i % 2 == 1) bytes[i] = static_cast<unsigned char>(rng.one_in(2) ? 0 : rng.below(256));
      if (i % 2 == 0 && rng.one_in(3)) bytes[i] = static_cast<unsigned char>(rng.below(256));
      words[i / 8] = words[i / 8] << 8 | bytes[i];
    }
    const std::string ours = address(words[0], words[1]);
    unsigned char back[16];
    if (words[0] == 0 && words[1] >> 32 == 0xFFFF) continue;  // IPv4: dotted without a prefix
    ASSERT_EQ(inet_pton(AF_INET6, ours.c_str(), back), 1) << ours;
    ASSERT_EQ(std::memcmp(back, bytes, 16), 0) << ours;
    char theirs[64];
    inet_ntop(AF_INET6, bytes, theirs, sizeof theirs);
    if (std::string_view(theirs).find('.') == std::string_view::npos) {
      ASSERT_EQ(ours, theirs);
    }
    const auto parsed = parse_address(theirs);
    ASSERT_TRUE(parsed.ok()) << theirs;
    ASSERT_EQ(static_cast<uint64_t>(parsed->high), words[0]) << theirs;
    ASSERT_EQ(static_cast<uint64_t>(parsed->low), words[1]) << theirs;
  }
}

TEST(FieldText, AddressTextsThatAreRefused) {
  for (const char* bad : {"",
                          "1",
                          "1.2.3",
                          "1.2.3.4.5",
                          "256.0.0.1",
                          "01.2.3.4",
                          "1.2.3.",
                          "a.b.c.d",
                          ":",
                          ":::",
                          "1::2::3",
                          "1:2:3:4:5:6:7",
                          "1:2:3:4:5:6:7:8:9",
                          "1:2:3:4:5:6:7:8::",
                          "12345::",
                          "g::",
                          ":1::",
                          "1::2:",
                          "1.2.3.4::",
                          "::1.2.3.4:5",
                          "1:2:3:4:5:6:7:1.2.3.4",
                          "fe80::1%eth0"})
    EXPECT_FALSE(parse_address(bad).ok()) << bad;
  EXPECT_TRUE(parse_address("::ffff:10.1.2.3")->ipv4);
  EXPECT_TRUE(parse_address("0:0:0:0:0:ffff:10.1.2.3")->ipv4);
  EXPECT_FALSE(parse_address("64:ff9b::10.1.2.3")->ipv4);
}

TEST(FieldText, Prefixes) {
  auto p = parse_prefix("10.0.0.0/8");
  ASSERT_TRUE(p.ok());
  EXPECT_TRUE(p->ipv4);
  EXPECT_EQ(p->length, 8);
  EXPECT_EQ(p->low, 0x0000FFFF'0A000000);
  p = parse_prefix("2001:db8::/33");
  ASSERT_TRUE(p.ok());
  EXPECT_FALSE(p->ipv4);
  EXPECT_EQ(p->length, 33);
  EXPECT_EQ(parse_prefix("10.1.2.3")->length, 32);
  EXPECT_EQ(parse_prefix("0.0.0.0/0")->length, 0);
  for (const char* bad : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.1/24",
                          "2001:db8::1/64", "::/129", "/8", "10.0.0.0/8/8"})
    EXPECT_FALSE(parse_prefix(bad).ok()) << bad;
  EXPECT_NE(std::string(parse_prefix("10.0.0.1/24").status().message()).find("behind its prefix"),
            std::string::npos);

  const auto mask = [](bool ipv4, uint32_t length) {
    const PrefixMask m = prefix_mask(ipv4, length);
    return std::pair(static_cast<uint64_t>(m.high), static_cast<uint64_t>(m.low));
  };
  constexpr uint64_t kAll = ~uint64_t{0};
  EXPECT_EQ(mask(true, 24), std::pair(kAll, uint64_t{0xFFFFFFFF'FFFFFF00}));
  EXPECT_EQ(mask(true, 0), std::pair(kAll, uint64_t{0xFFFFFFFF'00000000}));
  EXPECT_EQ(mask(true, 32), std::pair(kAll, kAll));
  EXPECT_EQ(mask(false, 0), std::pair(uint64_t{0}, uint64_t{0}));
  EXPECT_EQ(mask(false, 48), std::pair(uint64_t{0xFFFFFFFF'FFFF0000}, uint64_t{0}));
  EXPECT_EQ(mask(false, 64), std::pair(kAll, uint64_t{0}));
  EXPECT_EQ(mask(false, 65), std::pair(kAll, uint64_t{1} << 63));
}

TEST(FieldText, MacAndPackedText) {
  EXPECT_EQ(written([](TextWriter& out) { append_mac(out, 0x02005E100001); }), "02:00:5e:10:00:01");
  EXPECT_EQ(*parse_mac("02:00:5E:10:00:01"), 0x02005E100001);
  EXPECT_EQ(*parse_mac("02-00-5e-10-00-01"), 0x02005E100001);
  for (const char* bad : {"", "02:00:5e:10:00", "02:00:5e:10:00:0g", "02:00-5e:10:00:01",
                          "02005e100001", "02:00:5e:10:00:01:"})
    EXPECT_FALSE(parse_mac(bad).ok()) << bad;

  const Field text = make_field(FieldType::kText, 2);
  // "AAPL" is 0x41 0x41 0x50 0x4c, padded on the right.
  EXPECT_EQ(field(text, {0x4141504C'00000000, 0}), "AAPL");
  EXPECT_EQ(parse_field(text, "AAPL")->word[0], 0x4141504C'00000000);
  EXPECT_EQ(parse_field(text, "AAPLAAPLA")->word[1], 0x41000000'00000000);
  EXPECT_FALSE(parse_field(text, "AAPLAAPLAAPLAAPLx").ok());
  EXPECT_FALSE(parse_field(text, std::string_view("A\0B", 3)).ok());
  EXPECT_EQ(field(text, {0, 0}), "");
}

TEST(FieldText, ProtocolsEthertypesFlags) {
  const Field protocol = make_field(FieldType::kProtocol);
  EXPECT_EQ(field(protocol, {6}), "tcp");
  EXPECT_EQ(field(protocol, {17}), "udp");
  EXPECT_EQ(field(protocol, {58}), "icmpv6");
  EXPECT_EQ(field(protocol, {253}), "253");
  EXPECT_EQ(parse_field(protocol, "SCTP")->word[0], 132);
  EXPECT_EQ(parse_field(protocol, "ipv6-icmp")->word[0], 58);
  EXPECT_EQ(parse_field(protocol, "253")->word[0], 253);
  EXPECT_FALSE(parse_field(protocol, "256").ok());
  EXPECT_FALSE(parse_field(protocol, "tpc").ok());
  for (int64_t n = 0; n < 256; ++n)
    EXPECT_EQ(parse_field(protocol, field(protocol, {n}))->word[0], n);

  const Field ethertype = make_field(FieldType::kEthertype);
  EXPECT_EQ(field(ethertype, {0x0800}), "ipv4");
  EXPECT_EQ(field(ethertype, {0x88B5}), "0x88b5");
  EXPECT_EQ(field(ethertype, {0x01}), "0x0001");
  EXPECT_EQ(parse_field(ethertype, "0x86dd")->word[0], 0x86DD);
  EXPECT_EQ(parse_field(ethertype, "arp")->word[0], 0x0806);
  EXPECT_FALSE(parse_field(ethertype, "0x10000").ok());
  for (int64_t n = 0; n < 0x10000; ++n)
    ASSERT_EQ(parse_field(ethertype, field(ethertype, {n}))->word[0], n);

  const Field flags = make_field(FieldType::kFlags);
  EXPECT_EQ(field(flags, {0x12}), "SA");
  EXPECT_EQ(field(flags, {0xFF}), "FSRPAUEC");
  EXPECT_EQ(field(flags, {0}), ".");
  EXPECT_EQ(parse_field(flags, "as")->word[0], 0x12);
  EXPECT_EQ(parse_field(flags, "0x12")->word[0], 0x12);
  EXPECT_FALSE(parse_field(flags, "SX").ok());
  EXPECT_FALSE(parse_field(flags, "").ok());
  for (int64_t n = 0; n < 256; ++n) EXPECT_EQ(parse_field(flags, field(flags, {n}))->word[0], n);
}

// Seconds by `date -u -d TIME +%s`; the two edges by INT64_MIN and INT64_MAX nanoseconds.
TEST(FieldText, TimesAreExact) {
  EXPECT_EQ(time(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(time(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(time(1'709'251'199'000'000'001), "2024-02-29T23:59:59.000000001Z");
  EXPECT_EQ(time(951'782'400'000'000'000), "2000-02-29T00:00:00.000000000Z");
  EXPECT_EQ(time(-2'203'891'200'000'000'000), "1900-03-01T00:00:00.000000000Z");
  EXPECT_EQ(time(INT64_MIN), "1677-09-21T00:12:43.145224192Z");
  EXPECT_EQ(time(INT64_MAX), "2262-04-11T23:47:16.854775807Z");

  EXPECT_EQ(parse_time("2024-02-29T23:59:59.000000001Z")->ns, 1'709'251'199'000'000'001);
  EXPECT_EQ(parse_time("2024-03-01 01:59:59.5+02:00")->ns, 1'709'251'199'500'000'000);
  EXPECT_EQ(parse_time("2024-02-29T20:29:59-03:30")->ns, 1'709'251'199'000'000'000);
  EXPECT_EQ(parse_time("1677-09-21T00:12:43.145224193Z")->ns, INT64_MIN + 1);
  EXPECT_EQ(parse_time("2262-04-11T23:47:16.854775806Z")->ns, INT64_MAX - 1);
  for (const char* bad :
       {"", "2024-02-29", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
        "2024-02-29T24:00:00Z", "2024-02-29T23:60:00Z", "2024-02-28T23:59:60Z",
        "2024-02-29T23:59:59", "2024-02-29T23:59:59.Z", "2024-02-29T23:59:59.0000000001Z",
        "2024-02-29T23:59:59+0200", "2024-02-29T23:59:59+24:00", "2262-04-11T23:47:16.854775807Z",
        "1677-09-21T00:12:43.145224192Z", "9999-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
        "2024-02-29T23:59:59Zx"})
    EXPECT_FALSE(parse_time(bad).ok()) << bad;

  Rng rng(seed());
  for (int round = 0; round < 20'000; ++round) {
    const auto ns = static_cast<int64_t>(rng.next());
    ASSERT_EQ(parse_time(time(ns))->ns, ns) << time(ns);
  }
}

TEST(FieldText, TimeOfDayIsShort) {
  const auto clock = [](int64_t ns) {
    return written([&](TextWriter& out) { append_time_of_day(out, EventTime{ns}); });
  };
  EXPECT_EQ(clock(1'709'251'199'000'000'000), "23:59:59");
  EXPECT_EQ(clock(1'709'251'199'250'000'000), "23:59:59.25");
  EXPECT_EQ(clock(-1), "23:59:59.999999999");
}

TEST(FieldText, AbsentIsADash) {
  Field port = make_field(FieldType::kInteger);
  port.may_be_absent = true;
  EXPECT_EQ(field(port, {kAbsent}), "-");
  EXPECT_EQ(field(port, {53}), "53");
  EXPECT_EQ(parse_field(port, "-")->word[0], kAbsent);
  port.may_be_absent = false;
  EXPECT_EQ(field(port, {-1}), "-1");  // an ordinary value there
  EXPECT_FALSE(parse_field(port, "-").ok());
  Field source = make_field(FieldType::kAddress, 2);
  source.may_be_absent = true;
  EXPECT_EQ(field(source, {kAbsent, kAbsent}), "-");
  EXPECT_EQ(field(source, {kAbsent, 0}), "ffff:ffff:ffff:ffff::");
}

}  // namespace
}  // namespace tidewire
