// SPDX-License-Identifier: Apache-2.0
// Writes the state file of a component.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"

namespace atalaya::tail {

// Maximum size; a larger text is not written.
inline constexpr size_t kMaxStateBytes = size_t{64} << 20;

// Replaces the content of the file atomically: after an error or a power failure the file is unchanged.
core::Status replace_state(const std::string &path, const std::string &text);

}  // namespace atalaya::tail
