// What the egress tests share: small plans, rings with memory, a sink that keeps what it is given.
#pragma once

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "egress/egress.h"
#include "egress/lower.h"
#include "io/sink.h"
#include "query/plan.h"
#include "window/result_block.h"

namespace tidewire {

inline uint64_t test_seed(uint64_t otherwise) {
  const char* given = std::getenv("TIDEWIRE_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : otherwise;
  std::cout << "TIDEWIRE_SEED=" << seed << "\n";
  return seed;
}

inline Output make_output(std::string name, OutputOp op, uint16_t word = 0,
                          FieldType type = FieldType::kInteger, uint8_t decimals = 0,
                          bool sum128 = false) {
  Output output;
  output.name = std::move(name);
  output.op = op;
  output.word = word;
  output.type = type;
  output.decimals = decimals;
  output.sum128 = sum128;
  return output;
}

inline KeyField make_key_field(std::string name, FieldType type, uint8_t first_word,
                               uint8_t words) {
  KeyField field;
  field.name = std::move(name);
  field.type = type;
  field.first_word = first_word;
  field.words = words;
  return field;
}

// Count and sum of one integer, by `key_words` integers.
inline Plan stats_plan(uint16_t id, std::string name, uint32_t key_words) {
  Plan plan;
  plan.id = QueryId{id};
  plan.name = std::move(name);
  plan.key_words = key_words;
  for (uint8_t w = 0; w < key_words; ++w)
    plan.key_fields.push_back(make_key_field("k" + std::to_string(w), FieldType::kInteger, w, 1));
  plan.outputs = {make_output("count", OutputOp::kCount), make_output("sum", OutputOp::kSum, 1),
                  make_output("min", OutputOp::kMin, 2), make_output("max", OutputOp::kMax, 3)};
  return plan;
}

inline Value lower(const Output& output, const int64_t* cell) {
  Value value = lower_shape(output);
  lower(output, cell, value);
  return value;
}

inline std::vector<Value> lowered(const Plan& plan, const int64_t* cell) {
  std::vector<Value> values;
  for (const Output& output : plan.outputs) values.push_back(lower(output, cell));
  return values;
}

inline uint64_t hash_of(const Plan& plan, const int64_t* key) {
  switch (plan.key_words) {
    case 1:
      return hash_words<1>(key, plan.seed);
    case 2:
      return hash_words<2>(key, plan.seed);
    case 4:
      return hash_words<4>(key, plan.seed);
    default:
      return 0;
  }
}

struct TestRing {
  explicit TestRing(size_t blocks) : memory(blocks) {
    ring.blocks.adopt(memory);
    writer = std::make_unique<ResultWriter>(ring);
  }
  void point_row(const Plan& plan, int64_t place, int64_t start, int64_t end, uint16_t flags,
                 const std::vector<int64_t>& key, const std::vector<int64_t>& cell) {
    writer->begin(plan.id,
                  {.place = EventTime{place},
                   .start = EventTime{start},
                   .end = EventTime{end},
                   .flags = flags},
                  1 + plan.key_words + plan.cell_words);
    int64_t* row = writer->row();
    fill(plan, row, flags, key, cell);
  }
  void placed_row(const Plan& plan, int64_t start, int64_t end, uint16_t flags,
                  const std::vector<int64_t>& key, const std::vector<int64_t>& cell) {
    writer->begin(plan.id, {.place = EventTime{end}, .kind = RunKind::kPlaced, .flags = flags},
                  3 + plan.key_words + plan.cell_words);
    int64_t* row = writer->row();
    row[0] = start;
    row[1] = end;
    fill(plan, row + 2, flags, key, cell);
  }
  static void fill(const Plan& plan, int64_t* row, uint16_t flags, const std::vector<int64_t>& key,
                   const std::vector<int64_t>& cell) {
    std::vector<int64_t> words((flags & kFlagOverflowRow) != 0 ? std::vector<int64_t>() : key);
    words.resize(plan.key_words);
    row[0] = static_cast<int64_t>(hash_of(plan, words.data()));
    std::copy(words.begin(), words.end(), row + 1);
    std::copy(cell.begin(), cell.end(), row + 1 + plan.key_words);
  }
  void publish(int64_t place) { writer->publish_fired(EventTime{place}); }

  std::vector<ResultBlock> memory;
  ResultRing ring;
  std::unique_ptr<ResultWriter> writer;
};

class KeepingSink : public Sink {
 public:
  void send(const Records& sent) override {
    ++sends;
    uint32_t begin = 0;
    for (const uint32_t end : sent.ends) {
      const auto* at = reinterpret_cast<const char*>(sent.bytes.data());
      records.emplace_back(at + begin, end - begin);
      begin = end;
    }
    ragged = ragged || begin != sent.bytes.size();
  }
  void flush() override { ++flushes; }
  void sample(SinkCounters& out) const override { out.records = records.size(); }
  std::string all() const {
    std::string text;
    for (const std::string& record : records) text += record;
    return text;
  }

  std::vector<std::string> records;
  uint64_t sends = 0, flushes = 0;
  bool ragged = false;  // bytes behind the last end
};

}  // namespace tidewire
