// SPDX-License-Identifier: Apache-2.0
// Code regions from the configuration: their begin and end, and the file offsets of both.
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
// Source of a run's bytes: none, the first to fifth argument of its first function, or the function's result.
constexpr uint8_t kNoBytes = 0, kBytesReturned = 6;

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
  uint8_t bytes = kNoBytes;
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
// Those of a parameter, a list of records; throws Failure.
std::vector<Region> regions_of(const Host &host, const std::string &parameter);
// Of each region: 1 if it ends where its function returns.
std::vector<uint8_t> by_return(const std::vector<Region> &regions);

// Resolves the region in its binary, which is open as `file`.
core::Result<Points> resolve(const Region &region, int file);

}  // namespace atalaya::probes
