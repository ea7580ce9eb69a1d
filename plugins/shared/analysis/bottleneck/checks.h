// SPDX-License-Identifier: Apache-2.0
// Why a node is slow: one resource after the other is looked at beside the other nodes, until one is left.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/bottleneck/host_metrics.h"

namespace atalaya::bottleneck {

// What tasks tell of themselves, of a node and of the others; absent where none did.
struct TaskShares {
  std::optional<double> remote_share;  // of the bytes
  std::optional<double> gc_share;      // of the time
};

// A node and the others in the same phase.
struct Sides {
  std::string node;
  size_t set = 0;              // of the metrics' windows, which these are
  std::optional<Needs> needs;  // of the phase; absent: tasks as a whole
  std::vector<Window> own, others;
  TaskShares own_tasks, other_tasks;
};

enum class Verdict { found, ruled_out, unknown };
enum class Reason { programs, cpu, garbage_collection, memory, remote_reads, disk, network, none };
std::string_view reason_text(Reason reason);  // as in JSON: "other programs", "remote reads", "unknown"

struct Check {
  Reason what = Reason::none;
  Verdict verdict = Verdict::unknown;
  std::string text;        // with its numbers: the evidence
  std::string short_text;  // where it was found: "disk write 22 % below the other nodes"
  bool last = false;       // found, but the phase does not wait for it by its name: the reason only where nothing else is
};

// In the order in which they are eliminated.
std::vector<Check> check_all(const Metrics &metrics, const Sides &sides);
// Which of them it is.
Reason reason_of(const std::vector<Check> &checks);
// "disk write 22 % below the other nodes; CPU and other programs ruled out".
std::string conclusion(const std::vector<Check> &checks);

}  // namespace atalaya::bottleneck
