// SPDX-License-Identifier: Apache-2.0
// Samples as tables for a terminal of any width.
#pragma once

#include <atalaya/plugin.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/sample/name_cache.h"

namespace atalaya::io {

struct TableOptions {
  size_t width = 0;       // columns of the terminal; 0: no limit
  uint64_t max_rows = 0;  // rows of each table; 0: no limit
  std::string sort;  // full name of the field to sort by, largest first; rows without it keep their order; "": processes by CPU
};

// Appends one table per window, family (first part of the metric's name) and set of tags; stacks and spans have separate tables.
// Columns: tags, then fields without their family. Columns that exceed the width continue below, with the tags repeated. Long
// texts are cut with an ellipsis; numbers are never cut. An absent value is '-'.
void append_tables(std::span<const atalaya_sample> samples, const core::NameOf &name_of, const TableOptions &options,
                   std::string &out);

}  // namespace atalaya::io
