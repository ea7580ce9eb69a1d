// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plugin/registry.h"

namespace atalaya::core {

// The text of lua/meta/atalaya.lua: the components of the registry, for the Lua language server of an editor. Opens
// every plugin; those that cannot be opened are left out.
std::string editor_stubs(Registry &registry);

}  // namespace atalaya::core
