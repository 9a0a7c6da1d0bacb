// [source.NAME.columns]: NAME = "FORMULA", one derived column each.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "query/derive.h"

namespace tidewire {

// `text`: the whole file, for places inside a formula. Where there are problems the result, which
// may be null, is not to be used.
std::shared_ptr<const DerivedColumns> read_columns(const Node& table, const Schema& format,
                                                   std::string_view text,
                                                   std::vector<Problem>& problems);

}  // namespace tidewire
