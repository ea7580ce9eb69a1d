// SPDX-License-Identifier: Apache-2.0
// Writes stacks as a profile of pprof (plugins/shared/protocols/pprof). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

struct ProfileInfo {
  std::string type;                // type of the values: "cpu", "offcpu", "wall"
  Unit unit = Unit::samples;       // unit of the values
  uint32_t group_depth = 1;        // depth of the frames host and process, which become labels, because they are no functions
  int64_t from_ns = 0, to_ns = 0;  // the range of time; 0, 0: unknown
};

// Writes the shown side of the tree. Rounds values to integers, which the format requires. Throws if it is too large for gzip.
std::string pprof_of(const Tree &tree, const ProfileInfo &info);

}  // namespace atalaya::flamegraph
