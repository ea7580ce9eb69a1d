// SPDX-License-Identifier: Apache-2.0
// The bill of the machines: their CPU time, memory, energy, disk and network bytes by job, user or another tag of processes.
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
using Amounts = std::array<double, kResources.size()>;  // not a number: the store has none

// In this order. group + other + none + unattributed + idle = total for each resource that has a total.
enum class RowKind {
  group,         // the processes with a value of the tag, the largest first
  other,         // groups beyond `top`
  none,          // processes without the tag
  unattributed,  // of the machines, but of no process; negative: processes count something that the machines do not
  idle,          // CPU time and memory that nothing used
  total,         // by the machines' own counters
};
struct BillRow {
  RowKind kind = RowKind::group;
  std::string name;  // a value of the tag, or the name of the kind
  Amounts amounts;
};
struct Bill {
  std::string key;  // the tag
  std::vector<BillRow> rows;
  std::set<std::string> undeclared;  // metrics
};

// Filters of `tags` with the key host select the machines, all of them the processes. A metric whose unit the store does not know
// is left out, and added to `undeclared`. Throws Wrong if no process has the tag.
Bill bill_of(const std::string &key, const std::vector<store::TagFilter> &tags, const query::Range &range, store::Store &store,
             query::Budget &budget, size_t top);

std::string as_table(const Bill &bill);
std::string as_csv(const Bill &bill);
std::string as_json(const Bill &bill);

}  // namespace atalaya::report_command
