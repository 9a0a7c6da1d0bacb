#include "config/columns.h"

#include <string>

namespace tidewire {

std::shared_ptr<const DerivedColumns> read_columns(const Node& table, const Schema& format,
                                                   std::string_view text,
                                                   std::vector<Problem>& problems) {
  if (table.type != Node::Type::kTable) {
    problems.push_back(
        {table.place, "columns: must be a table, such as { bits = \"wire_length * 8\" }"});
    return nullptr;
  }
  std::vector<ColumnSpec> specs;
  std::vector<const Node*> nodes;
  for (const Node& column : table.children) {
    if (column.type == Node::Type::kText) {
      specs.push_back({column.key, column.text});
      nodes.push_back(&column);
    } else {
      problems.push_back({column.place, column.key + ": must be a formula in quotes, such as " +
                                            "\"wire_length * 8\", not " +
                                            std::string(to_string(column.type))});
    }
  }
  std::vector<ColumnProblem> found;
  auto derived = parse_columns(format, specs, found);
  for (const ColumnProblem& p : found) {
    const Node& column = *nodes[p.column];
    if (p.at < 0)
      problems.push_back({column.key_place, p.text});
    else
      problems.push_back({place_inside(text, column.place, static_cast<size_t>(p.at)),
                          column.key + ": " + p.text});
  }
  return derived;
}

}  // namespace tidewire
