// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plugin/registry.h"

namespace atalaya::core {

// The text of lua/meta/atalaya.lua, which describes the components of the registry to the Lua language server of an editor. Opens
// all plugins; leaves out those that cannot be opened.
std::string editor_stubs(Registry &registry);

}  // namespace atalaya::core
