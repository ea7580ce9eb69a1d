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

// Values reported by tasks, of a node and of the others; absent if none reports them.
struct TaskValues {
  std::optional<double> own_gc, other_gc;  // share of the time
  std::optional<RemoteReads> remote;
};

// A node and the others in the same phase.
struct Sides {
  std::string node;
  size_t set = 0;              // index of the windows' set in the metrics
  std::optional<Needs> needs;  // of the phase; absent: whole tasks
  std::vector<Window> own, others;
  TaskValues tasks;
  double slower = 0;  // of the node
};

enum class Verdict { found, ruled_out, unknown };
enum class Reason { programs, cpu, garbage_collection, memory, remote_reads, disk, network, skew, failures, none };
std::string_view reason_text(Reason reason);  // as in JSON: "other programs", "remote reads", "unknown"

struct Check {
  Reason reason = Reason::none;
  Verdict verdict = Verdict::unknown;
  std::string text;        // with its values: the evidence
  std::string short_text;  // where it was found: "disk write 22 % below the other nodes"
};

// In the order of elimination.
std::vector<Check> check_all(const Metrics &metrics, const Sides &sides);
// The reason among them.
Reason reason_of(const std::vector<Check> &checks);
// "disk write 22 % below the other nodes; CPU and other programs ruled out".
std::string conclusion(const std::vector<Check> &checks);

}  // namespace atalaya::jobs
