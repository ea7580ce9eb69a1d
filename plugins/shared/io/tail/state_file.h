// SPDX-License-Identifier: Apache-2.0
// A file with the state of a component.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"

namespace atalaya::tail {

// Maximum size; a larger text is not written.
inline constexpr size_t kMaxStateBytes = size_t{64} << 20;

// Writes the whole text or leaves the file as it is, also on power failure.
core::Status replace_state(const std::string &path, const std::string &text);

}  // namespace atalaya::tail
