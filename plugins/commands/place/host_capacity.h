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

// Parses a text with one host per line: "NAME CORES MEMORY", such as "db1 8 32GiB"; # starts a comment. An error has the line
// number.
core::Result<std::vector<HostCapacity>> parse_capacities(std::string_view text);

// Reads the hosts whose cores (sys.cpu.usage by core) and memory (sys.mem.total) are in the store for the range, sorted by name.
std::vector<HostCapacity> read_capacities(const query::Range &range, store::Store &store, query::Budget &budget);

// Adds copies of the last host, named "new1", "new2", until there are `count` hosts.
std::vector<HostCapacity> with_new_hosts(std::vector<HostCapacity> capacities, size_t count);

}  // namespace atalaya::place
