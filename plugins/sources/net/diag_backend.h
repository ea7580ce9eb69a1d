// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plugins/sources/net/backend.h"

namespace atalaya::net {

// The backend "diag": what the kernel tells everybody about TCP sockets, and who holds them by /proc/PID/fd. A sentence when it
// may not be asked.
core::Result<std::unique_ptr<Backend>> open_diag_backend();

}  // namespace atalaya::net
