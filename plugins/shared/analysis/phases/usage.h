// SPDX-License-Identifier: Apache-2.0
// Resources of a process, per sample and per phase. Pure.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "plugins/shared/analysis/phases/mining/moments.h"

namespace atalaya::phases {

enum Resource : size_t { kCpu, kMemory, kReads, kWrites, kReceived, kSent, kResources };
inline constexpr std::array<std::string_view, kResources> kResourceNames = {"cpu", "memory", "reads", "writes", "received", "sent"};
inline constexpr std::array<std::string_view, kResources> kResourceUnits = {"%", "MiBy", "MiBy/s", "MiBy/s", "Mibit/s", "Mibit/s"};
// The name of a resource in reports.
inline constexpr std::array<std::string_view, kResources> kResourceTexts = {"CPU",         "memory",           "disk reads",
                                                                            "disk writes", "received traffic", "sent traffic"};

// One value per resource; NaN: unknown.
struct ResourceValues {
  std::array<double, kResources> values;
  double windows = 1;  // number of windows of which the values are the mean
  ResourceValues() { values.fill(std::numeric_limits<double>::quiet_NaN()); }
};

struct Usage {
  std::array<Moments, kResources> by_resource;
  void add(const ResourceValues &sample) {
    for (size_t r = 0; r < kResources; ++r)
      if (std::isfinite(sample.values[r])) by_resource[r].add(Moments{sample.windows, sample.values[r], 0, 0});
  }
  void add(const Usage &other) {
    for (size_t r = 0; r < kResources; ++r) by_resource[r].add(other.by_resource[r]);
  }
};

// A phase from its first to its last sample.
struct Occurrence {
  size_t phase = 0;
  int64_t start_ns = 0, end_ns = 0;
  bool is_open = false;
  Moments threads;
  Usage usage;
  double seconds() const { return static_cast<double>(end_ns - start_ns) / 1e9; }
};

}  // namespace atalaya::phases
