// SPDX-License-Identifier: Apache-2.0
// Parses the records of a walk. Pure; their frame is checked, although they come from our program.
#pragma once

#include <cstddef>
#include <span>

#include "bpf/net.h"
#include "plugins/sources/net/backend.h"

namespace atalaya::net {

// Takes whole records from the front of the bytes; returns their size in bytes.
size_t take_records(std::span<const std::byte> bytes, const Backend::Take &take);

}  // namespace atalaya::net
