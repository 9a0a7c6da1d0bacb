// Flow export of real exporters against an independent tool: what tshark reads out of the same
// datagrams, record by record. The expected table and how it was made: flow_expected.tsv,
// flow_expected.py beside this file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "format/catalog.h"
#include "parse_helper.h"
#include "query/field_text.h"

namespace tidewire::test {
namespace {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

struct Sample {
  std::string name;
  std::vector<fs::path> files;
  std::vector<Row> rows;
};

Row cells_of(const std::string& line) {
  Row cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

std::vector<Sample> expected() {
  std::vector<Sample> samples;
  std::ifstream in(EXPECTED);
  for (std::string line; std::getline(in, line);) {
    const Row cells = cells_of(line);
    if (cells[0] == "#")
      samples.push_back({cells[1], {cells.begin() + 2, cells.end()}, {}});
    else
      samples.back().rows.emplace_back(cells.begin() + 1, cells.end());
  }
  return samples;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::vector<std::string> kFields{"template", "src",   "dst",     "src_port", "dst_port",
                                       "protocol", "bytes", "packets", "start",    "end"};

std::vector<Row> read(const Sample& sample, LaneCounts& counts) {
  FormatOptions options;
  options.template_wait = {600 * kSecond};
  auto parser = parser_of("netflow", kFields, {}, options);
  std::vector<Row> rows;
  auto batch = std::make_unique<EventBatch>();
  for (const fs::path& file : sample.files) {
    const std::string bytes = read_file(fs::path(SAMPLES) / "flow" / file);
    auto burst = std::make_unique<Burst>();
    burst->count = 1;
    burst->data[0] = reinterpret_cast<const std::byte*>(bytes.data());
    burst->length[0] = burst->wire_length[0] = static_cast<uint32_t>(bytes.size());
    burst->arrival[0] = {1'700'000'000 * kSecond};
    burst->interface[0] = 0;
    burst->link[0] = LinkType::kPayload;
    receive(*parser, *burst, counts);
    for (bool more = true; more;) {
      more = parser->next(*batch, counts);
      for (uint32_t i = 0; i < batch->count; ++i) {
        const auto word = [&](uint32_t column) { return batch->column[column][i]; };
        const auto number = [&](uint32_t column, int64_t absent = kAbsent) {
          return word(column) == absent ? "-" : std::to_string(word(column));
        };
        const auto address = [&](uint32_t column) -> std::string {
          if (word(column) == kAbsent && word(column + 1) == kAbsent) return "-";
          std::array<char, kFieldTextMax> room;
          TextWriter out{room};
          append_address(out, word(column), word(column + 1));
          return std::string(out.text());
        };
        rows.push_back({number(0), address(1), address(3), number(5), number(6), number(7),
                        number(8), number(9), number(10, kAbsentNumber),
                        number(11, kAbsentNumber)});
      }
    }
  }
  expect_balanced(counts);
  return rows;
}

std::string text(const Row& row) {
  std::string line;
  for (const std::string& cell : row) line += cell + " ";
  return line;
}

TEST(FlowGolden, EveryRecordIsAsTsharkReadsIt) {
  if (!fs::exists(fs::path(SAMPLES) / "flow")) GTEST_SKIP() << "no samples beside the project";
  size_t records = 0;
  for (const Sample& sample : expected()) {
    SCOPED_TRACE(sample.name);
    LaneCounts counts;
    const std::vector<Row> rows = read(sample, counts);
    EXPECT_EQ(rows.size(), sample.rows.size());
    for (size_t i = 0; i < std::min(rows.size(), sample.rows.size()); ++i)
      EXPECT_EQ(text(rows[i]), text(sample.rows[i])) << "record " << i;
    records += rows.size();
  }
  EXPECT_GT(records, 300u);
}

// Every packet cut at every byte, and with every byte changed: nothing is read past its end, and
// the balances hold. The templates before it are whole, so that its data is read.
TEST(FlowGolden, NothingBreaksOnACutOrChangedPacket) {
  if (!fs::exists(fs::path(SAMPLES) / "flow")) GTEST_SKIP() << "no samples beside the project";
  auto burst = std::make_unique<Burst>();
  auto batch = std::make_unique<EventBatch>();
  burst->count = 1;
  burst->arrival[0] = {1'700'000'000 * kSecond};
  burst->interface[0] = 0;
  burst->link[0] = LinkType::kPayload;
  uint64_t packets = 0;
  for (const Sample& sample : expected()) {
    SCOPED_TRACE(sample.name);
    FormatOptions options;
    options.template_wait = {600 * kSecond};
    options.spread = {60 * kSecond};
    auto parser = parser_of("netflow", kFields, {}, options);
    LaneCounts counts;
    const auto send = [&](const std::vector<char>& bytes) {
      burst->data[0] = reinterpret_cast<const std::byte*>(bytes.data());
      burst->length[0] = burst->wire_length[0] = static_cast<uint32_t>(bytes.size());
      receive(*parser, *burst, counts);
      while (parser->next(*batch, counts)) {
      }
      ++packets;
    };
    for (const fs::path& file : sample.files) {
      const std::string whole = read_file(fs::path(SAMPLES) / "flow" / file);
      send({whole.begin(), whole.end()});
      for (size_t i = 0; i < whole.size(); ++i) {
        send({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)});
        std::vector<char> changed(whole.begin(), whole.end());
        changed[i] = static_cast<char>(~changed[i]);
        send(changed);
      }
    }
    expect_balanced(counts);
  }
  EXPECT_GT(packets, 50'000u);
}

}  // namespace
}  // namespace tidewire::test
