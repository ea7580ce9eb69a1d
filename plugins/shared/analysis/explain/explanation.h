// SPDX-License-Identifier: Apache-2.0
// What changed between two ranges of time, and what did not. docs/how-to/explain.md explains the rules to users.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/evidence/finding.h"
#include "plugins/shared/analysis/explain/changes.h"
#include "plugins/shared/analysis/explain/context.h"

namespace atalaya::explain {

struct Request {
  Side window, baseline;
  std::string by = "process";
  bool by_host = true;  // parts of different hosts differ; false: hosts are compared with each other
  size_t top = 5;       // maximum parts of a finding
  bool others = false;  // the baseline is the mean of its hosts
};

struct Finding : evidence::Finding {
  Change change;
  bool is_cause = false;
  std::vector<FunctionChange> functions;
  std::vector<PeerChange> peers;
  std::vector<std::string> phases;
  std::vector<std::string> commands;  // commands that show the numbers
};

struct Explanation {
  Side window, baseline;
  Steps window_steps, baseline_steps;
  std::vector<std::string> hosts;
  std::vector<std::string> others;  // hosts whose mean is the baseline
  std::vector<Finding> findings;    // sorted: causes, then effects; the largest first
  std::vector<FactChange> facts;    // changed settings
  std::vector<Change> unchanged;    // resources without a difference beyond chance
  std::vector<std::string> notes;   // limits of this result
  size_t tests = 0;
  bool names_hosts = true;  // parts and findings name their hosts, because there are several
};

// Throws query::Wrong, query::TooMuch and store::Error.
Explanation explain(const Request &request, Reader &reader);

// The result in short sentences, and as one JSON object.
std::string as_text(const Explanation &explanation);
std::string as_json(const Explanation &explanation);
// The tests and their limits.
std::string statistics_text(const Explanation &explanation);
// "java on host1", "other (12)".
std::string part_name(const Tags &tags, bool names_hosts);
// Sets the chance and the sentence: resource, amounts, the largest part.
void summarise(Finding &finding, bool names_hosts);

}  // namespace atalaya::explain
