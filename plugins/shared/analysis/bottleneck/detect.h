// SPDX-License-Identifier: Apache-2.0
// How fast tasks and phases were, in five grades, and on which nodes they were slower than chance explains.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/bottleneck/cluster.h"
#include "plugins/shared/analysis/bottleneck/tasks.h"
#include "plugins/shared/analysis/query/budget.h"

namespace atalaya::bottleneck {

constexpr size_t kGrades = 5;
enum class Grade : uint8_t { lowest, lower, medium, higher, highest };
std::string_view grade_text(Grade grade);

// Tasks that are compared with each other: reduces that were there before the last map had ended, the first ones on their node, and
// those that were started when one of the stage had ended there.
enum class Wave : uint8_t { early, first, later };
constexpr size_t kWaves = 3;

// A task, or its phase, with its speed.
struct Entry {
  uint32_t task = 0;
  Grade grade = Grade::medium;
  Wave wave = Wave::first;
  int64_t start_ns = 0, time_ns = 0, bytes = 0;
  double speed = 0;  // DPS: KiB/s
};

// A node beside the others.
struct NodeSpeed {
  uint32_t host = 0;
  size_t tasks = 0, lowest = 0, lower = 0;
  // Medians. Others: of the tasks on all other nodes, as many of each wave as the node has; NaN where there are none.
  double speed = 0, others = 0;
  double chance = 1;  // how often chance alone makes a node this slow
  double lost = 0;    // of the tasks' time on it: what it would not have taken at the others' speed
  double slower() const { return 1 - speed / others; }
};

// The tasks of one stage of a job, or one phase of them.
struct Group {
  uint32_t job = 0, stage = 0, phase = 0;                   // job: its place; phase: 0 = the tasks as a whole
  bool bytes_of_task = false;                               // a phase of which no task tells any
  bool is_remote = false;                                   // a phase of which bytes came over the network
  double offset_ns = 0;                                     // how long after its task it begins, on average
  size_t without_speed = 0;                                 // done, but their bytes are not known, or 0
  double speed = std::numeric_limits<double>::quiet_NaN();  // the median; NaN: of no task it is known
  std::vector<Entry> entries;
  std::vector<NodeSpeed> nodes;  // by name
};

struct DetectOptions {
  Clustering clustering = Clustering::pam;
  double least = 0.2;  // a node that is slower by less is not slow
};

// By job, by stage as they begin; first the tasks as a whole, then their phases as they begin.
std::vector<Group> grade(const JobData &data, const DetectOptions &options, query::Budget &budget);

constexpr double kChance = 0.01;      // of a false verdict on a job, all that is looked at together
constexpr double kWorthwhile = 0.05;  // of the tasks' time: what loses less does not matter

// What a group must have for a verdict on its nodes.
constexpr size_t kFewestTasks = 8, kFewestOfNode = 3;
// Why there can be no verdict; "" when there can.
std::string why_no_verdict(const Group &group);

// Whether the node is slower than chance and `least` explain, when so many nodes are looked at.
bool is_slow(const Group &group, const NodeSpeed &node, const DetectOptions &options, size_t looked_at);

}  // namespace atalaya::bottleneck
