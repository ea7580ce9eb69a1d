// SPDX-License-Identifier: Apache-2.0
// The traffic graph: nodes and the bytes between them, by process, command, container or host.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/graph/flow.h"
#include "plugins/shared/analysis/graph/pairing.h"

namespace atalaya::graph {

enum class By { process, command, container, host };
std::optional<By> parse_by(std::string_view name);

struct Resources {
  double cpu = 0;     // cores, average over the range
  double memory = 0;  // MiB, average over the range
  bool known = false;
};

// The name for traffic without a known process.
inline constexpr const char *kUnattributed = "unattributed";

// A process and its resource use, from samples.
struct Worker {
  std::string host, pid, process, container, command;
  Resources used;
};

struct Node {
  std::string host;     // empty: several hosts, or unknown
  std::string name;     // label
  std::string command;  // selects the colour; for a container, the process with most traffic
  std::string pid;
  bool outside = false;    // an address of no known host
  bool contained = false;  // true: the node is a container; false: a process outside of containers
  Resources used;

  bool operator<(const Node &other) const { return id() < other.id(); }
  std::tuple<bool, const std::string &, const std::string &, const std::string &, bool> id() const {
    return {outside, host, name, pid, contained};
  }
};

struct Graph {
  By by = By::process;
  std::vector<Node> nodes;                            // sorted by id
  std::map<std::pair<size_t, size_t>, double> bytes;  // from, to: bytes sent by the first to the second
  double total = 0;                                   // sum of `bytes`
  double estimated = 0;                               // the part of `total` that pairing has estimated
};

Graph graph_of(const std::vector<Flow> &flows, const std::vector<Link> &links, const std::vector<Worker> &workers, By by);

}  // namespace atalaya::graph
