// SPDX-License-Identifier: Apache-2.0
// Reasons behind a difference: facts that changed, functions, peers and phases of a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/analysis/explain/measure.h"

namespace atalaya::explain {

// A setting or a part of the host whose value at the end of the window is not that of the baseline.
struct FactChange {
  std::string host, fact, before, after;
  int64_t time_ns = 0;  // time of the change
};
std::vector<FactChange> changed_facts(const Side &baseline, const Side &window, Reader &reader);

// A function's share of the CPU samples of a process, in per cent. The function is the last frame of the stack.
struct FunctionChange {
  std::string name;
  double before = 0, after = 0;
};
// The functions whose share grew most; none if either range has fewer than 20 samples in the window.
std::vector<FunctionChange> grown_functions(const Tags &process, const Side &baseline, const Side &window, size_t maximum,
                                            Reader &reader);

// Traffic with a peer, both directions, MiB/s.
struct PeerChange {
  std::string remote;
  double before = 0, after = 0;
};
std::vector<PeerChange> changed_peers(const Tags &process, const Side &baseline, const Side &window, size_t maximum,
                                      Reader &reader);

// Phases of the process that occur in the window but not in the baseline.
std::vector<std::string> new_phases(const Tags &process, const Side &baseline, const Side &window, Reader &reader);

}  // namespace atalaya::explain
