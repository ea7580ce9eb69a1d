// SPDX-License-Identifier: Apache-2.0
// The bytes of a walk as records. Pure; they come from our own program, but their frame is checked all the same.
#pragma once

#include <cstddef>
#include <span>

#include "bpf/net.h"
#include "plugins/sources/net/backend.h"

namespace atalaya::net {

// Takes whole records from the front of the bytes; gives how many bytes those were.
size_t take_records(std::span<const std::byte> bytes, const Backend::Take &take);

}  // namespace atalaya::net
