// SPDX-License-Identifier: Apache-2.0
// Formats a list as a table, as JSON or as names.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace atalaya::contents {

using Cell = std::variant<std::string, int64_t>;

struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

std::string as_table(const Listing &listing);
// One object per row: [{"column":"text","count":1},..]
std::string as_json(const Listing &listing);
// The texts of the first column, one per line. Empty texts and texts with line breaks are omitted.
std::string as_names(const Listing &listing);

}  // namespace atalaya::contents
