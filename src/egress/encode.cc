#include "egress/encode.h"

namespace tidewire {

void append_value(TextWriter& out, const Value& value) {
  if (value.type == FieldType::kInteger) return append_decimal(out, value.number, value.decimals);
  const auto word = static_cast<int64_t>(value.number);
  append_words(out, value.type, value.decimals, std::span(&word, 1));
}

std::span<const int64_t> words_of(const KeyField& field, const int64_t* key) {
  return {key + field.first_word, field.words};
}

size_t encoded_bytes_max(const std::string& system_name, const Plan& plan) {
  constexpr size_t kEscaped = 6;  // \u00XX
  // Row and heading; fixed words, times and numbers of a row in any encoding fit the first term.
  size_t bytes = 1024 + 2 * kEscaped * (system_name.size() + plan.name.size());
  const auto column = [&](const std::string& name) {
    bytes += 2 * (kEscaped * name.size() + kEscaped * 8 * kMaxKeyWords + kFieldTextMax);
  };
  for (const KeyField& field : plan.key_fields) column(field.name);
  for (const Output& output : plan.outputs) column(output.name);
  for (const KeyField& field : plan.value_fields) column(field.name);
  return bytes;
}

Encoder make_encoder(Encoding encoding, bool colour, const std::string& system_name,
                     const std::vector<const Plan*>& plans) {
  switch (encoding) {
    case Encoding::kJsonLines:
      return JsonEncoder(system_name, plans);
    case Encoding::kCsv:
      return CsvEncoder(plans);
    case Encoding::kBinary:
      return BinaryEncoder(system_name, plans);
    case Encoding::kTable:
      break;
  }
  return TableEncoder(plans, colour);
}

}  // namespace tidewire
