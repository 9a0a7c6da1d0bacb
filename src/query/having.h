// The language of `having`: that of `where` (query/expression.h), over the results of a window.
//
//   having = "packets > 100 and not 'avg(wire_length)' < 64.5"
//
// A name is a result's, in quotes where it is no word; a literal is read at the decimals at which
// that result is shown. A result that is absent is in no range; `NAME present` asks for that.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/expression.h"
#include "query/plan.h"

namespace tidewire {

// Appends to `steps`. False: `error` says what is wrong, and where in the text.
bool compile_having(std::string_view text, std::span<const Output> outputs,
                    std::span<const KeyField> key, std::vector<HavingStep>& steps,
                    ExpressionError& error);

}  // namespace tidewire
