// Derived columns: fields that a source computes from others, `NAME = "FORMULA"` in
// [source.NAME.columns]; the language is in query/formula.h. Behind this file they are fields like
// any other: `where`, keys, aggregates and columns below name them. A column that no query uses,
// even through another, costs nothing: it has no place in the batch.
//
//   text -> Formula (tree, types, decimals, bits) -> ColumnProgram (steps over whole columns)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/column_program.h"
#include "query/formula.h"
#include "query/lookup.h"
#include "query/schema.h"

namespace tidewire {

struct ColumnSpec {
  std::string name, formula;
};
struct ColumnProblem {
  size_t column = 0;  // index into the specs
  int32_t at = -1;    // offset in the formula; -1: the name
  std::string text;
};

// The columns of one source. Neither copied nor moved: the schema's names point into it.
struct DerivedColumns {
  struct Column {
    std::string name, formula, help;
    Formula root;
  };
  DerivedColumns() = default;
  DerivedColumns(const DerivedColumns&) = delete;
  DerivedColumns& operator=(const DerivedColumns&) = delete;

  Schema schema;  // the format's fields, then one for each column
  uint32_t native = 0;
  std::vector<Column> columns;
  std::vector<LookupSpec> lookups;

  // Marks what the marked columns read, down to the format's fields.
  void mark_reads(std::vector<bool>& used) const;
};

// A column reads the format's fields and the columns above it. With problems the result is not to
// be used.
std::shared_ptr<const DerivedColumns> parse_columns(const Schema& native,
                                                    std::span<const ColumnSpec> specs,
                                                    std::vector<ColumnProblem>& problems);

// For the columns that `map` wants. `first_table`: where this source's lookups stand among all.
ColumnProgram compile_columns(const DerivedColumns& derived, const ColumnMap& map,
                              uint32_t first_table);

}  // namespace tidewire
