// SPDX-License-Identifier: Apache-2.0
// What a metric is about, how those of several entities become one, and what a phase needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/catalogue.h"

namespace atalaya::bottleneck {

enum class Resource { cpu, scheduling, disk, network, memory, jvm, power, framework, other };
std::string_view resource_text(Resource resource);
Resource resource_of(std::string_view metric);

enum class Combine { sum, mean, leave_out };
// How the values of one host become one: of its cores, disks, processes. Unknown metrics are averaged.
Combine combine_of(std::string_view metric, const store::MetricInfo *info);

// By the names that frameworks give their phases: what a phase waits for when it is not the CPU.
struct Needs {
  bool input = false;    // data that may lie on another node
  bool reads = false;    // from disks
  bool writes = false;   // to disks
  bool network = false;  // data of other nodes, always
};
Needs needs_of(std::string_view phase);
// The same where the names of all phases of the stage are known. Histories often tell only `map` of a map, or `compute` of a task:
// what no other phase is named for, input or output, is done in these.
Needs needs_of(std::string_view phase, const std::vector<std::string> &stage);

// Three digits, whole numbers from 1000: "0.25", "12.5", "1234".
std::string short_text(double value);
// "0.94"; "" of what is not a number
std::string coefficient_text(double value);
// "22 %"
std::string percent_text(double part);

}  // namespace atalaya::bottleneck
