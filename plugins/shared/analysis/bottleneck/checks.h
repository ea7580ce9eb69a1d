// SPDX-License-Identifier: Apache-2.0
// The reason why a node is slow: checks one resource after another against the other nodes, until one remains.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/bottleneck/host_metrics.h"

namespace atalaya::bottleneck {

// Shares reported by tasks, of a node and of the others; absent if none reports them.
struct TaskShares {
  std::optional<double> remote_share;  // of the bytes
  std::optional<double> gc_share;      // of the time
};

// A node and the others in the same phase.
struct Sides {
  std::string node;
  size_t set = 0;              // index of the windows' set in the metrics
  std::optional<Needs> needs;  // of the phase; absent: whole tasks
  std::vector<Window> own, others;
  TaskShares own_tasks, other_tasks;
};

enum class Verdict { found, ruled_out, unknown };
enum class Reason { programs, cpu, garbage_collection, memory, remote_reads, disk, network, none };
std::string_view reason_text(Reason reason);  // as in JSON: "other programs", "remote reads", "unknown"

struct Check {
  Reason reason = Reason::none;
  Verdict verdict = Verdict::unknown;
  std::string text;        // with its values: the evidence
  std::string short_text;  // where it was found: "disk write 22 % below the other nodes"
  bool last = false;       // found, but the phase's name does not say that it waits for this: the reason only if there is no other
};

// In the order of elimination.
std::vector<Check> check_all(const Metrics &metrics, const Sides &sides);
// The reason among them.
Reason reason_of(const std::vector<Check> &checks);
// "disk write 22 % below the other nodes; CPU and other programs ruled out".
std::string conclusion(const std::vector<Check> &checks);

}  // namespace atalaya::bottleneck
