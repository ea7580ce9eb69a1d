// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's table of tracked connections in the agent's network namespace.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/sources/nat/conntrack_messages.h"

namespace atalaya::nat {

// Returns true if the kernel tracks connections. Check it before read(), because a query would load the kernel module.
bool tracks_connections();

class ConntrackTable {
 public:
  // Reads all connections; an error names the missing feature. The table changes while the kernel lists it: a connection that
  // starts or ends meanwhile may be missing.
  core::Status read(const std::function<void(const Connection &)> &take);

 private:
  core::Status open();
  core::Status query();

  core::Descriptor socket_;
  std::vector<std::byte> buffer_;
};

}  // namespace atalaya::nat
