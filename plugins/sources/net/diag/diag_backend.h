// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plugins/sources/net/backend.h"

namespace atalaya::net {

// Opens the backend "diag": TCP sockets from sock_diag(7), their processes from /proc/PID/fd. The error names the missing
// permission.
core::Result<std::unique_ptr<Backend>> open_diag_backend();
// The network namespace of this process; 0 if it is unknown.
uint32_t own_network();

}  // namespace atalaya::net
