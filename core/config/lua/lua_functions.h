// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/config/functions/functions.h"
#include "core/config/lua/lua_state.h"

namespace atalaya::core {

// Takes over the state that the file was evaluated in. `functions` are references into its registry: number 1 is the first. The
// symbols outlive the host.
std::shared_ptr<FunctionHost> make_function_host(std::unique_ptr<LuaState> state, std::vector<int> functions, Symbols &symbols);

}  // namespace atalaya::core
