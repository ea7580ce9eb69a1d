// SPDX-License-Identifier: Apache-2.0
// Code regions from the configuration: their begin and end, and the file offsets of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::uprobe {

// A function and an offset in bytes.
struct Place {
  std::string symbol;
  uint64_t offset = 0;
};

struct Region {
  std::string name, binary;
  Place enter;
  std::optional<Place> leave;  // nothing: where `enter` returns
  bool is_safe = false;        // the configuration has leave = "return": no exception leaves `enter`
  uint8_t bytes = 0;           // UPROBE_* of bpf/uprobe.h
};

// As written in the pipeline file.
struct RegionText {
  std::string name, binary, enter, leave, bytes;
};

// Offsets in the file.
struct Points {
  uint64_t enter = 0;
  std::optional<uint64_t> leave;
};

core::Result<std::vector<Region>> parse_regions(const std::vector<RegionText> &texts);

// Resolves the region in its binary, which is open as `file`.
core::Result<Points> resolve(const Region &region, int file);

}  // namespace atalaya::uprobe
