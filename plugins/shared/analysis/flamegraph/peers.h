// SPDX-License-Identifier: Apache-2.0
// Finds the processes at the other ends of the connections that threads waited for, in the flows of all hosts (source net).
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/stored.h"
#include "plugins/shared/analysis/graph/pairing.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::flamegraph {

class Peers {
 public:
  Peers(std::vector<graph::Flow> flows, const graph::Translations &translations);

  // Returns the tag `owner` of a stack. If flows have the process of an address, it becomes "postgres-812 on n2 (10.0.0.2:5432)".
  std::string owner_of(const store::Tags &tags) const;

 private:
  const graph::Flow *find(const std::string &host, const std::string &pid, const std::string &remote, const std::string &port,
                          bool opened) const;

  std::vector<graph::Flow> flows_;
  std::vector<graph::Link> links_;
};

// Returns a function that names owners by the flows of this range. Throws query::TooMuch, store::Error.
OwnerName read_owner_names(store::Store &store, const store::Range &range, query::Budget &budget);

}  // namespace atalaya::flamegraph
