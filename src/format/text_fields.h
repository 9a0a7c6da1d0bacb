// Fields of text formats, which have no schema of their own: a config says which there are, of
// which type, and where they stand.
//
//   "NAME TYPE"              where the record calls it NAME
//   "NAME TYPE from PLACE"   PLACE: a column's name, or #3 for the third; a tag or field of line
//                            protocol, or `measurement`; a member of a JSON record, /of/a/path
//
//   integer        from -2^62 to 2^62
//   decimal(N)     exact with N decimals, N <= 9; what the text has more is rounded half to even
//   text, text(N)  up to N bytes, 16 where nothing is said, 32 at most; what is longer is cut,
//   counted address        IPv4 or IPv6 flag           true, false, 1, 0: as 1 and 0
//
// Numbers are never floats. What cannot be read as its type is absent, and counted as unreadable.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/zone.h"
#include "event/drop_reason.h"
#include "format/catalog.h"
#include "format/value_columns.h"

namespace tidewire::text {

enum class Type : uint8_t { kInteger, kDecimal, kText, kAddress, kFlag };

struct TextField {
  std::string name, place;
  Type type = Type::kInteger;
  uint8_t decimals = 0;
  uint8_t words = 1;
  uint8_t slot = 0;
};

// Slots in front of the declared fields'.
inline constexpr uint8_t kSender = 0;  // two words
inline constexpr uint8_t kFirstSlot = 2;
inline constexpr uint32_t kSlots = 130;  // kFieldMax fields of two words, and the sender

// Errors: "fields: ...".
absl::StatusOr<std::vector<TextField>> parse_text_fields(const std::vector<std::string>& fields);
// The schema: theirs, and `sender`. `name`: the format's. Fields name the texts of `fields`.
std::vector<ValueField> value_fields(const std::vector<TextField>& fields);

// Sets all words of an absent field.
void set_absent(const TextField& field, int64_t* values);
// From a text without quotes or escapes. Counts what is wrong with it.
void set_value(const TextField& field, std::string_view text, int64_t* values, LaneCounts& counts);

// An exact number with so many decimals, rounded half to even: digits, sign, point, exponent.
// False: it is none, or too large.
bool read_number(std::string_view text, uint32_t decimals, int64_t& out);

// A time of the given unit; before_all(): it is none. `zone`: of texts that name none.
EventTime read_time(std::string_view text, TextTimeUnit unit, const Zone& zone, LaneCounts& counts);

}  // namespace tidewire::text
