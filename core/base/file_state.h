// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::core {

// A text that differs if the file was written or replaced since. A missing file has one, too.
std::string file_state(const std::string &path);

}  // namespace atalaya::core
