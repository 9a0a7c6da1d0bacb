#include <bit>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "egress/binary_format.h"
#include "egress/encode.h"

namespace tidewire {
namespace {

using namespace binary_format;

// The layout is the memory's own.
static_assert(std::endian::native == std::endian::little);
// Numbers that stand in files.
static_assert(static_cast<uint8_t>(FieldType::kInteger) == 0 &&
              static_cast<uint8_t>(FieldType::kAddress) == 1 &&
              static_cast<uint8_t>(FieldType::kMac) == 2 &&
              static_cast<uint8_t>(FieldType::kText) == 3 &&
              static_cast<uint8_t>(FieldType::kProtocol) == 4 &&
              static_cast<uint8_t>(FieldType::kEthertype) == 5 &&
              static_cast<uint8_t>(FieldType::kFlags) == 6 &&
              static_cast<uint8_t>(FieldType::kFlow) == 7 &&
              static_cast<uint8_t>(FieldType::kTime) == 8);
static_assert(
    static_cast<uint8_t>(OutputOp::kCount) == 0 && static_cast<uint8_t>(OutputOp::kSum) == 1 &&
    static_cast<uint8_t>(OutputOp::kAverage) == 2 && static_cast<uint8_t>(OutputOp::kMin) == 3 &&
    static_cast<uint8_t>(OutputOp::kMax) == 4 && static_cast<uint8_t>(OutputOp::kFirst) == 5 &&
    static_cast<uint8_t>(OutputOp::kLast) == 6 && static_cast<uint8_t>(OutputOp::kVariance) == 7 &&
    static_cast<uint8_t>(OutputOp::kVarianceSample) == 8 &&
    static_cast<uint8_t>(OutputOp::kDeviation) == 9 &&
    static_cast<uint8_t>(OutputOp::kDeviationSample) == 10 &&
    static_cast<uint8_t>(OutputOp::kVwap) == 11 && static_cast<uint8_t>(OutputOp::kAny) == 12 &&
    static_cast<uint8_t>(OutputOp::kAll) == 13 && static_cast<uint8_t>(OutputOp::kTop) == 14 &&
    static_cast<uint8_t>(OutputOp::kBottom) == 15 &&
    static_cast<uint8_t>(OutputOp::kQuantile) == 16 &&
    static_cast<uint8_t>(OutputOp::kDistinct) == 17 &&
    static_cast<uint8_t>(OutputOp::kDelta) == 18 && static_cast<uint8_t>(OutputOp::kRate) == 19);
static_assert(static_cast<uint8_t>(FireKind::kOnTime) == 0 &&
              static_cast<uint8_t>(FireKind::kEarly) == 1 &&
              static_cast<uint8_t>(FireKind::kUpdate) == 2 &&
              static_cast<uint8_t>(FireKind::kRetraction) == 3 &&
              static_cast<uint8_t>(FireKind::kProvisional) == 4);
static_assert(static_cast<uint8_t>(LateReason::kLate) == 0 &&
              static_cast<uint8_t>(LateReason::kTooFarAhead) == 1 &&
              static_cast<uint8_t>(LateReason::kTooFarBehind) == 2 &&
              static_cast<uint8_t>(LateReason::kBeforeMinTime) == 3);
static_assert(uint32_t{kOverflow} == uint32_t{kFlagOverflow} &&
              uint32_t{kOverflowRow} == uint32_t{kFlagOverflowRow} &&
              uint32_t{kPartial} == uint32_t{kFlagPartial} &&
              uint32_t{kEmpty} == uint32_t{kFlagEmpty} &&
              uint32_t{kSaturated} == uint32_t{kFlagSaturated});

template <class Body>
void add_body(std::string& to, const Body& body) {
  char bytes[sizeof(Body)];
  std::memcpy(bytes, &body, sizeof body);
  to.append(bytes, sizeof bytes);
}

template <class Part>
void put(char*& to, const Part& part) {
  std::memcpy(to, &part, sizeof part);
  to += sizeof part;
}

void add_name(std::string& to, std::string_view name) {
  to.append(name);
  to.resize((to.size() + 7) / 8 * 8, '\0');
}

uint16_t name_bytes(std::string_view name) {
  CHECK(name.size() <= UINT16_MAX);
  return static_cast<uint16_t>(name.size());
}

void set_head(std::string& record, RecordType type, uint16_t query) {
  const RecordHead head{
      .bytes = static_cast<uint32_t>(record.size()), .type = type, .query = query};
  std::memcpy(record.data(), &head, sizeof head);
}

void add_field(std::string& record, const KeyField& field) {
  KeyFieldBody body;
  body.type = static_cast<uint8_t>(field.type);
  body.first_word = field.first_word;
  body.words = field.words;
  body.decimals = field.decimals;
  body.prefix_ipv4 = field.prefix_ipv4;
  body.prefix_ipv6 = field.prefix_ipv6;
  body.may_be_absent = !field.may_be_absent ? 0 : field.absent == kAbsent ? 1 : 2;
  body.name_bytes = name_bytes(field.name);
  add_body(record, body);
  add_name(record, field.name);
}

// Head, name and key fields; `columns` more follow.
std::string schema_opening(const Plan& plan, size_t columns) {
  std::string record(sizeof(RecordHead), '\0');
  add_body(record,
           QueryBody{name_bytes(plan.name), static_cast<uint16_t>(plan.key_fields.size()),
                     static_cast<uint16_t>(plan.key_words), static_cast<uint16_t>(columns)});
  add_name(record, plan.name);
  for (const KeyField& field : plan.key_fields) add_field(record, field);
  return record;
}

std::string schema_of(const Plan& plan, uint16_t query) {
  std::string record = schema_opening(plan, plan.outputs.size());
  for (const Output& output : plan.outputs) {
    OutputBody body;
    const Value shape = lower_shape(output);
    body.operation = static_cast<uint8_t>(output.op);
    body.type = static_cast<uint8_t>(shape.type);
    body.decimals = shape.decimals;
    body.name_bytes = name_bytes(output.name);
    add_body(record, body);
    add_name(record, output.name);
  }
  set_head(record, RecordType::kQuery, query);
  return record;
}

std::string late_schema_of(const Plan& plan, uint16_t query) {
  std::string record = schema_opening(plan, plan.value_fields.size());
  for (const KeyField& field : plan.value_fields) add_field(record, field);
  set_head(record, RecordType::kLateQuery, query);
  return record;
}

}  // namespace

BinaryEncoder::BinaryEncoder(const std::string& system_name,
                             const std::vector<const Plan*>& plans) {
  stream_.resize(sizeof(RecordHead));
  add_body(stream_, StreamBody{.name_bytes = name_bytes(system_name)});
  add_name(stream_, system_name);
  set_head(stream_, RecordType::kStream, 0);
  for (size_t i = 0; i < plans.size(); ++i) {
    schemas_.push_back(schema_of(*plans[i], static_cast<uint16_t>(i)));
    late_schemas_.push_back(late_schema_of(*plans[i], static_cast<uint16_t>(i)));
  }
}

void BinaryEncoder::before(const Result& row, SinkProgress& progress, TextWriter& out) const {
  if (!progress.opened) out.put(stream_);
  progress.opened = true;
  if (progress.first(row))
    out.put((row.kind == RunKind::kLate ? late_schemas_ : schemas_)[row.query]);
}

void BinaryEncoder::row(const Result& row, TextWriter& out) {
  const Plan& plan = *row.plan;
  const size_t bytes = sizeof(RecordHead) + sizeof(ResultBody) + plan.key_words * sizeof(int64_t) +
                       plan.outputs.size() * 2 * sizeof(int64_t);
  char* to = out.claim(bytes);
  if (!to) return;
  put(to,
      RecordHead{
          .bytes = static_cast<uint32_t>(bytes), .type = RecordType::kResult, .query = row.query});
  put(to, ResultBody{.sequence = row.sequence,
                     .place = row.place.ns,
                     .start = row.start.ns,
                     .end = row.end.ns,
                     .flags = row.flags,
                     .kind = static_cast<uint8_t>(row.fire),
                     .index = row.index});
  for (uint32_t w = 0; w < plan.key_words; ++w) put(to, row.key[w]);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const auto number = static_cast<uint128>(row.values[i].number);
    put(to, static_cast<uint64_t>(number));
    put(to, static_cast<uint64_t>(number >> 64));
  }
}

void BinaryEncoder::late(const Result& row, TextWriter& out) {
  const Plan& plan = *row.plan;
  const size_t values = plan.values.size();
  const size_t bytes =
      sizeof(RecordHead) + sizeof(LateBody) + (plan.key_words + values) * sizeof(int64_t);
  char* to = out.claim(bytes);
  if (!to) return;
  put(to,
      RecordHead{
          .bytes = static_cast<uint32_t>(bytes), .type = RecordType::kLate, .query = row.query});
  put(to, LateBody{.time = row.start.ns,
                   .watermark = row.place.ns,
                   .reason = static_cast<uint8_t>(row.reason())});
  for (uint32_t w = 0; w < plan.key_words; ++w) put(to, row.key[w]);
  for (size_t i = 0; i < values; ++i) put(to, row.cell[i]);
}

}  // namespace tidewire
