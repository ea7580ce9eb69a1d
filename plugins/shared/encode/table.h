// SPDX-License-Identifier: Apache-2.0
// Samples as tables for people, on a terminal of any width.
#pragma once

#include <atalaya/plugin.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/name_cache.h"

namespace atalaya::core {

struct TableOptions {
  size_t width = 0;       // columns of the terminal; 0: as wide as needed
  uint64_t max_rows = 0;  // of each table; 0: all
  std::string sort;       // a field's full name, largest first; where it is absent rows keep their order
};

// Appends one table for each window, family (first word of the metric's name) and set of tags; stacks and spans have tables of
// their own. Columns: tags, then fields without their family. What does not fit beside each other goes below, with the tags
// repeated; long texts are cut with an ellipsis, numbers never. An absent value is '-'.
void append_tables(std::span<const atalaya_sample> samples, const NameOf &name_of, const TableOptions &options, std::string &out);

}  // namespace atalaya::core
