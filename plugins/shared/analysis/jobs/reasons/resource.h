// SPDX-License-Identifier: Apache-2.0
// The resource of a metric, the combination of its entities on a host, and the resources that a phase needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/catalogue.h"

namespace atalaya::jobs {

enum class Resource { cpu, scheduling, disk, network, memory, jvm, power, framework, other };
std::string_view resource_text(Resource resource);
Resource resource_of(std::string_view metric);

enum class Combine { sum, mean, omit };
// How the values of a host's cores, disks or processes are combined to one value. Unknown metrics are averaged.
Combine combine_of(std::string_view metric, const store::MetricInfo *info);

// The resources that a phase waits for, apart from the CPU. Source: common names of phases.
struct Needs {
  bool input = false;    // reads input data, possibly from another node
  bool reads = false;    // reads from disks
  bool writes = false;   // writes to disks
  bool network = false;  // always reads data of other nodes
};
Needs needs_of(std::string_view phase);
// The needs of a phase if the names of all phases of its stage are known. Histories often report only `map` for a map, or
// `compute` for a task: these include input and output unless there are separate phases for them.
Needs needs_of(std::string_view phase, const std::vector<std::string> &stage);

// Formats a number with three digits, and as an integer from 1000: "0.25", "12.5", "1234".
std::string short_text(double value);
// Formats a coefficient: "0.94"; "" for NaN.
std::string coefficient_text(double value);
// Formats a size: "8.4 MB".
std::string size_text(double bytes);
// Formats a share: "22 %".
std::string percent_text(double part);

}  // namespace atalaya::jobs
