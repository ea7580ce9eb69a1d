// SPDX-License-Identifier: Apache-2.0
// A list as a table or as JSON.
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
// [{"column":"text","count":1},..]
std::string as_json(const Listing &listing);
// The texts of the first column, one a line. A text that is not one visible line is left out.
std::string as_names(const Listing &listing);

}  // namespace atalaya::contents
