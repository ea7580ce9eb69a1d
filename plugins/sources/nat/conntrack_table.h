// SPDX-License-Identifier: Apache-2.0
// The kernel's table of tracked connections, of the network namespace of the agent.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/sources/nat/conntrack_messages.h"

namespace atalaya::nat {

// Whether the kernel tracks connections. Without this a query would load the module that does.
bool tracks_connections();

class ConntrackTable {
 public:
  // All connections; the error says what is missing. They change while the kernel lists them: one that begins or ends meanwhile may
  // be missing.
  core::Status read(const std::function<void(const Connection &)> &take);

 private:
  core::Status open();
  core::Status query();

  core::Descriptor socket_;
  std::vector<std::byte> buffer_;
};

}  // namespace atalaya::nat
