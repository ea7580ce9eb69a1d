// SPDX-License-Identifier: Apache-2.0
// Cores and memory of hosts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/commands/place/problem.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::place {

constexpr size_t kMaxHosts = 10'000;
constexpr double kMebi = 1 << 20;  // memory is in MiB

// A host per line: "NAME CORES MEMORY", as in "db1 8 32GiB"; # begins a comment. The error names the line.
core::Result<std::vector<HostCapacity>> parse_capacities(std::string_view text);

// Hosts whose cores (sys.cpu.usage by core) and memory (sys.mem.total) are in the store for the range; by name.
std::vector<HostCapacity> read_capacities(const query::Range &range, store::Store &store, query::Budget &budget);

// At least this number of hosts: missing ones are copies of the last one, named "new1", "new2".
std::vector<HostCapacity> padded_to(std::vector<HostCapacity> capacities, size_t count);

}  // namespace atalaya::place
