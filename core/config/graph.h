// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/description.h"

namespace atalaya::core {

// Checked files as text for users: their pipelines from source to sink, each component with its line and its parameters that
// differ from the defaults.
std::string graph_text(const FileDescription &file);

}  // namespace atalaya::core
