// SPDX-License-Identifier: Apache-2.0
// The code regions that the operator names: where each begins and ends, and where in a file that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::uprobe {

// A function, and how many bytes behind its begin.
struct Place {
  std::string symbol;
  uint64_t offset = 0;
};

struct Region {
  std::string name, binary;
  Place enter;
  std::optional<Place> leave;  // nothing: where `enter` returns
  bool is_safe = false;        // the pipeline file says that no exception leaves `enter`: it has leave = "return"
  uint8_t bytes = 0;           // as bpf/uprobe.h has it
};

// As the pipeline file has it.
struct RegionText {
  std::string name, binary, enter, leave, bytes;
};

// In the file.
struct Points {
  uint64_t enter = 0;
  std::optional<uint64_t> leave;
};

core::Result<std::vector<Region>> parse_regions(const std::vector<RegionText> &texts);

// In the region's binary, which is open as `file`.
core::Result<Points> resolve(const Region &region, int file);

}  // namespace atalaya::uprobe
