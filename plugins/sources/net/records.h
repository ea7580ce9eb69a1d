// SPDX-License-Identifier: Apache-2.0
// Parses the records of a walk over all sockets. Pure. Sizes are checked, although the records
// come from the agent's own BPF program.
#pragma once

#include <cstddef>
#include <span>

#include "bpf/net.h"
#include "plugins/sources/net/backend.h"

namespace atalaya::net {

// Passes each complete record at the front of the bytes to `take`; returns the bytes consumed.
size_t parse_records(std::span<const std::byte> bytes, const Backend::Callback &take);

}  // namespace atalaya::net
