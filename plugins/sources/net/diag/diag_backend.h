// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plugins/sources/net/backend.h"

namespace atalaya::net {

// The backend "diag": TCP sockets from sock_diag, their holders from /proc/PID/fd. The error says why it is not permitted.
core::Result<std::unique_ptr<Backend>> open_diag_backend();

}  // namespace atalaya::net
