// Every expected text is written by hand from the rules in egress/encode.h; the binary one is read
// back by a reader that knows only egress/binary_format.h's description.
#include "egress/encode.h"

#include <gtest/gtest.h>

#include <deque>

#include "fixture.h"

namespace tidewire {
namespace {

constexpr int64_t kNoon = 1'709'208'000 * kSecond;  // date -u -d 2024-02-29T12:00:00 +%s

// src/24 and port (may be absent) -> packets, average(length), last(price)
Plan traffic_plan() {
  Plan plan;
  plan.name = "traffic";
  plan.key_words = 4;
  plan.key_fields = {make_key_field("src/24", FieldType::kAddress, 0, 2),
                     make_key_field("port", FieldType::kInteger, 2, 1)};
  plan.key_fields[0].prefix_ipv4 = 24;
  plan.key_fields[1].may_be_absent = true;
  plan.cell = CellKind::kWide;
  plan.cell_words = 8;
  plan.parts = {{CellOp::kSum64, 0, 1}, {CellOp::kLast, 1, 2}};
  plan.outputs = {make_output("packets", OutputOp::kCount),
                  make_output("average(length)", OutputOp::kAverage, 1),
                  make_output("last(price)", OutputOp::kLast, 2, FieldType::kInteger, 4)};
  return plan;
}

// stock (text), flags -> bytes
Plan text_plan() {
  Plan plan;
  plan.id = QueryId{1};
  plan.name = "by \"name\"";
  plan.key_words = 2;
  plan.key_fields = {make_key_field("stock", FieldType::kText, 0, 1),
                     make_key_field("flags", FieldType::kFlags, 1, 1)};
  plan.outputs = {make_output("bytes", OutputOp::kSum, 1)};
  return plan;
}

struct Sample {
  Plan traffic = traffic_plan(), text = text_plan();
  std::vector<const Plan*> plans{&traffic, &text};
  // 10.1.2.0, port 53; 4 packets of 326 bytes in all; the last price 12.3400
  std::vector<int64_t> key{0, 0x0000FFFF'0A010200, 53, 0};
  std::vector<int64_t> cell{4, 326, kNoon, 7, 123400, 0, 0, 0};
  std::vector<int64_t> text_key{0x412C2242'01E90000, 0x12}, text_cell{1, 1500, 1500, 1500};
  std::deque<std::vector<Value>> values;  // of the results made so far
  const Value* lower_all(const Plan& plan, const std::vector<int64_t>& of) {
    return values.emplace_back(lowered(plan, of.data())).data();
  }
  Result result(uint16_t flags = 0) {
    Result row;
    row.plan = &traffic;
    row.query = 0;
    row.flags = flags;
    row.sequence = 7;
    row.place = row.end = EventTime{kNoon + kSecond};
    row.start = EventTime{kNoon};
    row.key = key.data();
    row.cell = cell.data();
    row.values = lower_all(traffic, cell);
    return row;
  }
  Result text_result() {
    Result row = result();
    row.plan = &text;
    row.query = 1;
    row.sequence = 8;
    row.key = text_key.data();
    row.cell = text_cell.data();
    row.values = lower_all(text, text_cell);
    return row;
  }
};

// Texts of rows in one sink.
std::string encoded(Encoder encoder, const std::vector<Result>& rows, size_t plans = 2) {
  SinkProgress progress;
  progress.seen.resize(plans);
  std::string all;
  for (const Result& row : rows) {
    std::vector<char> room(encoded_bytes_max("edge1", *row.plan)), before_room(room.size());
    TextWriter out(room), before(before_room);
    std::visit([&](auto& e) { e.row(row, out); }, encoder);
    std::visit([&](auto& e) { e.before(row, progress, before); }, encoder);
    EXPECT_FALSE(out.truncated() || before.truncated());
    EXPECT_LE(out.size() + before.size(), room.size());
    all.append(before.text()).append(out.text());
  }
  return all;
}

TEST(Json, OneObjectALine) {
  Sample s;
  const auto encode = [&](Result row) { return encoded(JsonEncoder("edge1", s.plans), {row}); };
  EXPECT_EQ(
      encode(s.result()),
      R"({"system":"edge1","query":"traffic","sequence":7,)"
      R"("start":"2024-02-29T12:00:00.000000000Z","end":"2024-02-29T12:00:01.000000000Z",)"
      R"("kind":"on_time","index":0,"overflow":false,"key":{"src/24":"10.1.2.0/24","port":53},)"
      R"#("values":{"packets":4,"average(length)":81.500000,"last(price)":12.3400}})#"
      "\n");
  s.key[2] = kAbsent;
  EXPECT_NE(
      encode(s.result(kFlagPartial))
          .find(R"("kind":"partial","index":0,"overflow":false,"key":{"src/24":"10.1.2.0/24",)"
                R"("port":null},)"),
      std::string::npos);
  EXPECT_NE(encode(s.result(kFlagOverflow | kFlagOverflowRow))
                .find(R"("overflow":true,"key":"__overflow__","values":{"packets":4)"),
            std::string::npos);
}

// 'A' ',' '"' 'B' 0x01 0xE9 as text.
TEST(Json, TextIsEscaped) {
  Sample s;
  EXPECT_EQ(encoded(JsonEncoder("e\n1", s.plans), {s.text_result()}),
            R"({"system":"e\u000a1","query":"by \"name\"","sequence":8,)"
            R"("start":"2024-02-29T12:00:00.000000000Z","end":"2024-02-29T12:00:01.000000000Z",)"
            R"("kind":"on_time","index":0,"overflow":false,)"
            R"("key":{"stock":"A,\"B\u0001\u00e9","flags":"SA"},)"
            R"("values":{"bytes":1500}})"
            "\n");
}

TEST(Csv, HeaderOnceAQuery) {
  Sample s;
  s.text_key[0] = 0x412C2242'00000000;  // A,"B
  Result last = s.result(kFlagOverflow | kFlagOverflowRow | kFlagPartial);
  EXPECT_EQ(
      encoded(CsvEncoder(s.plans), {s.result(), s.text_result(), s.result(kFlagOverflow), last}),
      "query,sequence,start,end,kind,index,overflow,src/"
      "24,port,packets,average(length),last(price)\n"
      "traffic,7,2024-02-29T12:00:00.000000000Z,2024-02-29T12:00:01.000000000Z,on_time,0,false,"
      "10.1.2.0/24,53,4,81.500000,12.3400\n"
      "query,sequence,start,end,kind,index,overflow,stock,flags,bytes\n"
      "\"by \"\"name\"\"\",8,2024-02-29T12:00:00.000000000Z,2024-02-29T12:00:01.000000000Z,on_time,"
      "0,false,\"A,\"\"B\",SA,1500\n"
      "traffic,7,2024-02-29T12:00:00.000000000Z,2024-02-29T12:00:01.000000000Z,on_time,0,true,"
      "10.1.2.0/24,53,4,81.500000,12.3400\n"
      "traffic,7,2024-02-29T12:00:00.000000000Z,2024-02-29T12:00:01.000000000Z,partial,0,true,"
      "__overflow__,,4,81.500000,12.3400\n");
}

TEST(Csv, AbsentIsEmptyAndEmptyTextIsQuoted) {
  Sample s;
  s.key[2] = kAbsent;
  EXPECT_NE(encoded(CsvEncoder(s.plans), {s.result()}).find(",10.1.2.0/24,,4,"), std::string::npos);
  s.text_key[0] = 0;
  EXPECT_NE(encoded(CsvEncoder(s.plans), {s.text_result()}).find(",false,\"\",SA,"),
            std::string::npos);
}

TEST(Table, HeadingWhereTheQueryOrTheDayChanges) {
  Sample s;
  Result tomorrow = s.result(kFlagPartial);
  tomorrow.start = EventTime{kNoon + 86'400 * kSecond};
  tomorrow.end = EventTime{kNoon + 86'401 * kSecond + kSecond / 4};
  EXPECT_EQ(
      encoded(TableEncoder(s.plans, false), {s.result(), s.result(kFlagOverflow | kFlagOverflowRow),
                                             s.text_result(), s.result(), tomorrow}),
      "traffic  2024-02-29\n"
      "  start     end       src/24       port  packets  average(length)  last(price)\n"
      "  12:00:00  12:00:01  10.1.2.0/24    53        4        81.500000      12.3400\n"
      "  12:00:00  12:00:01  __overflow__              4        81.500000      12.3400"
      "  overflow\n"
      "\n"
      "by \"name\"  2024-02-29\n"
      "  start     end       stock   flags  bytes\n"
      "  12:00:00  12:00:01  A,\"B??  SA      1500\n"
      "\n"
      "traffic  2024-02-29\n"
      "  start     end       src/24        port  packets  average(length)  last(price)\n"
      "  12:00:00  12:00:01  10.1.2.0/24     53        4        81.500000      12.3400\n"
      "\n"
      "traffic  2024-03-01\n"
      "  start     end          src/24        port  packets  average(length)  last(price)\n"
      "  12:00:00  12:00:01.25  10.1.2.0/24     53        4        81.500000      12.3400"
      "  partial\n");
}

TEST(Table, ColourOnlyWhenAsked) {
  Sample s;
  const std::string text =
      encoded(TableEncoder(s.plans, true), {s.text_result(), s.result(kFlagOverflow)});
  EXPECT_EQ(text.substr(0, text.find("  2024")), "\x1b[1mby \"name\"\x1b[0m");
  EXPECT_NE(text.find("\x1b[33m  12:00:00"), std::string::npos);
  EXPECT_EQ(encoded(TableEncoder(s.plans, false), {s.result(kFlagOverflow)}).find('\x1b'),
            std::string::npos);
}

// Only of a query with a value that may: others have no word of it.
TEST(Saturated, IsToldInEveryEncoding) {
  Sample s;
  s.traffic.outputs[1] = make_output("vwap", OutputOp::kVwap, 1);
  std::vector<Value> values{{.number = 4}, {.number = 10, .saturated = true}, {.number = 5}};
  const auto row = [&](uint16_t flags) {
    Result result = s.text_result();
    result.plan = &s.traffic;
    result.query = 0;
    result.key = s.key.data();
    result.flags = flags;
    result.values = values.data();
    return result;
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const auto json = [&](const Result& r) { return encoded(JsonEncoder("edge1", s.plans), {r}); };
  EXPECT_TRUE(has(json(row(kFlagSaturated)), ",\"overflow\":false,\"saturated\":true,"));
  EXPECT_TRUE(has(json(row(0)), ",\"overflow\":false,\"saturated\":false,"));
  EXPECT_FALSE(has(json(s.text_result()), "saturated"));
  const std::string csv = encoded(CsvEncoder(s.plans), {row(kFlagSaturated), row(0)});
  EXPECT_TRUE(has(csv, ",index,overflow,saturated,src/24,"));
  EXPECT_TRUE(has(csv, ",on_time,0,false,true,10.1.2.0/24,"));
  EXPECT_TRUE(has(csv, ",on_time,0,false,false,10.1.2.0/24,"));
  EXPECT_FALSE(has(encoded(CsvEncoder(s.plans), {s.text_result()}), "saturated"));
  EXPECT_TRUE(has(encoded(TableEncoder(s.plans, false), {row(kFlagSaturated)}), "  saturated\n"));
  EXPECT_FALSE(has(encoded(TableEncoder(s.plans, false), {row(0)}), "saturated"));
  // The last record: head 16, sequence, place, start and end 32, then the flags.
  const auto flags = [&](const Result& r) {
    const std::string bytes = encoded(BinaryEncoder("edge1", s.plans), {r});
    const size_t record = 16 + 40 + 4 * 8 + 3 * 16;
    return static_cast<int>(bytes.at(bytes.size() - record + 48));
  };
  EXPECT_EQ(flags(row(kFlagSaturated)), 16);
  EXPECT_EQ(flags(row(0)), 0);
}

// ---- binary

struct Reader {
  std::string bytes;
  size_t at = 0;
  uint64_t number(size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= uint64_t{static_cast<unsigned char>(bytes.at(at + i))} << (8 * i);
    at += size;
    return value;
  }
  int64_t word() { return static_cast<int64_t>(number(8)); }
  std::string name(size_t size) {
    const std::string text = bytes.substr(at, size);
    for (at += size; at % 8 != 0; ++at) EXPECT_EQ(bytes.at(at), '\0');
    return text;
  }
};

TEST(Binary, ReadBackByItsDescription) {
  Sample s;
  s.cell[1] = -326;
  Result second = s.result(kFlagPartial);
  second.sequence = 9;
  second.fire = FireKind::kEarly;
  second.index = 3;
  Reader in{encoded(BinaryEncoder("edge1", s.plans), {s.result(), second, s.text_result()})};

  const auto head = [&](uint64_t type, uint64_t query) {
    EXPECT_EQ(in.at % 8, 0u);
    EXPECT_EQ(in.bytes.substr(in.at, 4), "TIDW");
    in.at += 4;
    const uint64_t bytes = in.number(4);
    EXPECT_EQ(in.number(2), type);
    EXPECT_EQ(in.number(2), 2u);  // version
    EXPECT_EQ(in.number(2), query);
    EXPECT_EQ(in.number(2), 0u);
    return in.at - 16 + bytes;  // where the next record starts
  };
  const auto name_size_then = [&](size_t rest) {
    const uint64_t size = in.number(2);
    EXPECT_EQ(in.number(rest), 0u);
    return size;
  };

  size_t next = head(1, 0);
  const uint64_t system_size = name_size_then(6);
  EXPECT_EQ(in.name(system_size), "edge1");
  EXPECT_EQ(in.at, next);

  next = head(2, 0);
  const uint64_t query_size = in.number(2);
  EXPECT_EQ(in.number(2), 2u);  // key fields
  EXPECT_EQ(in.number(2), 4u);  // key words
  EXPECT_EQ(in.number(2), 3u);  // outputs
  EXPECT_EQ(in.name(query_size), "traffic");
  //                                type first words decimals /v4 /v6 absent 0
  for (const unsigned expected : {1u, 0u, 2u, 0u, 24u, 128u, 0u, 0u})
    EXPECT_EQ(in.number(1), expected);
  EXPECT_EQ(in.name(name_size_then(6)), "src/24");
  for (const unsigned expected : {0u, 2u, 1u, 0u, 32u, 128u, 1u, 0u})
    EXPECT_EQ(in.number(1), expected);
  EXPECT_EQ(in.name(name_size_then(6)), "port");
  //                                operation type decimals 0
  for (const unsigned expected : {0u, 0u, 0u, 0u}) EXPECT_EQ(in.number(1), expected);
  EXPECT_EQ(in.name(name_size_then(2)), "packets");
  for (const unsigned expected : {2u, 0u, 6u, 0u}) EXPECT_EQ(in.number(1), expected);
  EXPECT_EQ(in.name(name_size_then(2)), "average(length)");
  for (const unsigned expected : {6u, 0u, 4u, 0u}) EXPECT_EQ(in.number(1), expected);
  EXPECT_EQ(in.name(name_size_then(2)), "last(price)");
  EXPECT_EQ(in.at, next);

  for (const uint64_t sequence : {7u, 9u}) {
    next = head(3, 0);
    EXPECT_EQ(in.number(8), sequence);
    EXPECT_EQ(in.word(), kNoon + kSecond);  // place
    EXPECT_EQ(in.word(), kNoon);
    EXPECT_EQ(in.word(), kNoon + kSecond);
    EXPECT_EQ(in.number(2), sequence == 9 ? 4u : 0u);
    EXPECT_EQ(in.number(1), sequence == 9 ? 1u : 0u);  // kind
    EXPECT_EQ(in.number(1), 0u);
    EXPECT_EQ(in.number(4), sequence == 9 ? 3u : 0u);  // index
    for (const int64_t expected :
         {int64_t{0}, int64_t{0x0000FFFF'0A010200}, int64_t{53}, int64_t{0}})
      EXPECT_EQ(in.word(), expected);
    //                                 packets  -81.500000       12.3400
    for (const int64_t expected : {4, 0, -81'500'000, -1, 123'400, 0})
      EXPECT_EQ(in.word(), expected);
    EXPECT_EQ(in.at, next);
  }
  next = head(2, 1);
  in.at = next;
  next = head(3, 1);
  EXPECT_EQ(in.number(8), 8u);
  EXPECT_EQ(next, in.bytes.size());
}

}  // namespace
}  // namespace tidewire
