// SPDX-License-Identifier: Apache-2.0
// Who sent how much to whom: nodes and the bytes between them, by process, command, container or host.
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
std::optional<By> by_of(std::string_view name);

struct Resources {
  double cpu = 0;     // cores, average over the time
  double memory = 0;  // MiB, the same
  bool known = false;
};

// What nobody that is known has done.
inline constexpr const char *kUnattributed = "unattributed";

// Who used resources, as far as samples of processes say.
struct Worker {
  std::string host, pid, process, container, command;
  Resources used;
};

struct Node {
  std::string host;     // empty: several, or none that is known
  std::string name;     // what it is drawn as
  std::string command;  // which colour it has: of a container the process that moves most
  std::string pid;
  bool outside = false;    // an address that no host here has
  bool contained = false;  // a container, and not a process beside them
  Resources used;

  bool operator<(const Node &other) const { return id() < other.id(); }
  std::tuple<bool, const std::string &, const std::string &, const std::string &, bool> id() const {
    return {outside, host, name, pid, contained};
  }
};

struct Graph {
  By by = By::process;
  std::vector<Node> nodes;                            // in order of their ids
  std::map<std::pair<size_t, size_t>, double> bytes;  // from, to: what the first sent to the second
  double total = 0;                                   // sum of these
  double estimated = 0;                               // of them, what was divided among several clients and servers
};

Graph graph_of(const std::vector<Flow> &flows, const std::vector<Link> &links, const std::vector<Worker> &workers, By by);

}  // namespace atalaya::graph
