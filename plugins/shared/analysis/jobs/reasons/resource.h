// SPDX-License-Identifier: Apache-2.0
// The resource of a metric, the combination of its entities, and the needs of a phase.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/catalogue.h"

namespace atalaya::jobs {

enum class Resource { cpu, scheduling, disk, network, memory, jvm, power, framework, other };
std::string_view resource_text(Resource resource);
Resource resource_of(std::string_view metric);

enum class Combine { sum, mean, leave_out };
// How the values of one host become one: of its cores, disks, processes. Unknown metrics are averaged.
Combine combine_of(std::string_view metric, const store::MetricInfo *info);

// By common names of phases: the resources that a phase waits for, the CPU aside.
struct Needs {
  bool input = false;    // input data, possibly from another node
  bool reads = false;    // from disks
  bool writes = false;   // to disks
  bool network = false;  // data of other nodes, always
};
Needs needs_of(std::string_view phase);
// The same if the names of all phases of the stage are known. Histories often report only `map` for a map, or `compute` for a
// task: input and output without a phase of their own are part of these.
Needs needs_of(std::string_view phase, const std::vector<std::string> &stage);

// Three digits, whole numbers from 1000: "0.25", "12.5", "1234".
std::string short_text(double value);
// "0.94"; "" if not a number
std::string coefficient_text(double value);
// "22 %"
std::string size_text(double bytes);  // "8.4 MB"
std::string percent_text(double part);

}  // namespace atalaya::jobs
