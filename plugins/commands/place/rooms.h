// SPDX-License-Identifier: Apache-2.0
// How large hosts are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/commands/place/problem.h"
#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/analysis/query/types.h"

namespace atalaya::place {

constexpr size_t kMostHosts = 10'000;

// A line a host: "NAME CORES MEMORY", as in "db1 8 32GiB"; # begins a comment. The error names the line.
core::Result<std::vector<Room>> parse_rooms(std::string_view text);

// Hosts that the store has both cores (sys.cpu.usage by core) and memory (sys.mem.total) of in the time; by name.
std::vector<Room> read_rooms(const query::Range &range, store::Store &store, query::Budget &budget);

// At least so many hosts: where there are fewer, more like the last one, named "new1", "new2".
std::vector<Room> at_least(std::vector<Room> rooms, size_t count);

}  // namespace atalaya::place
