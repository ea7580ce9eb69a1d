// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/plugin/value.h"

namespace atalaya::core {

// The value of a Lua table constructor, as `{ { name = "parse" }, limit = 3 }` on a command line: in a closed state, within the
// limits of a pipeline file. An error names the problem of the text.
Result<Value> lua_table(const std::string &text);

}  // namespace atalaya::core
