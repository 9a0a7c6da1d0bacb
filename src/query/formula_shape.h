// What the operations of a formula give: type, decimals, bits, whether it may be absent. Each turns
// its first operand into the result and returns nothing, or says what is wrong.
#pragma once

#include <string>

#include "query/formula.h"

namespace tidewire {

inline constexpr uint32_t kDecimalsMax = 18;  // 10^18 is the largest power of ten in 64 bits

bool is_number(const Formula& formula);
const char* name_of(FieldType type);  // "a number"

Formula number_constant(int64_t value, uint32_t decimals);
std::string add(Formula& left, Formula right);
std::string subtract(Formula& left, Formula right);
std::string multiply(Formula& left, Formula right);
std::string divide(Formula& left, Formula right);
std::string negate(Formula& value);
std::string round_to(Formula& value, uint32_t decimals);  // more, or fewer half to even
std::string bucket(Formula& value, Formula width);
// The two values of a case: of one type and number of decimals; a quoted text takes the type of the
// other. `shape`: what the case gives.
std::string agree(Formula& yes, Formula& no, Field& shape);
// A quoted text becomes a constant of `words` words, or of two where it is longer than 8 bytes.
std::string as_text(Formula& quoted, uint32_t words);

}  // namespace tidewire
