// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/plugin/value.h"

namespace atalaya::core {

// Evaluates a Lua table constructor of a command line, such as `{ { name = "parse" }, limit = 3 }`, in a sandboxed state with the
// limits of a pipeline file.
Result<Value> lua_table(const std::string &text);

}  // namespace atalaya::core
