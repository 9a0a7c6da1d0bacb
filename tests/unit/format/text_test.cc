// The text formats and what they share: numbers and times without floats, fields by declaration.
#include <gtest/gtest.h>

#include "format/text_fields.h"
#include "parse_helper.h"

namespace tidewire::test {
namespace {

using text::read_number;
using text::read_time;

TEST(TextNumber, ExactAndRoundedHalfToEven) {
  struct Case {
    const char* text;
    uint32_t decimals;
    int64_t expected;
  };
  for (const Case& c : std::initializer_list<Case>{{"0", 0, 0},
                                                   {"-12", 0, -12},
                                                   {"+7", 2, 700},
                                                   {"21.345", 2, 2134},
                                                   {"21.355", 2, 2136},
                                                   {"21.3450000001", 2, 2135},
                                                   {"-0.005", 2, 0},
                                                   {"-0.015", 2, -2},
                                                   {".5", 1, 5},
                                                   {"5.", 1, 50},
                                                   {"1e3", 0, 1000},
                                                   {"1.5E-3", 3, 2},
                                                   {"2.5e-3", 3, 2},
                                                   {"1e-400", 9, 0},
                                                   {"1700000000123456789", 0, 1700000000123456789},
                                                   {"1700000000.123456789", 9, 1700000000123456789},
                                                   {"0.30000000000000000000000001", 1, 3},
                                                   {"0.25000000000000000000000001", 1, 3},
                                                   {"4611686018427387904", 0, int64_t{1} << 62}}) {
    int64_t number = 0;
    ASSERT_TRUE(read_number(c.text, c.decimals, number)) << c.text;
    EXPECT_EQ(number, c.expected) << c.text;
  }
  for (const char* none : {"", "-", "+-1", ".", "e5", "1e", "1x", "nan", "inf", "0x10", "1.2.3",
                           " 1", "4611686018427387905", "1e19", "99999999999999999999"}) {
    int64_t number = 0;
    EXPECT_FALSE(read_number(none, 0, number)) << none;
  }
}

TEST(TextTime, TextsUnitsAndZones) {
  const Zone utc = *Zone::load("UTC"), new_york = *Zone::load("America/New_York");
  LaneCounts counts;
  const auto of = [&](std::string_view text, TextTimeUnit unit = TextTimeUnit::kText) {
    return read_time(text, unit, utc, counts).ns;
  };
  constexpr int64_t kNone = INT64_MIN;
  // 2024-05-01 is day 19844: 54 years of 365 days, 13 leap days, and 121 days of 2024.
  constexpr int64_t kDay = (54 * 365 + 13 + 121) * kDayLength;
  EXPECT_EQ(of("2024-05-01T00:00:00Z"), kDay);
  EXPECT_EQ(of("2024-05-01 13:30"), kDay + 13 * 3600 * kSecond + 1800 * kSecond);
  EXPECT_EQ(of("2024-05-01t13:30:00.000000001z"), kDay + 48'600 * kSecond + 1);
  EXPECT_EQ(of("2024-05-01T13:30:00.1234567899Z"), kDay + 48'600 * kSecond + 123'456'789);
  EXPECT_EQ(of("2024-05-01T13:30:00+05:30"), kDay + 28'800 * kSecond);
  EXPECT_EQ(of("2024-05-01T13:30:00-0230"), kDay + 57'600 * kSecond);
  EXPECT_EQ(of("1969-12-31T23:59:59.5Z"), -kSecond / 2);
  EXPECT_EQ(of("2000-02-29T00:00:00Z"), 11'016 * kDayLength);
  for (const char* none : {"", "2024-05-01", "2024-13-01T00:00:00Z", "2023-02-29T00:00:00Z",
                           "2024-05-01T24:00:00Z", "2024-05-01T13:61", "2024-05-01T13:30:00X",
                           "2024-05-01T13:30:00+5:30", "05-01 13:30:00", "May 1 13:30:00 2024"})
    EXPECT_EQ(of(none), kNone) << none;
  EXPECT_EQ(of("1700000000", TextTimeUnit::kSeconds), 1'700'000'000 * kSecond);
  EXPECT_EQ(of("1700000000.5", TextTimeUnit::kSeconds), 1'700'000'000 * kSecond + kSecond / 2);
  EXPECT_EQ(of("1700000000123", TextTimeUnit::kMilliseconds), 1'700'000'000'123 * kMillisecond);
  EXPECT_EQ(of("-1", TextTimeUnit::kMicroseconds), -kMicrosecond);
  EXPECT_EQ(of("1700000000123456789", TextTimeUnit::kNanoseconds), 1'700'000'000'123'456'789);
  EXPECT_EQ(of("soon", TextTimeUnit::kNanoseconds), kNone);
  // A naive stamp is the zone's wall clock: 04:00 behind in summer. On 2024-11-03 01:30 comes
  // twice, and the first counts; on 2024-03-10 02:30 never comes, and is an hour after 01:30.
  const auto local = [&](std::string_view text) {
    return read_time(text, TextTimeUnit::kText, new_york, counts).ns;
  };
  EXPECT_EQ(local("2024-05-01 13:30:00"), of("2024-05-01T17:30:00Z"));
  EXPECT_EQ(local("2024-11-03 01:30:00"), of("2024-11-03T05:30:00Z"));
  EXPECT_EQ(local("2024-11-03 02:30:00"), of("2024-11-03T07:30:00Z"));
  EXPECT_EQ(local("2024-03-10 02:30:00"), of("2024-03-10T07:30:00Z"));
  EXPECT_EQ(local("2024-05-01T13:30:00Z"), of("2024-05-01T13:30:00Z"));
  EXPECT_EQ(noted(counts, Note::kLeapSecond), 0u);
  EXPECT_EQ(of("2016-12-31T23:59:60Z"), 17'167 * kDayLength - 1);
  EXPECT_EQ(noted(counts, Note::kLeapSecond), 1u);
}

class Rig {
 public:
  Rig(const std::string& format, const FormatOptions& options,
      const std::vector<std::string>& fields)
      : parser_(parser_of(format, fields, {}, options)),
        columns_(map_of(opened(format, options).schema(), fields).used) {}
  Rig& send(std::string_view payload, int64_t arrival = INT64_MIN) {
    BurstBuilder burst;
    burst.add(Bytes(payload.begin(), payload.end()), arrival, LinkType::kPayload);
    receive(*parser_, burst.burst(), counts);
    for (bool more = true; more;) {
      more = parser_->next(*batch_, counts);
      for (uint32_t i = 0; i < batch_->count; ++i) {
        std::vector<int64_t> row;
        for (uint32_t c = 0; c < columns_; ++c) row.push_back(batch_->column[c][i]);
        rows.push_back(row);
        times.push_back(batch_->time[i].ns);
      }
    }
    expect_balanced(counts);
    return *this;
  }
  uint64_t noted(Note note) const { return test::noted(counts, note); }
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> times;
  LaneCounts counts;

 private:
  std::unique_ptr<Parser> parser_;
  std::unique_ptr<EventBatch> batch_ = std::make_unique<EventBatch>();
  uint32_t columns_;
};
using Rows = std::vector<std::vector<int64_t>>;
using Times = std::vector<int64_t>;

int64_t word(std::string_view text) {  // 8 bytes, big-endian, zeros behind
  uint64_t packed = 0;
  for (size_t i = 0; i < 8; ++i)
    packed = packed << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  return static_cast<int64_t>(packed);
}

TEST(Csv, ColumnsByTheirNames) {
  FormatOptions options;
  options.time = "when";
  options.time_unit = TextTimeUnit::kSeconds;
  options.fields = {"host text(8)", "load decimal(2)", "up flag", "ip address", "far integer"};
  Rig rig("csv", options, {"host", "load", "up", "ip"});
  const std::string_view head = "load,when,\"host\",other,up,ip\r\n";
  rig.send(head);
  rig.send("1.25,100,a,x,true,10.0.0.1\n");
  rig.send(head);  // the next file's
  rig.send("-3,101.5,\"b,\"\"c\"\"\",,0,2001:db8::1:5\n");
  rig.send(",102,longer than it,,,\n");
  rig.send("what,,d,,perhaps,10.0.0.256\n");
  rig.send("1,103,\"never closed\n");
  EXPECT_EQ(rig.rows, (Rows{{word("a"), 125, 1, 0, int64_t{0xFFFF} << 32 | 0x0A000001},
                            {word("b,\"c\""), -300, 0, 0x20010DB800000000, 0x10005},
                            {word("longer t"), kAbsentNumber, kAbsent, kAbsent, kAbsent}}));
  EXPECT_EQ(rig.times, (Times{100 * kSecond, 101 * kSecond + kSecond / 2, 102 * kSecond}));
  EXPECT_EQ(rig.counts.ended.no_time, 1u);
  EXPECT_EQ(rig.noted(Note::kTextCut), 1u);
  EXPECT_EQ(rig.noted(Note::kUnreadable), 3u + 1);  // what, perhaps, the address; the quote
}

TEST(Csv, ColumnsByTheirNumbersAndLinesInOneDatagram) {
  FormatOptions options;
  options.time = "#1";
  options.time_unit = TextTimeUnit::kMilliseconds;
  options.fields = {"b integer from #3", "a integer from #2"};
  options.header = false;
  options.separator = ';';
  Rig rig("csv", options, {"a", "b"});
  rig.send("1;10;20\n2;30;40;50\n\n3;;60");
  EXPECT_EQ(rig.rows, (Rows{{10, 20}, {30, 40}, {kAbsentNumber, 60}}));
  EXPECT_EQ(rig.times, (Times{kMillisecond, 2 * kMillisecond, 3 * kMillisecond}));
}

TEST(Influx, PartsOfALine) {
  FormatOptions options;
  options.fields = {"measurement text(8)", "place text(16)", "t decimal(1) from temperature",
                    "n integer",           "ok flag",        "msg text(16)"};
  Rig rig("influx", options, {"measurement", "place", "t", "n", "ok", "msg"});
  rig.send(
      "weather,place=us\\ midwest temperature=82.5,n=-5i,ok=t 1465839830100400200\n"
      "# a comment\n"
      "m value=1,n=7u,msg=\"a, b=\\\"c\\\" d\" 5\n"
      "m,a=b,place=p n=1i");
  EXPECT_EQ(rig.rows,
            (Rows{{word("weather"), word("us midwe"), word("st"), 825, -5, 1, kAbsent, kAbsent},
                  {word("m"), kAbsent, kAbsent, kAbsentNumber, 7, kAbsent, word("a, b=\"c\""),
                   word(" d")}}));
  EXPECT_EQ(rig.times, (Times{1'465'839'830'100'400'200, 5}));
  EXPECT_EQ(rig.counts.ended.no_time, 1u);  // it may not be its arrival
  for (const char* none : {"m", "m,", "m,a n=1", "m n", "m n=", "m n=\"open 5", ",a=b n=1", "m =1"})
    rig.send(none);
  EXPECT_EQ(rig.noted(Note::kUnreadable), 8u);
  options.time_may_be_arrival = true;
  Rig arrives("influx", options, {"n"});
  arrives.send("m n=1i", 77 * kSecond);
  EXPECT_EQ(arrives.times, Times{77 * kSecond});
  EXPECT_EQ(arrives.noted(Note::kTimeFallback), 1u);
}

TEST(Json, MembersAtTheirPaths) {
  FormatOptions options;
  options.time = "/meta/at";
  options.time_unit = TextTimeUnit::kNanoseconds;
  options.fields = {"host text(8)", "t decimal(2) from /sensor/temp", "big integer", "ok flag",
                    "slash integer from /a~1b"};
  Rig rig("json", options, {"host", "t", "big", "ok", "slash"});
  rig.send(R"({"meta": {"at": 1700000000123456789, "x": [1, {"at": 2}]}, "host": "h\u00e9\"", )"
           R"("sensor": {"temp": 1.255e1}, "big": 4611686018427387904, "ok": true, "a/b": 3})");
  rig.send(R"({"big":"17","meta":{"at":"5"},"sensor":null,"ok":"no","host":12})");
  EXPECT_EQ(rig.rows, (Rows{{word("h\u00e9\""), 1255, int64_t{1} << 62, 1, 3},
                            {word("12"), kAbsentNumber, 17, kAbsent, kAbsentNumber}}));
  EXPECT_EQ(rig.times, (Times{1'700'000'000'123'456'789, 5}));
  EXPECT_EQ(rig.noted(Note::kUnreadable), 1u);  // "no" is no flag
  for (const char* none : {"{", "[1]", "{\"host\":}", "{\"host\": \"x}", "12", "{\"a\":1}x",
                           "{\"sensor\": {\"temp\": 1}"})
    rig.send(none);
  EXPECT_EQ(rig.noted(Note::kUnreadable), 8u);
  rig.send(R"({"host": "timeless"})");
  EXPECT_EQ(rig.counts.ended.no_time, 1u);
}

TEST(TextFields, WhatIsNoDeclaration) {
  const auto why = [](std::vector<std::string> fields) {
    FormatOptions options;
    options.fields = std::move(fields);
    const auto format = open_format("influx", options);
    return format.ok() ? std::string() : std::string(format.status().message());
  };
  EXPECT_EQ(why({"load"}), "fields: 'load' lacks its type: write \"NAME integer\"");
  EXPECT_EQ(why({"load real"}),
            "fields: 'load real' has a type that is none of integer, decimal(N), text, text(N), "
            "address, flag");
  EXPECT_EQ(why({"load decimal(12)"}),
            "fields: 'load decimal(12)' has a type that needs 1 to 9 decimals, as decimal(2)");
  EXPECT_NE(why({"a integer", "a flag"}).find("stands there already"), std::string::npos);
  EXPECT_NE(why({"sender text"}), "");
  EXPECT_EQ(why({"a integer from value"}), "");
  FormatOptions options;
  EXPECT_NE(open_format("csv", options).status().message().find("time: "), std::string::npos);
  options.time = "t";
  options.zone = "Atlantis";
  EXPECT_EQ(open_format("csv", options).status().message().find("zone: "), 0u);
}

}  // namespace

// where: questdb#7389
TEST(Report9, NanosecondsBeyondRangeEndAtParsing) {
  Rig rig("influx", {}, {});
  rig.send("m v=1 9223372036854775807\nm v=1 99999999999999999999\nm v=1 1700000000000000000");
  EXPECT_EQ(rig.counts.ended.out_of_range, 2u);
  EXPECT_EQ(rig.times, Times{1'700'000'000'000'000'000});
  FormatOptions options;
  options.time = "t";
  Rig texts("csv", options, {});
  texts.send("t\n2262-04-12T00:00:00Z\n");
  EXPECT_EQ(texts.counts.ended.out_of_range, 1u);
}

// where: rsyslog#4765, #4079, tremor-runtime#925, telegraf PR#16364
TEST(Report15, AStampWithoutAYearIsNone) {
  FormatOptions options;
  options.time = "t";
  Rig rig("csv", options, {});
  rig.send("t\n12-31 23:59:59\nDec 31 23:59:59\n");
  EXPECT_EQ(rig.counts.ended.no_time, 2u);
}

}  // namespace tidewire::test
