// SPDX-License-Identifier: Apache-2.0
// Code regions from the configuration: their start and end, and the file offsets of both.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace atalaya::probes {

constexpr size_t kMaxRegions = 64;
// The source of the number of bytes of a region's run: 0 none, 1 to 5 an argument of the function at its start, 6 the function's
// result.
constexpr uint8_t kNoBytes = 0, kBytesReturned = 6;

// A function and an offset in bytes.
struct Place {
  std::string symbol;
  uint64_t offset = 0;
};

struct Region {
  std::string name, binary;
  Place enter;
  std::optional<Place> leave;  // nothing: the region ends when the function `enter` returns
  bool is_safe = false;        // the configuration has leave = "return": no exception leaves `enter`
  uint8_t bytes = kNoBytes;
};

// A region as in the pipeline file.
struct RegionText {
  std::string name, binary, enter, leave, bytes;
};

// The file offsets of a region's start and end.
struct Points {
  uint64_t enter = 0;
  std::optional<uint64_t> leave;
};

core::Result<std::vector<Region>> parse_regions(const std::vector<RegionText> &texts);
// The regions in a parameter, which is a list of records. Throws Failure.
std::vector<Region> regions_of(const Host &host, const std::string &parameter);
// For each region 1 if it ends with the return of its function, else 0.
std::vector<uint8_t> by_return(const std::vector<Region> &regions);

// Finds the offsets of the region in its binary, which is open as `file`.
core::Result<Points> resolve(const Region &region, int file);

}  // namespace atalaya::probes
