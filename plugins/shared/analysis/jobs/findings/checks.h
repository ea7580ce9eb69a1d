// SPDX-License-Identifier: Apache-2.0
// The reason why a node is slow: checks one resource after another against the other nodes, until one remains.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/jobs/read/host_metrics.h"
#include "plugins/shared/analysis/jobs/reasons/remote_reads.h"

namespace atalaya::jobs {

// Values that tasks reported: those of a node, and those of the other nodes. Absent if no task reports them.
struct TaskValues {
  std::optional<double> own_gc, other_gc;  // share of garbage collection in the time of the tasks
  std::optional<RemoteReads> remote;
};

// A node, compared with the other nodes in the same phase.
struct Sides {
  std::string node;
  size_t set = 0;              // index of the windows' set in the metrics
  std::optional<Needs> needs;  // needs of the phase; absent for whole tasks
  std::vector<Window> own, others;
  TaskValues tasks;
  double slower = 0;  // slowdown of the node: 0.2 = 20 %
};

enum class Verdict { found, ruled_out, unknown };
enum class Reason { programs, cpu, garbage_collection, memory, remote_reads, disk, network, skew, failures, none };
std::string_view reason_text(Reason reason);  // as in JSON: "other programs", "remote reads", "unknown"

struct Check {
  Reason reason = Reason::none;
  Verdict verdict = Verdict::unknown;
  std::string text;        // sentence with the measured values
  std::string short_text;  // the difference that shows the reason: "disk write 22 % below the other nodes"
};

// Returns the checks in the order of elimination.
std::vector<Check> check_all(const Metrics &metrics, const Sides &sides);
// Returns the reason that the checks have found.
Reason reason_of(const std::vector<Check> &checks);
// Formats the result of the checks: "disk write 22 % below the other nodes; CPU and other programs ruled out".
std::string conclusion(const std::vector<Check> &checks);

}  // namespace atalaya::jobs
