// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/config/functions/functions.h"
#include "core/config/lua/lua_state.h"

namespace atalaya::core {

// Makes the host of the inline functions of evaluated files, which owns their Lua state. `functions` are references into its
// registry; function number 1 is the first. `symbols` must outlive the host.
std::shared_ptr<FunctionHost> make_function_host(std::unique_ptr<LuaState> state, std::vector<int> functions, Symbols &symbols);

}  // namespace atalaya::core
