// SPDX-License-Identifier: Apache-2.0
// The speed of tasks and phases in five grades, and nodes that are slower than chance explains.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/jobs/model/tasks.h"
#include "plugins/shared/analysis/jobs/reasons/cluster.h"
#include "plugins/shared/store/query/budget.h"

namespace atalaya::jobs {

constexpr size_t kGrades = 5;
enum class Grade : uint8_t { lowest, lower, medium, higher, highest };
std::string_view grade_text(Grade grade);

// Groups of comparable tasks: reduces that started before the last map had ended, the first tasks on a node, and tasks that
// started after another one of the stage had ended there.
enum class Wave : uint8_t { early, first, later };
constexpr size_t kWaves = 3;

// A task or a phase of it, with its speed.
struct Entry {
  uint32_t task = 0;
  Grade grade = Grade::medium;
  Wave wave = Wave::first;
  int64_t start_ns = 0, time_ns = 0, bytes = 0;
  double speed = 0;  // KiB/s; in a group by time: tasks per second
};

// The speed of a node, compared with the other nodes.
struct NodeSpeed {
  uint32_t host = 0;
  size_t tasks = 0, lowest = 0, lower = 0;
  // Median speeds. others: tasks on all other nodes, weighted by the node's waves; NaN if there are none.
  double speed = 0, others = 0;
  double chance = 1;  // probability of a node as slow as this by chance
  double lost = 0;    // share of its tasks' time that these would save at the speed of the other nodes
  double slower() const { return 1 - speed / others; }
};

// The tasks of a stage of a job, or one phase of them.
struct Group {
  uint32_t job = 0, stage = 0, phase = 0;                     // job: index of the job; phase 0: whole tasks
  bool task_bytes = false;                                    // a phase whose bytes only its tasks report
  bool is_remote = false;                                     // a phase that read bytes over the network
  double offset_ns = 0;                                       // average time from the start of a task to the start of its phase
  bool by_time = false;                                       // no task reports bytes, so that tasks are compared by time
  size_t without_speed = 0;                                   // number of tasks that ended and whose bytes are unknown or 0
  double seconds = std::numeric_limits<double>::quiet_NaN();  // median duration of all tasks that ended
  double speed = std::numeric_limits<double>::quiet_NaN();    // median speed; NaN: unknown for all tasks
  std::vector<Entry> entries;
  std::vector<NodeSpeed> nodes;  // sorted by name
};

struct DetectOptions {
  Clustering clustering = Clustering::pam;
  double minimum = 0.2;  // minimum slowdown of a slow node
};

// Grades all tasks and phases. Groups are sorted by job, then by stage in order of start; a stage has first its whole tasks,
// then its phases in order of start.
std::vector<Group> grade(const JobData &data, const DetectOptions &options, query::Budget &budget);

constexpr double kWorthwhile = 0.05;  // share of the time of the tasks: smaller losses are not reported

// Conditions for a verdict on the nodes of a group.
constexpr size_t kMinTasks = 8, kMinNodeTasks = 3;
// Returns the reason why the nodes cannot be judged; "" if they can.
std::string why_no_verdict(const Group &group);

// Whether the node is slower than chance and `minimum` explain, with this number of compared nodes.
bool is_slow(const Group &group, const NodeSpeed &node, const DetectOptions &options, size_t checked_at);

// "98 KiB/s"; "12 s per task" for a group by time.
std::string speed_text(const Group &group, double speed);
// Returns `speed`, or NaN for a group by time.
inline double speed_of(const Group &group, double speed) {
  return group.by_time ? std::numeric_limits<double>::quiet_NaN() : speed;
}

}  // namespace atalaya::jobs
