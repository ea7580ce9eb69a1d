// SPDX-License-Identifier: Apache-2.0
// Computes the resource usage of machines by job, user or another tag of processes: CPU time, memory, energy, disk and network
// bytes.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::report_command {

// The columns, in this order.
struct Resource {
  std::string_view name;  // a key of JSON
  std::string_view title, unit, short_unit;
};
inline constexpr std::array<Resource, 7> kResources = {{{"cpu", "CPU", "core-seconds", "core-s"},
                                                        {"memory", "memory", "GiB-hours", "GiB-h"},
                                                        {"energy", "energy", "J", "J"},
                                                        {"diskReads", "disk in", "MiB", "MiB"},
                                                        {"diskWrites", "disk out", "MiB", "MiB"},
                                                        {"netIn", "net in", "MiB", "MiB"},
                                                        {"netOut", "net out", "MiB", "MiB"}}};
using Amounts = std::array<double, kResources.size()>;  // NaN: the store has no data

// The kinds of rows, in this order. Invariant: group + other + none + unattributed + idle = total, for each resource with a total.
enum class RowKind {
  group,         // the processes with one value of the tag; rows in descending order of usage
  other,         // sum of the groups beyond `top`
  none,          // processes without the tag
  unattributed,  // usage of the machines minus that of all processes; negative if processes count more than the machines
  idle,          // unused CPU time and memory
  total,         // usage by the counters of the machines
};
struct BillRow {
  RowKind kind = RowKind::group;
  std::string name;  // a value of the tag, or the name of the kind
  Amounts amounts;
};
struct Bill {
  std::string key;  // key of the tag
  std::vector<BillRow> rows;
  std::set<std::string> undeclared;  // metrics without a declared unit
};

// Computes the usage by the tag `key`. Filters of `tags` with the key `host` select the machines; all filters select the processes.
// A metric whose unit the store does not know is omitted and added to `undeclared`. Throws Wrong if no process has the tag.
Bill bill_of(const std::string &key, const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
             query::Budget &budget, size_t top);

std::string as_table(const Bill &bill);
std::string as_csv(const Bill &bill);
std::string as_json(const Bill &bill);

}  // namespace atalaya::report_command
